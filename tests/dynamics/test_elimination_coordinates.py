"""Diagonalized and operational-space dynamics by elimination, also with mimic joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluation.evaluate import algorithm_for, evaluate
from robolin.evaluation.frames import at_frame
from tests.dynamics.running import complex_step
from tests.engine.on_lanes import on_lanes
from tests.robots import TOOL, arm_name, random_arm, random_states, with_follower, with_wrench

FREE = [random_arm(4, 2), random_arm(5, 7, tree=True, armature=True, damping=True)]
FREE += [with_wrench(random_arm(6, 9, friction_velocity=0.3), model) for model in ("dead", "world")]
TIED = [
    with_follower(random_arm(7, 8, armature=True, damping=True)),
    with_follower(random_arm(8, 9, tree=True, friction_velocity=0.4), followers=2),
    with_wrench(with_follower(random_arm(9, 8)), "follower"),
    robolin.load("panda-fingers"),
]
STATES = 2
PLAIN, ROOTLESS = (
    ("diagonalize", "undiagonalize"),
    (
        "diagonalize-unnormalized",
        "undiagonalize-unnormalized",
    ),
)

MORE = (
    "mass-matrix-factor",
    "forward-diagonalized",
    "forward-diagonalized-unnormalized",
    "rate-control",
)
GAINS = np.linspace(0.5, 3.0, 9)

every = pytest.mark.parametrize("arm", [*FREE, *TIED], ids=arm_name)
tied = pytest.mark.parametrize("arm", TIED, ids=arm_name)


def state(arm: Arm) -> dict[str, np.ndarray]:
    s = random_states(arm, STATES)
    return {"q": s.q, "qd": s.qd, "tau": s.dtau}


def close(computed: np.ndarray, true: np.ndarray, within: float = 1e-10) -> None:
    size = float(np.abs(true).max(initial=1.0))
    np.testing.assert_allclose(computed, true, rtol=0, atol=within * size)


@pytest.mark.parametrize("arm", FREE, ids=arm_name)
@pytest.mark.parametrize("verb", [*PLAIN, *ROOTLESS, *MORE])
def test_elimination_gives_what_the_recursions_give(arm: Arm, verb: str) -> None:
    """Where both are applicable, every result is the same to round-off."""
    inputs = {**state(arm), "gain": GAINS[: arm.n]}
    for name, like in (("nu", "qd"), ("epsilon", "tau"), ("xi", "qd"), ("kappa", "tau")):
        inputs[name] = inputs[like]
    results = evaluate(arm, verb, inputs, method="conventional")
    true = evaluate(arm, verb, inputs, method="operator")
    for key in true:
        close(results[key], true[key])


@every
def test_the_factor_is_one_of_the_mass_matrix(arm: Arm) -> None:
    """m m* is 𝓜, and ν·ν is twice the kinetic energy."""
    inputs = state(arm)
    results = evaluate(arm, "diagonalize", inputs, method="conventional")
    M = robolin.mass_matrix(arm, inputs["q"])
    close(results["m"] @ results["m"].swapaxes(-1, -2), M)
    energy = np.einsum("bi,bij,bj->b", inputs["qd"], M, inputs["qd"])
    close((results["nu"] ** 2).sum(-1), energy)
    bare = evaluate(arm, "diagonalize-unnormalized", inputs, method="conventional")
    L = bare["factor"]
    close(L * bare["D"][:, None, :] @ L.swapaxes(-1, -2), M)


@every
def test_the_equation_of_motion_holds_in_the_new_coordinates(arm: Arm) -> None:
    """ν̇ + C(q, ν) = ε, with ν̇ by a complex step along the motion that the torques cause."""
    inputs = state(arm)
    results = evaluate(arm, "diagonalize", inputs, method="conventional")
    qdd = evaluate(arm, "forward", inputs)["qdd"]
    name, names = "diagonalize-conventional", ("q", "qd", "tau")
    by = {
        along: complex_step(arm, name, {each: inputs[each] for each in names}, along)["nu"]
        for along in ("q", "qd")
    }
    rate = np.einsum("bij,bj->bi", by["q"], inputs["qd"]) + np.einsum("bij,bj->bi", by["qd"], qdd)
    close(rate + results["coriolis"], results["epsilon"])
    # Coriolis forces do no work
    close((results["nu"] * results["coriolis"]).sum(-1), np.zeros(STATES))


@every
def test_the_equation_without_roots(arm: Arm) -> None:
    """D ξ̇ + C(q, ξ) = κ."""
    inputs = state(arm)
    results = evaluate(arm, "diagonalize-unnormalized", inputs, method="conventional")
    qdd = evaluate(arm, "forward", inputs)["qdd"]
    name = "diagonalize-unnormalized-conventional"
    by = {along: complex_step(arm, name, inputs, along)["xi"] for along in ("q", "qd")}
    rate = np.einsum("bij,bj->bi", by["q"], inputs["qd"]) + np.einsum("bij,bj->bi", by["qd"], qdd)
    close(results["D"] * rate + results["coriolis"], results["kappa"])


@every
def test_inverse_maps(arm: Arm) -> None:
    """Velocities and torques are recovered from both kinds of coordinates."""
    inputs = state(arm)
    for there, back in (PLAIN, ROOTLESS):
        results = evaluate(arm, there, inputs, method="conventional")
        again = evaluate(arm, back, {"q": inputs["q"], **results}, method="conventional")
        close(again["qd"], inputs["qd"])
        close(again["tau"], inputs["tau"])


@every
def test_the_factors_without_a_state_of_motion(arm: Arm) -> None:
    """factor diag(D) factor* is 𝓜, and factor_inverse is the inverse of the factor."""
    q = state(arm)["q"]
    results = evaluate(arm, "mass-matrix-factor", {"q": q}, method="conventional")
    L, D = results["factor"], results["D"]
    close(L * D[:, None, :] @ L.swapaxes(-1, -2), robolin.mass_matrix(arm, q))
    close(L @ results["factor_inverse"], np.broadcast_to(np.eye(arm.n), L.shape))


@every
def test_motion_in_the_new_velocities(arm: Arm) -> None:
    """From ν and ξ come the velocities of the joints, ν̇ = ε - C(q, ν) and D ξ̇ = κ - C(q, ξ)."""
    inputs = state(arm)
    for verb, v, force, rate in (
        ("diagonalize", "nu", "epsilon", "nud"),
        ("diagonalize-unnormalized", "xi", "kappa", "xid"),
    ):
        at = evaluate(arm, verb, inputs, method="conventional")
        name = "forward-diagonalized" + verb.removeprefix("diagonalize")
        moved = {"q": inputs["q"], v: at[v], "tau": inputs["tau"]}
        results = evaluate(arm, name, moved, method="conventional")
        close(results["qd"], inputs["qd"])
        inertia = at["D"] if v == "xi" else 1.0
        close(inertia * results[rate], at[force] - at["coriolis"])


@every
def test_damping_in_the_new_velocities(arm: Arm) -> None:
    """τ minus the holding torque is -m c ν, so that kinetic energy decreases by ν·c ν."""
    inputs, gain = state(arm), GAINS[: arm.n]
    at = evaluate(arm, "diagonalize", inputs, method="conventional")
    braked = {"q": inputs["q"], "qd": inputs["qd"], "gain": gain}
    results = evaluate(arm, "rate-control", braked, method="conventional")
    close(results["nu"], at["nu"])
    spent = evaluate(arm, "diagonalize", {**inputs, "tau": results["tau"]}, method="conventional")
    close(spent["epsilon"], -gain * at["nu"])


@every
def test_operational_space_is_that_of_the_jacobian(arm: Arm) -> None:
    """Λ⁻¹ is J 𝓜⁻¹ J*, the free acceleration J q̈ + J̇ q̇, and Λ a + μ = 0 for it."""
    frame = TOOL if TOOL in arm.frames else "panda_hand"
    inputs, placed = state(arm), at_frame(arm, frame, (0.1, -0.2, 0.3))
    results = evaluate(placed, "operational-space-inverse", inputs, method="conventional")
    at = robolin.jacobian(arm, inputs["q"], inputs["qd"], frame=frame, point=(0.1, -0.2, 0.3))
    J, Minv = at.jacobian, np.linalg.inv(robolin.mass_matrix(arm, inputs["q"]))
    qdd = evaluate(arm, "forward", inputs)["qdd"]
    close(results["operational_inertia_inverse"], J @ Minv @ J.swapaxes(-1, -2))
    close(results["free_acceleration"], np.einsum("bij,bj->bi", J, qdd) + at.jacobian_rate_qd)
    if np.linalg.matrix_rank(J).min() == 6:
        full = evaluate(placed, "operational-space", inputs, method="conventional")
        Lam, free = full["operational_inertia"], full["free_acceleration"]
        close(
            Lam @ full["operational_inertia_inverse"], np.broadcast_to(np.eye(6), Lam.shape), 1e-7
        )
        close(np.einsum("bij,bj->bi", Lam, free), -full["bias_wrench"], 1e-8)


@tied
def test_auto_takes_elimination_with_mimic_joints(arm: Arm) -> None:
    """Arms with grippers have results, and the contract names the method."""
    for verb in (*PLAIN, *ROOTLESS, *MORE, "operational-space", "operational-space-inverse"):
        assert algorithm_for(arm, verb) == f"{verb}-conventional"
        with pytest.raises(robolin.RobolinError, match="mimics"):
            algorithm_for(arm, verb, "operator")


@pytest.mark.slow
@pytest.mark.parametrize("arm", [random_arm(3, 8), TIED[0]], ids=arm_name)
def test_kernels_have_the_same_bits(arm: Arm) -> None:
    """Lanes give Python's bits, with and without mimic joints, inside the workspace.

    The other algorithms by elimination need no such arm and are in tests/engine/test_same_bits.py.
    """
    name = "operational-space-conventional"
    arm = replace(arm, tip=arm.frames[TOOL])
    s, entry = random_states(arm, 30), ALGORITHMS[name]
    inputs = {"q": s.q, "qd": s.qd, "tau": s.dtau}
    lanes, status = on_lanes(arm, name, entry, inputs)
    true = evaluate(arm, name, inputs, engine="python")
    assert not status.any()
    assert all(lanes[key].tobytes() == true[key].tobytes() for key in true)
