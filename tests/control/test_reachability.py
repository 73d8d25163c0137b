"""Controllability and observability: counted right where the usual test is wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.robot_source import bundled_names
from tests.control.octave import octave

SERIAL = [name for name in bundled_names() if not robolin.load(name).loops]
SEVEN = ("panda", "iiwa14", "xarm7")


def driven_by(model: robolin.StateSpace, motors: tuple[int, ...]) -> robolin.StateSpace:
    """The same model with only some of its motors."""
    return replace(model, B=model.B[..., list(motors)], D=model.D[..., list(motors)])


@pytest.mark.parametrize("poses", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SERIAL)
def test_fully_actuated_arms_are_controllable(name: str, poses: int) -> None:
    """With a motor at every joint, all 2n states are reached in each of 1000 poses."""
    arm = robolin.load(name)
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (poses, arm.n))
    model = robolin.state_space(arm, q, actuated="all")
    assert (model.controllability().dimension == 2 * arm.n).all()
    assert model[:20].controllability().complete.all()


@pytest.mark.parametrize("name", SEVEN)
def test_the_usual_test_is_wrong_about_them(name: str) -> None:
    """rank [B, AB, A²B, …] calls a fully actuated arm of seven joints uncontrollable."""
    control = pytest.importorskip("control")
    arm = robolin.load(name)
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (10, arm.n))
    model = robolin.state_space(arm, q)
    ranks = [
        np.linalg.matrix_rank(control.ctrb(A, B)) for A, B in zip(model.A, model.B, strict=True)
    ]
    assert min(ranks) < 2 * arm.n


def subsets(joints: int) -> list[tuple[int, ...]]:
    """Some of the motors, in every way; of six or seven every third way."""
    every = [c for k in range(1, joints + 1) for c in combinations(range(joints), k)]
    return every[:: 3 if joints > 5 else 1]


@pytest.mark.slow
def test_dimensions_agree_with_octave(tmp_path: Path) -> None:
    """With two motors or more, dimensions are those of Octave's isctrb at the same tolerance.

    With one motor, couplings through many joints are only round-off: the count may differ where
    the distance to uncontrollability is that small.
    """
    matrices, models, script = {}, {}, ""
    for i, name in enumerate(("two-link", "puma560", "ur5", *SEVEN)):
        arm = robolin.load(name)
        q = np.random.default_rng(1).uniform(-1.5, 1.5, arm.n)
        model = models[name] = robolin.state_space(arm, q)
        chosen = [[float(j in some) for j in range(arm.n)] for some in subsets(arm.n)]
        matrices |= {f"A{i}": model.A, f"B{i}": model.B, f"chosen{i}": np.array(chosen)}
        script += (
            f"for j = 1:rows(s.chosen{i}); [v, n] = "
            f"isctrb(s.A{i}, s.B{i}(:, logical(s.chosen{i}(j, :))), [], 1e-10); r.n{i}(j) = n; end;"
        )
    true = octave(script, tmp_path, **matrices)
    for i, (name, model) in enumerate(models.items()):
        for some, dimension in zip(subsets(model.arm.n), true[f"n{i}"], strict=True):
            controllability = driven_by(model, some).controllability()
            decidable = len(some) > 1 or controllability.distance.min() > 1e-14
            assert not decidable or controllability.dimension == dimension, (name, some)


@pytest.mark.parametrize("name", ["puma560", "panda", "iiwa14"])
def test_momentum_about_a_vertical_axis_is_out_of_reach(name: str) -> None:
    """Without a motor at the vertical first joint, p₁ + d q₁ stays, and is out of reach.

    Gravity has no moment about the vertical, so the momentum about it changes only by damping.
    """
    arm = robolin.load(name)
    model = robolin.state_space(arm, np.random.default_rng(2).uniform(-1.0, 1.0, arm.n))
    others = driven_by(model, tuple(range(1, arm.n))).controllability()
    assert others.dimension == 2 * arm.n - 1
    assert not others.complete
    assert others.distance[others.worst] < 1e-14
    kept = np.concatenate([np.zeros(arm.n), robolin.mass_matrix(arm, model.q)[0]])
    kept[0] = arm.joints[0].damping
    assert np.abs(kept @ model.A).max() <= 1e-11 * np.abs(model.A).max() * np.abs(kept).max()


def test_what_is_out_of_reach_is_named() -> None:
    """Two joints that do not touch, one without a motor: it is the one that is named."""
    arm = robolin.load("two-link")
    model = robolin.state_space(arm, 0.0)
    A = np.zeros((4, 4))
    A[:2, 2:], A[2, 0], A[3, 1] = np.eye(2), -4.0, -4.0
    B = np.array([[0.0], [0.0], [0.0], [1.0]])
    controllability = replace(model, A=A, B=B, D=model.D[:, :1]).controllability()
    assert controllability.dimension == 2
    assert controllability.joints(int(controllability.worst)) == ("shoulder",)


def test_positions_of_all_joints_show_everything() -> None:
    """A frame that all joints move shows the whole state, one joint's position not always."""
    arm = robolin.load("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.7])
    assert robolin.state_space(arm, q, outputs="q").observability().dimension == 14
    assert robolin.state_space(arm, q, outputs="qd").observability().dimension < 14


def test_gramians_meet_their_equations() -> None:
    """A W + W Aᵀ + B Bᵀ = 0 and Aᵀ W + W A + Cᵀ C = 0; unstable models have none."""
    arm = robolin.load("acrobot")
    model = robolin.state_space(arm, 0.0, passive="shoulder")
    W, X = model.gramian("controllability"), model.gramian("observability")
    left = model.A @ W + W @ model.A.T + model.B @ model.B.T
    shown = model.A.T @ X + X @ model.A + model.C.T @ model.C
    assert np.abs(left).max() <= 1e-12 * np.abs(model.A @ W).max()
    assert np.abs(shown).max() <= 1e-12 * np.abs(X @ model.A).max()
    sampled = model.discretize(0.01)
    V = sampled.gramian("controllability")
    gone = sampled.A @ V @ sampled.A.T - V + sampled.B @ sampled.B.T
    assert np.abs(gone).max() <= 1e-12 * np.abs(V).max()

    with pytest.raises(robolin.RobolinError, match="is not"):
        robolin.state_space(arm, [np.pi, 0.0], passive="shoulder").gramian("controllability")


def test_distances_of_a_batch_are_those_of_its_models() -> None:
    """Conjugate poles share one decomposition without vectors: the same to 1e-12."""
    arm = robolin.load("panda")
    q = np.random.default_rng(5).uniform(-1.5, 1.5, (3, 7))
    many = robolin.state_space(arm, q)
    for kind in ("controllability", "observability"):
        batch = getattr(many, kind)()
        for i in range(3):
            one = getattr(many[i], kind)()
            assert np.abs(batch.distance[i] - one.distance).max() <= 1e-12 * one.distance.max()
            assert (one.values.imag != 0.0).any()
