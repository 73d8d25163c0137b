"""Load an arm from names, files, texts and options, or report an error with a hint."""

from __future__ import annotations

import io
import os
import sys
from hashlib import sha256
from pathlib import Path
from shutil import which
from subprocess import run
from types import SimpleNamespace

import pytest

from robolin.core.arm import Wrench
from robolin.description import robot_source
from robolin.description.building.keywords import (
    ModelOptions,
    Payload,
    model_options,
    options_from_texts,
)
from robolin.description.load import from_urdfpy, load, load_with, read
from robolin.description.robot_source import (
    LARGEST_FILE,
    bundled_about,
    bundled_names,
    bundled_path,
)
from robolin.errors import FileError, RobolinError, UsageError
from tests.cases import for_each

URDF = """<robot name="one">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  </joint>
</robot>
"""

YAML = """robolin: 1
name: one
joints:
  - {name: hinge, type: continuous, parent: base, child: arm, axis: [0, 0, 1]}
links:
  - name: arm
    mass: 1.0
    com: [0.5, 0, 0]
    inertia: {ixx: 0.01, iyy: 0.02, izz: 0.02, ixy: 0, ixz: 0, iyz: 0}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.urdf", URDF),
        ("a.xml", URDF),
        ("a.yaml", YAML),
        ("a.YML", YAML),
        ("a", URDF),
        ("b", YAML),
    ],
)
def test_files_are_read_by_extension_or_first_character(here, name, text):
    """The extension selects the reader; without one, as for a pipe, the content does."""
    Path(name).write_text(text)
    arm = load(name)
    assert arm.joint_names == ("hinge",)
    assert arm.source == name
    assert arm.digest == sha256(text.encode()).hexdigest()


def test_both_formats_describe_the_same_arm(here):
    """The same arm written as URDF and as YAML has the same links."""
    Path("a.urdf").write_text(URDF)
    Path("a.yaml").write_text(YAML)
    assert load("a.urdf").links == load(Path("a.yaml")).links


@pytest.mark.parametrize("text", [URDF, "\n  " + URDF, "\ufeff" + URDF, YAML])
def test_standard_input(monkeypatch, text):
    """'-' reads standard input, whichever format it is in."""
    stdin = SimpleNamespace(buffer=io.BytesIO(text.strip("\n ").encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    arm = load("-")
    assert arm.joint_names == ("hinge",)
    assert arm.contract["arm"] == "one (<stdin>)"


def refusing(_size):
    raise IsADirectoryError(21, "Is a directory")


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (None, "<stdin>: standard input is closed"),
        (SimpleNamespace(buffer=SimpleNamespace(read=refusing)), "Is a directory"),
    ],
)
def test_standard_input_that_cannot_be_read(monkeypatch, stdin, message):
    """Closed or unreadable standard input is an error, not a traceback."""
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(FileError, match=message) as caught:
        load("-")
    assert caught.value.where == "<stdin>"


def test_locations_on_standard_input(monkeypatch):
    """A line of standard input is named like a line of a file called <stdin>."""
    text = URDF.replace('value="1"', 'value="one"').encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    with pytest.raises(RobolinError) as caught:
        load("-")
    assert caught.value.where == "<stdin>:4"


def test_files_in_the_folder_come_before_bundled_names(here):
    """A file called like a bundled arm is the file; a folder called so does not hide the arm."""
    Path("panda").write_text(URDF)
    assert load("panda").name == "one"
    Path("panda").unlink()
    Path("panda").mkdir()
    assert load("panda").name == "panda"


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_arms_load_by_bare_name(here, name):
    """Every bundled arm loads from anywhere, and says so without naming a machine's folders."""
    arm = load(name)
    assert arm.source == name
    assert arm.contract["arm"] == f"{arm.name} ({bundled_path(name).name})"
    assert str(bundled_path(name).parent) not in str(arm.contract)


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_arms_have_headers(name):
    """Every bundled file has a title, a source and a licence in its header."""
    about = bundled_about(bundled_path(name))
    assert about.name == name
    assert about.title
    assert about.source
    assert about.licence


def test_headers_may_run_over_lines(tmp_path):
    """A header line without a key continues the one before, in XML and in YAML."""
    xml = "<?xml version='1.0'?>\n<!--\n  title: An arm\n    with hand\n  licence: MIT: really\n-->"
    (tmp_path / "a.urdf").write_text(xml + "<robot/><!-- source: not here -->")
    (tmp_path / "a.yaml").write_text("# title: An arm\n#   with hand\nname: x\n# source: no\n")
    about = bundled_about(tmp_path / "a.urdf")
    assert (about.title, about.source, about.licence) == ("An arm with hand", "", "MIT: really")
    assert bundled_about(tmp_path / "a.yaml").title == "An arm with hand"
    assert bundled_about(tmp_path / "a.yaml").source == ""


def test_an_installed_package_has_its_models_inside(tmp_path, monkeypatch):
    """Models inside the package are used before those next to it."""
    inside = tmp_path / "robolin" / "models"
    inside.mkdir(parents=True)
    (inside / "mine.yaml").write_text(YAML)
    (inside / "README.md").write_text("no arm")
    module = tmp_path / "robolin" / "description" / "robot_source.py"
    monkeypatch.setattr(robot_source, "__file__", str(module))
    assert bundled_names() == ("mine",)


MISSING = [
    ("pand", FileError, "no bundled robot", "did you mean 'panda'"),
    ("PANDA", FileError, "no bundled robot", "did you mean 'panda'"),
    (
        "Ur5",
        FileError,
        "no bundled robot",
        "did you mean 'ur5'? (`robolin models` lists all robots)",
    ),
    ("Panda.urdf", FileError, "file not found", "to use the bundled robot, write 'panda'"),
    ("panda.urdf", FileError, "file not found", "to use the bundled robot, write 'panda'"),
    ("qwzx", FileError, "no bundled robot", "(`robolin models` lists all robots)"),
    (
        "nowhere/arm.urdf",
        FileError,
        "file not found",
        "check the path; `robolin models` lists the bundled robots",
    ),
    ("./on.urdf", FileError, "file not found", "did you mean 'one.urdf'?"),
    (
        ".",
        FileError,
        ".: is a folder, not a robot file",
        "use the path of a robot file in this folder",
    ),
    ("notes.txt", RobolinError, "notes.txt: '.txt' is not an extension of robot files", ".urdf"),
    ("xml.yaml", RobolinError, "xml.yaml:1: this is XML, not YAML", ".urdf"),
    (
        "yaml.urdf",
        RobolinError,
        "yaml.urdf:1: this is YAML, not XML",
        "use the extension .yaml or .yml for YAML files",
    ),
    (None, UsageError, "None is neither a path nor the name of a bundled robot", "'panda'"),
    (3, UsageError, "3 is neither a path nor the name of a bundled robot", "'panda'"),
    (b"panda", RobolinError, "<text>:1:1: the robot must be a mapping, got a single value", ""),
    (
        ["panda"],
        UsageError,
        "['panda'] is neither a path nor the name of a bundled robot",
        "'panda'",
    ),
    (
        "",
        UsageError,
        "the name of the robot is empty",
        "use a URDF, Xacro, SDF, MJCF or YAML file, or the name of a bundled robot",
    ),
    ("a\0b", UsageError, "is not a valid file name", "remove the null byte"),
    ("x" * 5000, FileError, "", ""),
]


@pytest.mark.parametrize(("name", "kind", "message", "hint"), MISSING, ids=range(len(MISSING)))
def test_a_missing_file_is_reported(here, name, kind, message, hint):
    """A name without a robot file is an error of the right class with a hint."""
    for present in ("one.urdf", "notes.txt", "xml.yaml"):
        Path(present).write_text(URDF)
    Path("yaml.urdf").write_text("# an arm\n\n---\n" + YAML)
    with pytest.raises(RobolinError) as caught:
        load(name)
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_forbidden_file_is_reported(here):
    """A file that may not be read is a FileError with the system's reason."""
    Path("a.urdf").write_text(URDF)
    Path("a.urdf").chmod(0)
    with pytest.raises(FileError, match="could not be read"):
        load("a.urdf")


def test_an_endless_file_is_refused(here):
    """A file above the size limit is rejected before it is parsed."""
    with open("a.urdf", "wb") as stream:
        stream.truncate(LARGEST_FILE + 1)
    with pytest.raises(
        FileError, match=r"a\.urdf: is larger than 64 MiB, the size limit of robot files"
    ):
        read("a.urdf")


def test_all_errors_of_a_file_are_raised_together(here):
    """A file with two mistakes is one error with two parts, each with its line."""
    text = URDF.replace('value="1"', 'value="one"').replace('child link="arm"', 'child link="ar"')
    Path("a.urdf").write_text(text)
    with pytest.raises(RobolinError) as caught:
        load("a.urdf")
    assert [part.where for part in caught.value.parts] == ["a.urdf:4", "a.urdf:8"]


def test_warnings_are_noted_or_refused(here):
    """Warnings of validation are in the contract, and errors if strict."""
    Path("a.urdf").write_text(URDF.replace('ixx="0.01"', 'ixx="0.1"'))
    assert load("a.urdf").contract["notes"][-1] == (
        "1 warning by `robolin validate`: triangle-inequality"
    )
    with pytest.raises(RobolinError, match="kg·m² violate the triangle inequality:") as caught:
        load("a.urdf", strict=True)
    assert caught.value.where == "a.urdf:4"


def test_a_fixed_base_has_no_note(here):
    """The inertia of a link on a fixed base changes no result, so only `validate` reports it."""
    light = '<link name="base"><inertial><mass value="0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1"'
    body = f'{light} iyz="0" izz="1"/></inertial></link>'
    assert URDF.count('<link name="base"/>') == 1
    Path("a.urdf").write_text(URDF.replace('<link name="base"/>', body))
    noted = "by `robolin validate`: inertia-without-mass"
    assert noted not in str(load("a.urdf").contract["notes"])
    assert noted in str(load("a.urdf", floating_base=True).contract["notes"])
    with pytest.raises(RobolinError, match="no mass"):
        load("a.urdf", strict=True)


def test_strict_lets_sound_arms_pass():
    """A bundled arm without warnings loads strictly."""
    assert load("panda", strict=True).n == 7


def test_keywords_and_options_are_the_same_arm():
    """`load` with keywords and `load_with` with the equivalent options agree."""
    options = ModelOptions(tip="panda_link5", payload=(Payload("panda_link5", 1.0),))
    assert load("panda", tip="panda_link5", payload=("panda_link5", 1.0)) == load_with(
        "panda", options
    )


KEYWORDS = [
    ({}, ModelOptions()),
    ({"gravity": 0}, ModelOptions(gravity=0.0)),
    ({"gravity": 9.81}, ModelOptions(gravity=9.81)),
    ({"gravity": [0, -9.81, 0]}, ModelOptions(gravity=(0.0, -9.81, 0.0))),
    ({"payload": ("tool", 1)}, ModelOptions(payload=(Payload("tool", 1.0),))),
    ({"payload": ["tool", 1]}, ModelOptions(payload=(Payload("tool", 1.0),))),
    (
        {"payload": [("a", 1, [0, 0, 1]), Payload("b", 2.0)]},
        ModelOptions(payload=(Payload("a", 1.0, (0.0, 0.0, 1.0)), Payload("b", 2.0))),
    ),
    ({"payload": []}, ModelOptions()),
    (
        {"wrench": {"tool": range(6)}, "wrench_frame": "world"},
        ModelOptions(wrenches=(Wrench("tool", "world", (0.0, 1.0, 2.0), (3.0, 4.0, 5.0)),)),
    ),
    ({"lock": {"a": 1}, "joints": ["b", "c"]}, ModelOptions(lock={"a": 1.0}, joints=("b", "c"))),
]


@for_each("keywords,options", KEYWORDS)
def test_keywords_stand_for_options(keywords, options):
    """Numbers, sequences and arrays are accepted."""
    assert model_options(keywords) == options


def test_no_flags_give_the_default_options():
    """An arm loaded without flags has the default options."""
    assert options_from_texts({}) == ModelOptions()


def test_arrays_are_taken():
    """NumPy arrays and scalars pass as sequences and numbers, exactly."""
    np = pytest.importorskip("numpy")
    options = model_options({"gravity": np.array([0.1, 0.2, 0.3]), "lock": {"a": np.float64(0.1)}})
    assert options == ModelOptions(gravity=(0.1, 0.2, 0.3), lock={"a": 0.1})
    assert model_options({"gravity": np.float64(2.0)}).gravity == 2.0
    assert model_options({"gravity": np.array(2.0)}).gravity == 2.0
    assert model_options({"damping": np.bool_(False)}).damping is False
    assert model_options({"joints": np.array(["a", "b"])}).joints == ("a", "b")


BAD_KEYWORDS = [
    ({"gravity": -9.81}, "gravity: a single number is a magnitude and must be ≥ 0, got -9.81"),
    ({"gravity": [1, 2]}, "gravity: must have 3 numbers, got 2 in [1, 2]"),
    ({"gravity": "down"}, "gravity: must be a number, got 'down'"),
    ({"payload": ("tool",)}, "payload: must be (link, mass[, position]), got"),
    ({"payload": ("tool", "heavy")}, "must be a number, got 'heavy'"),
    ({"payload": "tool"}, "payload: must be a sequence, got 'tool'"),
    ({"payload": [3]}, "must be a sequence, got 3"),
    ({"wrench": {"tool": [1, 2, 3]}}, "wrench: link 'tool' needs 6 numbers, got 3"),
    ({"wrench": [1, 2, 3, 4, 5, 6]}, "must be a dictionary, got"),
    ({"lock": {"a": None}}, "lock: must be a number, got None"),
    ({"lock": ["a"]}, "must be a dictionary, got"),
    ({"joints": "a,b"}, "joints: must be a list of names, got the string 'a,b'"),
    ({"joints": [1, 2]}, "joints: names must be strings, got 1"),
    ({"joints": 3}, "must be a sequence, got 3"),
    ({"base": 3}, "base: names must be strings, got 3"),
    ({"tip": 3}, "tip: names must be strings, got 3"),
    ({"tip": b"tool"}, "tip: names must be strings, got b'tool'"),
    ({"lock": {3: 1.0}}, "lock: names must be strings, got 3"),
    ({"lock": {"a": "0.5"}}, "lock: must be a number, got '0.5'"),
    ({"lock": {"a": 10**400}}, "must be a number, got"),
    ({"lock": "a=1"}, "must be a dictionary, got"),
    ({"armature": {None: 1.0}}, "armature: names must be strings, got None"),
    ({"armature": 0.1}, "must be a dictionary, got"),
    ({"gravity": True}, "gravity: must be a number, got True"),
    ({"gravity": {0, 1, 2}}, "must be a number, got"),
    ({"gravity": [0, 0, [1]]}, "gravity: must be a number, got [1]"),
    ({"gravity": 1j}, "gravity: must be a number, got 1j"),
    ({"payload": {"tool": 1}}, "payload: must be a sequence, got {'tool': 1}"),
    ({"payload": Payload("tool", "heavy")}, "must be a number, got 'heavy'"),
    ({"payload": Payload(3, 1.0)}, "payload: must be (link, mass[, position]), got"),
    ({"payload": ("tool", 1, 2)}, "payload: must be a sequence, got 2"),
    ({"wrench": {3: [0] * 6}}, "wrench: names must be strings, got 3"),
    ({"wrench": {"tool": 1}}, "wrench: must be a sequence, got 1"),
    (
        {"wrench_frame": "deed"},
        "wrench_frame: must be one of 'follower', 'dead', 'world', got 'deed'",
    ),
    (
        {"wrench_frame": ["dead"]},
        "wrench_frame: must be one of 'follower', 'dead', 'world', got ['dead']",
    ),
    ({"damping": "no"}, "damping: must be True or False, got 'no'"),
    ({"damping": None}, "damping: must be True or False, got None"),
    ({"strict": 1}, "strict: must be True or False, got 1"),
    ({"friction_velocity": "slow"}, "friction_velocity: must be a number, got 'slow'"),
    ({"gravty": 0}, "load has no option 'gravty'"),
]


@for_each("keywords,message", BAD_KEYWORDS)
def test_bad_keywords_are_reported(keywords, message):
    """A keyword of the wrong shape is a usage error that names the value."""
    with pytest.raises(UsageError) as caught:
        load("panda", **keywords)
    assert message in str(caught.value)
    assert caught.value.hint


def test_unknown_keywords_are_reported_together(here):
    """A misspelt option is an error, never ignored."""
    Path("a.urdf").write_text(URDF)
    with pytest.raises(RobolinError) as caught:
        load("a.urdf", gravty=0, lokc={})
    assert [part.message for part in caught.value.parts] == [
        "load has no option 'gravty'",
        "load has no option 'lokc'",
    ]
    assert [part.hint for part in caught.value.parts] == [
        "did you mean 'gravity'?",
        "did you mean 'lock'?",
    ]
    assert {part.exit_code for part in caught.value.parts} == {2}


@pytest.mark.slow
def test_objects_of_urdfpy_take_the_same_options(here):
    """A robot that urchin loaded is the arm in its file, under the same options."""
    urchin = pytest.importorskip("urchin")
    Path("a.urdf").write_text(URDF.replace('<link name="base"/>', '<link name="base">'
        '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
        "</inertial></link>"))  # fmt: skip
    arm = from_urdfpy(urchin.URDF.load("a.urdf"), gravity=1.0, payload=("arm", 1.0))
    assert arm.gravity == (0.0, 0.0, -1.0)
    assert arm.links_tip_to_base == load("a.urdf", payload=("arm", 1.0)).links
    with pytest.raises(RobolinError, match="not a robot"):
        from_urdfpy("a.urdf")


def test_a_text_itself_is_an_arm(here):
    """A robot file's text is the arm of the file, as str, as bytes and as an open file."""
    Path("a.urdf").write_text(URDF)
    arm = load("a.urdf")
    with open("a.urdf") as text, open("a.urdf", "rb") as data:
        for source in (URDF, URDF.encode(), text, data):
            again = load(source)
            assert again.digest == arm.digest
            assert again.joint_names == arm.joint_names
            # the source is not stored, and cannot be loaded again
            assert again.loaded_with is None
    assert load(YAML).joint_names


def test_errors_of_a_text_name_the_line():
    """Errors in a text without a file name its line."""
    with pytest.raises(
        RobolinError, match="<text>:4: link 'arm': mass value 'one' is not a number"
    ):
        load(URDF.replace('value="1"', 'value="one"'))


def test_joints_may_hang_on_a_world_that_is_not_written(here):
    """A joint on 'world' needs no link of that name, and `validate` notes it."""
    text = URDF.replace("</robot>", "") + (
        '<joint name="stand" type="fixed"><parent link="world"/><child link="base"/></joint>'
        "</robot>"
    )
    assert '<link name="base"' in text, "the root of the arm"
    reading = read(text)
    assert [finding.id for finding in reading.findings if finding.level != "warning"][-1:] == [
        "implicit-world"
    ]
    assert reading.description is not None
    assert reading.description.root == "world"


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_a_revision_of_git_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "arms" / "arm.urdf"
    path.parent.mkdir()
    path.write_bytes(bundled_path("panda").read_bytes())
    user = ["-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], [*user, "commit", "-q", "-m", "first"]):
        run(["git", *words], check=True)
    path.write_text("<robot/>")
    assert load("HEAD:arms/arm.urdf").joint_names == load("panda").joint_names
    monkeypatch.chdir(path.parent)
    assert load("HEAD:arm.urdf").n == 7
    with pytest.raises(
        FileError, match=r"HEAD:none.urdf: git cannot read the file: .*does not exist"
    ):
        load("HEAD:none.urdf")
    path.with_suffix(".xacro").write_text("<robot/>")
    for words in (["add", "."], [*user, "commit", "-q", "-m", "second"]):
        run(["git", *words], check=True)
    with pytest.raises(RobolinError, match="may include other files"):
        load("HEAD:arm.xacro")


@pytest.mark.parametrize("name", ["a.xml", "a"])
def test_comments_before_the_root_do_not_slow_the_reader(here, name):
    """The time to recognize a format is linear in the comments, of which there may be many."""
    Path(name).write_text("<!-- a --> <!-- b -->\n" * 500 + URDF)
    assert load(name).n == 1
