"""Compare algorithms that compute the same result, and compiled kernels with Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robolin.checking.verification.check_context import SUM, CheckContext
from robolin.checking.verification.checks import (
    Bound,
    Check,
    Verdict,
    compared,
    not_applicable,
    not_run,
    run_for_check,
    worst,
)
from robolin.core.arrays import AnyArray
from robolin.dynamics.catalogue import ALGORITHMS, counted_verbs
from robolin.evaluation.evaluate import arm_cache
from robolin.evaluation.float32 import evaluate_float32

FAMILY = "algorithms"

# not equivalent: omits Coriolis forces on purpose
_OTHER_QUESTIONS = ("inverse-from-rest",)

# results that two algorithms share: (algorithm, array) of each
_SHARED = (
    (("linearize-inverse", "mass_matrix"), ("mass-matrix", "mass_matrix")),
    (("linearize-forward", "dqdd_dtau"), ("mass-matrix-inverse", "mass_matrix_inverse")),
    (("linearize-forward", "qdd"), ("forward", "qdd")),
    (("diagonalize-unnormalized", "factor"), ("mass-matrix-factor", "factor")),
    (("diagonalize-unnormalized", "D"), ("mass-matrix-factor", "D")),
    (("diagonalize", "D"), ("mass-matrix-factor", "D")),
)


def families() -> list[tuple[str, ...]]:
    """Algorithms with the same inputs and results; the default comes first."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        key = frozenset(algorithm.needs), frozenset(algorithm.gives)
        if name in _OTHER_QUESTIONS:
            key = frozenset([name]), frozenset()
        groups.setdefault(key, []).append(name)
    return [tuple(group) for group in groups.values()]


def answering_algorithms(on: CheckContext, verbs: Sequence[str] = ()) -> list[str]:
    """Default algorithms of the verbs, or of all verbs, that apply to this arm."""
    candidates = [on.answering(verb) for verb in verbs or [family[0] for family in families()]]
    return [name for name, reason in candidates if not reason]


def algorithms(on: CheckContext) -> Iterator[Check]:
    """Every algorithm of a family against its general one; models times perturbations."""
    for family in families():
        anywhere = [name for name in family if ALGORITHMS[name].kind == "any"]
        reference = anywhere[-1] if anywhere else family[-1]
        for name in family:
            if name != reference:
                yield _against(on, family[0], name, reference)
    yield _unit_accelerations(on)
    yield _change_of_torque(on)
    yield _change_of_acceleration(on)
    yield _weighted_torques(on)
    yield _weighted_accelerations(on)
    yield from (_shared(on, *pair) for pair in _SHARED)


def _against(on: CheckContext, verb: str, name: str, reference: str) -> Check:
    title = f"{verb}: {_short(name)} = {_short(reference)}"
    if reason := on.reason_unavailable(name) or on.reason_unavailable(reference):
        return not_applicable(FAMILY, title, reason)
    # some results exist only in some states, such as an inertia that some poses lack
    computed = {array: _either(on, array, name, reference) for array in ALGORITHMS[name].gives}
    rarest = min(computed, key=lambda array: int(computed[array].sum()))
    if (count := int(computed[rarest].sum())) < len(on.q):
        title = f"{title} ({rarest} in {count} of {len(on.q)} states)"
    checks = [
        _compared(on, title, (name, array), (reference, array), np.flatnonzero(mask))
        for array, mask in computed.items()
        if mask.any()
    ]
    return worst(checks) if checks else not_applicable(FAMILY, title, "no state has a result")


def _either(on: CheckContext, array: str, *names: str) -> AnyArray:
    """States where at least one algorithm has a result: the other must have it too."""
    mask: AnyArray = np.any([on.has_result(name, array) for name in names], axis=0)
    return mask


def _shared(on: CheckContext, one: tuple[str, str], other: tuple[str, str]) -> Check:
    title = f"{one[1]} of {one[0]} = {other[0]}"
    routes = [on.answering(name) for name, _ in (one, other)]
    for _, reason in routes:
        if reason:
            return not_applicable(FAMILY, title, reason)
    return _compared(on, title, (routes[0][0], one[1]), (routes[1][0], other[1]))


def _compared(
    on: CheckContext,
    title: str,
    one: tuple[str, str],
    other: tuple[str, str],
    rows: AnyArray | None = None,
) -> Check:
    """Compare two results in all states, or in `rows`."""
    rows = np.arange(len(on.q)) if rows is None else rows
    bounds = [on.bound(*pair) for pair in (one, other)]
    looser = max(bounds, key=lambda bound: float(np.max(bound.at(len(on.q))[rows])))
    here = Bound(looser.at(len(on.q))[rows], looser.why)
    terms = np.broadcast_to(on.terms(*one), (len(on.q),))[rows]
    computed, true = on.result(*one)[rows], on.result(*other)[rows]
    check = compared(FAMILY, title, computed, true, here, terms)
    return replace(check, state=int(rows[check.state or 0]))


def _unit_accelerations(on: CheckContext) -> Check:
    """𝓜 e = τ(q, 0, e) - τ(q, 0, 0), column by column."""
    q, n = on.q[:, None, :], on.arm.n
    unit = np.concatenate([np.eye(n), np.zeros((1, n))])
    tau = run_for_check(
        on.without_extras, "inverse", {"q": q, "qd": np.zeros(n), "qdd": unit}
    ).arrays["tau"]
    columns = np.swapaxes(tau[:, :n] - tau[:, n:], -1, -2)
    computed = on.result("mass-matrix", "mass_matrix")
    title = "mass-matrix: CRBA = columns from inverse dynamics (RNEA)"
    return compared(FAMILY, title, computed, columns, SUM, on.inertia_bound + on.weight)


def _change_of_torque(on: CheckContext) -> Check:
    """δτ = 𝓜 δq̈ + A_D δq̇ + B_D δq."""
    model, s = on.run("linearize-inverse").arrays, on.states
    pairs = (("mass_matrix", "dqdd"), ("dtau_dqd", "dqd"), ("dtau_dq", "dq"))
    product = sum((model[name] @ s[change][..., None])[..., 0] for name, change in pairs)
    computed = on.result("perturb-inverse", "dtau")
    title = "perturb-inverse: δτ = linearize-inverse times the perturbation"
    return compared(FAMILY, title, computed, product, SUM, on.motion_terms)


def _change_of_acceleration(on: CheckContext) -> Check:
    """δq̈ = 𝓜⁻¹ δτ + ∂q̈/∂q̇ δq̇ + ∂q̈/∂q δq."""
    title = "perturb-forward: δq̈ = linearize-forward times the perturbation"
    (linear, no_model), (changing, no_change) = map(
        on.answering, ("linearize-forward", "perturb-forward")
    )
    if reason := no_model or no_change:
        return not_applicable(FAMILY, title, reason)
    model, s = on.run(linear).arrays, on.states
    pairs = (("dqdd_dtau", "dtau"), ("dqdd_dqd", "dqd"), ("dqdd_dq", "dq"))
    product = sum((model[name] @ s[change][..., None])[..., 0] for name, change in pairs)
    computed = on.result(changing, "dqdd")
    return compared(FAMILY, title, computed, product, on.accelerations, on.acceleration_terms)


def _weighted_torques(on: CheckContext) -> Check:
    """The gradient of λ*τ is the transposed model times λ."""
    pairs = {"gradient_qdd": "mass_matrix", "gradient_qd": "dtau_dqd", "gradient_q": "dtau_dq"}
    product = _weighted(on, "linearize-inverse", pairs, on.states["tau_weights"])
    computed = np.stack([on.result("gradient-inverse", name) for name in pairs], axis=1)
    title = "gradient-inverse: gradient = linearize-inverse times the weights"
    return compared(FAMILY, title, computed, product, SUM, on.motion_terms)


def _weighted_accelerations(on: CheckContext) -> Check:
    """The gradient of λ*q̈ is the transposed model times λ."""
    title = "gradient-forward: gradient = linearize-forward times the weights"
    (linear, no_model), (gradient, no_gradient) = map(
        on.answering, ("linearize-forward", "gradient-forward")
    )
    if reason := no_model or no_gradient:
        return not_applicable(FAMILY, title, reason)
    pairs = {"gradient_tau": "dqdd_dtau", "gradient_qd": "dqdd_dqd", "gradient_q": "dqdd_dq"}
    product = _weighted(on, linear, pairs, on.states["qdd_weights"])
    computed = np.stack([on.result(gradient, name) for name in pairs], axis=1)
    return compared(FAMILY, title, computed, product, on.divided, on.forward_terms)


def _weighted(
    on: CheckContext, model: str, pairs: Mapping[str, str], weights: AnyArray
) -> AnyArray:
    """Every matrix of the model, transposed, times the weights (states, matrices, n)."""
    arrays = on.run(model).arrays
    return np.stack([np.einsum("sij,si->sj", arrays[name], weights) for name in pairs.values()], 1)


def _short(name: str) -> str:
    """An algorithm's title without its cost."""
    return ALGORITHMS[name].title.partition(",")[0]


ENGINE_FAMILY = "engines"
ENGINE_TITLE = "compiled kernels = plain Python"


def engines(on: CheckContext) -> Iterator[Check]:
    """Number of results that differ in any bit, over all states and algorithms."""
    # the most used results; the other kernels come from the same code generator
    names = answering_algorithms(
        on, [verb for verb in counted_verbs() if not ALGORITHMS[verb].of_frame]
    )
    if names:
        yield from same_bits(on, names, ENGINE_FAMILY, ENGINE_TITLE)
    else:
        yield not_applicable(ENGINE_FAMILY, ENGINE_TITLE, "no algorithm applies")


def same_bits(on: CheckContext, names: Sequence[str], family: str, title: str) -> Iterator[Check]:
    """Compare these algorithms bit by bit."""
    differing, worst, culprits = 0, 0, []
    for name in names:
        try:
            plan = arm_cache(on.arm).plan(name)
        except ImportError as error:
            yield not_run(family, title, f"{error.name or 'the compiler'} is not installed")
            return
        inputs = [np.ascontiguousarray(x) for x in on.inputs(name).values()]
        arrays, _ = plan.call_batch(inputs, (len(on.q),), 1)
        for array, compiled in arrays.items():
            # results contain no negative zero
            wrong = compiled != on.result(name, array) + 0.0
            if wrong.any():
                differing += int(wrong.sum())
                worst = int(np.argmax(wrong.reshape(len(wrong), -1).sum(axis=1)))
                culprits.append(f"{array} of {name}")
    detail = f"{', '.join(culprits[:3])} differ" if culprits else f"{len(names)} algorithms"
    verdict: Verdict = "failed" if differing else "passed"
    yield Check(family, title, verdict, float(differing), 0.0, "bits", worst, detail)


FLOAT32_FAMILY = "float32"
FLOAT32_VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")
# ratio of the rounding errors of single and double precision
ROUNDING_RATIO = 2.0**29


def single_precision(on: CheckContext) -> Iterator[Check]:
    """Error of `dtype="float32"`; a robot that needs double precision is not a failure."""
    for verb in FLOAT32_VERBS:
        name, reason = on.answering(verb)
        title = f"{verb}: single precision = double precision"
        if reason or on.arm.loops:
            detail = reason or "robots with closed loops need double precision"
            yield not_applicable(FLOAT32_FAMILY, title, detail)
            continue
        inputs = {need: np.asarray(values) for need, values in on.inputs(name).items()}
        arrays, status = evaluate_float32(on.arm, name, inputs, {"engine": "python"})
        check = worst(_float32_checks(on, name, title, arrays))
        lost = int(np.count_nonzero(status))
        if check.verdict == "passed" and not lost:
            yield check
        else:
            states = f", no result in {lost} of {len(on.q)} states" if lost else ""
            detail = f"use float64: error {check.error:.1e} in single precision{states}"
            yield not_applicable(FLOAT32_FAMILY, title, detail)


def _float32_checks(
    on: CheckContext, name: str, title: str, arrays: Mapping[str, AnyArray]
) -> Iterator[Check]:
    for array, values in arrays.items():
        bound = Bound(ROUNDING_RATIO * np.asarray(on.bound(name, array).value), "single")
        terms = ROUNDING_RATIO * np.asarray(on.terms(name, array))
        yield compared(FLOAT32_FAMILY, title, values, on.result(name, array), bound, terms)
