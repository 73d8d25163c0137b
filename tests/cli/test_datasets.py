"""Episodes of LeRobot datasets give the result of the same motion in a native file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars
import pytest

import robolin as arm_library
from tests.cli.command import CommandRun, robolin

# LeRobot writes float32
Q = np.random.default_rng(0).uniform(-1, 1, (9, 2)).astype(np.float32)
# rows of the episodes
EPISODES = (range(4), range(4, 9))
JOINTS = ["shoulder", "elbow"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(file: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", file, *flags)


def native(episode: int, values: np.ndarray = Q, words: Sequence[str] = ("position",)) -> str:
    """The result of an episode that is written as CSV."""
    columns = ["time", *(f"{joint}/{word}" for word in words for joint in JOINTS)]
    rows = EPISODES[episode]
    lines = [
        ",".join(map(repr, [float(np.float32(0.01 * i)), *values[row].astype(float).tolist()]))
        for i, row in enumerate(rows)
    ]
    Path("n.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
    ran = run("n.csv")
    assert ran.code == 0, ran.err
    return ran.out


def frames(values: dict[str, np.ndarray], lists: bool = False) -> polars.DataFrame:
    """The rows of all episodes, with the columns that LeRobot adds."""
    made: dict[str, object] = {
        name: polars.Series(
            some.tolist(),
            dtype=polars.List(polars.Float32) if lists else polars.Array(polars.Float32, 2),
        )
        if some.ndim == 2
        else some
        for name, some in values.items()
    }
    image = {"bytes": b"\x89PNG", "path": "frame-000000.png"}
    return polars.DataFrame(
        {
            **made,
            "observation.images.top": [image] * len(Q),
            "next.done": [False] * len(Q),
            "timestamp": polars.Series(
                [0.01 * i for rows in EPISODES for i in range(len(rows))], dtype=polars.Float32
            ),
            "frame_index": [i for rows in EPISODES for i in range(len(rows))],
            "episode_index": [k for k, rows in enumerate(EPISODES) for _ in rows],
            "index": list(range(len(Q))),
            "task_index": [0] * len(Q),
        }
    )


def info(names: object, version: str, features: Sequence[str] = ("observation.state",)) -> None:
    """meta/info.json as LeRobot writes it."""
    Path("set/meta").mkdir(parents=True)
    about = {"dtype": "float32", "shape": [2], "names": names}
    page = {
        "codebase_version": version,
        "fps": 100,
        "total_episodes": len(EPISODES),
        "features": dict.fromkeys(features, about),
    }
    Path("set/meta/info.json").write_text(json.dumps(page))


def version_3(names: object = JOINTS, files: Sequence[Sequence[int]] = ((0, 1),), **more) -> str:
    """Many episodes in a file, which meta/episodes lists; two here, in these files."""
    info(names, "v3.0", more.get("features", ("observation.state",)))
    rows = frames(more.get("values", {"observation.state": Q}))
    folder = Path("set/data/chunk-000")
    folder.mkdir(parents=True)
    for number, episodes in enumerate(files):
        some = rows.filter(polars.col("episode_index").is_in(list(episodes)))
        # LeRobot writes a group of rows for each episode
        some.write_parquet(folder / f"file-{number:03}.parquet", row_group_size=4)
    listed = polars.DataFrame(
        {
            "episode_index": [0, 1],
            "tasks": [["pick"], ["place"]],
            "length": [len(each) for each in EPISODES],
            "data/chunk_index": [0, 0],
            "data/file_index": [next(i for i, f in enumerate(files) if k in f) for k in (0, 1)],
            "dataset_from_index": [0, 4],
            "dataset_to_index": [4, 9],
            "stats/observation.state/mean": [[0.0, 0.0]] * 2,
        }
    )
    Path("set/meta/episodes/chunk-000").mkdir(parents=True)
    listed.write_parquet("set/meta/episodes/chunk-000/file-000.parquet")
    polars.DataFrame({"task_index": [0]}).write_parquet("set/meta/tasks.parquet")
    return "set"


def version_2(names: object = JOINTS, lists: bool = True, listed: bool = True) -> str:
    """A file for each episode, listed in meta/episodes.jsonl."""
    info(names, "v2.1")
    rows = frames({"observation.state": Q}, lists)
    Path("set/data/chunk-000").mkdir(parents=True)
    for number in range(len(EPISODES)):
        some = rows.filter(polars.col("episode_index") == number)
        some.write_parquet(f"set/data/chunk-000/episode_{number:06}.parquet")
    lines = [
        json.dumps({"episode_index": k, "tasks": ["pick"], "length": len(rows)})
        for k, rows in enumerate(EPISODES)
    ]
    if listed:
        Path("set/meta/episodes.jsonl").write_text("\n".join(lines) + "\n")
    return "set"


MADE = {
    "version 3": version_3,
    "version 3, a file each": lambda: version_3(files=((0,), (1,))),
    "version 2": version_2,
    "version 2, fixed lengths": lambda: version_2(lists=False),
    "version 2 without its list": lambda: version_2(listed=False),
    "names of motors": lambda: version_3(["shoulder.pos", "elbow.pos"]),
    "names as Unitree has them": lambda: version_3(["shoulder.q", "elbow.q"]),
    "names under a word": lambda: version_3({"motors": JOINTS}),
    "names in a list of one": lambda: version_3([JOINTS]),
    "names with their places": lambda: version_3({"elbow": 1, "shoulder": 0}),
    "no names, in order": lambda: version_3(None),
}


@pytest.mark.parametrize("made", MADE)
def test_an_episode_gives_the_bytes_of_the_native_file(made):
    """An episode gives its own rows, for every version and every form of names."""
    MADE[made]()
    for part in ("1", "episode_000001"):
        ran = run(f"set/:{part}", "--radians")
        assert (ran.code, ran.out) == (0, native(1)), ran.err
    assert run("set/:0", "--radians").out == native(0)


@pytest.mark.parametrize("made", ["version 3", "version 2", "version 2 without its list"])
def test_python_lists_the_episodes(made):
    """`recording_paths` returns a path per episode, and each gives the rows of the command."""
    MADE[made]()
    paths = arm_library.recording_paths("set/")
    assert paths == ["set/:0", "set/:1"]
    arm = arm_library.load("two-link")
    for episode, path in enumerate(paths):
        states = arm_library.States(trajectory=path, radians=True)
        result = arm_library.answer(arm, "inverse", states, notify=lambda *_: None)
        arm_library.write(result, "found.csv")
        assert Path("found.csv").read_text() == native(episode)
    with pytest.raises(arm_library.UsageError, match="recording_paths lists the episodes"):
        arm_library.answer(arm, "inverse", arm_library.States(trajectory="set/", radians=True))


def test_joints_are_found_by_name():
    """The order of a dataset's names is not the arm's."""
    version_3(["elbow.pos", "shoulder.pos"])
    assert run("set/:1", "--radians").out == native(1, Q[:, ::-1])


MOVING = np.concatenate([Q, Q[::-1]], axis=1)


def test_velocities_are_found():
    """Velocities may be a separate list, or part of the state as in OpenArm."""
    expected = native(1, MOVING, ("position", "velocity"))
    version_3(
        values={"observation.state": Q, "observation.velocity": Q[::-1]},
        features=("observation.state", "observation.velocity"),
    )
    assert run("set/:1", "--radians").out == expected
    state = polars.Series(MOVING[:, [0, 2, 1, 3]].tolist(), dtype=polars.Array(polars.Float32, 4))
    rows = frames({"observation.state": Q}).with_columns(state.alias("observation.state"))
    rows.write_parquet("set/data/chunk-000/file-000.parquet")
    names = [f"{joint}.{word}" for joint in JOINTS for word in ("pos", "vel")]
    page = Path("set/meta/info.json")
    page.write_text(page.read_text().replace(json.dumps(JOINTS), json.dumps(names)))
    assert run("set/:1", "--radians").out == expected


def test_integer_passthrough_columns_stay_integers():
    """Frame numbers are integers."""
    version_3()
    lines = run("set/:1", "--radians", "--carry", "frame_index").out.splitlines()
    assert [line.split(",")[-1] for line in lines[1:]] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("made", [version_3, version_2, lambda: version_2(listed=False)])
def test_a_folder_is_all_episodes(made):
    """The folder of a dataset stands for its episodes, in one table or in one file each."""
    made()
    ran = run("set/", "--radians")
    assert ran.code == 0, ran.err
    rows = [line.split(",") for line in ran.out.splitlines()]
    at = rows[0].index("source")
    expected = [native(k).splitlines()[1:] for k in (0, 1)]
    episodes = [[",".join(row[:at] + row[at + 1 :]) for row in rows if row[at] == s] for s in "01"]
    assert episodes == expected
    ran = robolin(
        *("inverse", "two-link", "--radians", "-o", "out/", "--format", "csv"),
        *("--trajectory", "set"),
    )
    assert (ran.code, Path("out/1.csv").read_text()) == (0, native(1)), ran.err


def test_unit_and_episode_are_required():
    """A dataset does not declare its unit, and Python reads one episode."""
    version_3()
    states = arm_library.States(trajectory="set", radians=True)
    with pytest.raises(arm_library.UsageError, match="the dataset has 2 episodes") as caught:
        arm_library.answer(arm_library.load("two-link"), "inverse", states)
    assert "set/:0" in str(caught.value.hint)
    ran = run("set/:1")
    assert (ran.code, "--degrees or --radians" in ran.err) == (2, True)
    assert run("set/:1", "--degrees").code == 0
    ran = run("set/:7", "--radians")
    assert ("unknown episode '7'" in ran.err, "from 0 to 1" in ran.err) == (True, True)
    line = ["record", "inverse", "two-link", "--trajectory", "set/:1", "--radians", "-o", "x.npz"]
    assert robolin(*line).code == 0
    assert robolin("check", "x.npz").code == 0


def without_rows() -> None:
    frames({"observation.state": Q})[:-2].write_parquet("set/data/chunk-000/file-000.parquet")


def without_lengths() -> None:
    rows = polars.DataFrame({"episode_index": [0, 1]})
    rows.write_parquet("set/meta/episodes/chunk-000/file-000.parquet")


WRONG = [
    (without_rows, "episode 1 must have 5 rows, got 3 in data/"),
    (without_lengths, "meta/episodes is invalid"),
    (lambda: Path("set/data/chunk-000/file-000.parquet").unlink(), "no file data/*/*.parquet"),
    (
        lambda: Path("set/data/chunk-000/file-000.parquet").write_bytes(b"PAR1"),
        "not a valid Parquet file",
    ),
    (lambda: Path("set/meta/info.json").write_text("{"), "meta/info.json is invalid"),
]


@pytest.mark.parametrize(("damage", "message"), WRONG, ids=[row[1] for row in WRONG])
def test_incomplete_datasets_are_rejected(damage, message):
    """An incomplete dataset is not taken for a shorter one."""
    version_3()
    damage()
    ran = run("set/:1", "--radians")
    assert (ran.code in (3, 4), message in ran.err) == (True, True), ran.err


def test_each_episode_becomes_a_file():
    """Episodes named one by one are like other recordings; a changed dataset is noticed."""
    version_3()
    line = ["inverse", "two-link", "--radians", "-o", "out/", "--format", "csv"]
    line += ["--trajectory", "set/:0", "--trajectory", "set/:1"]
    ran = robolin(*line)
    assert ran.code == 0, ran.err
    assert Path("out/1.csv").read_text() == native(1)
    page = Path("set/meta/info.json")
    page.write_text(page.read_text() + "\n")
    ran = robolin(*line, "--resume")
    assert (ran.code, "changed" in ran.err) == (3, True), ran.err


@pytest.mark.parametrize("ending", ["torque", "tau", "effort", "own list"])
def test_torques_are_found(ending):
    """`forward` uses torques in the state, with each suffix in use, or in a separate list."""
    info(JOINTS, "v2.1", ("observation.state", "observation.effort"))
    Path("set/data/chunk-000").mkdir(parents=True)
    names = JOINTS
    values = {"observation.state": Q, "observation.effort": Q[::-1]}
    if ending != "own list":
        names = [f"{joint}.{word}" for joint in JOINTS for word in ("pos", ending)]
        values = {"observation.state": MOVING[:, [0, 2, 1, 3]]}
        about = {"dtype": "float32", "shape": [4], "names": names}
        page = {"codebase_version": "v2.1", "features": {"observation.state": about}}
        Path("set/meta/info.json").write_text(json.dumps(page))
    rows = polars.DataFrame(
        {
            **{name: polars.Series(some.tolist()) for name, some in values.items()},
            "timestamp": [0.01 * i for i in range(len(Q))],
            "episode_index": [0] * len(Q),
        }
    )
    rows.write_parquet("set/data/chunk-000/episode_000000.parquet")
    words = ("--radians", "--format", "csv", "--trajectory")
    ran = robolin("forward", "two-link", *words, "set/:0")
    assert ran.code == 0, ran.err
    qdd = np.array([row[1:] for row in ran.rows[1:]], dtype=float)
    q, tau = (each.astype(float) for each in (Q, Q[::-1]))
    assert np.array_equal(qdd, arm_library.forward(arm_library.load("two-link"), q, 0.0, tau))
