"""Xacro files are expanded in a process of their own, and read as URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.inspection import file_findings
from robolin.description.load import read
from robolin.description.xacro.xacro_text import find_package, package_of
from robolin.description.xacro.xacro_worker import Arguments
from robolin.errors import RobolinError, UsageError
from tests.cli.command import robolin as robolin_command

pytest.importorskip(
    "xacro",
    reason="xacro files need the package xacro, which is not installed",
)

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
MACRO = """
  <xacro:macro name="bar" params="name mass length">
    <link name="${name}"><inertial>
      <origin xyz="0 0 ${length/2}"/><mass value="${mass}"/>
      <inertia ixx="${mass*length**2/12}" iyy="${mass*length**2/12}" izz="0.001"
        ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  </xacro:macro>
"""
BODY = """
  <xacro:arg name="mass" default="2"/>
  <xacro:arg name="prefix" default=""/>
  <xacro:property name="m" value="$(arg mass)"/>
  <xacro:property name="p" value="$(arg prefix)"/>
  <link name="base"/>
  <xacro:bar name="${p}upper" mass="${m}" length="0.4"/>
  <xacro:bar name="${p}lower" mass="${m/2}" length="0.3"/>
  <joint name="${p}shoulder" type="revolute">
    <parent link="base"/><child link="${p}upper"/><axis xyz="0 1 0"/>
    <limit lower="${-pi}" upper="${pi}" effort="10" velocity="3"/>
  </joint>
  <joint name="${p}elbow" type="revolute">
    <parent link="${p}upper"/><child link="${p}lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/>
  </joint>
</robot>
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Two packages in one folder; the arm of one includes a macro of the other."""
    for name in ("parts", "robot"):
        (tmp_path / name / "urdf").mkdir(parents=True)
        manifest = f"<package><name>{name}</name></package>"
        (tmp_path / name / "package.xml").write_text(manifest)
    (tmp_path / "parts/urdf/bar.xacro").write_text(HEAD + MACRO + "</robot>")
    include = '<xacro:include filename="$(find parts)/urdf/bar.xacro"/>'
    (tmp_path / "robot/urdf/arm.urdf.xacro").write_text(HEAD + include + BODY)
    monkeypatch.chdir(tmp_path / "robot/urdf")
    return tmp_path


def by_hand(mass: float, prefix: str = "") -> str:
    """The same arm written out."""
    links = ['<link name="base"/>']
    for name, m, length in (("upper", mass, 0.4), ("lower", mass / 2, 0.3)):
        i = m * length**2 / 12
        links.append(
            f'<link name="{prefix}{name}"><inertial><origin xyz="0 0 {length / 2}"/>'
            f'<mass value="{m}"/><inertia ixx="{i}" iyy="{i}" izz="0.001" ixy="0" ixz="0" '
            'iyz="0"/></inertial></link>'
        )
    joints = BODY[BODY.index("<joint") :].replace("${p}", prefix)
    joints = joints.replace("${-pi}", str(-np.pi)).replace("${pi}", str(np.pi))
    return '<robot name="arm">' + "".join(links) + joints


@pytest.mark.usefixtures("reader_processes")
@pytest.mark.parametrize("options", [{}, {"mass": 3.5, "prefix": "left_"}])
def test_an_expansion_is_the_arm_written_out(workspace, options):
    """A xacro arm with includes, macros and arguments equals the arm written in URDF."""
    mass, prefix = options.get("mass", 2.0), options.get("prefix", "")
    Path("plain.urdf").write_text(by_hand(mass, prefix))
    arm = robolin.load("arm.urdf.xacro", xacro_args=options)
    plain = robolin.load("plain.urdf")
    assert arm.joint_names == plain.joint_names == (f"{prefix}shoulder", f"{prefix}elbow")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 5, 2))
    assert np.array_equal(robolin.inverse(arm, q, qd, qdd), robolin.inverse(plain, q, qd, qdd))


def test_the_result_does_not_depend_on_the_folder(workspace):
    """Two copies of the same packages in other folders have the same hash."""
    text = Path("arm.urdf.xacro").read_text()
    mesh = '<visual><geometry><mesh filename="file://$(find parts)/m.stl"/></geometry></visual>'
    text = text.replace('<link name="base"/>', f'<link name="base">{mesh}</link>')
    Path("arm.urdf.xacro").write_text(text)
    first = robolin.load("arm.urdf.xacro")
    (workspace / "elsewhere").mkdir()
    for name in ("parts", "robot"):
        (workspace / name).rename(workspace / "elsewhere" / name)
    second = robolin.load(workspace / "elsewhere/robot/urdf/arm.urdf.xacro")
    assert first.digest == second.digest


def test_findings_name_the_file_and_the_line_of_its_expansion(workspace):
    """A finding in an expansion says so, since its line number is not that of the xacro file."""
    text = Path("arm.urdf.xacro").read_text().replace('xyz="0 0 0.4"', 'xyz="0 0 much"')
    Path("bad.xacro").write_text(text)
    (finding,) = [each for each in read("bad.xacro").findings if each.level == "error"]
    assert str(finding.location).startswith("bad.xacro (expanded):")


def write(text: str) -> None:
    Path("a.xacro").write_text(f"{HEAD}{text}</robot>")


WRONG = [
    (
        "<xacro:property name='a' value='${b}'/><link name='${a}'/>",
        "name 'b' is not defined when evaluating expression 'b' when evaluating expression 'a'",
    ),
    (
        "<xacro:include filename='$(find nowhere)/x.xacro'/>",
        "package 'nowhere' not found",
    ),
    ("<xacro:include filename='missing.xacro'/>", "No such file"),
    ("<xacro:include filename='/etc/passwd'/>", "outside the robot's packages"),
    ("<xacro:include filename='../../../x.xacro'/>", "outside the robot's packages"),
    ("<xacro:include filename='/etc/pass*'/>", "outside the robot's packages"),
    ("<link name='${xacro.load_yaml(&quot;/etc/passwd&quot;)}'/>", "outside the robot's packages"),
    (
        "<link name='${[x.__class__ for x in (1,)]}'/>",
        "an expression must not use '__class__' in '[x.__class__ for x in (1,)]'",
    ),
    (
        "<link name='${(lambda: ().__class__)()}'/>",
        "an expression must not use 'lambda' in '(lambda: ().__class__)()'",
    ),
    (
        "<xacro:include filename='$(find /)/etc/passwd'/>",
        "package '/' not found: invalid package name",
    ),
    (
        "<xacro:include filename='$(find ..)/x.xacro'/>",
        "package '..' not found: invalid package name",
    ),
    (
        "<link name='${xacro.load_yaml(&quot;$(find ../..)/x&quot;)}'/>",
        "package '../..' not found: invalid package name",
    ),
    ("<link name='a'/>", "the expanded file has no joints"),
    (
        "<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>",
        "macros or includes are infinitely recursive",
    ),
    ("<xacro:m/>", "m"),
    ("<link name='${1/0}'/>", "division by zero when evaluating expression '1/0'"),
    ("<link name='${\"a\"*10**10}'/>", "exceeds 1000000 items"),
    ("<xacro:if value='maybe'/>", "maybe"),
    ("<link", "not well-formed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), WRONG, ids=range(len(WRONG)))
def test_invalid_xacro_files_are_reported(workspace, text, message):
    """A xacro file that cannot be expanded, or reads outside its packages, is rejected by name."""
    write(text)
    with pytest.raises(RobolinError) as caught:
        robolin.load("a.xacro")
    assert message in caught.value.message
    assert caught.value.where.startswith(("a.xacro", "missing.xacro"))


def test_options_without_effect_are_rejected(workspace):
    """Unused arguments, malformed ones, and xacro options for plain files are errors."""
    with pytest.raises(
        UsageError, match=r"arm\.urdf\.xacro: the file does not use 1 argument: 'mas'"
    ) as caught:
        robolin.load("arm.urdf.xacro", xacro_args={"mas": 3})
    assert caught.value.hint == "did you mean 'mass'?"
    for options in ({"xacro_args": {"a": 1}}, {"packages": {"a": "."}}):
        with pytest.raises(UsageError, match="has no effect"):
            robolin.load("panda", **options)
    with pytest.raises(UsageError, match="--package=parts=nowhere: 'nowhere' is not a folder"):
        robolin.load("arm.urdf.xacro", packages={"parts": "nowhere"})


def test_packages_are_found_as_ros_finds_them(workspace, monkeypatch):
    """By hand first, then around the file, then by ROS's variables; never by the name alone."""
    file = Path("arm.urdf.xacro").absolute()
    assert package_of(file) == workspace / "robot"
    assert find_package("robot", file, {}) == workspace / "robot"
    assert find_package("parts", file, {}) == workspace / "parts"
    assert find_package("parts", file, {"parts": "/x"}) == Path("/x")
    (workspace / "far/share/other").mkdir(parents=True)
    (workspace / "deep/in/third").mkdir(parents=True)
    (workspace / "deep/in/third/package.xml").write_text("<name>third</name>")
    assert find_package("other", file, {}) is None
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"relative:{workspace / 'far'}")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(workspace / "deep"))
    assert find_package("other", file, {}) == workspace / "far/share/other"
    assert find_package("third", file, {}) == workspace / "deep/in/third"


OUTSIDE = [
    "/",
    "..",
    ".",
    "",
    "../..",
    "a/b",
    "a/../b",
    "/etc",
    "a\\b",
    "-a",
    "a b",
    "a\n",
    "é",
    "...",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_package_is_found_by_a_name_and_not_by_a_path(workspace, monkeypatch, name):
    """A path in place of a package name does not leave the folders in which ROS searches."""
    prefix = workspace / "far"
    (prefix / "share/a/b").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    file = Path("arm.urdf.xacro").absolute()
    assert find_package("a", file, {}) == prefix / "share/a"
    assert find_package(name, file, {}) is None
    assert find_package(name, file, {name: "/etc"}) is None


def test_a_urdf_with_xacro_in_it_is_expanded(workspace):
    xacro, urdf = (workspace / f"robot/urdf/{name}" for name in ("arm.urdf.xacro", "same.urdf"))
    urdf.write_bytes(xacro.read_bytes())
    expected = robolin.inverse(robolin.load(xacro, xacro_args={"mass": "3"}), q=[0.3, 0.4])
    got = robolin.inverse(robolin.load(urdf, xacro_args={"mass": "3"}), q=[0.3, 0.4])
    assert got.tolist() == expected.tolist()


def test_a_missing_argument_is_named_with_those_of_the_file(workspace):
    path = workspace / "robot/urdf/arm.urdf.xacro"
    path.write_text(path.read_text().replace('<xacro:arg name="mass" default="2"/>', ""))
    with pytest.raises(RobolinError) as caught:
        robolin.load(path)
    assert "argument 'mass' has no value" in str(caught.value)
    hint = "add --xacro-arg mass:=VALUE; arguments of the file: 'prefix'; in macro 'bar'"
    assert caught.value.hint == hint


def test_an_unknown_macro_names_the_remedy(workspace):
    """A call of a macro that no file defines is an error, also in a URDF file."""
    text = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:sensors/></robot>'
    Path("a.urdf").write_text(text)
    with pytest.raises(RobolinError) as caught:
        robolin.load("a.urdf")
    assert caught.value.message == "unknown macro name: xacro:sensors"
    assert caught.value.hint.startswith("add an <xacro:include> of the file")


def test_an_argument_in_the_name_of_the_robot_is_named_with_its_default(workspace):
    """xacro expands the name before it reads the arguments, as in the file of Universal Robots."""
    path = workspace / "robot/urdf/arm.urdf.xacro"
    text = path.read_text()
    name = text.partition('name="')[2].partition('"')[0]
    path.write_text(text.replace(f'name="{name}"', 'name="$(arg mass)"', 1))
    with pytest.raises(RobolinError, match="argument 'mass' has no value") as caught:
        robolin.load(path)
    hint = "add --xacro-arg mass:=2; arguments of the file: 'mass', 'prefix'"
    assert caught.value.hint in (hint, hint.replace("'mass', 'prefix'", "'prefix', 'mass'"))


def test_a_missing_file_is_named_with_the_arguments(workspace):
    """A path that depends on an argument may not exist for its default."""
    path = workspace / "robot/urdf/arm.urdf.xacro"
    include = '<xacro:include filename="$(arg mass)/parts.xacro"/>'
    path.write_text(path.read_text().replace("</robot>", f"{include}</robot>"))
    with pytest.raises(RobolinError, match="No such file") as caught:
        robolin.load(path)
    assert "--xacro-arg NAME:=VALUE; arguments of the file: 'mass'" in caught.value.hint


SEVERAL_ERRORS = """<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="bar" params="name mass"><link name="${name}"><inertial>
<mass value="${mass*density}"/></inertial></link></xacro:macro>
<xacro:bar name="base" mass="1"/>
<xacro:bar name="upper"/>
<xacro:bat name="lower" mass="1"/>
<link name="tip"><inertial><mass value="${sinn(2)}"/></inertial></link>
<xacro:if value="maybe"><link name="never"/></xacro:if>
<joint name="j" type="revolut"><parent link="base"/><child link="tip"/><axis xyz="0 0 2"/></joint>
</robot>
"""


def test_all_errors_of_an_expansion_are_reported(tmp_path):
    """One run lists the errors of xacro, and the findings about everything that it expanded."""
    path = tmp_path / "arm.xacro"
    path.write_text(SEVERAL_ERRORS)
    findings = file_findings(read(path), str(path))
    text = "\n".join(finding.message for finding in findings)
    assert [finding.id for finding in findings].count("xacro-failed") == 5
    for part in ("'density'", "[mass]", "xacro:bat", "'sinn'", '"maybe"', "'revolut'"):
        assert part in text
    assert "unknown child link" not in text
    # names that a missing file would define are not errors of their own
    path.write_text(SEVERAL_ERRORS.replace("</robot>", '<xacro:include filename="gone"/></robot>'))
    messages = [x.message for x in read(path).findings if x.id == "xacro-failed"]
    assert len(messages) == 2
    assert "gone" in messages[1]


def test_invalid_expression_of_a_condition_is_one_error(tmp_path):
    path = tmp_path / "arm.xacro"
    condition = '<xacro:if value="${unknown}"><link name="never"/></xacro:if>'
    path.write_text(SEVERAL_ERRORS.replace("</robot>", f"{condition}</robot>"))
    messages = [x.message for x in read(path).findings if x.id == "xacro-failed"]
    assert [message for message in messages if "unknown}" in message] == []
    assert len([message for message in messages if "'unknown' is not defined" in message]) == 1


def test_packages_without_a_manifest_are_found_by_their_folders(workspace):
    for name in ("parts", "robot"):
        (workspace / name / "package.xml").unlink()
    assert robolin.load(workspace / "robot/urdf/arm.urdf.xacro").n == 2
    # a folder of the right name without the subfolders of a package is not one
    (workspace / "parts/urdf").rename(workspace / "parts/other")
    with pytest.raises(RobolinError, match="package 'parts' not found"):
        robolin.load(workspace / "robot/urdf/arm.urdf.xacro")


def test_folders_of_one_large_package_are_found_by_their_names(workspace):
    """A repository with one manifest at its top, and a folder for each robot in it."""
    for name in ("parts", "robot"):
        (workspace / name / "package.xml").unlink()
    (workspace / "package.xml").write_text("<package><name>all_models</name></package>")
    assert robolin.load(workspace / "robot/urdf/arm.urdf.xacro").n == 2


def test_packages_behind_links_are_read(workspace):
    """A workspace of links to packages elsewhere expands as one with the packages themselves."""
    (workspace / "elsewhere").mkdir()
    (workspace / "parts").rename(workspace / "elsewhere/other-name")
    (workspace / "parts").symlink_to(workspace / "elsewhere/other-name")
    assert robolin.load("arm.urdf.xacro").n == 2


def test_used_arguments_are_recognized():
    """An argument counts as used once the file declares it or reads it."""
    arguments = Arguments({"a": "1", "b": "2", "c": "3"})
    assert "a" in arguments
    assert arguments["b"] == "2"
    assert list(arguments.unused) == ["c"]


def test_commands_take_arguments_and_packages(workspace):
    """`inverse`, `validate` and `diff` expand a file with the arguments on the command line."""
    arm = "arm.urdf.xacro"
    done = robolin_command("inverse", arm, "--xacro-arg", "mass:=4", "--q", "1,0", "-o", "x.json")
    assert done.code == 0, done.err
    assert robolin_command("check", "x.json").code == 0
    assert (
        "the file does not use" in robolin_command("validate", arm, "--xacro-arg", "weight:=4").err
    )
    assert robolin_command("validate", arm, "--xacro-arg", "mass:=-1").code == 1
    done = robolin_command(
        "diff", arm, arm, "--xacro-arg", "mass:=4", "--package", f"parts={workspace}/parts"
    )
    assert done.code == 0
