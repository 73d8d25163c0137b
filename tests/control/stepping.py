"""Derivatives of the nonlinear arm by complex steps, as a reference for linear models."""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm
from robolin.evaluation.frames import at_frame
from tests.dynamics.running import STEP, run_on

Arrays = dict[str, np.ndarray]


def stepped_outputs(
    arm: Arm, state: Arrays, frame: str, reference: str
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """∂/∂q, ∂/∂q̇ and ∂/∂τ of every output of a linear model, by name."""
    directions = [_moved(arm, state, name, frame, reference) for name in ("q", "qd", "tau")]
    return {name: tuple(each[name] for each in directions) for name in directions[0]}


def _moved(arm: Arm, state: Arrays, along: str, frame: str, reference: str) -> Arrays:
    """The derivatives along one of the arrays: the last axis counts its entries."""
    inputs = {name: values[None, :].astype(complex) for name, values in state.items()}
    inputs[along] = inputs[along] + 1j * STEP * np.eye(arm.n)
    forward = "forward-conventional" if arm.has_mimic else "forward"
    inputs = {name: np.broadcast_to(values, (arm.n, arm.n)) for name, values in inputs.items()}
    qdd = run_on(arm, forward, inputs)["qdd"]
    motion = {"q": inputs["q"], "qd": inputs["qd"], "qdd": qdd}
    seen = run_on(at_frame(arm, frame), "frame-motion", motion)
    R = seen["rotation"]
    turn = R.imag @ np.swapaxes(R.real, -1, -2)
    turned = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=-1)
    displacement = np.concatenate([turned, seen["position"].imag], axis=-1)
    spatial = {"velocity": seen["twist"], "acceleration": seen["classical_acceleration"]}
    if reference == "frame":
        spatial = {name: _seen_from(R, each) for name, each in spatial.items()}
        displacement = _seen_from(R.real, displacement)
    moved = {"q": inputs["q"].imag, "qd": inputs["qd"].imag, "tau": inputs["tau"].imag}
    moved |= {"qdd": qdd.imag, "displacement": displacement}
    moved |= {name: each.imag for name, each in spatial.items()}
    return {name: each.T / STEP for name, each in moved.items()}


def _seen_from(R: np.ndarray, spatial: np.ndarray) -> np.ndarray:
    halves = [np.einsum("bji,bj->bi", R, spatial[:, i : i + 3]) for i in (0, 3)]
    return np.concatenate(halves, axis=-1)
