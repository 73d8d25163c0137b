"""Relations between the algorithms and laws of mechanics, on random robots and bundled arms.

Tolerances: sums of a few hundred rounded products agree to some 1e-15 of their largest entry; 2e-14
leaves a margin for chains of 12 skew joints. Results that divide by the mass matrix lose as many
digits as its condition number has: 1e-14 + 1e-15 cond(𝓜), above the 1e-17 … 1e-16 cond(𝓜) seen.
"""

from __future__ import annotations

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algebra.inertias import (
    gyroscopic,
    gyroscopic_times,
    gyroscopic_transpose_times,
)
from tests.dynamics.loop_free import loop_free, mhat
from tests.dynamics.running import gap, run_on
from tests.dynamics.worked import worked
from tests.dynamics.world import kinetic_energy, weight_torque
from tests.robots import every_arm, for_each_arm, without_mimic

EXACT = 2e-14

# ∂q̈/∂q̇ may vanish; at speeds of about 1 its terms are about 1
MADE_OF = {"qdd": 0.0, "dqdd_dtau": 0.0, "dqdd_dqd": 1.0, "dqdd_dq": 0.0}

every = for_each_arm(every_arm())
every_independent = for_each_arm(without_mimic(every_arm()))
every_chain = for_each_arm([arm for arm in without_mimic(every_arm()) if arm.serial])


def divided(condition: float) -> float:
    """The tolerance of a result that divides by the mass matrix."""
    return 1e-14 + 1e-15 * condition


def test_the_sample_is_wide_enough() -> None:
    """Fifty random robots and more: 1 to 12 joints, chains and trees, sliding and turning."""
    arms = [arm for arm in every_arm() if not arm.source]
    kinds = {link.joint.kind for arm in arms for link in arm.links_tip_to_base}

    assert len(arms) >= 50
    assert {arm.n for arm in arms} == set(range(1, 13))
    assert {"revolute", "prismatic"} <= kinds
    assert sum(not arm.serial for arm in arms) >= 20


@every
def test_inverse_model_is_that_of_the_loop_free_form(arm: Arm) -> None:
    """τ, 𝓜, A_D and B_D equal a dense-matrix implementation that shares no line with them."""
    at = worked(arm)
    other = loop_free(arm, at.q, at.qd, at.qdd)

    assert gap(at.tau, other.tau) <= EXACT
    assert gap(at.M, other.mass_matrix) <= EXACT
    assert gap(at.model.mass_matrix, other.mass_matrix) <= EXACT
    assert gap(at.model.dtau_dqd, other.dtau_dqd, made_of=at.inertia) <= EXACT
    assert gap(at.model.dtau_dq, other.dtau_dq) <= EXACT


@every
def test_mass_matrix_columns_are_torques_of_unit_accelerations(arm: Arm) -> None:
    """𝓜 e = τ(q, 0, e) - τ(q, 0, 0)."""
    at = worked(arm)
    unit = robolin.inverse(at.weightless, at.q[:, None, :], 0.0, np.eye(arm.n))

    assert gap(at.M, np.swapaxes(unit, -1, -2)) <= EXACT


@every
def test_algorithm_1_is_the_model_of_algorithm_2_times_the_change(arm: Arm) -> None:
    """δτ = 𝓜 δq̈ + A_D δq̇ + B_D δq."""
    at = worked(arm)
    s, model = at.states, at.model
    change = robolin.perturb_inverse(arm, at.q, at.qd, at.qdd, s.dq, s.dqd, s.dqdd)
    product = _times(model.mass_matrix, s.dqdd) + _times(model.dtau_dqd, s.dqd)
    product += _times(model.dtau_dq, s.dq)

    assert gap(change, product) <= EXACT


@every_independent
def test_algorithm_5_is_algorithm_3(arm: Arm) -> None:
    """δq̈ by articulated bodies equals δq̈ by solving with 𝓜."""
    at = worked(arm)
    recursive = run_on(arm, "perturb-forward-articulated", at.perturbed)["dqdd"]
    conventional = run_on(arm, "perturb-forward-conventional", at.perturbed)["dqdd"]

    assert gap(recursive, conventional) <= divided(at.condition)


@every_independent
def test_algorithm_5b_is_algorithm_5(arm: Arm) -> None:
    """Omitting the articulated gyroscopic matrices changes nothing."""
    at = worked(arm)
    without = run_on(arm, "perturb-forward", at.perturbed)["dqdd"]
    articulated = run_on(arm, "perturb-forward-articulated", at.perturbed)["dqdd"]

    assert gap(without, articulated) <= EXACT


@every_independent
def test_algorithm_5b_is_the_forward_model_times_the_change(arm: Arm) -> None:
    """δq̈ = 𝓜⁻¹ δτ + ∂q̈/∂q̇ δq̇ + ∂q̈/∂q δq, with q̈ found by the interface itself."""
    at = worked(arm)
    s, method = at.states, "operator"
    model = robolin.linearize_forward(arm, at.q, at.qd, at.tau, method=method)
    change = robolin.perturb_forward(arm, at.q, at.qd, at.tau, s.dq, s.dqd, s.dtau, method=method)
    product = _times(model.dqdd_dtau, s.dtau) + _times(model.dqdd_dqd, s.dqd)
    product += _times(model.dqdd_dq, s.dq)

    assert gap(change, product) <= EXACT


@every_chain
def test_algorithm_6_is_algorithm_5_column_by_column(arm: Arm) -> None:
    """On a chain, Algorithm 6 equals Algorithm 5 for unit right-hand sides."""
    at = worked(arm)
    six = run_on(arm, "linearize-forward", at.pushed)

    for name, made_of in MADE_OF.items():
        computed, true = six[name], at.forward_columns[name]
        assert gap(computed, true, made_of) <= divided(at.condition), name


@every_independent
def test_algorithm_6_with_branches_is_algorithm_5_column_by_column(arm: Arm) -> None:
    """On a tree, rows by reciprocity are the same as columns by perturbation."""
    at = worked(arm)

    for name, made_of in MADE_OF.items():
        computed, true = at.forward_tree[name], at.forward_columns[name]
        assert gap(computed, true, made_of) <= divided(at.condition), name


@every_independent
def test_recursive_forward_model_is_algorithm_4(arm: Arm) -> None:
    """q̈, 𝓜⁻¹, ∂q̈/∂q̇ and ∂q̈/∂q by articulated bodies equal those by elimination."""
    at = worked(arm)

    for name, made_of in MADE_OF.items():
        computed, true = at.forward_tree[name], getattr(at.forward_conventional, name)
        assert gap(computed, true, made_of) <= divided(at.condition), name


@every
def test_forward_model_undoes_the_inverse_model(arm: Arm) -> None:
    """𝓜 𝓜⁻¹ = 1, 𝓜 ∂q̈/∂q̇ = -A_D, 𝓜 ∂q̈/∂q = -B_D."""
    at = worked(arm)
    model, size = at.forward_conventional, float(np.abs(at.M).max())
    inverse = np.abs(model.dqdd_dtau).max()

    assert gap(at.M @ model.dqdd_dtau, np.eye(arm.n)) <= divided(at.condition)
    for name, other in (("dqdd_dqd", at.model.dtau_dqd), ("dqdd_dq", at.model.dtau_dq)):
        terms = max(size * inverse * float(np.abs(other).max()), size)
        assert np.abs(at.M @ getattr(model, name) + other).max() / terms <= EXACT, name


@every
def test_forward_undoes_inverse(arm: Arm) -> None:
    """The accelerations that a motion's torques cause are that motion's, by either method."""
    at = worked(arm)

    for method in ("auto", "conventional"):
        qdd = robolin.forward(arm, at.q, at.qd, at.tau, method=method)
        # torques of gravity and speed, larger than those of q̈, carry their rounding into q̈
        inverse = float(np.abs(at.forward_conventional.dqdd_dtau).max())
        terms = max(1.0, float(np.abs(at.tau).max()) * inverse)
        assert np.abs(qdd - at.qdd).max() / terms <= divided(at.condition), method


@every_independent
def test_innovations_factors_make_the_mass_matrix(arm: Arm) -> None:
    """𝓜 = (I + HφK) D (I + HφK)*, I - HψK is the factor's inverse, and both give 𝓜⁻¹."""
    at = worked(arm)
    factors = robolin.mass_matrix_factor(arm, at.q)
    L, Linv, D = factors.factor, factors.factor_inverse, factors.D
    by_recursion = run_on(arm, "mass-matrix-inverse-columns", {"q": at.q})["mass_matrix_inverse"]

    assert (D > 0.0).all()
    assert gap(L @ (D[..., None] * _T(L)), at.M) <= EXACT
    assert gap(L @ Linv, np.eye(arm.n)) <= divided(at.condition)
    assert gap(_T(Linv) @ (Linv / D[..., None]), by_recursion) <= divided(at.condition)
    assert gap(by_recursion, np.linalg.inv(at.M)) <= divided(at.condition)


@every_independent
def test_inverse_by_recursion_is_the_inverse(arm: Arm) -> None:
    """(4.23) gives 𝓜⁻¹, symmetric to the bit, on serial chains and on trees."""
    at = worked(arm)
    names = ["mass-matrix-inverse-tree", *["mass-matrix-inverse"] * arm.serial]
    for name in names:
        mass_matrix_inverse = run_on(arm, name, {"q": at.q})["mass_matrix_inverse"]
        assert gap(mass_matrix_inverse, np.linalg.inv(at.M)) <= divided(at.condition), name
        assert np.array_equal(mass_matrix_inverse, _T(mass_matrix_inverse)), name


@every
def test_inverse_by_elimination_is_the_inverse(arm: Arm) -> None:
    """The conventional inverse, which also serves mimic joints, is that of 𝓜."""
    at = worked(arm)
    M_inverse = robolin.mass_matrix_inverse(arm, at.q, method="conventional")

    assert gap(M_inverse, np.linalg.inv(at.M)) <= divided(at.condition)
    assert np.array_equal(M_inverse, _T(M_inverse))


@every
def test_velocity_gradient_is_twice_the_christoffel_matrix(arm: Arm) -> None:
    """A_D(i,j) = Σ_k (∂𝓜_ij/∂q_k + ∂𝓜_ik/∂q_j - ∂𝓜_jk/∂q_i) q̇_k, and C is half of it."""
    at = worked(arm)
    symbols = at.dM + np.swapaxes(at.dM, -1, -2) - np.moveaxis(at.dM, -1, -3)
    twice = np.einsum("bijk,bk->bij", symbols, at.qd)

    assert gap(at.model.dtau_dqd, twice, made_of=at.inertia) <= EXACT
    half = robolin.coriolis_matrix(arm, at.q, at.qd)
    assert gap(2.0 * half, at.model.dtau_dqd, made_of=at.inertia) <= EXACT


@every
def test_mass_matrix_rate_less_velocity_gradient_is_skew(arm: Arm) -> None:
    """𝓜̇ - A_D = -(𝓜̇ - A_D)*."""
    at = worked(arm)
    N = at.Mdot - at.model.dtau_dqd

    assert gap(N, -_T(N), made_of=at.inertia) <= EXACT


@every
def test_coriolis_torques_are_half_the_velocity_gradient_times_velocity(arm: Arm) -> None:
    """C(q, q̇) = ½ A_D q̇."""
    at = worked(arm)

    assert gap(0.5 * _times(at.model.dtau_dqd, at.qd), at.coriolis, made_of=at.inertia) <= EXACT


@every
def test_coriolis_torques_do_the_work_of_a_changing_mass_matrix(arm: Arm) -> None:
    """q̇* (𝓜̇ q̇ - 2 C) = 0: no energy comes from nowhere."""
    at = worked(arm)
    changing = _times(at.Mdot, at.qd)
    power = ((changing - 2.0 * at.coriolis) * at.qd).sum(-1)
    terms = np.abs(changing * at.qd).sum(-1) + np.einsum("bi,bij,bj->b", at.qd, at.M, at.qd)

    assert gap(power, 0.0, made_of=float(terms.max())) <= EXACT


@every
def test_position_gradient_is_symmetric_in_statics(arm: Arm) -> None:
    """At rest B_D is the Hessian of the potential energy, and A_D = 0."""
    at = worked(arm)
    rest = robolin.linearize_inverse(arm, at.q)

    assert gap(rest.dtau_dq, _T(rest.dtau_dq)) <= EXACT
    assert not rest.dtau_dqd.any()


@every
def test_mass_matrix_gives_the_kinetic_energy(arm: Arm) -> None:
    """½ q̇* 𝓜 q̇ equals the energy summed body by body in the world."""
    at = worked(arm)
    quadratic = 0.5 * np.einsum("bi,bij,bj->b", at.qd, at.M, at.qd)

    assert gap(quadratic, kinetic_energy(arm, at.q, at.qd)) <= EXACT


@every
def test_holding_torque_is_the_gradient_of_the_potential_energy(arm: Arm) -> None:
    """τ(q, 0, 0) = ∂/∂q of -Σ m g · c."""
    at = worked(arm)

    assert gap(robolin.inverse(arm, at.q), weight_torque(arm, at.q)) <= EXACT


def test_gyroscopic_matrix_is_its_definition() -> None:
    """The closed form of M̂ equals ½ (Ṁ - Q[M V]), and M̂ V is the gyroscopic force."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, mp, A, V, X = rng.uniform(1, 3), *(rng.normal(size=size) for size in (3, (3, 3), 6, 6))
        J = A @ A.T
        cross = np.cross(np.eye(3), mp)
        M = np.block([[J, cross], [-cross, m * np.eye(3)]])
        closed = gyroscopic((m, *mp, *J[np.triu_indices(3)]), tuple(V))
        definition = mhat(M, V)

        assert gap(np.array(gyroscopic_times(closed, X[:3])), definition @ X) <= EXACT
        transposed = np.array(gyroscopic_transpose_times(closed, tuple(X)))
        assert gap(transposed, (definition.T @ X)[:3]) <= EXACT
        assert np.abs((definition.T @ X)[3:]).max() <= EXACT * np.abs(definition).max()


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", matrices, vectors)


def _T(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)
