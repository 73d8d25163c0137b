"""Recordings that patterns and folders select."""

from __future__ import annotations

from pathlib import Path

import pytest

from robolin.batch.batch_plan import names_several, recordings, require_outside
from robolin.batch.compute import compute_parts
from robolin.batch.parts_folder import recordings_for
from robolin.errors import FileError, UsageError
from tests.batch.sample_recordings import SIZES, all_recordings, make_plan, write_recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_recordings(tmp_path)
    return tmp_path


def test_names_are_relative_to_the_common_folder(folder: Path) -> None:
    """Recordings with the same base name in different folders have different names."""
    assert [each.name for each in all_recordings(folder)] == list(SIZES)


def test_patterns_and_folders_come_in_the_order_of_names(folder: Path) -> None:
    """The order is that of the arguments, and within one of them that of the names."""
    (folder / "run_1" / "a.csv.meta.json").write_text("{}")
    named = recordings([str(folder / "**" / "*.csv"), str(folder / "run_1")])
    assert [each.name for each in named] == ["run_1/a.csv", "run_1/b.csv", "run_2/a.csv"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder: Path) -> None:
    odd = folder / "a[1].csv"
    odd.write_text("x")
    assert not names_several(str(odd))
    assert [each.path for each in recordings([str(odd)])] == [str(odd)]


def test_a_bag_is_one_recording(folder: Path) -> None:
    """A folder that another program wrote as one recording is not taken apart."""
    (folder / "run_1" / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    assert not names_several(str(folder / "run_1"))
    assert names_several(str(folder / "run_2"))


def test_parts_are_called_as_files_in_their_recording(folder: Path) -> None:
    """Topics and episodes have names without colons, and none that leads elsewhere."""
    for name in ("run_1", "run_2"):
        (folder / name / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    named = recordings([f"{folder}/run_1/:/left/arm", f"{folder}/run_2/:../arm", f"{folder}/c.npz"])
    assert [each.name for each in named] == ["run_1/left/arm", "run_2/arm", "c.npz"]
    assert [each.name for each in recordings([f"{folder}/run_1/:0", f"{folder}/run_1/:1"])] == [
        "0",
        "1",
    ]


def test_a_pattern_without_files_is_an_error(folder: Path) -> None:
    """The error repeats the pattern."""
    with pytest.raises(FileError, match="nothing"):
        recordings([str(folder / "nothing*.csv")])
    (folder / "empty").mkdir()
    with pytest.raises(FileError, match="empty"):
        recordings([str(folder / "empty")])


def test_standard_input_is_the_only_recording(folder: Path) -> None:
    """Standard input can be read only once and cannot be combined with files."""
    with pytest.raises(UsageError, match="other recordings"):
        recordings(["-", str(folder / "c.npz")])


def test_results_among_recordings_are_rejected(folder: Path) -> None:
    """A folder of results that the next run would read is rejected."""
    with pytest.raises(UsageError, match="run_1"):
        require_outside(str(folder / "run_1"), all_recordings(folder))
    require_outside(str(folder / "run"), all_recordings(folder))


def test_parts_are_not_found_as_recordings(folder: Path) -> None:
    """If a pattern matches the parts of the output folder, these are ignored."""
    plan, request, arm = make_plan(folder)
    out, pattern = folder / "run_2" / "out", [str(folder / "**" / "*")]
    before = recordings_for(out, pattern)
    compute_parts(plan, request, arm, out)
    assert recordings_for(out, pattern) == before
    (folder / "link").symlink_to(folder / "run_2")
    assert [each.name for each in recordings_for(out, [str(folder / "link" / "*")])] == ["a.csv"]
    # files that are not parts, or are named explicitly, are still found
    (out / "more.csv").write_text("x")
    for text in (pattern[0], str(out / "part-00000.npz")):
        with pytest.raises(UsageError, match="is in the output folder"):
            require_outside(str(out), recordings_for(out, [text]))
