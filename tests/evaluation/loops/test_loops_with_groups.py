"""Closed loops of robots with floating, planar and spherical joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.choices import GroupKind

KINDS: tuple[GroupKind, ...] = ("floating", "planar", "spherical")


def closed_state(kind: GroupKind) -> tuple[robolin.Arm, Any, Any, Any]:
    """A four-bar on a moving base, at a random state on its constraints."""
    arm, rng = robolin.load("four-bar", base_joint=kind), np.random.default_rng(4)
    q, qd, tau = rng.uniform(-0.6, 0.6, (3, arm.n))
    state = robolin.close(arm, q, qd)
    return arm, state.q, state.qd, tau


@pytest.mark.parametrize("kind", KINDS)
def test_accelerations_satisfy_the_equations_of_motion(kind: GroupKind) -> None:
    """M q̈ + C = τ + Lᵀ λ with M and C of the tree, and L q̈ = -L̇ q̇."""
    arm, q, qd, tau = closed_state(kind)
    tree = robolin.load("four-bar", base_joint=kind, open_loops=True)
    loop, loops = robolin.loop_forces(arm, q, qd, tau), robolin.loop_constraints(arm, q, qd)
    force = robolin.inverse(tree, q, qd, loop.qdd) - loops.jacobian.T @ loop.lam
    assert np.abs(force - tau).max() < 1e-12
    assert np.abs(loops.jacobian @ loop.qdd - loops.bias).max() < 1e-12
    assert np.abs(loops.open_by).max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_constraints_change_along_twists_of_the_base(kind: GroupKind) -> None:
    """L is the derivative of the violation along ⊕, and -bias that of L q̇ along the motion."""
    arm, q, qd, _ = closed_state(kind)
    loops, step = robolin.loop_constraints(arm, q, qd), 1e-6
    ends = [
        robolin.loop_constraints(arm, robolin.integrate(arm, q, s * qd), qd) for s in (step, -step)
    ]
    violation = (ends[0].open_by - ends[1].open_by) / (2 * step)
    assert np.abs(violation - loops.opening).max() < 1e-8
    rates = (ends[0].opening - ends[1].opening) / (2 * step)
    assert np.abs(rates + loops.bias).max() < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_linearization_agrees_with_differences(kind: GroupKind) -> None:
    """Derivatives of q̈ and λ along a change on the constraints, against central differences."""
    arm, q, qd, tau = closed_state(kind)
    change = robolin.close_change(arm, q, qd, *np.random.default_rng(8).uniform(-1, 1, (2, arm.n)))
    model, step = robolin.linearize_loops(arm, q, qd, tau), 1e-5

    def forces(s: float) -> robolin.LoopForces:
        near = robolin.close(arm, robolin.integrate(arm, q, s * change.dq), qd + s * change.dqd)
        return robolin.loop_forces(arm, near.q, near.qd, tau)

    one, other = forces(step), forces(-step)
    for name in ("qdd", "lam"):
        difference = (getattr(one, name) - getattr(other, name)) / (2 * step)
        along = (
            getattr(model, f"d{name}_dq") @ change.dq + getattr(model, f"d{name}_dqd") @ change.dqd
        )
        # truncation of order step², and rounding of the solutions divided by the step
        assert np.abs(difference - along).max() < 1e-6 * max(1.0, np.abs(along).max())


@pytest.mark.slow
def test_simulation_keeps_the_loop_closed_and_the_energy() -> None:
    """A floating four-bar without gravity keeps its energy, and its loop stays closed."""
    arm = robolin.load("four-bar", base_joint="floating", gravity=0.0, damping=False)
    _, q, qd, _ = closed_state("floating")
    motion = robolin.simulate(arm, q, qd, duration=0.2, dt=0.001)
    energy = motion.kinetic_energy
    assert np.abs(energy - energy[0]).max() < 1e-9 * energy[0]
    assert np.abs(robolin.loop_constraints(arm, motion.q[-1]).open_by).max() < 1e-12


def test_a_loop_may_close_on_the_world() -> None:
    """A floating body that is fixed to the world at a point swings about this point."""
    text = """robolin: 1
name: hung
links:
  - {name: ground}
  - {name: body, mass: 2.0, com: [0, 0, -0.5], inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}
  - {name: hook}
joints:
  - {name: base, type: floating, parent: ground, child: body}
  - {name: post, type: fixed, parent: ground, child: hook, origin: {xyz: [2.0, 0, 0]}}
loops:
  - {name: hang, kind: point, first: body, second: hook}
"""
    arm = robolin.load(text)
    q = np.zeros(6)
    q[list(arm.joint_names).index("base:x")] = 2.0
    q[list(arm.joint_names).index("base:ry")] = 0.3
    qdd = robolin.forward(arm, q, np.zeros(6), np.zeros(6))
    # physical pendulum: (I + m l²) θ̈ = -m g l sin θ
    expected = -2.0 * 9.81 * 0.5 * np.sin(0.3) / (0.1 + 2.0 * 0.25)
    assert qdd[list(arm.joint_names).index("base:ry")] == pytest.approx(expected, rel=1e-12)
