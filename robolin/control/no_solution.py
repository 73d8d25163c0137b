"""Why a model has no regulator: the mode that no motor reaches, or that no weight sees."""

from __future__ import annotations

import numpy as np

from robolin.control.model_parts import joint_shares, joints_named
from robolin.control.poles import EDGE, STABLE, poles_of
from robolin.control.scaling import scaled_matrices
from robolin.control.state_space import StateSpace
from robolin.control.weights import Weights
from robolin.core.arrays import Floats
from robolin.errors import RobolinError

# a distance below this, beside the size of the model, is none
LOST = 1e-9


def no_regulator(model: StateSpace, weights: Weights, place: int) -> RobolinError:
    """The complaint about one model that has no stabilizing regulator."""
    prefix = f"model {place}: " if place else ""
    poles = poles_of(model)
    lost = _lost(model.A, model.B, poles.values[poles.stability != STABLE])
    if lost is not None:
        value, direction = lost
        return RobolinError(
            f"{prefix}no gains stabilize this model: {_mode(model, value, direction)} "
            "is out of reach of its motors",
            where=model.arm.source,
            hint="actuate more joints, or linearize about another point",
        )
    size, vectors = np.linalg.eigh(weights.Q)
    seen = vectors * np.sqrt(np.maximum(size, 0.0))
    lost = _lost(model.A.T, seen, poles.values[poles.stability == EDGE])
    if lost is not None:
        value, direction = lost
        return RobolinError(
            f"{prefix}these weights have no regulator: {_mode(model, value, direction)} "
            "is on the edge of stability and no weight of a state sees it",
            where=model.arm.source,
            hint="give the positions of these joints a weight above 0",
        )
    return RobolinError(
        f"{prefix}the Riccati equation could not be solved",
        where=model.arm.source,
        hint="weights many powers of ten apart, or units that are, may be the reason",
    )


def _lost(A: Floats, B: Floats, values: Floats) -> tuple[complex, Floats] | None:
    """The eigenvalue among these that is most out of reach, if one is, and its direction."""
    units = scaled_matrices(A, B)
    norm = float(units.norm) or 1.0
    found = None
    for value in values:
        shifted = value / norm * np.eye(len(A)) - units.A
        U, sizes, _ = np.linalg.svd(np.concatenate([shifted, units.B], axis=1))
        # double poles are known to half the digits, and so is the distance there
        if sizes[-1] <= LOST and (found is None or sizes[-1] < found[2]):
            found = (complex(value), U[:, -1], float(sizes[-1]))
    return None if found is None else found[:2]


def _mode(model: StateSpace, value: complex, direction: Floats) -> str:
    names = joints_named(model, joint_shares(model, direction))
    number = f"{value.real:.4g}" if value.imag == 0.0 else f"{value:.4g}"
    if not names:
        return f"the mode at {number}"
    listed = ", ".join(f"'{name}'" for name in names)
    return f"the mode at {number} (joint{'s' * (len(names) > 1)} {listed})"
