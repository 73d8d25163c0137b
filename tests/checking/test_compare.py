"""Comparison of results with stored ones: differences and how they are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.compare import Comparison, compare_with_stored
from robolin.checking.differences import ALL, Tolerance, Tolerances, percent
from robolin.checking.outcome import CheckOutcome, compared_lines, github, junit
from robolin.core.result import Array, Footer, Result, ResultStream, stream_of_one_part
from robolin.io.format_table import FORMATS
from robolin.io.stored import open_stored
from robolin.queries.request import Settings, request_about, run_request

JOINTS = ("shoulder", "elbow")
EXACT = Tolerances({})


def torques(values: np.ndarray, time: np.ndarray | None = None) -> Result:
    array = Array("tau", np.array(values, dtype=float), (JOINTS,), "N·m", "effort")
    return Result("inverse", (array,), JOINTS, {}, {"arm": "a.urdf"}, {"a.urdf": "0"}, time)


def compared(
    folder: Path,
    stored: Result | ResultStream,
    now: Result | ResultStream,
    close: Tolerances = EXACT,
) -> Comparison:
    path = folder / "stored.npz"
    FORMATS["npz"].write(
        stored if isinstance(stored, ResultStream) else stream_of_one_part(stored), path
    )
    with open_stored(path) as file:
        return compare_with_stored(
            now if isinstance(now, ResultStream) else stream_of_one_part(now), file, close
        )


def in_pieces(result: Result, size: int) -> ResultStream:
    rows = result.batch or 0
    parts = [result.rows(first, min(first + size, rows)) for first in range(0, rows, size)]
    return ResultStream(parts, lambda _: Footer(result.contract, result.inputs), lambda: rows)


def close_to(rtol: float = 0.0, atol: float = 0.0) -> Tolerances:
    return Tolerances({ALL: Tolerance(rtol, atol)})


def test_the_worst_row_of_each_entry_is_reported(tmp_path: Path) -> None:
    """Among many rows, the largest difference is reported with joint, unit and per cent."""
    old = np.tile([3.2101, 1.0], (500, 1))
    new = old.copy()
    new[411, 1] = 1.0001
    new[411, 0] = 3.2094
    new[7, 0] = 3.2100
    comparison = compared(tmp_path, torques(old), torques(new), close_to(rtol=1e-5))
    texts = [str(entry) for entry in comparison.beyond]
    assert texts == [
        "row 412, shoulder/effort: 3.2101 → 3.2094 N·m, 0.022 %, allowed 0.001 %, in 2 rows",
        "row 412, elbow/effort: 1 → 1.0001 N·m, 0.01 %, allowed 0.001 %",
    ]


@pytest.mark.parametrize("close", [EXACT, close_to(1e-3), close_to(atol=1e-3)])
def test_infinity_is_close_to_nothing_but_itself(tmp_path: Path, close: Tolerances) -> None:
    """An infinite number is the same as itself, and as far as can be from any other."""
    old = np.array([[np.inf, 1.0], [-np.inf, 2.0], [3.0, 3.0]])
    new = np.array([[np.inf, np.inf], [np.inf, 2.0], [np.inf, 3.0]])
    assert compared(tmp_path, torques(old), torques(old.copy()), close).same
    differences = {e.entry: e for e in compared(tmp_path, torques(old), torques(new), close).beyond}
    assert (differences["shoulder/effort"].rows, differences["shoulder/effort"].row) == (2, 2)
    assert (differences["elbow/effort"].rows, differences["elbow/effort"].row) == (1, 1)
    assert differences["shoulder/effort"].change == "not finite"


def test_entries_that_agree_have_their_numbers(tmp_path: Path) -> None:
    """An entry without a difference has the values of the first row, NaN included."""
    old = np.array([[1.5, np.nan], [2.5, np.nan]])
    new = np.array([[1.5, np.nan], [2.5, 4.0]])
    for now in (old, new):
        entries = compared(tmp_path, torques(old), torques(now.copy())).entries
        first = next(entry for entry in entries if entry.entry == "shoulder/effort")
        assert (first.row, first.stored, first.found, first.relative) == (1, 1.5, 1.5, 0.0)
    missing = next(
        entry
        for entry in compared(tmp_path, torques(old), torques(old.copy())).entries
        if entry.entry == "elbow/effort"
    )
    assert missing.values == ("nan", "nan")
    assert (missing.relative, missing.change) == (0.0, "by 0")


@pytest.mark.parametrize(
    "share, text",
    [
        (2e-4, "0.02 %"),
        (0.994, "99 %"),
        (1.0, "100 %"),
        (-6.0, "-600 %"),
        (float("inf"), "not finite"),
    ],
)
def test_shares_are_per_cent(share: float, text: str) -> None:
    """Two digits below a hundred per cent, whole per cents above."""
    assert percent(share) == text


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_comparison_does_not_depend_on_chunk_size(tmp_path: Path, size: int) -> None:
    """Rows are compared with the right stored rows for any chunk size."""
    rng = np.random.default_rng(3)
    old = rng.standard_normal((300, 2))
    new = old.copy()
    new[[5, 299], [0, 1]] += 1e-9
    times = np.arange(300.0)
    comparison = compared(tmp_path, torques(old, times), in_pieces(torques(new, times), size))
    entries = {(entry.row, entry.entry) for entry in comparison.beyond}
    assert entries == {(6, "shoulder/effort"), (300, "elbow/effort")}
    assert [d.array for d in comparison.entries if not d.beyond] == ["time"]


def test_zero_has_no_sign_and_gaps_are_equal(tmp_path: Path) -> None:
    """-0 equals 0 and NaN equals NaN, in an exact comparison as well."""
    comparison = compared(tmp_path, torques([[0.0, np.nan]]), torques([[-0.0, np.nan]]))
    assert comparison.same


@pytest.mark.parametrize("old, new", [(np.nan, 1.0), (1.0, np.nan)])
def test_a_gap_is_never_close(tmp_path: Path, old: float, new: float) -> None:
    """A number that came or went is a difference under any tolerance."""
    comparison = compared(tmp_path, torques([[old, 1]]), torques([[new, 1]]), close_to(1.0, 1e9))
    assert [d.entry for d in comparison.beyond] == ["shoulder/effort"]


@pytest.mark.parametrize(
    "close, same",
    [
        (close_to(), False),
        (close_to(rtol=1e-6), False),
        (close_to(rtol=1.1e-5), True),
        (close_to(atol=1.9e-5), False),
        (close_to(atol=2.1e-5), True),
        (Tolerances({"tau": Tolerance(1.1e-5)}), True),
        (Tolerances({ALL: Tolerance(1.0), "tau": Tolerance(1e-9)}), False),
    ],
)
def test_tolerances(tmp_path: Path, close: Tolerances, same: bool) -> None:
    """|now - stored| may be atol + rtol |stored|, the array's own tolerance coming first."""
    comparison = compared(tmp_path, torques([[2.0, 1.0]]), torques([[2.00002, 1.0]]), close)
    assert comparison.same is same


def test_the_last_bit_counts(tmp_path: Path) -> None:
    """Without a tolerance, a difference in the last bit is reported with all digits."""
    new = np.nextafter(0.1, 1)
    comparison = compared(tmp_path, torques([[0.1, 1.0]]), torques([[new, 1.0]]))
    assert comparison.beyond[0].values == ("0.10000000000000001", "0.10000000000000002")


def test_differences_are_ordered_by_size_in_their_array(tmp_path: Path) -> None:
    """A large change of a large number comes before a relatively larger one of a tiny number."""
    comparison = compared(tmp_path, torques([[100.0, 1e-14]]), torques([[101.0, 3e-14]]))
    assert [d.entry for d in comparison.beyond] == ["shoulder/effort", "elbow/effort"]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda r: replace(r, verb="forward"), "command: inverse → forward"),
        (lambda r: replace(r, options={"arm": "b.urdf"}), "option arm: a.urdf → b.urdf"),
        (lambda r: replace(r, options={}), "option arm: a.urdf → not given"),
        (lambda r: r.rows(0, 2), "rows: 3 → 2"),
        (lambda r: replace(r, time=np.zeros(3)), "array time: missing in the stored result"),
        (
            lambda r: replace(r, arrays=(replace(r.arrays[0], name="qdd"),)),
            "array tau: missing in the new result",
        ),
        (
            lambda r: replace(r, arrays=(replace(r.arrays[0], labels=(("a", "b"),)),)),
            "array tau: names of rows or columns differ",
        ),
        (
            lambda r: replace(r, arrays=(replace(r.arrays[0], unit="N"),)),
            "array tau: unit N·m → N",
        ),
        (lambda r: replace(r, joints=("x", "y")), "joints: shoulder, elbow → x, y"),
        (
            lambda r: torques(r.arrays[0].values[0]),
            "one result is for a single state, the other result is for the rows of a trajectory",
        ),
    ],
)
def test_other_questions_are_differences(tmp_path: Path, change, message: str) -> None:
    """Differences that are not numbers are reported in a sentence."""
    old = torques(np.ones((3, 2)))
    comparison = compared(tmp_path, old, change(old), close_to(rtol=1.0))
    assert message in comparison.structure
    assert not comparison.same


def test_more_rows_than_stored(tmp_path: Path) -> None:
    """Rows without a stored row are reported, and the others are still compared."""
    old, new = torques(np.ones((3, 2))), torques(np.ones((5, 2)))
    new.arrays[0].values[1, 1] = 2.0
    comparison = compared(tmp_path, old, new)
    assert comparison.structure == ("rows: 3 → 5",)
    assert [d.row for d in comparison.beyond] == [2]


def test_a_changed_input_is_a_note(tmp_path: Path) -> None:
    """A changed file that gives the same numbers is a note, not a difference."""
    old = torques(np.ones(2))
    comparison = compared(tmp_path, old, replace(old, inputs={"a.urdf": "1"}))
    assert comparison.notes == ("input a.urdf has changed",)
    assert comparison.same


def test_what_rounding_leaves_of_an_equation_is_no_difference(tmp_path: Path) -> None:
    """A residual of 3e-15 in place of 1e-15 is the same under a tolerance; one of 1e-9 is not."""

    def solved(left: float, verb: str = "lqr") -> Result:
        contract = {"Riccati equation": f"{left:.2g} left"}
        return Result(verb, (Array("residual", np.array(left), (), "1"),), JOINTS, contract, {}, {})

    close = close_to(rtol=1e-9)
    comparison = compared(tmp_path, solved(1e-15), solved(3e-15), close)
    assert (comparison.same, comparison.contract) == (True, ())
    assert not compared(tmp_path, solved(1e-15), solved(1e-9), close).same
    assert not compared(tmp_path, solved(1e-15), solved(3e-15)).same
    own = Tolerances({ALL: Tolerance(1e-9), "residual": Tolerance(1e-9)})
    assert not compared(tmp_path, solved(1e-15), solved(3e-15), own).same
    other = (solved(1e-15, "inverse"), solved(3e-15, "inverse"))
    assert not compared(tmp_path, *other, close).same


def test_contract_changes_name_quantity_and_size(tmp_path: Path) -> None:
    """Each changed quantity is a short line with the joint of the largest change."""
    point = {"q": [0.1, 0.2], "qd": [0.0, 0.0], "tau": [3.0, -1.5]}
    old = replace(torques([1.0, 2.0]), contract={"operating point": point, "gravity": "down"})
    moved = {**point, "tau": [3.25, -1.5], "wrench": [1.0]}
    now = replace(torques([1.0, 2.5]), contract={"operating point": moved, "gravity": "up"})
    assert compared(tmp_path, old, now).contract == (
        "operating point: tau changed by up to 0.25, shoulder: 3 → 3.25 (1 of 2)",
        "operating point: wrench: not given → 1.0",
        "gravity: down → up",
    )


@pytest.mark.parametrize(("now", "shown"), [(2e-14, False), (2e-9, True)])
def test_contract_changes_omit_rounding_of_zero(tmp_path: Path, now: float, shown: bool) -> None:
    """A change from 1e-14 to 2e-14 is omitted where torques are 30 N·m."""

    def at(qdd: float, tau: float) -> Result:
        return replace(
            torques([tau, 2.0]), contract={"operating point": {"qdd": [qdd, -qdd], "q": [0, 1]}}
        )

    lines = compared(tmp_path, at(1e-14, 30.0), at(now, 30.5)).contract
    assert any("qdd changed" in line for line in lines) is shown


def test_rounding_beyond_a_relative_tolerance_names_the_absolute_one(tmp_path: Path) -> None:
    """Zero but for rounding has no relative accuracy: it still differs, and the note helps."""
    old, now = torques([6.8e-17, 30.0]), torques([1.1e-15, 30.01])
    comparison = compared(tmp_path, old, now, close_to(rtol=0.01))
    assert not comparison.same
    note = "only round-off exceeds the tolerance; add --atol 2e-15 (atol=2e-15) to accept it"
    assert comparison.notes == (note,)
    assert compared(tmp_path, old, now, close_to(rtol=0.01, atol=2e-15)).same


@pytest.mark.parametrize(
    ("value", "close"), [(1.1e-15, EXACT), (1e-9, Tolerances({ALL: Tolerance(0.01)}))]
)
def test_real_and_exact_differences_have_no_such_note(
    tmp_path: Path, value: float, close: Tolerances
) -> None:
    comparison = compared(tmp_path, torques([6.8e-17, 30.0]), torques([value, 30.0]), close)
    assert not comparison.same
    assert comparison.notes == ()


def test_rounding_on_both_sides_is_listed_last(tmp_path: Path) -> None:
    """An acceleration that is only round-off is listed after the changed torques."""
    tiny = Array("qdd", np.array([7e-18, 2e-15]), (JOINTS,), "rad/s²", "acceleration")
    other = replace(tiny, values=np.array([7e-15, 0.01]))
    old, now = torques([30.0, 20.0]), torques([30.0, 20.001])
    comparison = compared(
        tmp_path,
        replace(old, arrays=(tiny, *old.arrays)),
        replace(now, arrays=(other, *now.arrays)),
    )
    entries = [entry.entry for entry in comparison.beyond]
    # the arm begins to move at its elbow: round-off on one side only is a change
    assert entries == ["elbow/acceleration", "elbow/effort", "shoulder/acceleration"]


def lines_of(comparison: Comparison) -> dict[str, str]:
    """A comparison as pytest, GitHub's annotations and JUnit show it."""
    outcome = CheckOutcome("case", "stored.npz", "differs", comparison=comparison)
    lines = "\n".join(compared_lines(comparison, rest=""))
    return {"pytest": lines, "github": github([outcome]), "junit": junit([outcome])}


def test_rounding_is_not_listed_with_real_differences(tmp_path: Path) -> None:
    """-1.7053e-12 → -1.7089e-12 N·m is counted where another torque of 30 N·m changed."""
    old, now = torques([-1.7053e-12, 30.0]), torques([-1.7089e-12, 30.1])
    comparison = compared(tmp_path, old, now)
    assert [entry.entry for entry in comparison.beyond] == ["elbow/effort", "shoulder/effort"]
    assert [entry.entry for entry in comparison.worth_listing] == ["elbow/effort"]
    for text in lines_of(comparison).values():
        assert "elbow/effort: 30 → 30.1 N·m" in text
        assert "… 1 entry differs by round-off only" in text
        assert "shoulder" not in text


def test_rounding_alone_is_listed(tmp_path: Path) -> None:
    """If nothing else differs, the last digits are listed: they made the check fail."""
    old, now = torques([-1.7053e-12, 30.0]), torques([-1.7089e-12, 30.0])
    comparison = compared(tmp_path, old, now)
    assert not comparison.same
    for text in lines_of(comparison).values():
        assert "shoulder/effort: -1.7053e-12 → -1.7089e-12 N·m" in text
    comparison = compared(tmp_path, old, replace(now, options={"arm": "b.urdf"}))
    for text in lines_of(comparison).values():
        assert "option arm: a.urdf → b.urdf" in text
        assert "shoulder" not in text


@pytest.mark.parametrize(("gap", "listed"), [(30.0 * 60e-16, False), (1e-12, True)])
def test_small_real_differences_are_listed(tmp_path: Path, gap: float, listed: bool) -> None:
    """A difference beyond 64 roundings of the largest torque is listed, however small it is."""
    old, now = torques([0.01, 30.0]), torques([0.01 + gap, 30.1])
    names = [entry.entry for entry in compared(tmp_path, old, now).worth_listing]
    assert ("shoulder/effort" in names) is listed


@pytest.mark.parametrize("size", [1, 7, 100])
def test_rounding_is_judged_by_all_rows(tmp_path: Path, size: int) -> None:
    """Rows that agree count for the scale of an array, in pieces of any size."""
    values = np.full((100, 2), 1e-3)
    values[0] = 1000.0
    other = values.copy()
    other[70, 0] += 1e-12
    other[80, 1] += 1e-6
    comparison = compared(tmp_path, torques(values), in_pieces(torques(other), size))
    assert [entry.entry for entry in comparison.worth_listing] == ["elbow/effort"]


def test_an_entry_is_rounding_only_if_all_its_rows_are(tmp_path: Path) -> None:
    """The row furthest beyond a tolerance may differ by rounding, and another one really."""
    rows = torques([[1e-15, 1.0], [1000.0, 1.0]])
    # the second row is 5e-12 beyond the 1e-6 that are allowed, and the first 1e-11 beyond nothing
    other = torques([[1e-11, 1.0], [1000.0 + 1e-6 + 5e-12, 2.0]])
    comparison = compared(tmp_path, rows, other, close_to(rtol=1e-9))
    assert [entry.rounding for entry in comparison.beyond] == [False, False]


def test_times_and_integers_are_not_rounded(tmp_path: Path) -> None:
    """A clock of 1.7e9 s that is 1 µs off, and a count that is 1 off, are real differences."""
    time = np.array([1.7e9, 1.7e9 + 1.0])
    old, now = torques(np.ones((2, 2)), time), torques(np.full((2, 2), 2.0), time + 1e-6)
    assert "time" in [entry.array for entry in compared(tmp_path, old, now).worth_listing]

    def counts(first: int) -> Result:
        values = np.array([first, 2**60], dtype=np.int64)
        return replace(old, arrays=(Array("count", values, (JOINTS,), "1"),), time=None)

    listed = compared(tmp_path, counts(1), counts(2)).worth_listing
    assert [entry.entry for entry in listed] == ["count/shoulder"]


def test_an_inverse_of_the_former_algorithm_is_the_same(tmp_path: Path) -> None:
    """A stored 𝓜⁻¹ is compared with the algorithm that computed it; other changes still differ."""
    path, arm = tmp_path / "inverse.npz", robolin.load("panda")
    question, states = robolin.Question("mass-matrix", inverse=True), robolin.States(q=[0.3] * 7)
    with run_request(request_about(arm, question, states), Settings(former=True), arm) as former:
        assert isinstance(former, Result)
        robolin.record(former, path)
    now = robolin.answer(arm, question, states)
    assert not np.array_equal(now["mass_matrix_inverse"], former["mass_matrix_inverse"])
    assert robolin.check(path).status == "same"

    inverse = replace(former.arrays[1], values=former["mass_matrix_inverse"] * (1.0 + 1e-15))
    other = tmp_path / "other.npz"
    robolin.record(replace(former, arrays=(former.arrays[0], inverse)), other)
    assert robolin.check(other).status == "differs"


def test_numbers_of_a_small_robot_are_not_rounding(tmp_path: Path) -> None:
    """A mass matrix of 1e-12 kg·m² that doubles is a difference, despite an inverse of 1e12."""
    link = "{name: %s, mass: %g, com: [0, 0, 0.0005], shape: {rod: 0.001}}"
    joint = "{name: %s, type: revolute, parent: %s, child: %s, axis: [0, 1, 0]}"
    joints = (joint % ("a", "base", "l"), joint % ("b", "l", "m"))
    results = []
    for mass in (1e-6, 2e-6):
        links = (link % ("l", mass), link % ("m", mass))
        path = tmp_path / "micro.yaml"
        path.write_text(
            f"robolin: 1\nname: micro\njoints: [{', '.join(joints)}]\nlinks: [{', '.join(links)}]\n"
        )
        question = robolin.Question("mass-matrix", inverse=True)
        results.append(robolin.answer(robolin.load(path), question, robolin.States(q=[0.1, 0.3])))
    old, now = results
    assert isinstance(old, Result)
    assert isinstance(now, Result)
    listed = compared(tmp_path, old, now).worth_listing
    assert {each.array for each in listed} == {"mass_matrix", "mass_matrix_inverse"}
    assert not any(each.rounding for each in listed)
