"""Identities of mechanics that hold for every algorithm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robolin.checking.verification.bodies import (
    dissipation_and_load_torques,
    energy_rate,
    kinetic_energy,
    potential_energy,
    weight_torque,
)
from robolin.checking.verification.check_context import SUM, CheckContext, complex_step_along
from robolin.checking.verification.checks import (
    Check,
    compared,
    not_applicable,
    run_for_check,
    worst,
)
from robolin.core.arrays import Floats

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
        FAMILY, "½ q̇ᵀMq̇ = energy of the bodies", computed, true, SUM, on.inertia_bound * on.speed**2
    )

    computed = on.run("energy").arrays
    height = potential_energy(on.arm, on.q)
    terms = on.weight + on.inertia_bound * on.speed**2
    energies = np.stack([computed["kinetic_energy"], computed["potential_energy"]], axis=1)
    bodies = np.stack([true, height], axis=1)
    yield compared(FAMILY, "kinetic, potential energy = bodies'", energies, bodies, SUM, terms)

    tau = run_for_check(on.without_extras, "inverse", on.inputs("inverse")).arrays["tau"]
    power = (tau * on.qd).sum(-1)
    rate = energy_rate(on.arm, on.q, on.qd, on.qdd)
    terms = on.speed * on.motion_terms * on.arm.n
    yield compared(FAMILY, "q̇ᵀτ = rate of the bodies' energy", power, rate, SUM, terms)


def _torques(on: CheckContext) -> Iterator[Check]:
    still = np.zeros_like(on.q)
    hold = run_for_check(
        on.without_extras, "inverse", {"q": on.q, "qd": still, "qdd": still}
    ).arrays["tau"]
    weight = weight_torque(on.arm, on.q)
    yield compared(FAMILY, "τ at rest = gradient of height", hold, weight, SUM, on.weight)

    extra, tau = dissipation_and_load_torques(on.arm, on.q, on.qd), on.result("inverse", "tau")
    title = "τ = M q̈ + C q̇ + gravity + dissipation + loads"
    if reason := on.reason_unavailable("coriolis-matrix"):
        yield not_applicable(FAMILY, title, reason)
    else:
        M = on.result("mass-matrix", "mass_matrix")
        C = on.result("coriolis-matrix", "coriolis_matrix")
        parts = _times(M, on.qdd) + _times(C, on.qd) + weight + extra
        yield compared(FAMILY, title, tau, parts, SUM, on.motion_terms)

    title = "dissipation and loads = damping, friction, virtual work"
    if not extra.any():
        yield not_applicable(FAMILY, title, "no damping, no friction, no wrench")
        return
    without_extras = run_for_check(on.without_extras, "inverse", on.inputs("inverse")).arrays["tau"]
    yield compared(FAMILY, title, tau - without_extras, extra, SUM, on.motion_terms)


def _structure(on: CheckContext) -> Iterator[Check]:
    title = "Ṁ - 2C is skew"
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
    titles = ("M M⁻¹ = 1", "forward undoes inverse")
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
    title = "forward-prescribed undoes inverse"
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
        "εᵀν = power of the motion",
        "ν̇ + C(q, ν) = ε",
        "D ξ̇ + C(q, ξ) = κ",
        "undiagonalize undoes diagonalize",
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
