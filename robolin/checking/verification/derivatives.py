"""Every derivative the interface gives, against complex steps of what it is the derivative of.

A complex step has no truncation error: both sides are right to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

from robolin.checking.verification.check_context import SUM, Subject
from robolin.checking.verification.checks import Check, compared, not_applicable, worst
from robolin.checking.verification.steps import complex_step, complex_step_along
from robolin.dynamics.catalogue import ALGORITHMS

FAMILY = "derivatives"

# result -> what it is the derivative with respect to
_TORQUE = {"dtau_dq": "q", "dtau_dqd": "qd", "mass_matrix": "qdd"}
_ACCELERATION = {"dqdd_dq": "q", "dqdd_dqd": "qd", "dqdd_dtau": "tau"}
_PRESCRIBED = {**_ACCELERATION, "dqdd_dprescribed": "qdd"}
_FORWARD_VERBS = ("forward", "linearize-forward")


def derivatives(on: Subject) -> Iterator[Check]:
    """Gradients and changes of torques, of the mass matrix, and of accelerations."""
    motion = on.given("inverse")
    for name, along in _TORQUE.items():
        true = complex_step(on.arm, "inverse", motion, along)["tau"]
        found = on.result("linearize-inverse", name)
        terms = on.inertia_bound if along == "qdd" else on.motion_terms
        title = f"{name} = ∂tau/∂{along}"
        yield compared(FAMILY, title, found, true, SUM, terms)

    along_all = {name: on.states[f"d{name}"] for name in motion}
    change = complex_step_along(on.arm, "inverse", motion, along_all)["tau"]
    found = on.result("perturb-inverse", "dtau")
    yield compared(FAMILY, "dtau of perturb-inverse", found, change, SUM, on.motion_terms)

    yield _of_results(on, "mass-matrix-derivative", "dmass_matrix_dq", "mass-matrix")
    twice = "mass-matrix-second-derivative", "d2mass_matrix_dq2", "mass-matrix-derivative"
    yield _of_results(on, *twice)
    yield from _of_accelerations(on)
    yield _of_prescribed_motion(on)


def _of_results(on: Subject, name: str, array: str, source: str) -> Check:
    """The gradient of the one result that another algorithm gives."""
    (of,) = ALGORITHMS[source].gives
    title = f"{array} = ∂{of}/∂q"
    if reason := on.obstacle(name):
        return not_applicable(FAMILY, title, reason)
    true = complex_step(on.arm, source, on.given(source), "q")[of]
    if array.startswith("d2"):
        # a body with several freedoms tells two steps in either order apart: their mean counts
        true = 0.5 * (true + true.swapaxes(-1, -2))
    return compared(FAMILY, title, on.result(name, array), true, SUM, on.inertia_bound)


def _of_accelerations(on: Subject) -> Iterator[Check]:
    titles = [f"{name} = ∂qdd/∂{along}" for name, along in _ACCELERATION.items()]
    titles.append("dqdd of perturb-forward")
    if on.no_inertia:
        for title in titles:
            yield not_applicable(FAMILY, title, on.no_inertia)
        return
    source, model = (on.answering(verb)[0] for verb in _FORWARD_VERBS)
    given = on.given(source)
    for title, (name, along) in zip(titles, _ACCELERATION.items(), strict=False):
        true = complex_step(on.arm, source, given, along)["qdd"]
        terms = 0.0 if along == "tau" else on.forward_terms
        yield compared(FAMILY, title, on.result(model, name), true, on.divided, terms)

    changes = {name: on.states[f"d{name}"] for name in given}
    true = complex_step_along(on.arm, source, given, changes)["qdd"]
    found = on.result(on.answering("perturb-forward")[0], "dqdd")
    yield compared(FAMILY, titles[-1], found, true, on.accelerations, on.acceleration_terms)


def _of_prescribed_motion(on: Subject) -> Check:
    """Gradients of q̈ where some joints move as told."""
    title = "gradients of linearize-forward-prescribed"
    source, model = (on.answering(f"{verb}-prescribed")[0] for verb in _FORWARD_VERBS)
    if reason := on.obstacle(model):
        return not_applicable(FAMILY, title, reason)
    given, checks = on.given(source), []
    for name, along in _PRESCRIBED.items():
        true = complex_step(on.arm, source, given, along)["qdd"]
        terms = on.forward_terms if along in ("q", "qd") else 0.0
        checks.append(compared(FAMILY, title, on.result(model, name), true, on.divided, terms))
    return worst(checks)
