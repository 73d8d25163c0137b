"""Natural scales follow from mass, reach and gravity by dimension."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.natural_scales import (
    NO_SCALES,
    NaturalScales,
    contract_gravity,
    natural_scales,
)

SCALES = NaturalScales(mass=2.0, reach=0.5, gravity=8.0)


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("N", 16.0),
        ("N·m", 8.0),
        ("J", 8.0),
        ("N·m or N", 16.0),
        ("rad", 1.0),
        ("m", 0.5),
        ("m/s", 2.0),
        ("rad/s", 4.0),
        ("rad/s²", 16.0),
        ("N·m·s/rad", 2.0),
        ("W", 32.0),
        ("1/(N·m)", 0.125),
        ("√J", np.sqrt(8.0)),
    ],
)
def test_units_have_scales(unit: str, value: float) -> None:
    """m g, m g L, √(g L), √(g/L), g/L and so on."""
    assert SCALES.of_unit(unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("unit", ["1", "", "furlong", "N·m per rad or rad/s", "m or m/s or m/s²"])
def test_units_without_one_quantity_have_none(unit: str) -> None:
    """Numbers, unknown units and alternatives of several quantities have no scale."""
    assert SCALES.of_unit(unit) == 0.0


def test_scales_of_an_arm_bound_its_torques() -> None:
    """No holding torque exceeds weight times reach, and the largest is of the same order."""
    for name in ("two-link", "panda", "ur10", "puma560"):
        arm = robolin.load(name)
        scale = natural_scales(arm.model_dict, contract_gravity(arm.contract)).of_unit("N·m")
        q = np.random.default_rng(0).uniform(-3.0, 3.0, (2000, arm.n))
        largest = np.abs(robolin.inverse(arm, q)).max()
        assert 0.05 * scale < largest <= scale


def test_gravity_is_that_of_the_contract() -> None:
    """Gravity comes from the options of an arm, not from the description."""
    for gravity, size in ((None, 9.81), (0, 0.0), ([3.0, 0.0, -4.0], 5.0)):
        options = {} if gravity is None else {"gravity": gravity}
        arm = robolin.load("panda", **options)
        assert contract_gravity(arm.contract) == pytest.approx(size)
        if not size:
            assert natural_scales(arm.model_dict, size).of_unit("N·m") == 0.0
    assert NO_SCALES.of_unit("N·m") == 0.0
    assert contract_gravity({}) == 0.0
