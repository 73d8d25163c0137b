"""Identities of mechanics that hold for every algorithm, also with closed loops.

States with closed loops are projected onto the constraints by Newton's method.  States without a
solution, and singular states, are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robolin.checking.verification.algorithms import same_bits
from robolin.checking.verification.bodies import (
    MovingLinks,
    dissipation_and_load_torques,
    energy_rate,
    kinetic_energy,
    moving_links,
    potential_energy,
    weight_torque,
)
from robolin.checking.verification.check_context import (
    SUM,
    CheckContext,
    complex_step,
    complex_step_along,
)
from robolin.checking.verification.checks import (
    Bound,
    Check,
    compared,
    not_applicable,
    run_for_check,
    worst,
)
from robolin.checking.verification.digits import digits_of
from robolin.core.arm import Frame
from robolin.core.arrays import Floats, Indices
from robolin.core.choices import LoopMethod
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluation.evaluate import evaluate_any_arm_rows
from robolin.evaluation.loop_projection import assemble

FAMILY = "identities"


def identities(on: CheckContext) -> Iterator[Check]:
    """Energy, gravity, dissipation and loads from bodies; structure of 𝓜, C and the factors."""
    yield from _energies(on)
    yield from _torques(on)
    yield from _structure(on)
    yield from _inverses(on)
    yield from _diagonal(on)


def _energies(on: CheckContext) -> Iterator[Check]:
    M = on.result("mass-matrix", "mass_matrix")
    computed = 0.5 * np.einsum("bi,bij,bj->b", on.qd, M, on.qd)
    true = kinetic_energy(on.arm, on.q, on.qd)
    yield compared(
        FAMILY,
        "½ q̇ᵀMq̇ = kinetic energy of the bodies",
        computed,
        true,
        SUM,
        on.inertia_bound * on.speed**2,
    )

    computed = on.run("energy").arrays
    height = potential_energy(on.arm, on.q)
    terms = on.weight + on.inertia_bound * on.speed**2
    energies = np.stack([computed["kinetic_energy"], computed["potential_energy"]], axis=1)
    bodies = np.stack([true, height], axis=1)
    yield compared(
        FAMILY, "kinetic and potential energy = sums over the bodies", energies, bodies, SUM, terms
    )

    tau = run_for_check(on.without_extras, "inverse", on.inputs("inverse")).arrays["tau"]
    power = (tau * on.qd).sum(-1)
    rate = energy_rate(on.arm, on.q, on.qd, on.qdd)
    terms = on.speed * on.motion_terms * on.arm.n
    yield compared(FAMILY, "q̇ᵀτ = rate of change of the total energy", power, rate, SUM, terms)


def _torques(on: CheckContext) -> Iterator[Check]:
    still = np.zeros_like(on.q)
    hold = run_for_check(
        on.without_extras, "inverse", {"q": on.q, "qd": still, "qdd": still}
    ).arrays["tau"]
    weight = weight_torque(on.arm, on.q)
    yield compared(
        FAMILY, "τ at rest = gradient of the potential energy", hold, weight, SUM, on.weight
    )

    extra, tau = dissipation_and_load_torques(on.arm, on.q, on.qd), on.result("inverse", "tau")
    title = "τ = M q̈ + C q̇ + gravity + dissipation + loads"
    if reason := on.reason_unavailable("coriolis-matrix"):
        yield not_applicable(FAMILY, title, reason)
    else:
        M = on.result("mass-matrix", "mass_matrix")
        C = on.result("coriolis-matrix", "coriolis_matrix")
        parts = _times(M, on.qdd) + _times(C, on.qd) + weight + extra
        yield compared(FAMILY, title, tau, parts, SUM, on.motion_terms)

    title = "dissipation and load torques = damping + friction + virtual work of the wrenches"
    if not extra.any():
        yield not_applicable(FAMILY, title, "the model has no damping, friction or wrench")
        return
    without_extras = run_for_check(on.without_extras, "inverse", on.inputs("inverse")).arrays["tau"]
    yield compared(FAMILY, title, tau - without_extras, extra, SUM, on.motion_terms)


def _structure(on: CheckContext) -> Iterator[Check]:
    title = "Ṁ - 2C is skew-symmetric"
    if reason := on.reason_unavailable("mass-matrix-derivative") or on.reason_unavailable(
        "coriolis-matrix"
    ):
        yield not_applicable(FAMILY, title, reason)
    else:
        dM = on.result("mass-matrix-derivative", "dmass_matrix_dq")
        C = on.result("coriolis-matrix", "coriolis_matrix")
        N = np.einsum("bijk,bk->bij", dM, on.qd) - 2.0 * C
        yield compared(FAMILY, title, N, -_T(N), SUM, on.inertia_bound * on.speed)

    title = "M = (I + HφK) D (I + HφK)*"
    name, reason = on.answering("mass-matrix-factor")
    if reason:
        yield not_applicable(FAMILY, title, reason)
        return
    factors = on.run(name).arrays
    L, D, Linv = factors["factor"], factors["D"], factors["factor_inverse"]
    M = on.result("mass-matrix", "mass_matrix")
    yield compared(FAMILY, title, L @ (D[..., None] * _T(L)), M, SUM, on.inertia_bound)
    one = np.broadcast_to(np.eye(on.arm.n), M.shape)
    yield compared(FAMILY, "(I + HφK)(I - HψK) = 1", L @ Linv, one, on.divided)


def _inverses(on: CheckContext) -> Iterator[Check]:
    titles = ("M M⁻¹ = 1", "forward dynamics inverts inverse dynamics")
    if on.no_inertia:
        yield from (not_applicable(FAMILY, title, on.no_inertia) for title in titles)
        return
    M = on.result("mass-matrix", "mass_matrix")
    inverse, forward = (on.answering(verb)[0] for verb in ("mass-matrix-inverse", "forward"))
    product = M @ on.result(inverse, "mass_matrix_inverse")
    one = np.broadcast_to(np.eye(on.arm.n), M.shape)
    yield compared(FAMILY, titles[0], product, one, on.divided)
    qdd = on.result(forward, "qdd")
    yield compared(FAMILY, titles[1], qdd, on.qdd, on.accelerations, on.acceleration_terms)
    yield _prescribed(on)


def _prescribed(on: CheckContext) -> Check:
    """Prescribe some joints' own accelerations: the others and all torques must not change."""
    title = "forward-prescribed inverts inverse dynamics"
    name, reason = on.answering("forward-prescribed")
    if reason:
        return not_applicable(FAMILY, title, reason)
    terms = {"qdd": (on.qdd, on.acceleration_terms), "tau": (on.value("tau"), on.motion_terms)}
    return worst(
        compared(FAMILY, title, on.result(name, array), true, on.accelerations, each)
        for array, (true, each) in terms.items()
    )


def _diagonal(on: CheckContext) -> Iterator[Check]:
    titles = (
        "M = m m*",
        "νᵀν = q̇ᵀMq̇",
        "νᵀC(q, ν) = 0",
        "εᵀν = rate of change of the kinetic energy",
        "ν̇ + C(q, ν) = ε",
        "D ξ̇ + C(q, ξ) = κ",
        "undiagonalize inverts diagonalize",
    )
    name, reason = on.answering("diagonalize")
    if reason:
        yield from (not_applicable(FAMILY, title, reason) for title in titles)
        return
    state = on.run(name).arrays
    nu, epsilon, coriolis = state["nu"], state["epsilon"], state["coriolis"]
    M = on.result("mass-matrix", "mass_matrix")
    yield compared(FAMILY, titles[0], state["m"] @ _T(state["m"]), M, SUM, on.inertia_bound)
    energy = np.einsum("bi,bij,bj->b", on.qd, M, on.qd)
    terms = on.inertia_bound * on.speed**2
    yield compared(FAMILY, titles[1], (nu * nu).sum(-1), energy, SUM, terms)
    work = (nu * coriolis).sum(-1)
    sizes = np.abs(nu).sum(-1) * np.abs(coriolis).sum(-1) + (nu * nu).sum(-1) * on.speed
    # the same forces, relative to their magnitude without cancellation
    yield compared(FAMILY, titles[2], sizes + work, sizes, on.divided)

    spent = weight_torque(on.arm, on.q) + dissipation_and_load_torques(on.arm, on.q, on.qd)
    free = (on.value("tau") - spent) * on.qd
    power, terms = (epsilon * nu).sum(-1), on.speed * on.motion_terms * on.arm.n
    yield compared(FAMILY, titles[3], power, free.sum(-1), on.divided, terms)
    yield from _diagonal_motion(on, titles[4:])


def _diagonal_motion(on: CheckContext, titles: tuple[str, ...]) -> Iterator[Check]:
    """Equations of motion, with rates by complex step along the motion, and the inverse map."""
    motion = {"q": on.qd, "qd": on.qdd}
    for title, verb, velocity, force in (
        (titles[0], "diagonalize", "nu", "epsilon"),
        (titles[1], "diagonalize-unnormalized", "xi", "kappa"),
    ):
        name, _ = on.answering(verb)
        state = on.run(name).arrays
        rate = complex_step_along(on.arm, name, on.inputs(name), motion)[velocity]
        inertia = state["D"] if velocity == "xi" else 1.0
        terms = np.abs(state["coriolis"]).max(-1) + np.abs(rate).max(-1) + on.terms(name, force)
        computed = inertia * rate + state["coriolis"]
        yield compared(FAMILY, title, computed, state[force], on.accelerations, terms)

    yield worst(
        compared(FAMILY, titles[2], on.result(name, array), on.value(array), on.divided, terms)
        for name, _ in map(on.answering, ("undiagonalize", "undiagonalize-unnormalized"))
        for array, terms in (("qd", 0.0), ("tau", on.motion_terms))
    )


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return (matrices @ vectors[..., None])[..., 0]


def _T(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)


CLOSED_LOOPS = "loops"
CHECKED_LOOP_METHODS: tuple[LoopMethod, ...] = ("kkt", "schur")
CHECKED_STATE = ("q", "qd", "tau")

# constraint violation up to which a state counts as closed, in metres and radians
CHECKED_CLOSED_WITHIN = 1e-10


def closed_loops(on: CheckContext) -> Iterator[Check]:
    """The constraints and their derivatives, and the motion that satisfies them."""
    if not on.arm.loops:
        return
    yield from _frames_apart(on)
    closed, numbers = _closed(on)
    if left := len(on.q) - len(numbers):
        reason = f"{left} of {len(on.q)} states could not be projected onto the loop constraints"
        yield not_applicable(CLOSED_LOOPS, "closed loops in all states", reason)
    if not len(numbers):
        return
    for check in _checks(closed):
        # use the state indices of the tree
        yield check.renumbered(numbers.tolist(), len(on.q))


def _frames_apart(on: CheckContext) -> Iterator[Check]:
    """Gaps, rotations and their rates with open loops, against the bodies' own positions."""
    at, computed = (
        moving_links(on.arm, on.q, on.qd),
        run_for_check(on.arm, "closures", on.inputs("closures")).arrays,
    )
    gaps: list[Floats] = []
    rates: list[Floats] = []
    turns: list[Floats] = []
    for loop in on.arm.loops:
        (R, r, v, w), (R2, r2, v2, w2) = (_frame(on, at, end) for end in (loop.first, loop.second))
        turn = R @ np.swapaxes(R2, -1, -2)
        gap, rate, rows = [r - r2], [v - v2], [np.zeros_like(turn)]
        if loop.kind == "rigid":
            skew = 0.5 * (turn - np.swapaxes(turn, -1, -2))
            gap.append(np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=-1))
            rate, rows = [*rate, w - w2], [*rows, turn]
        gaps, rates, turns = gaps + gap, rates + rate, turns + rows
    terms = on.terms("closures", "closure_gap")
    for name, parts, axis in (
        ("closure_gap", gaps, -1),
        ("closure_velocity", rates, -1),
        ("closure_turn", turns, -2),
    ):
        true = np.concatenate(parts, axis=axis)
        yield compared(
            CLOSED_LOOPS,
            f"{name} = value from the motion of the bodies",
            computed[name],
            true,
            SUM,
            terms,
        )


def _frame(
    on: CheckContext, at: MovingLinks, frame: Frame
) -> tuple[Floats, Floats, Floats, Floats]:
    """Axes, position, velocity and angular velocity of a frame on a link or on the base."""
    E, t = np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation)
    if frame.link == on.arm.base:
        still = np.zeros((len(on.q), 3))
        return np.broadcast_to(E, (len(on.q), 3, 3)), still + t, still, still
    k = frame.link - 1
    lever, w = at.R[:, k] @ t, at.spin[:, k]
    return at.R[:, k] @ E, at.p[:, k] + lever, at.velocity[:, k] + np.cross(w, lever), w


def _checks(closed: CheckContext) -> Iterator[Check]:
    yield from _closures(closed)
    yield from _motion(closed)
    yield from _linearization(closed)
    names = [name for name, each in ALGORITHMS.items() if each.kind == "closed"]
    names = [name for name in names if not (ALGORITHMS[name].independent and closed.followers)]
    yield from same_bits(closed, names, CLOSED_LOOPS, "closed: compiled kernels = plain Python")
    yield from digits_of(closed, names)


def _closed(on: CheckContext) -> tuple[CheckContext, Indices]:
    """The robot in the states that can be closed and have a result, and their indices."""
    computed = assemble(on.arm, on.q, on.qd)
    states = {**on.states, "q": computed.q, "qd": computed.qd, "tau": on.value("tau")}
    inputs = {name: states[name] for name in CHECKED_STATE}
    unanswered = evaluate_any_arm_rows(on.arm, "loop-forces", inputs)[1]
    left = np.maximum(np.abs(computed.open_by).max(axis=-1), np.abs(computed.opening).max(axis=-1))
    fine = (unanswered == 0) & (left < CHECKED_CLOSED_WITHIN)
    doubted = evaluate_any_arm_rows(on.arm, "forward-closed", inputs)[1]
    fine &= doubted == 0
    closed = {name: values[fine] for name, values in states.items()}
    return CheckContext(on.arm, closed, closed=True), np.flatnonzero(fine)


def _closures(on: CheckContext) -> Iterator[Check]:
    """φ, L, L̇ q̇ and their derivatives, each against a complex step of the previous one."""
    inputs, computed = on.inputs("closures"), on.run("closures").arrays
    along_q = complex_step(on.arm, "closures", inputs, "q")
    reach = on.terms("closures", "closure_jacobian")
    L, title = computed["closure_jacobian"], "L = ∂gap/∂q"
    yield compared(CLOSED_LOOPS, title, L, along_q["closure_gap"], SUM, reach)
    rate = complex_step_along(on.arm, "closures", inputs, {"q": on.qd})["closure_velocity"]
    title = "L̇ q̇ = rate of L q̇ without q̈"
    yield compared(CLOSED_LOOPS, title, computed["closure_jacobian_rate_qd"], rate, SUM, reach)

    changes = on.run("linearize-closures").arrays
    for name, true in (
        ("dclosure_velocity_dq", along_q["closure_velocity"]),
        ("dclosure_jacobian_dq", along_q["closure_jacobian"]),
        ("dclosure_acceleration_dq", _acceleration(on, along_q)),
        (
            "dclosure_acceleration_dqd",
            _acceleration(on, complex_step(on.arm, "closures", inputs, "qd")),
        ),
    ):
        title = f"{name} = complex-step derivative"
        terms = reach * (1.0 + np.abs(on.qdd).max(axis=-1))
        yield compared(CLOSED_LOOPS, title, changes[name], true, SUM, terms)


def _acceleration(on: CheckContext, change: Mapping[str, Floats]) -> Floats:
    """The derivative of L q̈ + L̇ q̇ from those of its parts."""
    L: Floats = np.einsum("bijk,bj->bik", change["closure_jacobian"], on.qdd)
    return L + change["closure_jacobian_rate_qd"]


def _motion(on: CheckContext) -> Iterator[Check]:
    """Newton's equation, the constraints, zero constraint power, and other solution methods."""
    computed, bound = on.run("forward-closed").arrays, on.closed_bound
    qdd, lam = computed["qdd"], computed["lam"]
    L = on.result("closures", "closure_jacobian")
    tau = run_for_check(on.arm, "inverse", {"q": on.q, "qd": on.qd, "qdd": qdd}).arrays["tau"]
    pulled = np.einsum("bij,bi->bj", L, lam)
    terms = np.abs(tau).max(axis=-1) + np.abs(pulled).max(axis=-1) + on.motion_terms
    yield compared(CLOSED_LOOPS, "M q̈ + C = τ + L* λ", tau, on.value("tau") + pulled, bound, terms)
    closure_acceleration = np.einsum("bij,bj->bi", L, qdd)
    terms = (np.abs(L) @ np.abs(qdd)[..., None]).max(axis=(1, 2))
    c = -on.result("closures", "closure_jacobian_rate_qd")
    yield compared(CLOSED_LOOPS, "L q̈ = -L̇ q̇", closure_acceleration, c, bound, terms)

    lost = ((on.value("tau") - dissipation_and_load_torques(on.arm, on.q, on.qd)) * on.qd).sum(-1)
    rate = energy_rate(on.arm, on.q, on.qd, qdd)
    terms = on.speed * on.arm.n * (on.motion_terms + np.abs(tau).max(axis=-1))
    yield compared(
        CLOSED_LOOPS, "only τ and dissipation change the energy", rate, lost, bound, terms
    )
    yield from (_method(on, method, bound) for method in CHECKED_LOOP_METHODS)


def _method(on: CheckContext, method: LoopMethod, bound: Bound) -> Check:
    """Accelerations and forces with LAPACK, by another method."""
    title, inputs = f"null space = {method}", {name: on.value(name) for name in CHECKED_STATE}
    if method == "schur" and on.no_inertia:
        return not_applicable(CLOSED_LOOPS, title, on.no_inertia)
    other = evaluate_any_arm_rows(on.arm, "loop-forces", inputs, loop_method=method)[0]
    return worst(
        compared(CLOSED_LOOPS, title, on.result("forward-closed", name), other[name], bound)
        for name in ("qdd", "lam")
    )


def _linearization(on: CheckContext) -> Iterator[Check]:
    """Derivatives of q̈ and λ against complex steps of both."""
    inputs, bound = {name: on.value(name) for name in CHECKED_STATE}, on.closed_bound
    model = evaluate_any_arm_rows(on.arm, "linearize-loops", inputs)[0]
    for along in ("tau", "qd", "q"):
        true = complex_step(on.arm, "forward-closed", inputs, along)
        for name in ("qdd", "lam"):
            title = f"d{name}_d{along} = ∂{name}/∂{along}"
            yield compared(CLOSED_LOOPS, title, model[f"d{name}_d{along}"], true[name], bound)
