"""Representations of results at prompts and in notebooks."""

from __future__ import annotations

import pickle
import re
import sys
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import robolin
from robolin.core.notebook import DisplayMixin, in_html
from robolin.core.result import Result
from tests.cli.command import run_ok

# inputs, parts of an arm, and streams: their representation is one or two lines
PLAIN = {"Arm", "Joint", "Link", "Push", "Question", "RateControl", "ResultStream", "States"}
# their representation lists their contents rather than their fields
OWN_LINE = {"Array", "Result", "StoredResult"}
HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202e\"'&" + "x" * 10_000


class Tags(HTMLParser):
    """Every tag of a page, and whether they close as they open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.seen: set[str] = set()
        self.feed(page)
        assert not self.opened

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag


@pytest.fixture(scope="module")
def arm() -> robolin.Arm:
    return robolin.load("panda")


def test_linear_models_of_one_state_have_all_fields(arm: robolin.Arm) -> None:
    """The quick way to a result of one state sets the same fields as its constructor."""
    q, qd, last = np.random.default_rng(5).normal(size=(3, arm.n))
    for function in (robolin.linearize_inverse, robolin.linearize_forward):
        one, batch = function(arm, q, qd, last), function(arm, q[None], qd[None], last[None])
        assert list(vars(one)) == [each.name for each in fields(one)]
        for name, value in vars(one).items():
            same = getattr(batch, name)
            assert value is same or np.array_equal(value, same[0])
        copies = pickle.loads(pickle.dumps(one)), replace(one), deepcopy(one)
        assert all(copy == one for copy in copies)
        with pytest.raises(FrozenInstanceError):
            one.q = q  # type: ignore[misc]


def test_public_results_have_a_representation() -> None:
    """A public class with arrays has a short line, a table and `==`."""
    kinds = {name: getattr(robolin, name) for name in robolin.__all__}
    data = {name for name, kind in kinds.items() if isinstance(kind, type) and is_dataclass(kind)}
    assert {name for name in data if not issubclass(kinds[name], DisplayMixin)} == PLAIN
    for name in data - PLAIN:
        assert (kinds[name].__repr__ is not DisplayMixin.__repr__) == (name in OWN_LINE)
        assert kinds[name].__eq__ is DisplayMixin.__eq__


def test_results_are_represented_in_one_line(arm: robolin.Arm) -> None:
    """The representation of an arm or a result is one line with names and shapes."""
    zeros = np.zeros(7)
    model = robolin.state_space(arm, zeros)
    assert repr(arm) == "<Arm panda: 7 joints, 7 moving links of 16.8221 kg, from panda>"
    assert repr(robolin.linearize_inverse(arm, zeros)) == (
        "<LinearizedInverse: mass_matrix (7, 7), dtau_dqd (7, 7), dtau_dq (7, 7), "
        "q (7,), qd (7,), qdd (7,), arm panda>"
    )
    for answer in (model, model.poles(), robolin.limits(arm, zeros), robolin.momentum(arm, zeros)):
        assert len(repr(answer)) < 400
        assert "array(" not in repr(answer)


def test_results_compare(arm: robolin.Arm) -> None:
    """Results are equal if and only if all numbers are."""
    one, same = (robolin.momentum(arm, np.full(7, 0.3)) for _ in range(2))
    other = replace(one, com=one.com + 1e-15)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != robolin.mass_matrix_factor(arm, np.zeros(7))
    first, again = (robolin.answer(arm, "inverse", robolin.States(q=[0.3] * 7)) for _ in range(2))
    assert first == again
    assert first != robolin.answer(arm, "inverse", robolin.States(q=[0.4] * 7))
    assert not (first - again)["tau"].any()


def test_nan_equals_nan() -> None:
    """NaN at the same position does not make results unequal."""
    one, same = (robolin.Closed(np.array([1.0, np.nan]), np.zeros(2)) for _ in range(2))
    assert one == same
    assert one != replace(one, q=np.array([np.nan, 1.0]))


def test_subtraction_requires_equal_names_shapes_and_times(arm: robolin.Arm) -> None:
    """Results are subtracted only if names, shapes and times agree."""
    still = robolin.answer(arm, "inverse")
    other = robolin.answer(robolin.load("ur5"), "inverse")
    for wrong in (other, robolin.answer(arm, "mass-matrix"), "tau"):
        with pytest.raises(robolin.UsageError):
            still - wrong  # type: ignore[operator]


def test_a_notebook_shows_names_units_and_contract(arm: robolin.Arm) -> None:
    """The table of a result has its joints, its unit and its contract; that of an arm too."""
    page = robolin.answer(arm, "inverse")._repr_html_()
    assert Tags(page).seen <= {"b", "table", "tr", "th", "td", "details", "summary"}
    for text in ("panda_joint3", "tau [N·m]", "-4.040", "recursive Newton–Euler"):
        assert text in page
    page = arm._repr_html_()
    assert Tags(page).seen
    for text in ("panda_joint3", "87 N·m", "3.2286 kg", "applied: 0.003"):
        assert text in page
    page = robolin.linearize_inverse(arm, np.zeros(7))._repr_html_()
    assert Tags(page).seen
    assert "∂τ/∂q̇ (..., n, n) in N·m·s/rad" in page


def test_names_are_text_in_a_notebook(arm: robolin.Arm) -> None:
    """Markup in names is shown and not obeyed, and steers no terminal."""
    evil = replace(arm, name=HOSTILE, contract={HOSTILE: HOSTILE})
    still = robolin.answer(arm, "inverse")
    array = replace(still.arrays[0], labels=(tuple(f"{HOSTILE}{i}" for i in range(7)),))
    for shown in (evil, replace(still, arrays=(array,), contract={HOSTILE: [HOSTILE]})):
        assert "script" not in Tags(shown._repr_html_()).seen
    assert "\x1b" not in repr(evil)
    assert len(repr(evil)) < 200


def test_frames_have_the_columns_of_the_csv(
    arm: robolin.Arm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data frames have the columns and numbers that CSV has; dicts have arrays and units."""
    pytest.importorskip("polars")
    result: Result = robolin.answer(arm, "inverse", robolin.States(q=[0.3] * 7))
    csv = run_ok("inverse", "panda", "--q", ",".join(["0.3"] * 7))
    frame = result.to_polars()
    assert frame.columns == csv.rows[0]
    assert [list(row) for row in frame.rows()] == csv.numbers
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))  # type: ignore[arg-type]
    assert {name: values.tolist() for name, values in result.to_pandas().items()} == (
        frame.to_dict(as_series=False)
    )
    plain = result.to_dict()
    assert plain["results"]["tau"] is result["tau"]
    assert plain["units"] == {"tau": "N·m"}
    assert plain["labels"] == {"tau": [list(arm.joint_names)]}


def test_missing_pandas_is_reported(arm: robolin.Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas, the message names the package to install and an alternative."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(robolin.RobolinError, match="pip install pandas"):
        robolin.answer(arm, "inverse").to_pandas()


def test_rounding_is_shown_as_in_tables() -> None:
    """Round-off relative to the largest number of an array is shown as ~0 in notebooks too."""
    values = np.array([1.0, 1e-17, 0.0, -3e-16])
    assert cells(in_html(values)) == ["1", "~0", "0", "~0"]
    assert cells(in_html(1e-17 * np.ones(2))) == ["1e-17", "1e-17"]
    assert cells(in_html(np.array([2.0 - 1e-17j, 1e-16 + 0.5j]))) == ["2-~0j", "~0+0.5j"]
    assert cells(in_html(np.array([[np.nan, 1.0, 1e-16]]))) == ["nan", "1", "~0"]


def cells(page: str) -> list[str]:
    return re.findall("<td>(.*?)</td>", page)
