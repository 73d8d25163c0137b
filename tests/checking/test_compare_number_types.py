"""Comparison of complex numbers and integers with stored ones."""

import numpy as np
import pytest

from robolin.checking.compare import compare_with_stored
from robolin.checking.differences import ALL, Tolerance, Tolerances
from robolin.checking.outcome import CheckOutcome, compared_lines, outcomes_document
from robolin.core.result import Array, Result, stream_of_one_part
from robolin.io.format_table import FORMATS
from robolin.io.stored import open_stored

EPOCH = 1_700_000_000_000_000_001


def result(pole, kind="mode", time=None):
    array = Array("poles", np.array([pole] if time is None else [[pole]]), (("1",),), "1/s")
    if kind:
        array = Array("poles", array.values, array.labels, array.unit, axes=(kind,))
    return Result("modes", (array,), (), {}, {}, {}, time)


def comparison(tmp_path, stored, computed, rtol=0.0, form="npz"):
    path = tmp_path / f"r.{form}"
    FORMATS[form].write(stream_of_one_part(stored), path)
    with open_stored(path) as file:
        return compare_with_stored(
            stream_of_one_part(computed), file, Tolerances({ALL: Tolerance(rtol)})
        )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rtol, same", [(2.1e-4, True), (1.9e-4, False), (0.0, False)])
def test_the_modulus_of_the_difference_counts(tmp_path, form, rtol, same):
    """|3 + 4j| is 5, so a thousandth in either part is a share of 2e-4."""
    for other in (3 + 4.001j, 3.001 + 4j):
        assert comparison(tmp_path, result(3 + 4j), result(other), rtol, form).same is same


def test_a_complex_difference_is_reported(tmp_path):
    """The message has both numbers and the change relative to the modulus, as one entry."""
    compared = comparison(tmp_path, result(3 + 4j), result(3 + 4.5j))
    assert len(compared.entries) == 1
    assert compared_lines(compared) == ["poles/1: 3+4j → 3+4.5j 1/s, 10 %, allowed nothing"]
    case = outcomes_document([CheckOutcome("a", "a", "differs", comparison=compared)])["cases"][0]
    assert case["differences"][0]["found"] == {"re": 3.0, "im": 4.5}


def test_nan_is_the_same_as_nan(tmp_path):
    """NaN equals NaN, and differs from every number."""
    gap = complex("nan")
    assert comparison(tmp_path, result(gap), result(gap)).same
    assert not comparison(tmp_path, result(gap), result(1j)).same


def test_a_real_number_may_become_complex(tmp_path):
    """A number that has got an imaginary part differs by it."""
    assert comparison(tmp_path, result(2.0), result(2 + 0j)).same
    assert not comparison(tmp_path, result(2.0), result(2 + 1e-300j)).same


def test_axes_of_another_kind_are_reported(tmp_path):
    """Equal labels on an axis of states and on one of modes are a difference."""
    compared = comparison(tmp_path, result(1j), result(1j, "state"))
    assert compared.structure == ("array poles: names of rows or columns differ",)


@pytest.mark.parametrize("form", FORMATS)
def test_one_nanosecond_is_a_difference(tmp_path, form):
    """Integers that float64 cannot distinguish differ, and all their digits are shown."""
    first, later = (result(1j, time=np.array([t])) for t in (EPOCH, EPOCH + 1))
    assert float(EPOCH) == float(EPOCH + 1)
    assert comparison(tmp_path, first, first, form=form).same
    compared = comparison(tmp_path, first, later, form=form)
    assert compared_lines(compared)[0].startswith(f"row 1, time: {EPOCH} → {EPOCH + 1} s")


def test_differences_of_integers_do_not_overflow(tmp_path):
    """A difference that does not fit into 64 bits has its real size."""
    ends = np.iinfo(np.int64)
    first, last = (result(1j, time=np.array([t])) for t in (ends.min, ends.max))
    assert not comparison(tmp_path, first, last, rtol=1.9).same


def test_float_time_stamps_of_older_files_equal_integers(tmp_path):
    """Time that was stored as float64 equals the same integers."""
    before, now = (result(1j, time=np.array([5], kind)) for kind in (np.float64, np.int64))
    assert comparison(tmp_path, before, now).same
