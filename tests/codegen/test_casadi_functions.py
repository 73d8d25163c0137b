"""Verbs as functions of CasADi: the same numbers, true derivatives, fewer instructions."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import robolin
from robolin.codegen.functions import QUESTIONS, chosen_question, random_states
from robolin.dynamics.algebra.trigonometry import DOUBLE
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate
from robolin.evaluation.frames import ABOUT_A_FRAME
from tests.engine.unrolled_values import C_LIBRARY, carried_out
from tests.robots import random_arm, with_follower, with_springs

VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")


def casadi():
    return pytest.importorskip("casadi")


def relative_error(computed, expected: np.ndarray) -> float:
    """The largest error relative to the largest entry."""
    values = np.array(computed).reshape(expected.shape)
    return float(np.abs(values - expected).max() / max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize("sprung", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_values_are_robolins(verb: str, sprung: bool) -> None:
    """On an arm with branches and a follower, to 1e-13 of the largest entry; names are the same.

    Sines are the C library's, which differ in the last bit: that is all the tolerance is for.
    """
    casadi()
    plain = with_follower(random_arm(61, 4, tree=True, armature=True, damping=True))
    arm = with_springs(plain) if sprung else plain
    function = robolin.casadi_function(arm, verb)
    inputs = np.random.default_rng(2).uniform(-1.0, 1.0, (function.n_in(), arm.n))
    computed = function.call([*inputs])
    expected = getattr(robolin, verb.replace("-", "_"))(arm, *inputs)
    for name, value in zip(function.name_out(), computed, strict=True):
        assert relative_error(value, getattr(expected, name, expected)) < 1e-13


def test_every_verb_is_a_function() -> None:
    """Every verb of an arm has a function with its names, and its bits except for sines.

    CasADi does what the graph says, in the same order, with the C library's sine, cosine and tanh.
    """
    casadi()
    arm, made = robolin.load("cart-pole", friction_velocity=0.1), []
    for verb in QUESTIONS:
        frame = "pendulum" if verb in ABOUT_A_FRAME else None
        try:
            question = chosen_question(arm, verb, frame=frame)
            function = robolin.casadi_function(arm, verb, frame=frame)
        except RobolinError:
            continue
        made.append(verb)
        assert tuple(function.name_in()) == question.algorithm.needs
        inputs = np.random.default_rng(4).uniform(-1.0, 1.0, (function.n_in(), arm.n))
        values = dict(zip(function.name_in(), inputs, strict=True))
        expected = carried_out(question.unrolled(question.parameters), values, C_LIBRARY)
        for name, value in zip(function.name_out(), function.call([*inputs]), strict=True):
            computed = np.array(value).reshape(expected[name].shape) + 0.0
            assert computed.tobytes() == expected[name].tobytes(), (verb, name)
    assert len(made) > 25


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["forward", "operational-space"])
def test_differences_of_sines_grow_with_the_condition(verb: str) -> None:
    """Near a singular pose results differ by more, up to the rounding bound of the state.

    A light wrist has mass matrices of a condition of 1e4, and poses may be nearly singular: gaps
    are up to 7e-12 of the largest entry, 0.7 of condition times the distance of doubles; 4 is
    allowed.  In 50 digits robolin's own results prove to be as far off: `casadi_gaps`.
    """
    casadi()
    arm = robolin.load("j2s6s200")
    frame = arm.links[-1].name if verb in ABOUT_A_FRAME else None
    question = chosen_question(arm, verb, frame=frame)
    function = robolin.casadi_function(arm, verb, frame=frame)
    inputs = random_states(arm, function.name_in(), 30, DOUBLE)
    expected = evaluate(question.arm, verb, inputs, engine="python")
    name, other = ("qdd", robolin.mass_matrix(arm, inputs["q"]))
    if verb == "operational-space":
        name, other = "operational_inertia", expected["operational_inertia_inverse"]
    gaps = []
    for row, condition in enumerate(np.linalg.cond(other)):
        computed = function(**{each: values[row] for each, values in inputs.items()})[name]
        gaps.append(relative_error(computed, expected[name][row]) / condition)
    assert max(gaps) <= 4.0 * np.finfo(float).eps
    assert max(gaps) > 0.0


def test_joints_can_be_prescribed() -> None:
    """Accelerations as input and as output have two names; the values are those of robolin."""
    casadi()
    arm = robolin.load("two-link")
    function = robolin.casadi_function(arm, "forward", prescribe="elbow")
    assert function.name_in() == ["q", "qd", "tau_given", "qdd_given"]
    assert function.name_out() == ["qdd", "tau"]
    q, qd, tau, qdd = [0.3, -0.7], [0.5, -1.2], [1.0, 0.0], [0.0, 2.0]
    accelerations, needed = (np.array(each).ravel() for each in function(q, qd, tau, qdd))
    # a well-conditioned arm: some units of the last place
    assert (
        relative_error(accelerations, robolin.forward(arm, q, qd, tau, prescribe="elbow", qdd=qdd))
        < 1e-14
    )
    assert relative_error(needed, robolin.inverse(arm, q, qd, accelerations)) < 1e-14


def test_the_global_simplification_setting_is_kept() -> None:
    """CasADi's simplifications are off while a function is made, and as they were afterwards."""
    ca = casadi()
    for own in (True, False):
        ca.GlobalOptions.setSimplificationOnTheFly(own)
        try:
            robolin.casadi_function(robolin.load("two-link"), "mass-matrix")
            assert ca.GlobalOptions.getSimplificationOnTheFly() == own
        finally:
            ca.GlobalOptions.setSimplificationOnTheFly(True)


def test_derivatives_of_forward_dynamics_are_the_linear_model() -> None:
    """CasADi's derivative of forward dynamics equals linearize-forward, with fewer instructions.

    Both round some thousand times, and the mass matrix has a condition of some hundred: 1e-10.
    """
    ca = casadi()
    arm = random_arm(62, 3)
    forward = robolin.casadi_function(arm, "forward")
    model = robolin.casadi_function(arm, "linearize-forward")
    symbols = [ca.SX.sym(name, arm.n) for name in forward.name_in()]
    qdd = forward(*symbols)
    q, qd, tau = symbols
    outputs = [qdd, *(ca.jacobian(qdd, each) for each in (tau, qd, q))]
    differentiated = ca.Function("differentiated", symbols, outputs)
    state = np.random.default_rng(3).uniform(-1.0, 1.0, (3, arm.n))
    for derivative, own in zip(differentiated.call([*state]), model.call([*state]), strict=True):
        assert relative_error(derivative, np.array(own)) < 1e-10
    assert model.n_instructions() < differentiated.n_instructions()


def test_it_can_be_optimized_with() -> None:
    """Opti finds the torques that hold an arm still, which are the inverse dynamics at rest."""
    ca = casadi()
    arm = robolin.load("two-link")
    forward, q = robolin.casadi_function(arm, "forward"), [0.3, -0.7]
    opti = ca.Opti()
    tau = opti.variable(arm.n)
    opti.minimize(ca.sumsqr(forward(q, [0.0, 0.0], tau)))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-12})
    optimum = np.array(opti.solve().value(tau))
    # the minimum is flat: its place is known to the root of what its value is known to
    assert relative_error(optimum, robolin.inverse(arm, q)) < 1e-6


def test_a_model_for_acados_is_made_of_it() -> None:
    """An explicit model ẋ = f(x, u) has no free symbols but x and u, and CasADi writes its C."""
    ca = casadi()
    arm = robolin.load("two-link")
    x, u = ca.SX.sym("x", 2 * arm.n), ca.SX.sym("u", arm.n)
    q, qd = x[: arm.n], x[arm.n :]
    rate = ca.vertcat(qd, robolin.casadi_function(arm, "forward")(q, qd, u))
    model = ca.Function("model", [x, u], [rate, ca.jacobian(rate, x)])
    assert not model.has_free()
    written = ca.CodeGenerator("model")
    written.add(model)
    assert "model(const casadi_real** arg" in written.dump()


def test_missing_casadi_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(RobolinError, match="not installed") as caught:
        robolin.casadi_function(robolin.load("two-link"), "forward")
    assert "pip install casadi" in caught.value.hint
