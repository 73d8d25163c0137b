"""Bags and MCAP files give the result of the same motion in a native file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest

from tests.cli.command import CommandRun, robolin
from tests.ros_bags import (
    STATE,
    TRAJECTORY,
    Motion,
    as_joint_states,
    as_trajectory,
    write_bag,
    write_bag2,
)

MOTION = Motion.random(6)
HEAD = ["time", "shoulder/position", "elbow/position", "shoulder/velocity", "elbow/velocity"]
OTHER = Motion(MOTION.time, MOTION.q, MOTION.qd, ("finger1", "finger2"))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(file: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", file, *flags)


def native(motion: Motion = MOTION) -> str:
    """The motion as CSV, Parquet and NPZ; the name of the first."""
    values = np.c_[motion.q, motion.qd]
    rows = [
        ",".join([str(t), *map(repr, row)])
        for t, row in zip(motion.time.tolist(), values.tolist(), strict=True)
    ]
    Path("n.csv").write_text("\n".join([",".join(HEAD), *rows]) + "\n")
    table = dict(zip(HEAD, (motion.time, *values.T), strict=True))
    polars.DataFrame(table).write_parquet("n.parquet")
    np.savez("n.npz", q=motion.q, qd=motion.qd, time=motion.time, joints=np.array(motion.joints))
    return "n.csv"


def bag2(name: str, ending: str, packed: str = "", **more: object) -> str:
    write_bag2(Path(name), MOTION, ending, packed, **more)  # type: ignore[arg-type]
    return name


ros = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("rosbags"), reason="bags need rosbags"
)
WAYS = {
    "npz": lambda: "n.npz",
    "parquet": lambda: "n.parquet",
    "mcap in a folder": lambda: bag2("m", ".mcap"),
    "mcap by itself": lambda: f"{bag2('m', '.mcap')}/m.mcap",
    "mcap with zstd": lambda: bag2("m", ".mcap", "storage"),
    "mcap and messages with zstd": lambda: bag2("m", ".mcap", "message"),
    "db3 in a folder": lambda: bag2("d", ".db3"),
    "db3 by itself": lambda: f"{bag2('d', '.db3')}/d.db3",
    "ROS 1": lambda: str(write_bag(Path("one.bag"), MOTION)),
    "ROS 1 with bz2": lambda: str(write_bag(Path("one.bag"), MOTION, "bz2")),
    "ROS 1 with lz4": lambda: str(write_bag(Path("one.bag"), MOTION, "lz4")),
    "a topic": lambda: f"{bag2('m', '.mcap')}/:/joint_states",
    "a topic without its slash": lambda: f"{write_bag(Path('one.bag'), MOTION)}:joint_states",
    "joints in another order": lambda: bag2("m", ".mcap", topics=_in_other_order()),
    "a gripper on the same topic": lambda: bag2("m", ".mcap", topics=_with_gripper()),
    "without stamps": lambda: bag2("m", ".mcap", topics=_without_stamps()),
}


def _in_other_order():
    """Half of the messages name the joints in reverse order."""
    turned = replace(
        MOTION, q=MOTION.q[:, ::-1], qd=MOTION.qd[:, ::-1], joints=("elbow", "shoulder")
    )
    mixed = [
        pair[i % 2]
        for i, pair in enumerate(
            zip(as_joint_states(MOTION, False), as_joint_states(turned, False), strict=True)
        )
    ]
    return [("/joint_states", STATE, mixed)]


def _with_gripper():
    both = zip(as_joint_states(OTHER, False), as_joint_states(MOTION, False), strict=True)
    return [("/joint_states", STATE, [each for pair in both for each in pair])]


def _without_stamps():
    return [("/joint_states", STATE, as_joint_states(MOTION, False, stamped=False))]


@ros
@pytest.mark.parametrize("way", WAYS)
def test_the_same_motion_has_the_same_bytes(way):
    """Torques and times do not depend on the recording format; they are those of the native CSV."""
    expected = run(native())
    ran = run(WAYS[way]())
    assert ran.code == 0, ran.err
    assert ran.out == expected.out
    assert expected.out.splitlines()[1].startswith("1700000000000000001,")


@ros
@pytest.mark.parametrize("ros1", [False, True])
def test_a_planned_motion_is_its_points(ros1):
    """A JointTrajectory has a row for each point, with the time from its start."""
    topics = [("/plan", TRAJECTORY, as_trajectory(MOTION, ros1))]
    if ros1:
        file = str(write_bag(Path("p.bag"), MOTION, topics=topics))
    else:
        file = bag2("p", ".mcap", topics=topics)
    expected = run(native(replace(MOTION, time=MOTION.time - MOTION.time[0])))
    ran = run(file)
    assert (ran.code, ran.out) == (0, expected.out), ran.err
    assert "each row is a point of the trajectory in '/plan'" in ran.err


@ros
def test_notes_describe_what_was_read():
    """Notes name the topic, ignored joints, and times that are not those of the messages."""
    assert "ignored: 'finger1', 'finger2'" in run(bag2("g", ".mcap", topics=_with_gripper())).err
    notes = run(bag2("s", ".mcap", topics=_without_stamps())).err
    assert "robolin uses the recording time" in notes
    assert "each row is a message of topic '/joint_states'" in notes


@ros
def test_results_of_bags_are_checked():
    """`check` finds the bag and the topic of a stored result."""
    bag2("m", ".mcap")
    for file in ("m", "m/:joint_states", "m/m.mcap:/joint_states"):
        ran = robolin("record", "inverse", "two-link", "--trajectory", file, "-o", "x.npz")
        assert ran.code == 0, ran.err
        ran = robolin("check", "x.npz")
        assert (ran.code, "1 same" in ran.out) == (0, True), ran.out


@ros
def test_stamps_are_reckoned_with_in_nanoseconds():
    """A bag is differentiated without a word about its unit, as a CSV with --time-unit ns."""
    flags = ("--differentiate", "central")
    expected = run(native(), *flags, "--time-unit", "ns")
    assert expected.code == 0, expected.err
    assert run(bag2("m", ".mcap"), *flags).out == expected.out


def _two_topics():
    messages = as_joint_states(MOTION, False)
    return [("/a", STATE, messages), ("/b", STATE, messages)]


def _changing():
    other = replace(MOTION, joints=("shoulder", "x"))
    messages = as_joint_states(MOTION, False)[:2] + as_joint_states(other, False)[2:]
    return [("/joint_states", STATE, messages)]


REFUSED = [
    ("which topic", {"topics": _two_topics}, "", "m:/a"),
    ("no such topic", {}, ":/nope", "topics with joint data: '/joint_states'"),
    ("a joint that goes missing", {"topics": _changing}, "", "message 3: the message lacks"),
]


@ros
@pytest.mark.parametrize(
    ("more", "part", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_ambiguous_bags_are_rejected(more, part, message):
    """Without a topic, or with several, the error has a hint."""
    file = bag2("m", ".mcap", **{key: make() for key, make in more.items()})
    ran = run(f"{file}{part}")
    assert (ran.code in (2, 3), message in ran.err) == (True, True), ran.err


@ros
def test_damaged_bags_are_rejected():
    """A truncated bag, an empty folder and compressed files are rejected."""
    file = write_bag(Path("one.bag"), MOTION)
    Path("cut.bag").write_bytes(file.read_bytes()[:-200])
    assert "not a valid ROS bag" in run("cut.bag").err
    Path("empty").mkdir()
    assert "no recording found" in run("empty").err
    assert run("none.mcap").code == 4
    bag2("m", ".mcap")
    page = Path("m/metadata.yaml")
    page.write_text(page.read_text().replace("compression_mode: ''", "compression_mode: FILE"))
    assert "files of the bag are compressed" in run("m").err


@ros
def test_only_files_of_the_bag_folder_are_read():
    """Files that metadata.yaml names elsewhere are not looked for there."""
    bag2("m", ".mcap")
    bag2("other", ".mcap")
    Path("m/m.mcap").unlink()
    page = Path("m/metadata.yaml")
    page.write_text(page.read_text().replace("m.mcap", "../other/other.mcap"))
    ran = run("m")
    assert (ran.code, "missing" in ran.err) == (3, True), ran.err
