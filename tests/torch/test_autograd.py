"""PyTorch functions have the values of the NumPy functions and exact derivatives."""

from __future__ import annotations

import gc
import re
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError, UsageError
from tests.packages import Package, needs
from tests.robots import grouped_arm
from tools.markdown import DOCS

torch = needs("torch", reason="the extra `torch` is not installed")
rt = Package("robolin.torch")
rules = Package("robolin.torch.autograd")

VERBS = ("inverse", "forward")


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def _motion(arm: robolin.Arm, rows: int = 3) -> list:
    shape = (3, rows, arm.n)
    return list(torch.rand(shape, dtype=torch.float64, generator=_generator()) * 2 - 1)


def _jacobians(arm: robolin.Arm, verb: str, motion: list) -> tuple:
    arrays = [tensor.numpy() for tensor in motion]
    if verb == "inverse":
        model = robolin.linearize_inverse(arm, *arrays)
        return model.dtau_dq, model.dtau_dqd, model.mass_matrix
    forward = robolin.linearize_forward(arm, *arrays)
    return forward.dqdd_dq, forward.dqdd_dqd, forward.dqdd_dtau


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["two-link", "panda-fingers"])
def test_values_and_jacobians_are_those_of_the_library(name: str, verb: str) -> None:
    """Values to the bit; Jacobians of vmap(jacrev) to 1e-12 of their largest entry."""
    arm = robolin.load(name)
    function, motion = rt.function(arm, verb), _motion(arm)
    value = getattr(robolin, verb)(arm, *(tensor.numpy() for tensor in motion))
    assert np.array_equal(function(*motion).numpy(), value)
    jacobians = torch.func.vmap(torch.func.jacrev(function, argnums=(0, 1, 2)))(*motion)
    for jacobian, true in zip(jacobians, _jacobians(arm, verb, motion), strict=True):
        assert np.abs(jacobian.numpy() - true).max() <= 1e-12 * np.abs(true).max()


@pytest.mark.parametrize("verb", VERBS)
def test_first_and_second_derivatives_are_those_of_differences(verb: str) -> None:
    """PyTorch's own checks compare with differences of the values and of the gradients."""
    arm = robolin.load("two-link")
    motion = [tensor.requires_grad_() for tensor in _motion(arm, 2)]
    function = rt.function(arm, verb)
    assert torch.autograd.gradcheck(function, motion, eps=1e-6, atol=1e-5)
    assert torch.autograd.gradgradcheck(function, motion, eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("quick_collections")
def test_arms_are_freed_after_the_last_graph(verb: str, order: int) -> None:
    """A graph keeps the arm for its backward passes; nothing keeps it afterwards."""
    arm = replace(robolin.load("two-link"))
    deleted = weakref.ref(arm)
    function, (q, qd, third) = rt.function(arm, verb), _motion(arm)
    true = rt.function(robolin.load("two-link"), verb)
    expected = torch.func.grad(lambda q: (true(q, qd, third) ** 2).sum())(q)
    q.requires_grad_()
    graph = (function(q, qd, third) ** 2).sum()
    del arm, function
    gc.collect()
    assert deleted() is not None
    if order:
        graph, *_ = torch.autograd.grad(graph, q, create_graph=order == 2)
        assert torch.equal(graph, expected)
    if order == 2:
        gc.collect()
        graph.sum().backward()
    del graph
    q.grad = None
    gc.collect()
    assert deleted() is None


@pytest.mark.usefixtures("quick_collections")
def test_a_deleted_arm_is_an_error() -> None:
    """Compiled code that outlives its function and its arm reports it."""
    arm = replace(robolin.load("two-link"))
    key, motion = rules.key_of(arm), _motion(arm)
    assert torch.ops.robolin.value(key, "inverse", *motion).shape == (3, 2)
    del arm
    gc.collect()
    with pytest.raises(
        RobolinError,
        match="the robot of this graph was deleted before the backward pass\nhint: keep",
    ):
        torch.ops.robolin.value(key, "inverse", *motion)


@pytest.mark.parametrize("verb", ["mass-matrix", "linearize-inverse", "linearize-forward"])
def test_matrices_have_one_derivative(verb: str) -> None:
    """Matrices agree with the NumPy functions to 1e-12; PyTorch checks their derivative."""
    arm = robolin.load("two-link")
    motion = [each.requires_grad_() for each in _motion(arm, 2)[: 1 if "mass" in verb else 3]]
    function = rt.function(arm, verb)
    arrays = [tensor.detach().numpy() for tensor in motion]
    expected = getattr(robolin, verb.replace("-", "_"))(arm, *arrays)
    computed = function(*motion)
    pairs = (
        [(computed, expected)]
        if "mass" in verb
        else [(array, getattr(expected, name)) for name, array in computed._asdict().items()]
    )
    for tensor, array in pairs:
        assert np.abs(tensor.detach().numpy() - array).max() <= 1e-12 * np.abs(array).max()
    assert torch.autograd.gradcheck(function, motion, eps=1e-6, atol=1e-5)


def test_operators_follow_the_rules_of_the_compiler() -> None:
    """opcheck traces every operator with fake tensors and dynamic shapes."""
    arm = robolin.load("two-link")
    rt.function(arm, "forward")
    motion = _motion(arm)
    index = rules.key_of(arm)
    for operator, tensors in (
        (rules._value_op, motion),
        (rules._vjp_op, [*motion, motion[0]]),
        (rules._jvp_op, [*motion, *motion]),
        (rules._hvp_op, [*motion, motion[0], *motion]),
        (rules._jacobians_op, motion),
    ):
        results = torch.library.opcheck(operator, (index, "forward", *tensors))
        assert set(results.values()) == {"SUCCESS"}


# the compiler instantiates a class of PyTorch that warns about it
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize("verb", [*VERBS, "mass-matrix", "linearize-inverse", "linearize-forward"])
def test_compiled_functions_have_no_graph_break(verb: str) -> None:
    """torch.compile(fullgraph=True) gives the same value and gradient."""
    arm = robolin.load("two-link")
    function, sine = rt.function(arm, verb), torch.sin

    def loss(*state):
        results = function(*state)
        results = results if verb.startswith("linearize") else [results]
        return sum((sine(each) ** 2).sum() for each in results)

    states = _motion(arm)[: 1 if verb == "mass-matrix" else 3]
    plain, compiled = ([t.clone().requires_grad_() for t in states] for _ in range(2))
    loss(*plain).backward()
    torch.compile(loss, fullgraph=True, backend="aot_eager")(*compiled).backward()
    for a, b in zip(plain, compiled, strict=True):
        assert torch.equal(a.grad, b.grad)


def test_float32_is_computed_in_single_precision() -> None:
    """Values and gradients have the bits of `dtype="float32"`, and the digits of float32."""
    arm = robolin.load("two-link")
    function, motion = rt.function(arm, "inverse"), _motion(arm)
    single = [tensor.float().requires_grad_() for tensor in motion]
    arrays = [tensor.detach().numpy() for tensor in single]
    torques = function(*single)
    assert torques.dtype == torch.float32
    expected = robolin.inverse(arm, *arrays, dtype="float32")
    assert np.array_equal(torques.detach().numpy(), expected)
    torques.sum().backward()
    gradient = robolin.gradient_inverse(arm, *arrays, weights=np.ones(2), dtype="float32")
    assert np.array_equal(single[0].grad.numpy(), gradient.gradient_q)
    exact = robolin.gradient_inverse(arm, *arrays, weights=np.ones(2)).gradient_q
    # a few units in the last place of the largest entry
    assert np.abs(gradient.gradient_q - exact).max() < 3e-6 * np.abs(exact).max()
    # numbers broadcast
    assert function(motion[0], 0.0, 0.0).shape == (3, 2)


def test_jacobians_and_matrices_have_the_bits_of_the_library() -> None:
    """vmap(jacrev) of a batch, and the matrix functions, call the kernels of the linear model."""
    arm = robolin.load("panda")
    motion = _motion(arm, 4)
    model = robolin.linearize_forward(arm, *(each.numpy() for each in motion))
    function = rt.function(arm, "forward")
    jacobians = torch.func.vmap(torch.func.jacrev(function, argnums=(0, 1, 2)))(*motion)
    matrices = rt.function(arm, "linearize-forward")(*motion)
    names = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")
    for name, jacobian in zip(names, jacobians, strict=True):
        assert np.array_equal(jacobian.numpy(), getattr(model, name))
        assert np.array_equal(getattr(matrices, name).numpy(), getattr(model, name))
    masses = rt.function(arm, "mass-matrix")(motion[0])
    assert np.array_equal(masses.numpy(), robolin.mass_matrix(arm, motion[0].numpy()))


def test_hessian_vector_products_of_every_mode() -> None:
    """hvp and vhp of torch agree with the Hessian, and PyTorch checks the changes they are from."""
    arm = robolin.load("two-link")
    function, (q, qd, tau) = rt.function(arm, "forward"), _motion(arm, 1)
    q, direction = q[0], torch.tensor([0.4, -1.0], dtype=torch.float64)

    def cost(x):
        return (function(x, qd[0], tau[0]) * torch.tensor([1.0, 0.5])).sum()

    hessian = torch.autograd.functional.hessian(cost, q)
    for product in (torch.autograd.functional.hvp, torch.autograd.functional.vhp):
        assert torch.allclose(product(cost, q, direction)[1], hessian @ direction, rtol=1e-12)

    def change(along):
        return torch.autograd.functional.jvp(
            lambda x: function(x, qd[0], tau[0]), q, along, create_graph=True
        )[1]

    assert torch.autograd.gradcheck(change, direction.requires_grad_())


@pytest.mark.parametrize("verb", VERBS)
def test_the_rules_of_products_are_derivatives(verb: str) -> None:
    """PyTorch checks J d by every argument, and the Hessian product by weights and direction."""
    arm = robolin.load("two-link")
    x, y, z, weights, *along = (each.requires_grad_() for each in _six_states(arm))
    key = rules.key_of(arm)

    def change(*values):
        return rules._Jvp.apply(key, verb, *values)

    def product(*values):
        return rules._Hvp.apply(key, verb, x.detach(), y.detach(), z.detach(), *values)

    assert torch.autograd.gradcheck(change, (x, y, z, *along), eps=1e-6, atol=1e-5)
    assert torch.autograd.gradcheck(product, (weights, *along), eps=1e-6, atol=1e-5)


def _six_states(arm: robolin.Arm) -> list:
    shape = (7, 2, arm.n)
    return list(torch.rand(shape, dtype=torch.float64, generator=_generator()) * 2 - 1)


@pytest.mark.parametrize(("verb", "order"), [("forward", 2), ("inverse", 2), ("mass-matrix", 1)])
def test_derivatives_of_higher_order_are_nan(verb: str, order: int) -> None:
    """Not a plausible number: the first order without a rule, and the next one."""
    function, q = rt.function(robolin.load("two-link"), verb), torch.tensor([0.3, -0.7]).double()
    zeros = [torch.zeros(2, dtype=torch.float64)] * (2 if verb != "mass-matrix" else 0)
    derivative = lambda x: function(x, *zeros).sum()  # noqa: E731
    for number in range(1, order + 3):
        derivative = torch.func.jacrev(derivative)
        assert derivative(q).isnan().any() == (number > order)
        assert derivative(q).isnan().all() == (number > order)


def test_weights_that_are_not_finite_give_nan() -> None:
    """A loss that diverged in one state does not stop the gradients of the others."""
    function, motion = (
        rt.function(robolin.load("two-link"), "forward"),
        _motion(robolin.load("two-link")),
    )
    q = motion[0].clone().requires_grad_()
    factor = torch.tensor([1.0, torch.inf, 1.0], dtype=torch.float64)
    (function(q, *motion[1:]) * factor[:, None]).sum().backward()
    assert q.grad.isnan().any(dim=1).tolist() == [False, True, False]


@pytest.mark.parametrize("verb", [*VERBS, "mass-matrix"])
def test_vmap_over_any_axis(verb: str) -> None:
    """The axis of a batch may be the first or the last of an argument, or missing."""
    function, states = rt.function(robolin.load("ur5"), verb), _motion(robolin.load("ur5"), 4)
    states = states[: 1 if verb == "mass-matrix" else 3]
    expected = function(*states)
    turned = [each.T.contiguous() for each in states]
    axes = tuple(1 for _ in states)
    assert torch.equal(torch.func.vmap(function, in_dims=axes)(*turned), expected)
    if verb != "mass-matrix":
        q, qd, third = states
        one = torch.func.vmap(function, in_dims=(None, 1, 0))(q[0], qd.T.contiguous(), third)
        assert torch.equal(one, function(q[0], qd, third))
        _, pull = torch.func.vjp(function, *states)
        weights = torch.rand((4, 6, 5), dtype=torch.float64, generator=_generator())
        several = torch.func.vmap(pull, in_dims=2)(weights)
        for gradients, k in ((pull(weights[..., k].contiguous()), k) for k in range(5)):
            for gradient, each in zip(gradients, several, strict=True):
                assert torch.allclose(each[k], gradient, rtol=1e-11, atol=1e-11)


NUMBERS = {
    "numbers": (0.1, 0.7),
    "a list and a number": ([0.1, 0.1], 0.7),
    "a mapping": ({"shoulder": 0.1, "elbow": 0.1}, np.full(2, 0.7)),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_are_not_rounded(case: str) -> None:
    """Numbers and lists have all digits of float64, for every default type of torch."""
    arm = robolin.load("two-link")
    q = _motion(arm, 1)[0][0]
    expected = robolin.forward(arm, q.numpy(), 0.1, 0.7)
    assert np.array_equal(rt.function(arm, "forward")(q, *NUMBERS[case]).numpy(), expected)
    named = rt.function(arm, "forward")(q, tau=NUMBERS[case][1], qd=NUMBERS[case][0])
    assert np.array_equal(named.numpy(), expected)
    assert rt.function(arm, "forward")(q.float(), *NUMBERS[case]).dtype == torch.float32


def test_types_are_promoted_as_by_torch() -> None:
    """Integers and single numbers do not change the type of arrays."""
    function = rt.function(robolin.load("two-link"), "inverse")
    single, double = torch.zeros(2), torch.zeros(2, dtype=torch.float64)
    integers = torch.zeros(2, dtype=torch.int64)
    assert function(single, integers, 0).dtype == torch.float32
    assert function(single, torch.tensor(0.0, dtype=torch.float64), 0).dtype == torch.float32
    assert function(single, double, 0).dtype == torch.float64
    assert function(integers, 0, 0).dtype == torch.float64


def test_arms_and_inputs_that_are_rejected() -> None:
    """Every rejection is a message of robolin with a hint."""
    arm = robolin.load("two-link")
    with pytest.raises(UsageError, match="function: must be one of 'inverse', 'forward', 'mass-"):
        rt.function(arm, "momentum")
    with pytest.raises(RobolinError, match="supports kinematic trees only"):
        rt.function(robolin.load("four-bar"), "forward")
    with pytest.raises(RobolinError, match="several degrees of freedom"):
        rt.function(grouped_arm(0, ["floating"]), "forward")
    with pytest.raises(RobolinError, match="q: must have 2 values along its last axis"):
        rt.function(arm, "forward")(torch.zeros(3), 0.0, 0.0)


REJECTED = {
    "too few": (lambda f: f(torch.zeros(2)), "must be called with q, qd and tau, got 1 argument"),
    "unknown": (lambda f: f(0, 0, tau=0, x=1), "got 1 unknown argument: 'x'"),
    "text": (lambda f: f(0, 0, "hold"), "tau: must be an array of real numbers, got text"),
    "None": (lambda f: f(0, 0, None), "tau: must be an array of real numbers, got None"),
    "rows": (
        lambda f: f(torch.zeros(4, 2), torch.zeros(5, 2), 0),
        r"shapes do not match: q \(4, 2",
    ),
    "half": (lambda f: f(torch.zeros(2).half(), 0, 0), "q: must be float32 or float64, got torch"),
    "complex": (lambda f: f(torch.zeros(2) * 1j, 0, 0), "q: must be a tensor of real numbers"),
    "overflow": (lambda f: f(torch.zeros(2), 0, 1e39), "tau: must be finite, got inf at joint"),
    "NaN": (
        lambda f: f(torch.tensor([[0.0, 0.0], [0.0, torch.nan]]), 0, 0),
        "state 1: q: must be finite, got nan at joint 'elbow'",
    ),
}


@pytest.mark.parametrize("case", REJECTED)
@pytest.mark.parametrize("verb", ["forward", "linearize-forward"])
def test_wrong_arguments_are_explained(case: str, verb: str) -> None:
    """Messages name the argument and the state, for values and for matrices."""
    call, message = REJECTED[case]
    with pytest.raises(RobolinError, match=message):
        call(rt.function(robolin.load("two-link"), verb))


def test_numpy_functions_reject_tensors_with_a_hint() -> None:
    """A tensor is not silently converted, with or without a gradient."""
    arm = robolin.load("two-link")
    for tensor in (torch.zeros(2), torch.zeros(2, requires_grad=True)):
        with pytest.raises(UsageError, match="q: must be a NumPy array") as caught:
            robolin.inverse(arm, tensor)
        assert "robolin.torch.function" in caught.value.hint


@pytest.mark.slow
def test_the_page_about_learning_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of docs/howto/learning.md before those of JAX run in one session."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "howto/learning.md").read_text("utf-8").partition("## Use JAX")[0]
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    names: dict = {}
    exec(compile(code, "docs/howto/learning.md", "exec"), names)
    assert names["torques"].grad.abs().sum() > 0.0
    assert names["after"] < 0.2 * names["before"]
    assert names["errors"][-1] < 0.5 * names["errors"][0]
    assert names["learned"].n == names["arm"].n
    assert names["last"] < 0.1 * names["first"]
