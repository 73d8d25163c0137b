"""The files of docs/howto/ci.md work in a project that copies them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.command import robolin
from tools.console_blocks import environment
from tools.markdown import DOCS, ROOT, blocks

MOTION = "time,shoulder/position,elbow/position\n0,0.1,0.2\n0.5,0.3,-0.4\n"


def files() -> dict[str, str]:
    """Every file that the page shows, by its name."""
    marked = (block for block in blocks(DOCS / "howto/ci.md") if block.mark.startswith("file: "))
    return {block.mark.removeprefix("file: "): block.text for block in marked}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an arm, a motion and everything on the page."""
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "motion.csv").write_text(MOTION)
    for name, text in files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("bin"))


def exit_code(command: str) -> int:
    """Exit code of a command without shell syntax, run in this process and folder."""
    name, *words = shlex.split(command)
    assert name == "robolin"
    return robolin(*words).code


def run(command: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def workflow_commands() -> list[str]:
    """Commands of the workflow, without installation."""
    workflow = yaml.safe_load(files()[".github/workflows/dynamics.yml"])
    steps = workflow["jobs"]["check"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    return [line for line in runs if not line.startswith("pip ")]


def hook_commands(text: str) -> list[str]:
    """Commands of the hooks on a commit that changes the arm."""
    loaded = yaml.safe_load(text)
    hooks = loaded["repos"][0]["hooks"] if isinstance(loaded, dict) else loaded
    touched = "arm.urdf"
    return [
        f"{hook['entry']} {touched}" if hook.get("pass_filenames", True) else str(hook["entry"])
        for hook in hooks
        if re.search(hook["files"], touched)
    ]


@pytest.mark.parametrize(
    ("file", "hook"),
    [
        ("a/arm.urdf", "robolin-validate"),
        ("arm.sdf", "robolin-validate"),
        ("room.world", "robolin-validate"),
        ("arm.urdf.xacro", "robolin-validate-xacro"),
        ("arm.mjcf", "robolin-validate-mjcf"),
        ("robots/mjcf/arm.xml", "robolin-validate-mjcf"),
        ("package.xml", None),
        ("macros.xacro", None),
    ],
)
def test_each_robot_file_has_one_hook_that_validates_it(file: str, hook: str | None) -> None:
    """Xacro and MJCF files have hooks of their own, which install what they need."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    matching = [
        each["id"]
        for each in hooks
        if each["entry"] == "robolin validate" and re.search(each["files"], file)
    ]
    assert matching == ([hook] if hook else [])


def test_the_action_installs_extras() -> None:
    """The input `extras` becomes the extras of the installed package."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    (install,) = [step for step in action["runs"]["steps"] if "pip install" in step.get("run", "")]
    assert install["env"] == {"EXTRAS": "${{ inputs.extras }}"}
    command = install["run"].replace("pip install --quiet", "echo")
    for extras, expected in (("", "/r"), ("xacro,mjcf", "/r[xacro,mjcf]")):
        values = {"GITHUB_ACTION_PATH": "/r", "EXTRAS": extras}
        done = subprocess.run(["bash", "-c", command], env=values, capture_output=True, text=True)
        assert done.stdout.strip() == expected


def action_commands(inputs: Mapping[str, str]) -> list[str]:
    """Commands of the action with these inputs, without installation."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    chosen = {name: each["default"] for name, each in action["inputs"].items()} | dict(inputs)
    commands = []
    for step in action["runs"]["steps"]:
        condition = step.get("if", "")
        test = re.fullmatch(r"inputs\.([\w-]+) (==|!=) '(.*)'", condition)
        if not test:
            assert not condition
            continue
        if (chosen[test[1]] == test[3]) == (test[2] == "=="):
            values = {
                name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: chosen[match[1]], text)
                for name, text in step.get("env", {}).items()
            }
            settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
            commands.append(f"env {settings} bash -c {shlex.quote(step['run'])}")
    return commands


@pytest.mark.slow
def test_the_action_validates_and_checks(
    project: Path, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps pass on a sound project, write SARIF, and fail where the arm is odd or another."""
    monkeypatch.chdir(project)
    assert exit_code("robolin record --suite") == 0
    inputs = {"validate": "*.urdf", "sarif": "found.sarif"}
    validate, check = action_commands(inputs)
    assert action_commands({"check": "false"}) == []
    for command in (validate, check):
        done = run(command, project, variables)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    assert (project / "found.sarif").is_file()

    (project / "arm.urdf").write_text(ARM.replace('mass value="1"', 'mass value="-1"', 1))
    odd = run(validate, project, variables)
    assert (odd.returncode, "::warning file=arm.urdf" in odd.stdout) == (1, True)
    assert run(check, project, variables).returncode == 1


def test_the_page_has_all_files() -> None:
    """Suite, workflow, hook, plugin and test are all there to be copied."""
    assert list(files()) == [
        "robolin.toml",
        ".github/workflows/dynamics.yml",
        ".pre-commit-config.yaml",
        "conftest.py",
        "test_dynamics.py",
    ]


@pytest.mark.slow
def test_workflow_and_hooks_pass_and_fail(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both pass on a recorded suite, and stop a change of the arm."""
    monkeypatch.chdir(project)
    hooks = {
        *hook_commands(files()[".pre-commit-config.yaml"]),
        *hook_commands((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")),
    }
    assert exit_code("robolin record --suite") == 0
    checks = [*workflow_commands(), *hooks]
    assert len(checks) == 5
    for command in checks:
        assert exit_code(command) == 0, command
    assert (project / "dynamics.xml").read_text("utf-8").count("<testcase") == 3

    (project / "arm.urdf").write_text(ARM.replace('mass value="1"', 'mass value="1.01"', 1))
    for command in checks:
        assert exit_code(command) == ("check" in command)


@pytest.mark.slow
def test_the_pytest_example_runs(project: Path, variables: dict[str, str]) -> None:
    """The test of the page fails until its result is stored, then passes."""
    pytest_here = f'"{sys.executable}" -m pytest -q -p no:cacheprovider'
    assert run(pytest_here, project, variables).returncode == 1
    assert run(f"{pytest_here} --robolin-update", project, variables).returncode == 1
    done = run(pytest_here, project, variables)
    assert done.returncode == 0, done.stdout


ARM = """\
<robot name="own">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0.5 0 0"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="100"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="100"/>
  </joint>
  <joint name="end" type="fixed">
    <parent link="lower"/><child link="tip"/><origin xyz="1 0 0"/>
  </joint>
</robot>
"""
