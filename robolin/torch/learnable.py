"""PyTorch modules of the dynamics with learnable parameters and physically consistent links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

from robolin.analysis.identification import regressor
from robolin.api.differentiable import require_coordinates
from robolin.api.gradients import gradient_forward, gradient_inverse
from robolin.api.inverse_and_forward import forward
from robolin.core.arm import Arm
from robolin.core.arrays import list_of_names, require_arm
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.torch.autograd import batched, engine, keep_arm, key_of, named_arm
from robolin.torch.tensors import Tensor, checked_tensors, numpy_arrays


class _Learnable(torch.nn.Module):
    """Parameters of an arm: log-Cholesky vectors of links, and parameters of joints.

    The ten inertial parameters of each link are a log-Cholesky vector, so that each link has a
    positive mass and a physically possible inertia after every optimizer step (Rucker and Wensing
    2022).  Damping, armature and friction have no constraints.
    """

    def __init__(self, arm: Arm, links: Sequence[str] | None = None) -> None:
        super().__init__()
        require_arm(arm)
        require_coordinates(arm, "robolin.torch")
        self._arm, self._key = arm, key_of(arm)
        linear = regressor(arm, np.zeros(arm.n))
        self._names = linear.names
        column = {name: i for i, name in enumerate(linear.names)}
        bodies = [name.removesuffix("/mass") for name in linear.names if name.endswith("/mass")]
        self.link_names = _learned_links(bodies, links)
        learned = [[column[f"{link}/{part}"] for part in _INERTIAL] for link in self.link_names]
        joints = [i for name, i in column.items() if name.rpartition("/")[2] not in _INERTIAL]
        self.joint_parameters = tuple(linear.names[i] for i in joints)
        order = [*(i for row in learned for i in row), *joints]
        rest = [i for i in range(len(column)) if i not in {*order}]
        self._columns = torch.tensor(np.argsort([*order, *rest]))
        self._rest = torch.tensor(linear.parameters[rest])
        vectors = [
            _log_cholesky(linear.parameters[row], link, arm, links is None)
            for row, link in zip(learned, self.link_names, strict=True)
        ]
        self.links = torch.nn.Parameter(torch.tensor(np.reshape(vectors, (-1, 10))))
        self.joints = torch.nn.Parameter(torch.tensor(linear.parameters[joints]))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._key = key_of(self._arm)

    def parameter_values(self) -> dict[str, float]:
        """Values of all parameters by name, for `Arm.with_parameters`."""
        return dict(zip(self._names, self._vector().detach().tolist(), strict=True))

    def _vector(self) -> Tensor:
        """π in the order of the regressor's columns."""
        links = _inertial_parameters(self.links.double()).flatten()
        return torch.cat([links, self.joints.double(), self._rest])[self._columns]


class InverseDynamics(_Learnable):
    """Inverse dynamics with learnable parameters, whose links are physically consistent.

    Torques are linear in the parameters: τ = Y(q, q̇, q̈) π.  The parameter `links` has a
    log-Cholesky vector (10,) for each learned link, so that the link has a positive mass and a
    physically possible inertia after every optimizer step (Rucker and Wensing 2022).  The parameter
    `joints` has damping, armature and friction without constraints, with the names in
    `joint_parameters`.

    Args:
        arm: the arm with the initial parameters, from `robolin.load`; without closed loops
        links: names of the links with learnable parameters, as in `link_names`; None for all

    Raises:
        UsageError: `arm` is not an `Arm`, or an unknown link
        RobolinError: closed loops, or a link with an inertia that no body with volume can have

    Example:
        >>> import torch, robolin.torch
        >>> arm = robolin.load("panda")
        >>> model = robolin.torch.InverseDynamics(arm, links=["panda_link7"])
        >>> torques = model(torch.zeros(7), 0.0, 0.0).detach().numpy()
        >>> np.allclose(torques, robolin.inverse(arm, np.zeros(7)), atol=1e-5)
        True
        >>> {name: tuple(each.shape) for name, each in model.named_parameters()}
        {'links': (1, 10), 'joints': (14,)}
    """

    def forward(self, q: Any, qd: Any, qdd: Any) -> Tensor:
        """Torques (..., n) of motions (..., n).

        If q, qd or qdd requires a gradient, torques have only first derivatives.  Otherwise,
        torques also have second derivatives with respect to the parameters.
        """
        motion = checked_tensors(self._arm, {"q": q, "qd": qd, "qdd": qdd})
        torques: Tensor = _Inverse.apply(self._key, *motion, self._vector())
        return torques.to(motion[0].dtype)


class ForwardDynamics(_Learnable):
    """Forward dynamics with learnable parameters, whose links are physically consistent.

    The parameters are those of `InverseDynamics`.  All derivatives are of first order.

    Args:
        arm: the arm with the initial parameters, from `robolin.load`; without closed loops
            and multi-DoF joints
        links: names of the links with learnable parameters, as in `link_names`; None for all

    Raises:
        UsageError: `arm` is not an `Arm`, or an unknown link
        RobolinError: closed loops, or a link with an inertia that no body with volume can have

    Example:
        >>> import torch, robolin.torch
        >>> arm = robolin.load("panda")
        >>> model = robolin.torch.ForwardDynamics(arm, links=["panda_link7"])
        >>> zero = torch.zeros(7, dtype=torch.float64)
        >>> accelerations = model(zero, zero, zero)
        >>> np.allclose(accelerations.detach().numpy(), robolin.forward(arm, np.zeros(7)))
        True
        >>> accelerations.sum().backward()
        >>> model.links.grad.shape
        torch.Size([1, 10])
    """

    def forward(self, q: Any, qd: Any, tau: Any) -> Tensor:
        """Accelerations (..., n) of states and torques (..., n)."""
        state = checked_tensors(self._arm, {"q": q, "qd": qd, "tau": tau})
        accelerations: Tensor = _Forward.apply(self._key, *state, self._vector())
        return accelerations.to(state[0].dtype)


# operators on the parameters π (p,) of an arm; they compute in float64


@lru_cache(maxsize=64)
def _learned_arm(key: int, values: bytes) -> Arm:
    return named_arm(key).with_parameters(np.frombuffer(values))


def _with_parameters(key: int, parameters: Tensor) -> Arm:
    return _learned_arm(key, parameters.detach().numpy().tobytes())


def _double(*tensors: Tensor) -> list[Any]:
    return numpy_arrays([tensor.double() for tensor in tensors])


@torch.library.custom_op("robolin::regressor", mutates_args=())
def _regressor_op(arm: int, q: Tensor, qd: Tensor, qdd: Tensor) -> tuple[Tensor, Tensor]:
    linear = regressor(named_arm(arm), *_double(q, qd, qdd), **engine())
    return torch.from_numpy(linear.matrix), torch.from_numpy(linear.offset)


@torch.library.custom_op("robolin::learned_forward", mutates_args=())
def _forward_op(arm: int, q: Tensor, qd: Tensor, tau: Tensor, parameters: Tensor) -> Tensor:
    return torch.from_numpy(
        forward(_with_parameters(arm, parameters), *_double(q, qd, tau), **engine())
    )


@torch.library.custom_op("robolin::learned_vjp", mutates_args=())
def _vjp_op(
    arm: int, verb: str, q: Tensor, qd: Tensor, third: Tensor, weights: Tensor, parameters: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    *state, w = _double(q, qd, third, weights)
    learned = _with_parameters(arm, parameters)
    if verb == "inverse":
        torque = gradient_inverse(learned, *state, weights=w, **engine())
        gradients = torque.gradient_q, torque.gradient_qd, torque.gradient_qdd
    else:
        acceleration = gradient_forward(learned, *state, weights=w, **engine())
        gradients = acceleration.gradient_q, acceleration.gradient_qd, acceleration.gradient_tau
    x, y, z = map(torch.from_numpy, gradients)
    return x, y, z


def _like(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=torch.float64)


@_regressor_op.register_fake
def _(arm: int, q: Tensor, qd: Tensor, qdd: Tensor) -> tuple[Tensor, Tensor]:
    count = len(regressor(named_arm(arm), np.zeros(q.shape[-1])).names)
    return torch.empty((*q.shape, count), dtype=torch.float64), _like(q)


def _of_each_model(operator: Any, constants: int, results: int) -> Any:
    """The `vmap` rule of an operator, which supports a batch of models."""

    def rule(info: Any, in_dims: Any, *arguments: Any) -> Any:
        if in_dims[-1] is None:
            of_one = batched(partial(_with_last, operator, arguments[-1]), constants, results)
            return of_one(info, in_dims[:-1], *arguments[:-1])
        each = [
            operator(
                *(
                    value if axis is None else value.select(axis, i)
                    for value, axis in zip(arguments, in_dims, strict=True)
                )
            )
            for i in range(info.batch_size)
        ]
        if results == 1:
            return torch.stack(each), 0
        return tuple(map(torch.stack, zip(*each, strict=True))), (0,) * results

    return rule


def _with_last(operator: Any, last: Tensor, *arguments: Any) -> Any:
    return operator(*arguments, last)


_regressor_op.register_vmap(batched(_regressor_op, 1, 2))
_forward_op.register_fake(lambda arm, q, qd, tau, parameters: _like(q))
_forward_op.register_vmap(_of_each_model(_forward_op, 1, 1))
_vjp_op.register_fake(lambda arm, verb, q, *rest: (_like(q), _like(q), _like(q)))
_vjp_op.register_vmap(_of_each_model(_vjp_op, 2, 3))


class _Differentiable(torch.autograd.Function):
    """A function of the key of an arm and of tensors, which its backward pass needs."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.arm, *tensors = inputs
        keep_arm(ctx, ctx.arm)
        ctx.save_for_backward(*tensors, *([output] if isinstance(output, torch.Tensor) else []))


class _Inverse(_Differentiable):
    """τ = Y π + offset, for constant motions linear in π."""

    @staticmethod
    def forward(arm: int, q: Tensor, qd: Tensor, qdd: Tensor, parameters: Tensor) -> Any:
        matrix, offset = _regressor_op(arm, q, qd, qdd)
        return matrix @ parameters + offset

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        q, qd, qdd, parameters, _ = ctx.saved_tensors
        if any(ctx.needs_input_grad[1:4]):
            return None, *_Gradients.apply(ctx.arm, "inverse", q, qd, qdd, qdd, weights, parameters)
        matrix, _ = _Regressor.apply(ctx.arm, q, qd, qdd)
        return None, None, None, None, torch.einsum("...p,...->p", matrix, weights.double())


class _Forward(_Differentiable):
    """q̈(q, q̇, τ, π)"""

    @staticmethod
    def forward(arm: int, q: Tensor, qd: Tensor, tau: Tensor, parameters: Tensor) -> Any:
        return _forward_op(arm, q, qd, tau, parameters)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        q, qd, tau, parameters, qdd = ctx.saved_tensors
        return None, *_Gradients.apply(ctx.arm, "forward", q, qd, tau, qdd, weights, parameters)


class _FirstOrder(torch.autograd.Function):
    """A function without a derivative."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save nothing, because the backward pass only raises an error."""

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        raise RobolinError(
            "robolin.torch: modules with learnable parameters have first derivatives only",
            hint="for second derivatives with respect to the parameters, pass q.detach(), "
            "qd.detach() and qdd.detach() to InverseDynamics",
        )


class _Regressor(_FirstOrder):
    """Y and the offset"""

    @staticmethod
    def forward(arm: int, q: Tensor, qd: Tensor, qdd: Tensor) -> Any:
        return _regressor_op(arm, q, qd, qdd)


class _Gradients(_FirstOrder):
    """Gradients of λ · τ or λ · q̈ with respect to the arguments and π.

    For accelerations with μ = 𝓜⁻¹ λ, the gradient with respect to π is -Y(q, q̇, q̈)* μ.
    """

    @staticmethod
    def forward(
        arm: int,
        verb: str,
        q: Tensor,
        qd: Tensor,
        third: Tensor,
        qdd: Tensor,
        weights: Tensor,
        parameters: Tensor,
    ) -> Any:
        gradients = _vjp_op(arm, verb, q, qd, third, weights, parameters)
        matrix, _ = _regressor_op(arm, q, qd, qdd)
        of_torques = weights.double() if verb == "inverse" else -gradients[2]
        x, y, z = (by.to(each.dtype) for by, each in zip(gradients, (q, qd, third), strict=True))
        return x, y, z, torch.einsum("...p,...->p", matrix, of_torques)


# parameters of a link in the regressor: mass, first moments, inertia about the link's origin
_INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def _inertial_parameters(theta: Tensor) -> Tensor:
    """Ten inertial parameters (links, 10) from log-Cholesky vectors (links, 10).

    The pseudo-inertia is e^(2α) U U*, with U upper triangular and exp(d) on its diagonal.
    """
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta.unbind(-1)
    zero, one = torch.zeros_like(alpha), torch.ones_like(alpha)
    rows = (
        (d1.exp(), s12, s13, t1),
        (zero, d2.exp(), s23, t2),
        (zero, zero, d3.exp(), t3),
        (zero, zero, zero, one),
    )
    U = alpha.exp()[..., None, None] * torch.stack([torch.stack(row, -1) for row in rows], -2)
    J = U @ U.transpose(-1, -2)
    S = J[..., :3, :3]
    trace = S.diagonal(dim1=-2, dim2=-1).sum(-1)
    x, y, z = (S[..., i, i] for i in range(3))
    return torch.stack(
        [
            *(J[..., 3, 3], J[..., 0, 3], J[..., 1, 3], J[..., 2, 3]),
            *(trace - x, -S[..., 0, 1], -S[..., 0, 2], trace - y, -S[..., 1, 2], trace - z),
        ],
        -1,
    )


def _learned_links(bodies: Sequence[str], links: Sequence[str] | None) -> tuple[str, ...]:
    if links is None:
        return tuple(bodies)
    chosen = list_of_names("links", links)
    for link in chosen:
        if link not in bodies:
            raise UsageError(f"moving link '{link}' not found", hint=did_you_mean(link, bodies))
    return tuple(link for link in bodies if link in chosen)


def _log_cholesky(values: Any, body: str, arm: Arm, is_default: bool) -> Any:
    """The log-Cholesky vector of one link's ten parameters."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = values
    half = 0.5 * (xx + yy + zz)
    S = np.array([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])
    J = np.block([[S, np.array([[hx], [hy], [hz]])], [np.array([[hx, hy, hz]]), np.array([[m]])]])
    try:
        # the upper factor is the lower factor of the reversed matrix
        U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        hint = "point masses, rods and links without mass cannot be learned: " + (
            "pass links=[…] without this link" if is_default else "omit this link"
        )
        message = f"link '{body}': no body with volume can have this inertia"
        raise RobolinError(message, where=arm.source, hint=hint) from None
    scale, U = np.log(U[3, 3]), U / U[3, 3]
    diagonal = np.log(np.diag(U)[:3])
    return np.array([scale, *diagonal, U[0, 1], U[1, 2], U[0, 2], U[0, 3], U[1, 3], U[2, 3]])
