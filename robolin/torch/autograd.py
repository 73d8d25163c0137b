"""The dynamics as operators of PyTorch, with the rules of their derivatives.

PyTorch cannot trace these operators, which call NumPy functions.  For f(x) with Jacobian J, where x
are the three arguments:

    value    f                      jacobians    J
    vjp      Jᵀ λ, the gradient of λ · f
    jvp      J d, the change of f along a direction d
    hvp      the Hessian of λ · f times d, the change of the gradient along d
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import torch

from robolin.api.differentiable import (
    ForwardMatrices,
    InverseMatrices,
    bound_arguments,
    require_differentiable,
)
from robolin.api.gradients import (
    gradient_forward,
    gradient_inverse,
    hessian_vector_forward,
    hessian_vector_inverse,
)
from robolin.api.inverse_and_forward import forward, inverse
from robolin.api.linear_models import (
    linearize_forward,
    linearize_inverse,
    perturb_forward,
    perturb_inverse,
)
from robolin.api.mass_matrices import mass_matrix
from robolin.core.arm import Arm, cached_on_arm
from robolin.engine.compiled.kernels import can_compile
from robolin.errors import RobolinError
from robolin.torch.tensors import Tensor, checked_tensors, numpy_arrays


class _Dynamics(NamedTuple):
    """A function of the dynamics with its derivatives.

    inputs:    names of its three arguments
    value:     f(x)
    vjp:       gradient of λ · f with respect to each argument
    jvp:       change of f along a direction
    hvp:       change of the gradient of λ · f along a direction
    linear:    linear model
    jacobians: arrays of the linear model, one for each input
    """

    inputs: tuple[str, str, str]
    value: Callable[..., Any]
    vjp: Callable[..., Any]
    jvp: Callable[..., Any]
    hvp: Callable[..., Any]
    linear: Callable[..., Any]
    jacobians: tuple[str, str, str]


_DYNAMICS: Mapping[str, _Dynamics] = {
    "inverse": _Dynamics(
        *(("q", "qd", "qdd"), inverse, gradient_inverse, perturb_inverse, hessian_vector_inverse),
        *(linearize_inverse, ("dtau_dq", "dtau_dqd", "mass_matrix")),
    ),
    "forward": _Dynamics(
        *(("q", "qd", "tau"), forward, gradient_forward, perturb_forward, hessian_vector_forward),
        *(linearize_forward, ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")),
    ),
}

# custom operators accept only tensors and numbers, so an integer key identifies the arm; the
# function and its autograd graph keep a reference to the arm
_ARMS: WeakValueDictionary[int, Arm] = WeakValueDictionary()
_new_keys = count()


def function(arm: Arm, verb: str) -> Callable[..., Any]:
    """A function of the dynamics on tensors.

    Results are bit-identical to those of the NumPy functions; the field `qdd` of
    "linearize-forward" is bit-identical to `robolin.forward`.  The function works with
    `torch.autograd`, `torch.func` (`vmap`, `jacrev`) and `torch.compile`.  "inverse" and "forward"
    have derivatives of the first and second order, the others of the first order.  Derivatives of
    higher order are NaN.

    Args:
        arm: the arm, from `robolin.load`; without closed loops and multi-DoF joints
        verb: "inverse" for τ(q, q̇, q̈), "forward" for q̈(q, q̇, τ), "mass-matrix" for M(q),
            "linearize-inverse" or "linearize-forward" for a tuple of matrices with names

    Returns:
        a function of CPU tensors (..., n); the arguments broadcast.  float32 tensors use
        single-precision kernels, as `dtype="float32"` of the NumPy functions does

    Raises:
        UsageError: `arm` is not an `Arm`, or an unsupported verb
        RobolinError: closed loops, or joints with several degrees of freedom

    Example:
        >>> import torch, robolin.torch
        >>> arm = robolin.load("two-link")
        >>> forward = robolin.torch.function(arm, "forward")
        >>> q = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        >>> forward(q, qd=0.0, tau=0.0).sum().backward()
        >>> q.grad.numpy().round(3)
        array([-23.669,  70.036])
    """
    names = require_differentiable(arm, verb, "robolin.torch")
    key, source = key_of(arm), "forward" if verb.endswith("forward") else "inverse"

    def evaluate(*arguments: Any, **named: Any) -> Any:
        values = bound_arguments(verb, names, arguments, named)
        state = checked_tensors(arm, values)
        if verb == source:
            return _Value.apply(key, verb, *state)
        if verb == "mass-matrix":
            return _MassMatrix.apply(key, *state)
        x, y, z = _Jacobians.apply(key, source, *state)
        if source == "inverse":
            return InverseMatrices(z, y, x)
        return ForwardMatrices(_Value.apply(key, source, *state), z, y, x)

    evaluate.__name__ = verb.replace("-", "_")
    evaluate.__doc__ = f"`robolin {verb}` of '{arm.name}' from {', '.join(names)}."
    return evaluate


def key_of(arm: Arm) -> int:
    """The number that names an arm in operators."""
    key = cached_on_arm(arm, "torch key", lambda _: next(_new_keys))
    _ARMS[key] = arm
    return key


def named_arm(key: int) -> Arm:
    try:
        return _ARMS[key]
    except KeyError:
        raise RobolinError(
            "robolin.torch: the robot of this graph was deleted before the backward pass",
            hint="keep a reference to the robot until the backward pass",
        ) from None


def keep_arm(ctx: Any, key: int) -> None:
    """Keep a reference to the arm in the autograd graph; a compiled function already has one."""
    if not torch.compiler.is_compiling():
        ctx.kept = named_arm(key)


def engine() -> dict[str, Any]:
    """Options that compile a kernel at the first call: training computes few states many times."""
    return {"engine": "compiled"} if can_compile() else {}


def _precision(tensor: Tensor) -> dict[str, Any]:
    """Options of the NumPy functions for tensors of this type."""
    return {"dtype": "float32"} if tensor.dtype == torch.float32 else {}


def _options(tensor: Tensor) -> dict[str, Any]:
    return {**engine(), **_precision(tensor)}


def _tensor(array: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.dtype)


# the operators, with the shapes of their results


@torch.library.custom_op("robolin::value", mutates_args=())
def _value_op(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    arrays = numpy_arrays((x, y, z))
    return _tensor(_DYNAMICS[verb].value(named_arm(arm), *arrays, **_precision(x)), x)


@torch.library.custom_op("robolin::mass_matrix", mutates_args=())
def _mass_matrix_op(arm: int, q: Tensor) -> Tensor:
    return _tensor(mass_matrix(named_arm(arm), *numpy_arrays([q]), **_precision(q)), q)


@torch.library.custom_op("robolin::jacobians", mutates_args=())
def _jacobians_op(
    arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    entry = _DYNAMICS[verb]
    model = entry.linear(named_arm(arm), *numpy_arrays((x, y, z)), **_options(x))
    by_x, by_y, by_z = (_tensor(getattr(model, name), x) for name in entry.jacobians)
    return by_x, by_y, by_z


@torch.library.custom_op("robolin::vjp", mutates_args=())
def _vjp_op(
    arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return _gradients(arm, verb, (x, y, z), {"weights": weights})


@torch.library.custom_op("robolin::jvp", mutates_args=())
def _jvp_op(
    arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, dx: Tensor, dy: Tensor, dz: Tensor
) -> Tensor:
    names = (f"d{name}" for name in _DYNAMICS[verb].inputs)
    along, unknown = _finite(dict(zip(names, (dx, dy, dz), strict=True)))
    change = _DYNAMICS[verb].jvp(named_arm(arm), *numpy_arrays((x, y, z)), **along, **_options(x))
    return _tensor(_with_nan(change, unknown), x)


@torch.library.custom_op("robolin::hvp", mutates_args=())
def _hvp_op(
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
    names = (f"d{name}" for name in _DYNAMICS[verb].inputs)
    along = dict(zip(names, (dx, dy, dz), strict=True))
    return _gradients(arm, verb, (x, y, z), {"weights": weights, **along})


def _gradients(
    arm: int, verb: str, state: Sequence[Tensor], others: Mapping[str, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients with respect to the three arguments, or their changes with a direction in `others`.

    They are NaN for states whose weights or direction are not finite.
    """
    entry, like = _DYNAMICS[verb], state[0]
    function = entry.vjp if len(others) == 1 else entry.hvp
    finite, unknown = _finite(others)
    gradient = function(named_arm(arm), *numpy_arrays(state), **finite, **_options(like))
    arrays = (getattr(gradient, f"gradient_{name}") for name in entry.inputs)
    x, y, z = (_tensor(_with_nan(each, unknown), like) for each in arrays)
    return x, y, z


def _finite(others: Mapping[str, Tensor]) -> tuple[dict[str, Any], Any]:
    """Arrays with 0 in the states that have a value that is not finite, and the mask of these."""
    arrays = dict(zip(others, numpy_arrays([*others.values()]), strict=True))
    known = np.logical_and.reduce([np.isfinite(each).all(-1) for each in arrays.values()])
    if known.all():
        return arrays, ~known
    return {name: np.where(known[..., None], each, 0) for name, each in arrays.items()}, ~known


def _with_nan(array: Any, unknown: Any) -> Any:
    return np.where(unknown[..., None], np.nan, array) if unknown.any() else array


def _vector(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _matrix(x: Tensor) -> Tensor:
    return x.new_empty((*x.shape, x.shape[-1]))


def batched(operator: Any, constants: int, results: int) -> Callable[..., Any]:
    """The `vmap` rule of an operator: the new axis becomes the first axis of all arrays.

    constants: number of leading arguments that are not tensors
    """

    def rule(info: Any, in_dims: Any, *arguments: Any) -> Any:
        arranged = [
            tensor.expand(info.batch_size, *tensor.shape)
            if axis is None
            else tensor.movedim(axis, 0)
            for tensor, axis in zip(arguments[constants:], in_dims[constants:], strict=True)
        ]
        result = operator(*arguments[:constants], *(each.contiguous() for each in arranged))
        return result, 0 if results == 1 else (0,) * results

    return rule


def _batched_vjp(info: Any, in_dims: Any, arm: int, verb: str, *tensors: Tensor) -> Any:
    """With several weights for each state, Jacobians take less time than gradients."""
    *state, weights = tensors
    if all(axis is None for axis in in_dims[2:5]) and info.batch_size > 2:
        rows = weights.movedim(in_dims[5], -2)
        return tuple(rows @ each for each in _jacobians_op(arm, verb, *state)), (-2, -2, -2)
    return batched(_vjp_op, 2, 3)(info, in_dims, arm, verb, *tensors)


_value_op.register_fake(lambda arm, verb, x, *rest: _vector(x))
_value_op.register_vmap(batched(_value_op, 2, 1))
_mass_matrix_op.register_fake(lambda arm, q: _matrix(q))
_mass_matrix_op.register_vmap(batched(_mass_matrix_op, 1, 1))
_jacobians_op.register_fake(lambda arm, verb, x, *rest: (_matrix(x), _matrix(x), _matrix(x)))
_jacobians_op.register_vmap(batched(_jacobians_op, 2, 3))
_vjp_op.register_fake(lambda arm, verb, x, *rest: (_vector(x), _vector(x), _vector(x)))
_vjp_op.register_vmap(_batched_vjp)
_jvp_op.register_fake(lambda arm, verb, x, *rest: _vector(x))
_jvp_op.register_vmap(batched(_jvp_op, 2, 1))
_hvp_op.register_fake(lambda arm, verb, x, *rest: (_vector(x), _vector(x), _vector(x)))
_hvp_op.register_vmap(batched(_hvp_op, 2, 3))


class _Rule(torch.autograd.Function):
    """An autograd function whose backward pass calls other operators.

    The arguments are the key of the arm, the verb and tensors.
    """

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.arm, *others = inputs
        ctx.verb = next((each for each in others if isinstance(each, str)), "")
        keep_arm(ctx, ctx.arm)
        ctx.save_for_backward(*(each for each in others if isinstance(each, torch.Tensor)))


class _Value(_Rule):
    """f; its backward pass is the gradient of weighted results."""

    @staticmethod
    def forward(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor) -> Any:
        return _value_op(arm, verb, x, y, z)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        return None, None, *_Vjp.apply(ctx.arm, ctx.verb, *ctx.saved_tensors, weights)


class _Vjp(_Rule):
    """Jᵀ λ; its backward pass multiplies by the Hessian and by the Jacobian."""

    @staticmethod
    def forward(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, weights: Tensor) -> Any:
        return _vjp_op(arm, verb, x, y, z, weights)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        *state, weights = ctx.saved_tensors
        along = _known(outer, state[0])
        by_state = _Hvp.apply(ctx.arm, ctx.verb, *state, weights, *along)
        return None, None, *by_state, _Jvp.apply(ctx.arm, ctx.verb, *state, *along)


class _Jvp(_Rule):
    """J d"""

    # the compiler requires a name for each argument
    @staticmethod
    def forward(
        arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor, dx: Tensor, dy: Tensor, dz: Tensor
    ) -> Any:
        return _jvp_op(arm, verb, x, y, z, dx, dy, dz)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        state, along = ctx.saved_tensors[:3], ctx.saved_tensors[3:]
        by_state = _Hvp.apply(ctx.arm, ctx.verb, *state, weights, *along)
        return None, None, *by_state, *_Vjp.apply(ctx.arm, ctx.verb, *state, weights)


class _Hvp(_Rule):
    """The Hessian of λ · f times d; the Hessian is symmetric, the product linear in λ and d."""

    @staticmethod
    def forward(
        arm: int,
        verb: str,
        x: Tensor,
        y: Tensor,
        z: Tensor,
        weights: Tensor,
        dx: Tensor,
        dy: Tensor,
        dz: Tensor,
    ) -> Any:
        return _hvp_op(arm, verb, x, y, z, weights, dx, dy, dz)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        x, y, z, weights, *along = ctx.saved_tensors
        others = _known(outer, x)
        by_along = _Hvp.apply(ctx.arm, ctx.verb, x, y, z, weights, *others)
        rows = _of_each_result(ctx.arm, ctx.verb, (x, y, z), [_row(each) for each in along])
        by_weights = sum((row * _row(each)).sum(-1) for row, each in zip(rows, others, strict=True))
        # robolin has no algorithm for third derivatives
        unknown = torch.nan * (x + y + z + weights + sum(along))
        return None, None, unknown, unknown, unknown, by_weights, *by_along


class _Jacobians(_Rule):
    """J by each argument"""

    @staticmethod
    def forward(arm: int, verb: str, x: Tensor, y: Tensor, z: Tensor) -> Any:
        return _jacobians_op(arm, verb, x, y, z)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        state = ctx.saved_tensors
        weights = _known(outer, _matrix(state[0]))
        rows = _of_each_result(ctx.arm, ctx.verb, state, weights)
        return None, None, *(each.sum(-2) for each in rows)


class _MassMatrix(_Rule):
    """𝓜, the Jacobian of inverse dynamics by q̈"""

    @staticmethod
    def forward(arm: int, q: Tensor) -> Any:
        return _mass_matrix_op(arm, q)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        (q,) = ctx.saved_tensors
        zero, along = torch.zeros_like(q), [torch.zeros_like(weights)] * 2
        rows = _of_each_result(ctx.arm, "inverse", (q, zero, zero), [*along, weights])
        return None, rows[0].sum(-2)


def _known(outer: Sequence[Any], like: Tensor) -> list[Tensor]:
    return [torch.zeros_like(like) if each is None else each.expand_as(like) for each in outer]


def _row(vector: Tensor) -> Tensor:
    """A vector (..., n) as a row of each matrix (..., n, n)."""
    return vector[..., None, :].expand(*vector.shape, vector.shape[-1])


def _of_each_result(arm: int, verb: str, state: Sequence[Tensor], along: Sequence[Tensor]) -> Any:
    """Matrices (..., n, n) by argument: row i is the Hessian of result i times row i of `along`."""
    rows = [_row(each) for each in state]
    unit = torch.eye(rows[0].shape[-1], dtype=rows[0].dtype).expand_as(rows[0])
    return _Hvp.apply(arm, verb, *rows, unit, *along)
