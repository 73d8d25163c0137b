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

VERBS = ("inverse", "forward")


def _motion(arm: robolin.Arm, rows: int = 3) -> list:
    generator = torch.Generator().manual_seed(1)
    shape = (3, rows, arm.n)
    return list(torch.rand(shape, dtype=torch.float64, generator=generator) * 2 - 1)


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
    key, motion = rt._key_of(arm), _motion(arm)
    assert torch.ops.robolin.value(key, "inverse", *motion).shape == (3, 2)
    del arm
    gc.collect()
    with pytest.raises(
        RobolinError, match="the backward pass needs a robot that was deleted\nhint: do not delete"
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
    index = rt._key_of(arm)
    for operator, tensors in (
        (rt._value_op, motion),
        (rt._pull_op, [*motion, motion[0]]),
        (rt._push_op, [*motion, *motion]),
        (rt._bend_op, [*motion, motion[0], *motion]),
    ):
        results = torch.library.opcheck(operator, (index, "forward", *tensors))
        assert set(results.values()) == {"SUCCESS"}


# the compiler instantiates a class of PyTorch that warns about it
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
def test_compiled_functions_have_no_graph_break() -> None:
    """torch.compile(fullgraph=True) gives the same value and gradient."""
    arm = robolin.load("two-link")
    function, sine = rt.function(arm, "forward"), torch.sin

    def loss(q, qd, tau):
        return (sine(function(q, qd, tau)) ** 2).sum()

    plain, compiled = ([t.clone().requires_grad_() for t in _motion(arm)] for _ in range(2))
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


@pytest.mark.slow
def test_learnable_parameters_find_a_payload() -> None:
    """LBFGS on torques of a loaded arm: the error falls to 1 %, and every body stays possible."""
    arm = robolin.load("panda")
    loaded = robolin.load("panda", payload=("panda_hand_tcp", 1.5))
    motion = _motion(arm, 40)
    arrays = [tensor.numpy() for tensor in motion]
    model = rt.InverseDynamics(arm)
    assert np.abs(model(*motion).detach().numpy() - robolin.inverse(arm, *arrays)).max() <= 1e-12

    true = torch.from_numpy(robolin.inverse(loaded, *arrays))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def error():
        optimizer.zero_grad()
        loss = ((model(*motion) - true) ** 2).mean()
        loss.backward()
        return loss

    before = error().item()
    optimizer.step(error)
    assert error().item() <= 1e-4 * before
    learned = arm.with_parameters(model.parameter_values())
    computed = model(*motion).detach().numpy()
    assert np.abs(robolin.inverse(learned, *arrays) - computed).max() <= 1e-11
    for link in learned.links:
        xx, xy, xz, yy, yz, zz = link.inertia.rotary
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        low, middle, high = np.linalg.eigvalsh(inertia)
        assert link.inertia.mass > 0.0
        assert low > 0.0
        assert high <= low + middle


def test_arms_and_inputs_that_are_rejected() -> None:
    """Every rejection is a message of robolin with a hint."""
    arm = robolin.load("two-link")
    with pytest.raises(UsageError, match="function: must be one of 'inverse', 'forward', 'mass-"):
        rt.function(arm, "momentum")
    with pytest.raises(
        RobolinError, match="link 'upper': no body with volume can have this inertia"
    ):
        rt.InverseDynamics(arm)
    with pytest.raises(RobolinError, match="supports kinematic trees only"):
        rt.function(robolin.load("four-bar"), "forward")
    with pytest.raises(RobolinError, match="several degrees of freedom"):
        rt.function(grouped_arm(0, ["floating"]), "forward")
    with pytest.raises(RobolinError, match="q: must have 2 values along its last axis"):
        rt.function(arm, "forward")(torch.zeros(3), 0.0, 0.0)


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
    assert names["learned"].n == names["arm"].n
