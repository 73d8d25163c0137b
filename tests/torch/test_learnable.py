"""Modules with learnable parameters: derivatives, transforms, copies and learned parameters."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError, UsageError
from tests.packages import Package, needs
from tests.robots import grouped_arm

torch = needs("torch", reason="the extra `torch` is not installed")
rt = Package("robolin.torch")


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def _motion(arm: robolin.Arm, rows: int = 3) -> list:
    shape = (3, rows, arm.n)
    return list(torch.rand(shape, dtype=torch.float64, generator=_generator()) * 2 - 1)


LEARNABLE = {"InverseDynamics": "inverse", "ForwardDynamics": "forward"}


@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_dynamics_have_exact_derivatives(name: str) -> None:
    """PyTorch checks the derivatives by parameters and motion; a second one is an error."""
    arm = robolin.load("ur5")
    model = getattr(rt, name)(arm, links=[arm.link_names[-1]])
    motion = [each.requires_grad_() for each in _motion(arm, 2)]
    expected = getattr(robolin, LEARNABLE[name])(arm, *(each.detach().numpy() for each in motion))
    assert np.abs(model(*motion).detach().numpy() - expected).max() <= 1e-11

    def evaluate(links, joints, *state):
        return torch.func.functional_call(model, {"links": links, "joints": joints}, state)

    parameters = [each.detach().clone().requires_grad_() for each in (model.links, model.joints)]
    assert torch.autograd.gradcheck(evaluate, (*parameters, *motion), eps=1e-6, atol=1e-4)
    loss = getattr(rt, name)(replace(arm))(*motion).sum()
    gc.collect()
    # the graph keeps the deleted robot
    loss.backward()
    first = torch.autograd.grad(model(*motion).sum(), model.links, create_graph=True)[0]
    with pytest.raises(RobolinError, match="have first derivatives only"):
        first.sum().backward()


# the compiler instantiates a class of PyTorch that warns about it
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_dynamics_work_with_transforms_copies_and_the_compiler(name: str) -> None:
    """vmap over states and over models, deepcopy, pickle and torch.compile give the same values."""
    arm = robolin.load("ur5")
    model, motion = getattr(rt, name)(arm), _motion(arm, 3)
    value = model(*motion)
    assert torch.equal(torch.func.vmap(model)(*motion), value)
    one = {name: each.detach() for name, each in model.named_parameters()}
    two = {name: torch.stack([each, each + 0.01]) for name, each in one.items()}

    def call(parameters):
        return torch.func.functional_call(model, parameters, tuple(motion))

    both = torch.func.vmap(call)(two)
    other = call({name: each + 0.01 for name, each in one.items()})
    for computed, expected in zip(both, (value, other), strict=True):
        # sums of parameters have another order
        assert torch.allclose(computed, expected, rtol=1e-11, atol=1e-11)
    third = torch.func.vmap(lambda each: model(motion[0][0], motion[1][0], each))(motion[2])
    expected = model(motion[0][:1], motion[1][:1], motion[2])
    assert torch.allclose(third, expected, rtol=1e-12, atol=1e-12)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(copied(*motion), value)
    assert torch.equal(torch.compile(model, fullgraph=True, backend="aot_eager")(*motion), value)


@pytest.mark.parametrize("name", LEARNABLE)
def test_function_transforms_of_learnable_dynamics(name: str) -> None:
    """torch.func.grad by motion and parameters is the gradient of backward, also with vmap."""
    arm = robolin.load("ur5")
    model = getattr(rt, name)(arm, links=arm.link_names[-2:])
    motion = [each.requires_grad_() for each in _motion(arm, 3)]
    model(*motion).square().sum().backward()
    parameters = {name: each.detach() for name, each in model.named_parameters()}

    def loss(parameters, *state):
        return torch.func.functional_call(model, parameters, state).square().sum()

    states = [each.detach() for each in motion]
    by_parameters, *by_state = torch.func.grad(loss, argnums=(0, 1, 2, 3))(parameters, *states)
    for (_, parameter), gradient in zip(
        model.named_parameters(), by_parameters.values(), strict=True
    ):
        assert torch.allclose(gradient, parameter.grad, rtol=1e-11, atol=1e-11)
    for each, gradient in zip(motion, by_state, strict=True):
        assert torch.allclose(gradient, each.grad, rtol=1e-11, atol=1e-11)
    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0, 0))(parameters, *states)
    total = {name: each.sum(0) for name, each in rows.items()}
    for name, gradient in by_parameters.items():
        assert torch.allclose(total[name], gradient, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_dynamics_of_float32_and_of_no_states(name: str) -> None:
    """Results and gradients have the type of the arguments; computations use float64."""
    arm = robolin.load("ur5")
    model, motion = getattr(rt, name)(arm), _motion(arm, 3)
    single = [each.float().requires_grad_() for each in motion]
    value = model(*single)
    assert value.dtype == torch.float32
    assert torch.equal(value, model(*(each.detach().double() for each in single)).float())
    value.sum().backward()
    exact = [each.detach().double().requires_grad_() for each in single]
    model(*exact).sum().backward()
    for each, true in zip(single, exact, strict=True):
        assert torch.allclose(each.grad.double(), true.grad, rtol=1e-6, atol=1e-5)
    empty = [each[:0].requires_grad_() for each in motion]
    none = model(*empty)
    assert none.shape == (0, arm.n)
    none.sum().backward()
    assert empty[0].grad.shape == (0, arm.n)


def test_second_derivatives_by_parameters() -> None:
    """Torques are a smooth function of log-Cholesky parameters: PyTorch checks their Hessian."""
    arm = robolin.load("ur5")
    model, motion = rt.InverseDynamics(arm, links=[arm.link_names[-1]]), _motion(arm, 2)

    def loss(links):
        values = {"links": links, "joints": model.joints.detach()}
        return torch.func.functional_call(model, values, tuple(motion)).square().sum()

    links = model.links.detach().clone().requires_grad_()
    assert torch.autograd.gradgradcheck(loss, links, eps=1e-6, atol=1e-3)


def test_joints_without_coordinates_are_rejected() -> None:
    """The gradient of a multi-DoF joint would be with respect to twists."""
    for name in LEARNABLE:
        with pytest.raises(RobolinError, match="several degrees of freedom"):
            getattr(rt, name)(grouped_arm(0, ["floating"]))


def test_a_payload_is_learned_through_a_rollout() -> None:
    """Gradients by the parameters of one link reduce the error of simulated positions."""
    arm = robolin.load("panda")
    tool = arm.link_names[-1]
    loaded = robolin.load("panda", payload=(tool, 1.5, (0.02, 0.0, 0.05)))
    torques = 5.0 * torch.randn(15, arm.n, dtype=torch.float64, generator=_generator())

    def positions(forward):
        q = qd = torch.zeros(arm.n, dtype=torch.float64)
        for tau in torques:
            qd = qd + 0.02 * forward(q, qd, tau)
            q = q + 0.02 * qd
        return q

    goal, model = positions(rt.function(loaded, "forward")), rt.ForwardDynamics(arm, links=[tool])
    model.joints.requires_grad_(False)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=25, line_search_fn="strong_wolfe")
    errors = []

    def error():
        optimizer.zero_grad()
        loss = ((positions(model) - goal) ** 2).sum()
        loss.backward()
        errors.append(loss.item())
        return loss

    optimizer.step(error)
    assert errors[-1] < 0.03 * errors[0]
    first = arm.link_names[0]
    values = model.parameter_values()
    assert values[f"{first}/mass"] == arm.link(arm.frames[first].link).inertia.mass


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


def test_links_that_cannot_be_learned() -> None:
    """A rod has no log-Cholesky parameters; other links of its robot have."""
    arm = robolin.load("two-link")
    with pytest.raises(
        RobolinError, match="link 'upper': no body with volume can have this inertia\nhint: point"
    ):
        rt.InverseDynamics(arm)
    assert rt.InverseDynamics(arm, links=[])(torch.zeros(2), 0, 0).shape == (2,)
    with pytest.raises(
        UsageError, match="moving link 'uper' not found\nhint: did you mean 'upper'"
    ):
        rt.InverseDynamics(arm, links=["uper"])


def test_parameters_with_gradients_are_rejected() -> None:
    """Options and parameters of arms do not lose the gradient of a tensor silently."""
    mass = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(UsageError, match="elbow/damping: must be a NumPy array, got a PyTorch"):
        robolin.load("two-link").with_parameters({"elbow/damping": mass})
    with pytest.raises(UsageError, match="payload: must be a number, got a tensor that requires"):
        robolin.load("two-link", payload=("lower", mass))
