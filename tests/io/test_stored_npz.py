"""NPZ: exact, the same bytes twice, and damage never goes unnoticed."""

import io
import json
import zipfile

import numpy as np
import pytest

from robolin.core.result import stream_of_one_part
from robolin.errors import FileError, RobolinError
from robolin.io.formats.npz_writer import write_npz
from robolin.io.stored import read_result
from tests.io.sample_results import JOINTS, meta, same_bits, sample


@pytest.mark.parametrize("rows", [None, 1, 5])
def test_arrays_come_back_to_the_bit(tmp_path, rows):
    """Reading returns every array with its bits, its shape and its joints."""
    result = sample(rows)
    write_npz(stream_of_one_part(result), tmp_path / "r.npz")
    stored = read_result(tmp_path / "r.npz")
    assert stored.joints == JOINTS
    assert stored.meta == json.loads(json.dumps(meta(result)))
    assert set(stored.arrays) == {name for name, _ in result.stored()}
    for name, values in result.stored():
        assert same_bits(stored.arrays[name], values)


def test_numpy_reads_the_file_without_robolin(tmp_path):
    """The file is a plain NPZ archive: names are arrays, `meta` is one JSON string."""
    write_npz(stream_of_one_part(sample(4)), tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as archive:
        assert archive.files[0] == "time"
        assert tuple(archive["joints"]) == JOINTS
        assert json.loads(str(archive["meta"]))["arrays"]["qdd"]["shape"] == [4, 3]


def test_the_same_result_gives_the_same_bytes(tmp_path):
    """No clock, no memory layout and no order of options shows in the file."""
    write_npz(stream_of_one_part(sample(6)), tmp_path / "a.npz")
    again = sample(6)
    object.__setattr__(again, "options", dict(reversed(again.options.items())))
    matrix = again.arrays[1]
    object.__setattr__(matrix, "values", np.asfortranarray(matrix.values))
    write_npz(stream_of_one_part(again), tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def rewritten(path, change):
    """Store the archive again with its arrays changed."""
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)


def _bump(arrays):
    arrays["qdd"][0] = np.nextafter(arrays["qdd"][0], 1)


def _swap_joints(arrays):
    arrays["joints"] = arrays["joints"][::-1]


def _set(name, value):
    return lambda arrays: arrays.update({name: value})


CHANGES = [
    ("one bit of one number", _bump, "the list of arrays was changed after it was stored"),
    ("an array gone", lambda a: a.pop("dqdd_dq"), "array 'dqdd_dq' is missing"),
    ("an array too many", _set("extra", np.zeros(2)), "array 'extra' is not in the provenance"),
    ("another shape", lambda a: a.update(qdd=a["qdd"][:2]), "'qdd' does not have its stored shape"),
    (
        "another type",
        lambda a: a.update(qdd=a["qdd"].astype("f4")),
        "'qdd' does not have its stored shape",
    ),
    ("joints swapped", _swap_joints, "joint names do not match"),
    ("joints gone", lambda a: a.pop("joints"), "joint names do not match"),
    ("no meta", lambda a: a.pop("meta"), "not a robolin result"),
    ("meta no text", _set("meta", np.zeros(3)), "not a robolin result"),
    ("meta no JSON", _set("meta", np.array("{")), "'meta' is not JSON"),
    ("meta empty", _set("meta", np.array("{}")), "'meta' does not describe the arrays"),
]


@pytest.mark.parametrize(
    "change, message", [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES]
)
def test_a_changed_file_is_refused(tmp_path, change, message):
    """Every change after storing is named on reading."""
    path = tmp_path / "r.npz"
    write_npz(stream_of_one_part(sample()), path)
    rewritten(path, change)
    with pytest.raises(RobolinError, match=message) as caught:
        read_result(path)
    assert caught.value.where == str(path)
    assert caught.value.hint


def _pickled():
    held = io.BytesIO()
    np.savez(held, q=np.array([{}], dtype=object))
    return held.getvalue()


def _npy():
    held = io.BytesIO()
    np.save(held, np.zeros(3))
    return held.getvalue()


def _other_zip():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("readme.txt", "hello")
    return held.getvalue()


NOT_RESULTS = [
    ("empty", b""),
    ("text", b"not a zip"),
    ("pickled objects", _pickled()),
    ("one npy array", _npy()),
    ("another zip", _other_zip()),
]


@pytest.mark.parametrize(
    "content", [row[1] for row in NOT_RESULTS], ids=[r[0] for r in NOT_RESULTS]
)
def test_other_files_are_refused(tmp_path, content):
    """A file of another kind is a RobolinError, and nothing in it is unpickled."""
    path = tmp_path / "r.npz"
    path.write_bytes(content)
    with pytest.raises(RobolinError) as caught:
        read_result(path)
    assert caught.value.exit_code == 3


def test_a_truncated_file_is_refused(tmp_path):
    """A file truncated anywhere is rejected."""
    path = tmp_path / "r.npz"
    write_npz(stream_of_one_part(sample()), path)
    data = path.read_bytes()
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        with pytest.raises(RobolinError):
            read_result(path)


@pytest.mark.slow
def test_a_flipped_byte_never_changes_a_number_silently(tmp_path):
    """Every flipped byte is either found or harmless."""
    path = tmp_path / "r.npz"
    result = sample()
    write_npz(stream_of_one_part(result), path)
    data = path.read_bytes()
    rejected = 0
    for offset in range(0, len(data), 7):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 0x41]) + data[offset + 1 :])
        try:
            stored = read_result(path)
        except RobolinError:
            rejected += 1
        else:
            assert all(same_bits(stored.arrays[name], values) for name, values in result.stored())
    assert rejected > len(data) / 7 / 2


def test_a_missing_file_is_a_file_error(tmp_path):
    """Reading a missing file has exit code 4."""
    with pytest.raises(FileError) as caught:
        read_result(tmp_path / "none.npz")
    assert caught.value.exit_code == 4
