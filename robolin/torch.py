"""PyTorch functions with exact derivatives, which torch can differentiate and compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

try:
    import torch
except ModuleNotFoundError as error:
    from robolin.errors import UsageError

    raise UsageError("robolin.torch requires PyTorch", hint="pip install torch") from error

import numpy as np

from robolin.analysis.identification import regressor
from robolin.api.gradients import (
    gradient_forward,
    gradient_inverse,
    hessian_vector_forward,
    hessian_vector_inverse,
)
from robolin.api.inverse_and_forward import forward, inverse
from robolin.api.linear_models import (
    ForwardMatrices,
    InverseMatrices,
    perturb_forward,
    perturb_inverse,
    require_differentiable,
)
from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import require_arm
from robolin.errors import RobolinError, UsageError

Tensor: TypeAlias = torch.Tensor


class _Dynamics(NamedTuple):
    """A function of the dynamics with its derivatives.

    inputs:  names of its three arguments
    value:   f(x)
    pull:    gradient of λ · f by each argument
    push:    change of f along a direction
    bend:    change of the gradient of λ · f along a direction
    """

    inputs: tuple[str, str, str]
    value: Callable[..., Any]
    pull: Callable[..., Any]
    push: Callable[..., Any]
    bend: Callable[..., Any]


_DYNAMICS: Mapping[str, _Dynamics] = {
    "inverse": _Dynamics(
        ("q", "qd", "qdd"), inverse, gradient_inverse, perturb_inverse, hessian_vector_inverse
    ),
    "forward": _Dynamics(
        ("q", "qd", "tau"), forward, gradient_forward, perturb_forward, hessian_vector_forward
    ),
}

# operators take numbers, so an arm is named by its key here; the function and the results that
# need a gradient keep the arm
_ARMS: WeakValueDictionary[int, Arm] = WeakValueDictionary()
_new_keys = count()


def function(arm: Arm, verb: str) -> Callable[..., Any]:
    """A function of the dynamics on tensors.

    Torques and accelerations are bit-identical to those of the NumPy functions; matrices agree up
    to round-off.  The function works with `torch.autograd`, `torch.func` (`vmap`, `jacrev`) and
    `torch.compile`.  Torques and accelerations can be differentiated twice, and matrices once.

    Args:
        arm: the arm, from `robolin.load`; without closed loops and multi-DoF joints
        verb: "inverse" for τ(q, q̇, q̈), "forward" for q̈(q, q̇, τ), "mass-matrix" for M(q),
            "linearize-inverse" or "linearize-forward" for a tuple of matrices with names

    Returns:
        a function of tensors (..., n) on the CPU, which broadcast; float32 tensors use
        single-precision kernels, as `dtype="float32"` of the NumPy functions does

    Raises:
        UsageError: `arm` is not an `Arm`, or an unsupported verb
        RobolinError: closed loops, or joints with several degrees of freedom

    Example:
        >>> import torch, robolin.torch
        >>> arm = robolin.load("two-link")
        >>> forward = robolin.torch.function(arm, "forward")
        >>> q = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        >>> zero = torch.zeros(2, dtype=torch.float64)
        >>> forward(q, zero, zero).sum().backward()
        >>> q.grad.numpy().round(3)
        array([-23.669,  70.036])
    """
    names = require_differentiable(arm, verb, "robolin.torch")
    key = _key_of(arm)

    def evaluate(*arguments: Tensor) -> Any:
        if len(arguments) != len(names):
            raise UsageError(
                f"{evaluate.__name__}: must be called with {len(names)} tensors, got "
                f"{len(arguments)}",
                hint=f"pass {', '.join(names)}",
            )
        values = dict(zip(names, arguments, strict=True))
        tensors = torch.broadcast_tensors(*_checked(arm, values))
        one_value = verb in _DYNAMICS
        return (_Value.apply if one_value else _matrices)(key, verb, *tensors)

    evaluate.__name__ = verb.replace("-", "_")
    evaluate.__doc__ = f"`robolin {verb}` of '{arm.name}' from {', '.join(names)}."
    return evaluate


def _matrices(arm: int, verb: str, *state: Tensor) -> Any:
    """Jacobians: row i is the gradient with the weights that select result i."""
    if verb == "mass-matrix":
        state = (state[0], torch.zeros_like(state[0]), torch.zeros_like(state[0]))
    source = "forward" if verb == "linearize-forward" else "inverse"
    n = state[0].shape[-1]
    shape = (*state[0].shape[:-1], n, n)
    rows = [each[..., None, :].expand(shape) for each in state]
    weights = torch.eye(n, dtype=state[0].dtype).expand(shape)
    x, y, z = _Gradient.apply(arm, source, *rows, weights)
    if verb == "mass-matrix":
        return z
    if source == "inverse":
        return InverseMatrices(z, y, x)
    return ForwardMatrices(_Value.apply(arm, source, *state), z, y, x)


def _key_of(arm: Arm) -> int:
    key = cached_on_arm(arm, "torch key", lambda _: next(_new_keys))
    _ARMS[key] = arm
    return key


def _arm_of(key: int) -> Arm:
    try:
        return _ARMS[key]
    except KeyError:
        raise RobolinError(
            "robolin.torch: the backward pass needs a robot that was deleted",
            hint="do not delete the function from robolin.torch.function before the backward pass",
        ) from None


def _keep_arm(ctx: Any, key: int) -> None:
    """Keep the arm as long as the graph; a compiled function keeps it itself."""
    if not torch.compiler.is_compiling():
        ctx.kept = _arm_of(key)


def _checked(arm: Arm, values: Mapping[str, Any]) -> list[Tensor]:
    """Tensors of one type; numbers and arrays are converted to it."""
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    dtype = torch.float64
    if tensors and all(value.dtype == torch.float32 for value in tensors):
        dtype = torch.float32
    converted = []
    for name, value in values.items():
        tensor = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        if tensor.device.type != "cpu":
            raise UsageError(
                f"{name}: must be on the CPU, got {tensor.device}", hint="call .cpu() first"
            )
        if tensor.dim() and tensor.shape[-1] != arm.n:
            raise RobolinError(
                f"{name}: must have {arm.n} values along its last axis, one per joint of "
                f"'{arm.name}', got {tensor.shape[-1]}",
                hint=f"joint order: {', '.join(arm.joint_names)}",
            )
        tensor = tensor.to(dtype)
        converted.append(tensor if tensor.dim() else tensor.expand(arm.n))
    return converted


def _numpy(tensors: Sequence[Tensor]) -> list[Any]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _precision(tensor: Tensor) -> dict[str, Any]:
    """Options of the NumPy functions for tensors of this type."""
    return {"dtype": "float32"} if tensor.dtype == torch.float32 else {}


def _tensor(array: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.dtype)


# the operators: opaque to torch, with the shapes of their results


@torch.library.custom_op("robolin::value", mutates_args=())
def _value_op(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return _tensor(_DYNAMICS[verb].value(_arm_of(arm), *_numpy((x, y, z)), **_precision(x)), x)


@torch.library.custom_op("robolin::pull", mutates_args=())
def _pull_op(
    arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    *state, w = _numpy((x, y, z, weights))
    return _fields(verb, _DYNAMICS[verb].pull(_arm_of(arm), *state, weights=w, **_precision(x)), x)


@torch.library.custom_op("robolin::push", mutates_args=())
def _push_op(
    arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, dx: Tensor, dy: Tensor, dz: Tensor
) -> Tensor:
    arrays = _numpy((x, y, z, dx, dy, dz))
    return _tensor(_DYNAMICS[verb].push(_arm_of(arm), *arrays, **_precision(x)), x)


@torch.library.custom_op("robolin::bend", mutates_args=())
def _bend_op(
    arm: int,
    verb: str,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    weights: Tensor,
    dx: Tensor,
    dy: Tensor,
    dz: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    *state, w = _numpy((x, y, z, weights))
    entry = _DYNAMICS[verb]
    along = dict(zip((f"d{name}" for name in entry.inputs), _numpy((dx, dy, dz)), strict=True))
    return _fields(verb, entry.bend(_arm_of(arm), *state, weights=w, **along, **_precision(x)), x)


def _fields(verb: str, gradient: Any, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by the three arguments."""
    names = (f"gradient_{name}" for name in _DYNAMICS[verb].inputs)
    x, y, z = (_tensor(getattr(gradient, name), like) for name in names)
    return x, y, z


def _one_like(arm: int, verb: str, x: Tensor, *rest: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _three_like(arm: int, verb: str, x: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _one_like(arm, verb, x), _one_like(arm, verb, x), _one_like(arm, verb, x)


def _batched(operator: Any, results: int) -> Callable[..., Any]:
    """Rule of an operator for `vmap`: all arrays get the new axis as their first one."""

    def rule(info: Any, in_dims: Any, arm: int, verb: str, *tensors: Tensor) -> Any:
        arranged = [
            tensor.expand(info.batch_size, *tensor.shape)
            if axis is None
            else tensor.movedim(axis, 0)
            for tensor, axis in zip(tensors, in_dims[2:], strict=True)
        ]
        result = operator(arm, verb, *(each.contiguous() for each in arranged))
        return result, 0 if results == 1 else (0,) * results

    return rule


for _operator, _fake, _count in (
    (_value_op, _one_like, 1),
    (_pull_op, _three_like, 3),
    (_push_op, _one_like, 1),
    (_bend_op, _three_like, 3),
):
    _operator.register_fake(_fake)
    _operator.register_vmap(_batched(_operator, _count))


class _Value(torch.autograd.Function):
    """f(x); its backward pass is the gradient of weighted results."""

    generate_vmap_rule = True

    @staticmethod
    def forward(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor) -> Any:
        return _value_op(arm, verb, x, y, z)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.arm, ctx.verb, *state = inputs
        _keep_arm(ctx, ctx.arm)
        ctx.save_for_backward(*state)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        state, (weights,) = ctx.saved_tensors, outer
        return None, None, *_Gradient.apply(ctx.arm, ctx.verb, *state, weights)


class _Gradient(torch.autograd.Function):
    """Gradient of λ · f; its backward pass multiplies by the Jacobian and by the Hessian."""

    generate_vmap_rule = True

    @staticmethod
    def forward(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, weights: Tensor) -> Any:
        return _pull_op(arm, verb, x, y, z, weights)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.arm, ctx.verb, *state = inputs
        _keep_arm(ctx, ctx.arm)
        ctx.save_for_backward(*state)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        *state, weights = ctx.saved_tensors
        along = [
            torch.zeros_like(state[0]) if each is None else each.expand_as(state[0])
            for each in outer
        ]
        by_state = _bend_op(ctx.arm, ctx.verb, *state, weights, *along)
        by_weights = _push_op(ctx.arm, ctx.verb, *state, *along)
        return None, None, *by_state, by_weights


class InverseDynamics(torch.nn.Module):
    """Inverse dynamics with learnable parameters, always physically consistent.

    Torques are linear in the parameters: τ = Y(q, q̇, q̈) π.  The ten inertial parameters of each
    link are a log-Cholesky vector, so that each link has a positive mass and a physically
    possible inertia after every optimizer step (Rucker and Wensing 2022).  Damping, armature
    and friction have no constraints.

    Args:
        arm: the arm with the initial parameters, from `robolin.load`; without closed loops

    Raises:
        UsageError: `arm` is not an `Arm`
        RobolinError: closed loops, or a link with an inertia that no body with volume can have

    Example:
        >>> import torch, robolin.torch
        >>> arm = robolin.load("panda")
        >>> model = robolin.torch.InverseDynamics(arm)
        >>> torques = model(torch.zeros(7), 0.0, 0.0).detach().numpy()
        >>> np.allclose(torques, robolin.inverse(arm, np.zeros(7)), atol=1e-5)
        True
        >>> sorted(name for name, _ in model.named_parameters())
        ['joints', 'links']
    """

    def __init__(self, arm: Arm) -> None:
        super().__init__()
        require_arm(arm)
        self._arm = arm
        linear = regressor(arm, np.zeros(arm.n))
        self._names = linear.names
        bodies = [name.removesuffix("/mass") for name in linear.names if name.endswith("/mass")]
        column = {name: i for i, name in enumerate(linear.names)}
        inertial = [[column[f"{body}/{part}"] for part in _INERTIAL] for body in bodies]
        others = [i for name, i in column.items() if name.rpartition("/")[2] not in _INERTIAL]
        order = [*(i for row in inertial for i in row), *others]
        self._columns = torch.tensor(np.argsort(order))
        start = [
            _log_cholesky(linear.parameters[row], body, arm)
            for row, body in zip(inertial, bodies, strict=True)
        ]
        self.links = torch.nn.Parameter(torch.tensor(np.array(start)))
        self.joints = torch.nn.Parameter(torch.tensor(linear.parameters[others]))

    def parameter_values(self) -> dict[str, float]:
        """Values of all parameters by name, for `Arm.with_parameters`."""
        return dict(zip(self._names, self._vector().detach().tolist(), strict=True))

    def forward(self, q: Any, qd: Any, qdd: Any) -> Tensor:
        """Torques (..., n) of motions (..., n), differentiable by the parameters."""
        values = {"q": q, "qd": qd, "qdd": qdd}
        motion = _checked(self._arm, values)
        if any(tensor.requires_grad for tensor in motion):
            raise UsageError(
                "robolin.torch.InverseDynamics: does not compute gradients with respect to q, "
                "qd and qdd",
                hint="detach q, qd and qdd, or use robolin.torch.function(arm, 'inverse')",
            )
        linear = regressor(self._arm, *_numpy(torch.broadcast_tensors(*motion)))
        matrix, offset = torch.from_numpy(linear.matrix), torch.from_numpy(linear.offset)
        torques = matrix @ self._vector() + offset
        return torques.to(motion[0].dtype)

    def _vector(self) -> Tensor:
        """π in the order of the regressor's columns."""
        return torch.cat([_inertial_parameters(self.links).flatten(), self.joints])[self._columns]


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


def _log_cholesky(values: Any, body: str, arm: Arm) -> Any:
    """The log-Cholesky vector of one link's ten parameters."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = values
    half = 0.5 * (xx + yy + zz)
    S = np.array([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])
    J = np.block([[S, np.array([[hx], [hy], [hz]])], [np.array([[hx, hy, hz]]), np.array([[m]])]])
    try:
        # the upper factor is the lower factor of the reversed matrix
        U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise RobolinError(
            f"link '{body}': no body with volume can have this inertia",
            where=arm.source,
            hint="correct the mass and inertia of the link; run robolin validate to find the error",
        ) from None
    scale, U = np.log(U[3, 3]), U / U[3, 3]
    diagonal = np.log(np.diag(U)[:3])
    return np.array([scale, *diagonal, U[0, 1], U[1, 2], U[0, 2], U[0, 3], U[1, 3], U[2, 3]])
