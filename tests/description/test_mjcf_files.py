"""MuJoCo opens no file outside a model's package, and every file it opens is in the hash."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from robolin.description.mjcf.mjcf_files import ModelFiles, model_files
from robolin.errors import FileError, RobolinError

mujoco = pytest.importorskip(
    "mujoco",
    reason="MJCF files need the package mujoco, which is not installed",
)

BODY = '<body name="b"><joint/><geom size=".1"/>{}</body>'


def png() -> bytes:
    """A grey picture of 2 × 2 points."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress((b"\0" + bytes(6)) * 2))
    return b"\x89PNG\r\n\x1a\n" + head + rows + chunk(b"IEND", b"")


def skin() -> bytes:
    """One triangle on one bone, body 'b'."""
    points = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    bone = b"b".ljust(40, b"\0") + struct.pack("<7fi", 0, 0, 0, 1, 0, 0, 0, 3)
    bone += struct.pack("<3i3f", 0, 1, 2, 1, 1, 1)
    return struct.pack("<4i9f3i", 3, 0, 1, 1, *points, 0, 1, 2) + bone


TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
CONTENT = {"obj": TETRAHEDRON, "png": png(), "skn": skin()}

# elements that name files: their parent element, and the attributes
ASSETS = {
    "mesh": '<mesh name="{n}" file="{f}.obj"/>',
    "hfield": '<hfield name="{n}" file="{f}.png" size="1 1 1 1"/>',
    "skin": '<skin name="{n}" file="{f}.skn"/>',
    "texture": '<texture name="{n}" type="2d" file="{f}.png"/>',
    **{
        f"texture {side}": f'<texture name="{{n}}" type="cube" file{side}="{{f}}.png"/>'
        for side in ("up", "down", "left", "right", "front", "back")
    },
}
FLEX = '<flexcomp name="{n}" type="mesh" dim="2" rigid="true" file="{f}.obj"/>'


def asset(kind: str, name: str, file: str) -> str:
    return ASSETS[kind].format(n=name, f=file)


def model(assets: str = "", inside: str = "", head: str = "") -> str:
    worldbody = f"<worldbody>{BODY.format(inside)}</worldbody>"
    return f"<mujoco>{head}<asset>{assets}</asset>{worldbody}</mujoco>"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def listed(path: Path) -> ModelFiles:
    return model_files(path, path.read_bytes(), path.name, ())


def compiles(path: Path) -> bool:
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return False
    return True


def schema() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The elements of MuJoCo's schema, each with the elements around it and its attributes."""
    path: list[str] = []
    attributes: list[str] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        indent = len(line) - len(line.lstrip())
        words = line.split()
        if indent < 30 and words:
            if path:
                yield tuple(path), attributes
            path = [*path[: indent // 3], words[0].replace("(world)body", "body")]
            attributes, words = [], words[2:]
        attributes += words
    yield tuple(path), attributes


@pytest.mark.slow
def test_the_schema_of_mujoco_names_no_other_files() -> None:
    """Every attribute of the installed MuJoCo that names a file starts with `file`.

    MuJoCo opens a file for an attribute if it reports that file as missing; each attribute of the
    schema is tried. Only <compiler> names folders.
    """
    opening: set[tuple[str, str]] = set()
    for path, attributes in schema():
        for attribute in attributes:
            if len(path) > 1 and attribute not in ("name", "class"):
                opening |= {(path[-1], attribute)} if opens(path, attributes, attribute) else set()
    sides = ("up", "down", "left", "right", "front", "back")
    assert opening == {
        *((tag, "file") for tag in ("mesh", "hfield", "skin", "texture", "model", "flexcomp")),
        *(("texture", f"file{side}") for side in sides),
    }
    named = {(path[-1], each) for path, attributes in schema() for each in attributes}
    assert {pair for pair in named if "file" in pair[1]} == opening
    folders = {("compiler", f"{kind}dir") for kind in ("mesh", "texture", "asset")}
    # the direction of a light is not a folder
    assert {pair for pair in named if pair[1].endswith("dir")} - {("light", "dir")} == folders


# attributes that MuJoCo requires before it opens a file
NEEDED = {
    "flexcomp": {"type": "mesh"},
    "hfield": {"size": "1 1 1 1"},
    "model": {"file": "other.xml"},
    "texture": {"type": "cube"},
}
ENDINGS = {"texture": "png", "hfield": "png", "skin": "skn", "model": "xml"}


def opens(path: tuple[str, ...], attributes: list[str], attribute: str) -> bool:
    """Return whether MuJoCo searches for a file with the name in an attribute."""
    name = f"nowhere.{ENDINGS.get(path[-1], 'obj')}"
    values = {**NEEDED.get(path[-1], {}), attribute: name}
    if "name" in attributes:
        values["name"] = "probe"
    text = f"<{path[-1]} {' '.join(f'{key}={value!r}' for key, value in values.items())}/>"
    for tag in reversed(path[1:-1]):
        text = f"<{tag} name='b'>{text}</{tag}>" if tag == "body" else f"<{tag}>{text}</{tag}>"
    text = f"<worldbody>{text}</worldbody>" if path[1] == "body" else text
    try:
        mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")
    except (ValueError, RuntimeError) as error:
        return "opening file" in str(error).lower() and name in str(error)
    return False


HEADS = [
    "",
    '<compiler meshdir="md" texturedir="td" assetdir="ad"/>',
    '<compiler meshdir="md"/>',
    '<compiler assetdir="ad"/>',
    '<compiler meshdir="md"/><compiler assetdir="ad"/>',
    '<compiler assetdir="ad"/><compiler texturedir="td"/>',
    '<compiler meshdir="md" strippath="true"/>',
    '<compiler strippath="true"/><compiler strippath="false"/>',
]
KINDS = [*ASSETS, "flexcomp"]
FOLDERS = ["", "md", "td", "ad", "inc", "md/sub", "td/sub", "ad/sub", "sub", "inc/sub"]


@pytest.mark.slow
@pytest.mark.parametrize("included", [False, True], ids=["own", "included"])
@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_a_model_consists_of_the_files_that_mujoco_needs(
    tmp_path: Path, head: str, included: bool
) -> None:
    """A model compiles with the listed files alone, and with no listed file missing.

    Every folder that MuJoCo might look into has a copy of every file; those not listed are
    deleted, then one of the listed at a time.  For a name in an included file MuJoCo tries two
    folders, so that neither copy is needed.
    """
    for kind in ("mesh", "hfield", "skin", "texture", "texture up", "flexcomp"):
        root = tmp_path / kind.replace(" ", "")
        ending = {"mesh": "obj", "flexcomp": "obj", "skin": "skn"}.get(kind, "png")
        for folder in FOLDERS:
            write(root / folder / f"x.{ending}", CONTENT[ending])
        flex = kind == "flexcomp"
        part = FLEX.format(n="n", f="sub/x") if flex else asset(kind, "n", "sub/x")
        include = '<include file="inc/part.xml"/>'
        write(root / "inc/part.xml", f"<mujoco>{part}</mujoco>")
        use = include if included else part
        main = write(root / "m.xml", model("" if flex else use, use if flex else "", head))
        assert compiles(main), kind
        files = {root / name for name in listed(main).digests}
        for path in root.rglob("x.*"):
            if path not in files:
                path.unlink()
        assert compiles(main), (kind, files)
        for path in files - {main} if not included else ():
            content = path.read_bytes()
            path.unlink()
            assert not compiles(main), (kind, path)
            path.write_bytes(content)


def test_every_file_is_in_the_hash(tmp_path: Path) -> None:
    """A change of any file that an element, an include or an attached model names is detected."""
    assets = "".join(asset(kind, f"n{k}", f"f{k}") for k, kind in enumerate(ASSETS))
    for k in range(len(ASSETS)):
        for ending, content in CONTENT.items():
            write(tmp_path / f"f{k}.{ending}", content)
    write(tmp_path / "g.obj", TETRAHEDRON)
    write(
        tmp_path / "sub/child.xml", model(asset("mesh", "m", "k"), head='<compiler meshdir="md"/>')
    )
    write(tmp_path / "sub/md/k.obj", TETRAHEDRON)
    write(
        tmp_path / "inc/i.xml", "<mujoco><asset>" + asset("mesh", "i", "own") + "</asset></mujoco>"
    )
    write(tmp_path / "inc/own.obj", TETRAHEDRON)
    attached = '<model name="child" file="sub/child.xml"/>'
    text = model(assets + attached, FLEX.format(n="flex", f="g"), '<include file="inc/i.xml"/>')
    main = write(tmp_path / "m.xml", text)
    files = listed(main)
    names = {"m.xml", "g.obj", "sub/child.xml", "sub/md/k.obj", "inc/i.xml", "inc/own.obj"}
    assert files.digests.keys() - names == {
        f"f{k}.{ending}"
        for k, kind in enumerate(ASSETS)
        for ending in [{"mesh": "obj", "skin": "skn"}.get(kind, "png")]
    }
    for name in files.digests:
        path = tmp_path / name
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert listed(main).digest != files.digest, name
        path.write_bytes(content)
    assert listed(main).digest == files.digest


def outside() -> Iterator[tuple[str, str]]:
    """Models that name a file outside their package, in every way that MuJoCo supports."""
    for kind in ASSETS:
        for name in ("../secret", "/SECRET", "sub/../../secret", "..\\\\secret", "link/secret"):
            yield f"{kind} {name}", model(asset(kind, "n", name.replace("\\\\", "\\")))
    for name in ("../secret", "/SECRET"):
        yield f"flexcomp {name}", model(inside=FLEX.format(n="n", f=name))
    for key in ("meshdir", "assetdir"):
        yield key, model(asset("mesh", "n", "secret"), head=f'<compiler {key}=".."/>')
        yield f"{key} of skins", model(asset("skin", "n", "secret"), head=f'<compiler {key}=".."/>')
    texture = asset("texture up", "n", "secret")
    yield "texturedir", model(texture, head='<compiler texturedir=".."/>')
    yield (
        "late",
        model(asset("mesh", "n", "secret") + "<!-- -->").replace(
            "</mujoco>", '<compiler meshdir=".."/></mujoco>'
        ),
    )
    strip = '<compiler strippath="true"/><compiler strippath="false"/>'
    yield "strippath", model(asset("mesh", "n", "../secret"), head=strip)
    for tag in ("include", "Include"):
        yield tag, model(head=f'<{tag} file="../secret.xml"/>')
        yield f"{tag} names", model(f'<{tag} file="inc/part.xml"/>')
    yield (
        "folder of an include",
        model(asset("mesh", "n", "secret"), head='<include file="inc/c.xml"/>'),
    )
    yield "attached", model('<model name="c" file="../secret.xml"/>')
    yield "attached names", model('<model name="c" file="inc/child.xml"/>')


OUTSIDE = dict(outside())


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_no_file_outside_the_package_is_opened(tmp_path: Path, text: str) -> None:
    """Paths that lead out of the package are rejected, in every element."""
    for ending, content in CONTENT.items():
        write(tmp_path / f"secret.{ending}", content)
    write(tmp_path / "secret.xml", model())
    root = tmp_path / "package"
    write(root / "inc/part.xml", "<mujoco>" + asset("texture", "n", "../../secret") + "</mujoco>")
    write(root / "inc/c.xml", '<mujoco><compiler meshdir=".."/></mujoco>')
    child = model(asset("mesh", "n", "secret"), head='<compiler meshdir="../.."/>')
    write(root / "inc/child.xml", child)
    (root / "sub").mkdir()
    (root / "link").symlink_to(tmp_path)
    main = write(root / "m.xml", text.replace("/SECRET", str(tmp_path / "secret")))
    with pytest.raises(RobolinError, match="outside the model's package"):
        listed(main)


@pytest.mark.parametrize("name", ["http://example.org/x", "github:x", "file:///etc/x", "a:/x"])
def test_no_address_is_opened(tmp_path: Path, name: str) -> None:
    """A name with a URL scheme, which a resource provider of MuJoCo might load, is rejected."""
    main = write(tmp_path / "m.xml", model(asset("mesh", "n", name)))
    with pytest.raises(RobolinError, match="is not a valid path"):
        listed(main)


@pytest.mark.parametrize("marker", ["package.xml", ".git"])
def test_all_of_a_package_may_be_read(tmp_path: Path, marker: str) -> None:
    """Files next to the folder of a model are read if both are in a package or repository."""
    write(tmp_path / "shapes/x.obj", TETRAHEDRON)
    main = write(tmp_path / "models/m.xml", model(asset("mesh", "n", "../shapes/x")))
    with pytest.raises(RobolinError, match="outside the model's package"):
        listed(main)
    write(tmp_path / marker, "<package><name>p</name></package>")
    assert listed(main).digests.keys() == {"m.xml", "../shapes/x.obj"}
    assert compiles(main)


@pytest.mark.parametrize("folder", ["meshes", "assets"])
def test_a_folder_with_the_parts_of_a_package_is_one(tmp_path: Path, folder: str) -> None:
    """A model reads ../meshes of a robot whose package has no manifest, and nothing above it."""
    write(tmp_path / "robot" / folder / "x.obj", TETRAHEDRON)
    write(tmp_path / "secret.obj", TETRAHEDRON)
    main = write(tmp_path / "robot/xml/m.xml", model(asset("mesh", "n", f"../{folder}/x")))
    assert listed(main).digests.keys() == {"m.xml", f"../{folder}/x.obj"}
    main = write(tmp_path / "robot/xml/m.xml", model(asset("mesh", "n", "../../secret")))
    with pytest.raises(RobolinError, match="outside the model's package"):
        listed(main)


def test_other_formats_are_not_read_as_mjcf(tmp_path: Path) -> None:
    """A URDF file, whose meshes MuJoCo would open, is an error, attached or by itself."""
    write(tmp_path / "a.urdf", '<robot name="r"><link name="a"/></robot>')
    main = write(tmp_path / "m.xml", model('<model name="c" file="a.urdf"/>'))
    for path in (main, write(tmp_path / "b.mjcf", (tmp_path / "a.urdf").read_bytes())):
        (finding,) = listed(path).findings
        assert (finding.id, finding.level) == ("not-a-robot", "error")


def test_endless_files_are_refused(tmp_path: Path) -> None:
    """Models that attach themselves and devices are errors, not endless loops."""
    main = write(tmp_path / "m.xml", model('<model name="c" file="m.xml"/>'))
    with pytest.raises(RobolinError, match="models are nested deeper than the limit of"):
        listed(main)
    main = write(tmp_path / "m.xml", model(asset("mesh", "n", "folder")))
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(FileError, match="not a regular file"):
        listed(main)
