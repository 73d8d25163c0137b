"""Arms of the package robot_descriptions by name, with a fake download."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import robolin
from robolin.errors import RobolinError

ARM = Path(__file__).parents[2] / "models" / "ur5.urdf"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of that name with two robots: one that is there, one that is out of reach."""
    folder = tmp_path / "robot_descriptions"
    (tmp_path / "robots" / ".git").mkdir(parents=True)
    (tmp_path / "robots" / ".git" / "HEAD").write_text(COMMIT)
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    lines = f"print('cloning')\nREPOSITORY_PATH = {str(tmp_path / 'robots')!r}\n"
    (folder / "mine_description.py").write_text(f"{lines}URDF_PATH = {str(ARM)!r}\n")
    (folder / "far_description.py").write_text("raise OSError('no route to host')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        sys.modules.pop(name)


def test_a_robot_by_name_tells_where_it_is_from(package, capsys):
    """The arm is the one of the file, and its contract names repository and commit."""
    arm = robolin.load("robot_descriptions:mine")
    assert arm.digest == robolin.load(ARM).digest
    assert f"repository robots at {COMMIT}" in " ".join(arm.contract["notes"])
    assert capsys.readouterr().out == "", "standard output is for answers"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "robot_descriptions:mien",
            "robot_descriptions:mien: robot_descriptions has no robot of this name",
            "did you mean 'mine'?",
        ),
        (
            "robot_descriptions:far",
            "robot_descriptions:far: cannot be downloaded: no route to host",
            "check the network and git: the first use downloads the robot",
        ),
    ],
)
def test_unavailable_robots_are_reported(package, name, message, hint):
    """A robot that is unknown, or cannot be downloaded, is an error that names it."""
    with pytest.raises(RobolinError, match=message) as caught:
        robolin.load(name)
    assert hint in caught.value.hint
