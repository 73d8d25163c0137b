"""Units follow from the kinds of joints."""

import re
from pathlib import Path

import pytest

from robolin.core.quantity_table import (
    QUANTITIES,
    entry_units,
    rate_of,
    same_unit,
    unit_of,
    units_along,
)
from robolin.dynamics.catalogue import ALGORITHMS
from tests.cases import for_each
from tests.cli.command import robolin, run_ok

TURNS, SLIDES, BOTH = ["revolute", "continuous"], ["prismatic"], ["revolute", "prismatic"]
UNITS = [
    ("q", "rad", "m", "rad or m"),
    ("qd", "rad/s", "m/s", "rad/s or m/s"),
    ("qdd", "rad/s²", "m/s²", "rad/s² or m/s²"),
    ("tau", "N·m", "N", "N·m or N"),
    ("mass_matrix", "N·m·s²/rad", "N·s²/m", "N·m or N per rad/s² or m/s²"),
    ("mass_matrix_inverse", "rad/(N·m·s²)", "m/(N·s²)", "rad/s² or m/s² per N·m or N"),
    ("dmass_matrix_dq", "N·m·s²/rad²", "N·s²/m²", "N·m or N per rad/s² or m/s² per rad or m"),
    ("riemann", "N·m·s²/rad³", "N·s²/m³", "N·m or N per rad/s² or m/s² per rad or m per rad or m"),
    ("curvature", "1/rad²", "1/m²", "1 per rad or m per rad or m"),
    ("coriolis_matrix", "N·m·s/rad", "N·s/m", "N·m or N per rad/s or m/s"),
    ("dtau_dq", "N·m/rad", "N/m", "N·m or N per rad or m"),
    ("dtau_dqd", "N·m·s/rad", "N·s/m", "N·m or N per rad/s or m/s"),
    ("dqdd_dq", "1/s²", "1/s²", "rad/s² or m/s² per rad or m"),
    ("dqdd_dqd", "1/s", "1/s", "rad/s² or m/s² per rad/s or m/s"),
    ("nu", "√J", "√J", "√J"),
    ("epsilon", "√J/s", "√J/s", "√J/s"),
    ("coriolis", "√J/s", "√J/s", "√J/s"),
    ("m", "√J·s/rad", "√J·s/m", "√J per rad/s or m/s"),
    ("D", "N·m·s²/rad", "N·s²/m", "N·m or N per rad/s² or m/s²"),
    ("factor", "1", "1", "rad or m per rad or m"),
    ("xi", "rad/s", "m/s", "rad/s or m/s"),
    ("kappa", "N·m", "N", "N·m or N"),
    ("position", "m", "m", "m"),
    ("rotation", "1", "1", "1"),
    ("twist", "rad/s or m/s", "rad/s or m/s", "rad/s or m/s"),
    ("bias_wrench", "N·m or N", "N·m or N", "N·m or N"),
    (
        "jacobian",
        "rad/s or m/s per rad/s",
        "rad/s or m/s per m/s",
        "rad/s or m/s per rad/s or m/s",
    ),
    ("operational_inertia", *["N·m or N per rad/s² or m/s²"] * 3),
]


@for_each("name,turning,sliding,both", UNITS)
def test_units(name, turning, sliding, both):
    """Every quantity has the unit its definition gives it."""
    assert unit_of(name, TURNS) == turning
    assert unit_of(name, SLIDES) == sliding
    assert unit_of(name, BOTH) == both


OPEN = [
    ("A", "rad/s or rad/s² per rad or rad/s", "m/s or m/s² per m or m/s"),
    ("K", "N·m per rad or rad/s", "N per m or m/s"),
    ("P", "1 per rad or rad/s per rad or rad/s", "1 per m or m/s per m or m/s"),
    ("dx_dtau", "rad or rad/s per N·m", "m or m/s per N"),
    ("lam", "N or N·m", "N or N·m"),
    ("dlam_dq", "(N or N·m) per (rad)", "(N or N·m) per (m)"),
    ("poles", "1/s", "1/s"),
]


@pytest.mark.parametrize("name, turning, sliding", OPEN, ids=[row[0] for row in OPEN])
def test_units_without_labels(name, turning, sliding):
    """Where labels or a model decide, the kinds of the joints give all possible units."""
    assert unit_of(name, TURNS) == turning
    assert unit_of(name, SLIDES) == sliding


@pytest.mark.parametrize("kinds", [TURNS, SLIDES, BOTH], ids=["turning", "sliding", "both"])
def test_every_name_has_a_unit(kinds):
    """`unit_of` gives a unit for every quantity of the table, on every arm."""
    for name, quantity in QUANTITIES.items():
        # one unit for each part, unless all of them make one fraction
        parts = unit_of(name, kinds).split(" per ")
        assert len(parts) in (1, len(quantity.parts)), name
        assert all(parts), name


def test_feedthrough_and_articulated_inertia_have_different_units():
    """Both arrays are called D; outputs per input are not torques per acceleration."""
    labels = {"model output": "rad", "model input": "N·m"}
    assert unit_of("feedthrough", TURNS, labels) == "rad per N·m"
    assert unit_of("D", TURNS) == "N·m·s²/rad"


@pytest.mark.parametrize(
    "unit, rate",
    [("rad", "rad/s"), ("m/s", "m/s²"), ("rad or rad/s", "rad/s or rad/s²"), ("rad·s", "rad")],
)
def test_rates(unit, rate):
    """The rate of a position, a velocity or an integral has its unit per second."""
    assert rate_of(unit) == rate


def documented_names():
    """The rows of the last table of docs/reference/notation.md: names, symbols, shapes."""
    text = (Path(__file__).parents[2] / "docs" / "reference/notation.md").read_text("utf-8")
    for line in text.partition("## Names of results")[2].partition("\n## ")[0].splitlines():
        if line.startswith("| `"):
            names, symbols, shapes = line.strip("| ").split(" | ")
            yield re.findall(r"`(\w+)`", names), symbols, set(shapes.split(", "))


SIZES = {
    "joint": "n",
    "link": "links",
    "closure": "m",
    "parameter": "parameters",
    "state": "2n",
    "symbol": "independent symbols",
    "model state": "N",
    "mode": "N",
    "input": "u",
    "output": "y",
    "motion": "motions",
}


def shape_text(name):
    axes = QUANTITIES[name].axes
    return " × ".join(SIZES.get(axis, str(axis)) for axis in axes) or "1"


def test_the_notation_page_agrees_with_the_quantity_table():
    """Every public name has its symbol and its shape in docs/reference/notation.md."""
    documented = set()
    for names, symbols, shapes in documented_names():
        documented |= set(names)
        assert {shape_text(name) for name in names} == shapes, names
        for name in names:
            symbol = QUANTITIES[name].symbol
            rough = QUANTITIES["coriolis_unnormalized"].symbol if name == "coriolis" else symbol
            assert symbol in symbols or rough in symbols, name
    # separate quantities whose arrays share a name with another one
    assert set(QUANTITIES) - documented == {"coriolis_unnormalized", "feedthrough"}


def test_algorithm_outputs_have_the_axes_of_the_table():
    """The axes of every output array of an algorithm are those of its name."""
    for algorithm in ALGORITHMS.values():
        for name, shape in algorithm.gives.items():
            # link by link inside, and only those that count at the border
            if name not in ("regressor", "spring_regressor", "dtau_dgeometry"):
                assert QUANTITIES[name].axes == shape, name


LABELS = ("upper/mass", "upper/mx", "upper/izz", "lift/damping", "elbow/damping", "lift/armature")
JOINT_SLIDES = {"elbow": False, "lift": True}
ENTRIES = [
    ("parameters", (LABELS,), ["kg", "kg·m", "kg·m²", "N·s/m", "N·m·s/rad", "kg"]),
    ("regressor", (("elbow", "lift"), LABELS[:2]), ["N·m per kg", "N·m per kg·m", "N per kg",
                                                    "N per kg·m"]),
    ("dx_dtau", (("elbow/position", "lift/velocity"), ("elbow",)), ["rad per N·m", "m/s per N·m"]),
    ("dx_dx0", (("lift/position",), ("elbow/velocity",)), ["m per rad/s"]),
    ("dx_dparameters", (("elbow/velocity",), ("upper/com_x",)), ["rad/s per m"]),
    ("parameters", (("base:rx/friction",),), ["N·m or N"]),
    ("dtau_dgeometry", (("lift",), ("elbow/origin_x", "lift/turn_y")), ["N per m", "N per rad"]),
]  # fmt: skip


@pytest.mark.parametrize("name, labels, units", ENTRIES)
def test_labels_determine_the_units_of_entries(name, labels, units):
    """Entries for parameters and states have the units of these."""
    assert entry_units(name, "SI", labels, JOINT_SLIDES) == units


def test_the_unit_of_an_array_lists_the_units_of_its_entries():
    """The unit of an array lists those that occur along each axis."""
    units = units_along("regressor", (("elbow",), LABELS), JOINT_SLIDES)
    assert unit_of("regressor", TURNS, units) == "N·m per kg or kg·m or kg·m² or N·s/m or N·m·s/rad"


def test_si_equals_the_units_of_mixed_arrays():
    """Arrays stored with the unit 'SI' match mixed units and nothing else."""
    assert same_unit("regressor", "SI", "N·m per kg")
    assert same_unit("dx_dx0", "rad per rad", "SI")
    assert not same_unit("tau", "SI", "N·m")
    assert not same_unit("regressor", "N per kg", "N·m per kg")


def test_check_finds_changes_in_files_with_unit_si(tmp_path, monkeypatch):
    """A file stored with 'SI' passes `check`, and differences are printed with real units."""
    monkeypatch.chdir(tmp_path)
    command = ("regressor", "two-link", "--parameters")
    with monkeypatch.context() as patched:
        patched.setattr("robolin.queries.matrix_answers.unit_of", lambda *_: "SI")
        run_ok(*command, "-o", "before.json")
    assert '"SI"' in Path("before.json").read_text("utf-8")
    run_ok("check", "before.json")
    run_ok("regressor", "two-link", "--parameters", "--payload", "lower:1", "-o", "other.json")
    ran = robolin("check", "before.json", "--against", "other.json", "--rtol", "1e-9")
    assert ran.code == 1
    assert re.search(r"lower/mass .* kg\b", ran.out)
