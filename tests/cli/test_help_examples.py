"""Every example of every help page works as printed, in a folder with the files that it names."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.verification import verify
from robolin.cli.commands import bench_verbs
from robolin.description.load import load
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin as run_robolin
from tests.cli.command import run_ok

WORDS = {name: (verb.path or name).split() for name, verb in VERBS.items()}
# 1: differences or findings were reported
DIFFERENCES = ("validate", "diff", "check")
LINK = """<link name="{name}"><inertial><origin xyz="0.1 0 0.2"/><mass value="{mass}"/>
  <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>"""
PARTS = (
    ("shoulder", "revolute", "base", "upper"),
    ("elbow", "revolute", "upper", "forearm"),
    ("gripper", "prismatic", "forearm", "finger"),
)
SUITE = """[[case]]
name = "holding"
verb = "inverse"
arm = "two-link"
stored = "holding.npz"
"""


def arm_text(mass: float) -> str:
    """A robot with the links and joints that the examples name."""
    parts = ['<robot name="arm"><link name="base"/><link name="tool0"/>']
    for name, kind, parent, child in PARTS:
        parts.append(JOINT.format(name=name, kind=kind, parent=parent, child=child))
        parts.append(LINK.format(name=child, mass=mass))
    parts.append('<joint name="tool" type="fixed"><parent link="forearm"/><child link="tool0"/>')
    parts.append('<origin xyz="0.2 0 0"/></joint></robot>')
    return "\n".join(parts)


def motion_text(robots: tuple[str, ...], kinds: tuple[str, ...], rows: int = 40) -> str:
    """A short motion of all joints of these robots."""
    joints = [name for robot in robots for name in load(robot).joint_names]
    columns = [f"{joint}/{kind}" for kind in kinds for joint in joints]
    lines = [",".join(["time", *columns])]
    for row in range(rows):
        lines.append(",".join([f"{0.01 * row:.2f}", *[f"{0.01 * row:.2f}"] * len(columns)]))
    return "\n".join(lines) + "\n"


def path_text(robots: tuple[str, ...]) -> str:
    """A path of all joints of these robots, near the middle of their limits."""
    joints = [link.joint for robot in robots for link in load(robot).links]
    middles = [((j.limits.lower or 0.0) + (j.limits.upper or 0.0)) / 2.0 for j in joints]
    lines = [",".join(f"{joint.name}/position" for joint in joints)]
    lines += [",".join(f"{middle + 0.01 * row:.2f}" for middle in middles) for row in range(10)]
    return "\n".join(lines) + "\n"


def write_recording(path: Path, payload: float) -> None:
    """Measured efforts of the new robot, with friction, noise and a payload, at 50 Hz for 8 s."""
    arm = robolin.load("arm-new.urdf", payload=[("tool0", payload)])
    rng, time = np.random.default_rng(len(path.name)), np.arange(0.0, 8.0, 0.02)
    rates, phases = rng.uniform(1.0, 6.0, (2, 3, arm.n))
    waves = rates * time[:, None, None] + phases
    q, qd = np.sin(waves).sum(1), (rates * np.cos(waves)).sum(1)
    tau = robolin.inverse(arm, q, qd, -(rates**2 * np.sin(waves)).sum(1))
    tau += 0.8 * np.tanh(qd / 0.05) + rng.normal(scale=0.05, size=tau.shape)
    columns = [
        f"{name}/{kind}" for kind in ("position", "velocity", "effort") for name in arm.joint_names
    ]
    path.parent.mkdir(exist_ok=True)
    table = np.column_stack([time, q, qd, tau])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *columns]), comments="")


def prepare() -> None:
    """Write the files that the examples read into the current folder."""
    Path("arm.urdf").write_text(arm_text(1.0))
    Path("arm-new.urdf").write_text(arm_text(1.5))
    Path("robots/one").mkdir(parents=True)
    Path("robots/one/arm.urdf").write_text(arm_text(1.0))
    Path("robolin.toml").write_text(SUITE)
    states = ("position", "velocity")
    for name in ("motion.csv", "m.csv", "rec.csv"):
        Path(name).write_text(motion_text(("arm.urdf", "ur5"), (*states, "effort")))
    Path("miss.csv").write_text(motion_text(("arm.urdf",), states))
    Path("path.csv").write_text(path_text(("panda", "ur5", "arm.urdf")))
    Path("states.csv").write_text(motion_text(("ur5",), states))
    for name in ("log.csv", "free.csv", "load.csv", "fit/a.csv", "test/b.csv"):
        write_recording(Path(name), 0.7 if name == "load.csv" else 0.0)
    Path("logs").mkdir()
    polars = pytest.importorskip("polars", reason="needs polars")
    rows = motion_text(("panda", "ur5"), (*states, "effort")).encode()
    polars.read_csv(rows).write_parquet("logs/one.parquet")


# files that another command writes -> its command line
WRITTEN = {
    "gains.npz": "lqr acrobot --q 180deg,0 -o gains.npz",
    "holding.npz": "record inverse two-link -o holding.npz",
    "motion.npz": "simulate two-link --duration 0.1 -o motion.npz",
    **{
        f"{name}.npz": f"inverse two-link --payload lower:{mass} -o {name}.npz"
        for mass, name in enumerate(("new", "old", "before", "after"))
    },
}


def examples(verb: str) -> list[str]:
    """Command lines of a help page without `robolin`."""
    page = run_ok(*WORDS[verb], "--help").out.replace("\\\n", "")
    return re.findall(r"^    robolin (.*)$", page, re.MULTILINE)


def words_of(line: str) -> list[str]:
    """Arguments of an example; long measurements are shortened."""
    words = shlex.split(line.partition(" > ")[0])
    for command, option, value in (
        *(("verify", "--samples", "1"), ("bench", "--rows", "10")),
        *(("excite", "--iterations", "1"), ("optimize", "--starts", "1")),
    ):
        if words[0] != command or words[1] == "counts":
            continue
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return words


def is_missing(words: list[str]) -> bool:
    """True if an optional package of the example is not installed."""
    needed = {"pinocchio": "pinocchio", "plot": "matplotlib", "poles.svg": "matplotlib"}
    return any(word in words and find_spec(name) is None for word, name in needed.items())


# tests/batch computes all parts of a plan, which `status` and `merge` need
PAGES = [name for name in VERBS if name not in ("batch", "status", "merge")]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples read."""
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("verb", PAGES)
def test_examples_run(
    verb: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples of a page run one after the other in one folder."""
    # the numbers of these commands have tests of their own
    monkeypatch.setattr(bench_verbs, "ENOUGH_SECONDS", 0.0)
    monkeypatch.setattr(verify, "_FAMILIES", verify._FAMILIES[:1])
    monkeypatch.chdir(shutil.copytree(prepared, tmp_path / "folder"))
    for line in examples(verb):
        words = words_of(line)
        for name in sorted(set(words) & set(WRITTEN)):
            if not Path(name).exists() and words[words.index(name) - 1] != "-o":
                run_ok(*WRITTEN[name].split())
        if is_missing(words):
            continue
        ran = run_robolin(*words)
        allowed = (0, 1) if words[0] in DIFFERENCES else (0,)
        assert ran.code in allowed, f"robolin {line}\n{ran.err}"
