"""Units follow from what joints do."""

import pytest

from robolin.quantities import unit_of

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


@pytest.mark.parametrize("name, turning, sliding, both", UNITS, ids=[row[0] for row in UNITS])
def test_units(name, turning, sliding, both):
    """Every quantity has the unit its definition gives it."""
    assert unit_of(name, TURNS) == turning
    assert unit_of(name, SLIDES) == sliding
    assert unit_of(name, BOTH) == both
