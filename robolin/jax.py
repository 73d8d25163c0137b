"""JAX functions with exact derivatives; XLA calls compiled kernels without copying arrays.

First derivatives are `linearize_inverse` and `linearize_forward`; second derivatives are their
changes, from Hessian-vector products with all unit weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ModuleNotFoundError as error:
    from robolin.errors import UsageError

    raise UsageError("robolin.jax requires JAX", hint="pip install jax") from error

import ctypes

import numpy as np

from robolin.api.compiled_calls import native_kernel
from robolin.api.differentiable import (
    ForwardMatrices,
    InverseMatrices,
    bound_arguments,
    require_differentiable,
    shapes_differ,
)
from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import as_joint_array
from robolin.engine.compiled.native import NativeKernel, compile_module
from robolin.engine.compiled.xla_handler import handler_module, kernel_description
from robolin.errors import RobolinError, UsageError

JaxArray: TypeAlias = Any

# compiled functions of JAX have addresses of these, and can live longer than arms
_KEPT: dict[object, Any] = {}


class _Function(NamedTuple):
    """A function of the dynamics, with the verbs of its derivatives.

    jacobians: arrays of the linear model, one for each input
    weights:   input of the Hessian-vector product with the weights of the results
    """

    inputs: tuple[str, str, str]
    result: str
    linear: str
    jacobians: tuple[str, str, str]
    hessian: str
    weights: str


_FUNCTIONS: Mapping[str, _Function] = {
    "inverse": _Function(
        *(("q", "qd", "qdd"), "tau", "linearize-inverse", ("dtau_dq", "dtau_dqd", "mass_matrix")),
        *("hessian-inverse", "tau_weights"),
    ),
    "forward": _Function(
        *(("q", "qd", "tau"), "qdd", "linearize-forward", ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")),
        *("hessian-forward", "qdd_weights"),
    ),
}


def function(arm: Arm, verb: str) -> Callable[..., JaxArray]:
    """A function of the dynamics on JAX arrays, on the CPU.

    Values and Jacobians are bit-identical to those of the NumPy functions.  The function works
    inside `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev` and `lax.scan`.  Inverse and forward
    dynamics can be differentiated twice, so `hessian` also works; matrices can be differentiated
    once.

    Args:
        arm: the arm, from `robolin.load`; without closed loops and multi-DoF joints
        verb: "inverse" for τ(q, q̇, q̈), "forward" for q̈(q, q̇, τ), "mass-matrix" for M(q),
            "linearize-inverse" or "linearize-forward" for a tuple of matrices with names

    Returns:
        a function of arrays (..., n); the arguments broadcast.  The results are NaN for a state
        without a result, and float32 if all arguments are float32; computations use float64

    Raises:
        UsageError: `arm` is not an `Arm`, an unsupported verb, or JAX without 64-bit numbers
        RobolinError: closed loops, or joints with several degrees of freedom

    Example:
        >>> import jax, robolin.jax
        >>> jax.config.update("jax_enable_x64", True)
        >>> arm = robolin.load("two-link")
        >>> forward = robolin.jax.function(arm, "forward")
        >>> acceleration = lambda q: forward(q, 0.0, 0.0).sum()
        >>> jax.grad(acceleration)(np.array([0.3, -0.7])).round(3).tolist()
        [-23.669, 70.036]
    """
    names = require_differentiable(arm, verb, "robolin.jax")
    _require_64_bits()
    dynamics = _differentiable(arm, verb)

    def evaluate(*arguments: JaxArray, **named: JaxArray) -> JaxArray:
        _require_64_bits()
        values = bound_arguments(verb, names, arguments, named)
        arrays = {name: _checked(arm, name, value) for name, value in values.items()}
        state = _broadcast(arrays)
        single = jnp.result_type(*arrays.values()) == np.float32
        results = dynamics(*(each.astype(np.float64) for each in state))
        return jax.tree.map(lambda each: each.astype(np.float32), results) if single else results

    evaluate.__name__ = verb.replace("-", "_")
    evaluate.__doc__ = f"`robolin {verb}` of '{arm.name}' from {', '.join(names)}."
    return evaluate


def _broadcast(arrays: Mapping[str, JaxArray]) -> list[JaxArray]:
    try:
        return list(jnp.broadcast_arrays(*arrays.values()))
    except ValueError:
        raise shapes_differ(arrays) from None


def _require_64_bits() -> None:
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise UsageError(
            "robolin.jax requires 64-bit numbers",
            hint='call jax.config.update("jax_enable_x64", True) first',
        )


def _checked(arm: Arm, name: str, value: Any) -> JaxArray:
    try:
        array = jnp.asarray(
            as_joint_array(arm, name, value) if isinstance(value, Mapping) else value
        )
    except (TypeError, ValueError) as error:
        raise RobolinError(f"{name}: must be an array of numbers: {error}") from error
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise RobolinError(f"{name}: must be an array of real numbers, got type {array.dtype}")
    if jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.itemsize < 4:
        hint = f"call {name}.astype(jnp.float32) first"
        raise RobolinError(f"{name}: must be float32 or float64, got {array.dtype}", hint=hint)
    if array.ndim and array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name}: must have {arm.n} values along its last axis, one per joint of "
            f"'{arm.name}', got {array.shape[-1]}",
            hint=f"joint order: {', '.join(arm.joint_names)}",
        )
    return array if array.ndim else jnp.broadcast_to(array, (arm.n,))


def _differentiable(arm: Arm, verb: str) -> Callable[..., Any]:
    """The function with rules for its derivatives."""
    if verb == "mass-matrix":
        return _mass_matrix(arm)
    source = verb.removeprefix("linearize-")
    dynamics = _FUNCTIONS[source]
    value, model = _kernels(arm, source), _kernels(arm, dynamics.linear)
    bend = _changes(arm, source)

    @jax.custom_jvp
    def evaluate(*state: JaxArray) -> JaxArray:
        return value(*state)[dynamics.result]

    @jax.custom_jvp
    def linearize(*state: JaxArray) -> dict[str, JaxArray]:
        return model(*state)

    def along_jacobians(matrices: dict[str, JaxArray], along: Sequence[JaxArray]) -> JaxArray:
        # XLA fuses these products and sums into one loop; calls of its matrix product take longer
        x, y, z = (
            matrices[name] * change[..., None, :]
            for name, change in zip(dynamics.jacobians, along, strict=True)
        )
        return jnp.sum(x + y + z, axis=-1)

    @evaluate.defjvp
    def _of_value(state: Sequence[JaxArray], along: Sequence[JaxArray]) -> tuple[Any, Any]:
        return evaluate(*state), along_jacobians(linearize(*state), along)

    @linearize.defjvp
    def _of_matrices(state: Sequence[JaxArray], along: Sequence[JaxArray]) -> tuple[Any, Any]:
        q, qd, third = state
        qdd = third if source == "inverse" else evaluate(*state)
        gradients = bend((q, qd, qdd), along)
        matrices = linearize(*state)
        changes = dict(zip(dynamics.jacobians, gradients, strict=True))
        if dynamics.result in matrices:
            changes[dynamics.result] = along_jacobians(matrices, along)
        return matrices, changes

    if verb == source:
        return evaluate
    result = InverseMatrices if source == "inverse" else ForwardMatrices
    return lambda *state: result(**linearize(*state))


def _mass_matrix(arm: Arm) -> Callable[..., Any]:
    value, bend = _kernels(arm, "mass-matrix"), _changes(arm, "inverse")

    @jax.custom_jvp
    def evaluate(q: JaxArray) -> JaxArray:
        return value(q)["mass_matrix"]

    @evaluate.defjvp
    def _of_matrix(state: Sequence[JaxArray], along: Sequence[JaxArray]) -> tuple[Any, Any]:
        (q,), (dq,), rest = state, along, jnp.zeros_like(state[0])
        return evaluate(q), bend((q, rest, rest), (dq, rest, rest))[2]

    # its type is known only where JAX is installed
    differentiable: Callable[..., Any] = evaluate
    return differentiable


class _Kernel(NamedTuple):
    """A kernel for the handler: what compiled functions of JAX know of an arm.

    address: address of its description
    """

    address: int
    inputs: int
    outputs: tuple[tuple[str, tuple[int, ...]], ...]


class _Kernels(NamedTuple):
    """The kernels of a verb for many states and for one state."""

    many: _Kernel
    one: _Kernel

    def __call__(self, *inputs: JaxArray) -> dict[str, JaxArray]:
        """Results by name for arrays (..., n) of one shape."""
        batch = inputs[0].shape[:-1]
        kernel = self.one if all(size == 1 for size in batch) else self.many
        results = [
            jax.ShapeDtypeStruct((*batch, *shape), np.float64) for _, shape in kernel.outputs
        ]
        target = _registered(kernel.inputs, len(kernel.outputs))
        foreign = jax.ffi.ffi_call(target, results, vmap_method="broadcast_all")
        arrays = foreign(*inputs, kernel=np.int64(kernel.address))
        return {name: array for (name, _), array in zip(kernel.outputs, arrays, strict=True)}


def _changes(arm: Arm, verb: str) -> Callable[..., Sequence[JaxArray]]:
    """Changes of the three Jacobians along a direction, from Hessian-vector products."""
    bend, primitive = _kernels(arm, _FUNCTIONS[verb].hessian), _changes_primitive(verb)

    def evaluate(motion: Sequence[JaxArray], along: Sequence[JaxArray]) -> Sequence[JaxArray]:
        rows = (each[..., None, :] for each in (*motion, *along))
        changes: Sequence[JaxArray] = primitive.bind(*rows, bend=bend)
        return changes

    return evaluate


@cache
def _changes_primitive(verb: str) -> Any:
    """A primitive of JAX, because reverse mode needs the transposed product.

    Each result has a symmetric Hessian, so the same kernel computes it.
    """
    dynamics = _FUNCTIONS[verb]
    primitive = Primitive(f"robolin_{verb}_changes")
    primitive.multiple_results = True

    def gradients(*motion_and_along: JaxArray, bend: _Kernels) -> list[JaxArray]:
        # row i of the change belongs to the weights that select result i
        *batch, _, n = motion_and_along[0].shape
        weights = jnp.broadcast_to(jnp.eye(n), (*batch, n, n))
        rows = [jnp.broadcast_to(each, (*batch, n, n)) for each in motion_and_along]
        changes = bend(*rows[:3], weights, *rows[3:])
        return [changes[f"dgradient_{name}"] for name in dynamics.inputs]

    def shapes(*arrays: Any, bend: _Kernels) -> list[Any]:
        *batch, _, n = arrays[0].shape
        return [jax.core.ShapedArray((*batch, n, n), np.dtype(np.float64))] * 3

    def derivative(
        state: Sequence[JaxArray], tangents: Sequence[Any], *, bend: _Kernels
    ) -> tuple[Any, Any]:
        if not all(isinstance(each, ad.Zero) for each in tangents[:3]):
            raise RobolinError(
                "robolin.jax: inverse and forward dynamics have derivatives of the first and "
                "second order, matrices only of the first order",
                hint="use finite differences of these derivatives",
            )
        along = [ad.instantiate_zeros(each) for each in tangents[3:]]
        return primitive.bind(*state, bend=bend), primitive.bind(*state[:3], *along, bend=bend)

    def transpose(weights: Sequence[Any], *operands: Any, bend: _Kernels) -> list[Any]:
        rows = [ad.instantiate_zeros(each) for each in weights]
        products = primitive.bind(*operands[:3], *rows, bend=bend)
        # a direction that all rows share gets the sum of its products
        return [None] * 3 + [
            each if operand.aval.shape[-2] > 1 else each.sum(axis=-2, keepdims=True)
            for each, operand in zip(products, operands[3:], strict=True)
        ]

    def batch(
        arrays: Sequence[JaxArray], axes: Sequence[Any], *, bend: _Kernels
    ) -> tuple[Any, Any]:
        size = next(
            array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None
        )
        arranged = [
            jnp.broadcast_to(array, (size, *array.shape))
            if axis is None
            else jnp.moveaxis(array, axis, 0)
            for array, axis in zip(arrays, axes, strict=True)
        ]
        return primitive.bind(*arranged, bend=bend), [0] * 3

    primitive.def_impl(gradients)
    primitive.def_abstract_eval(shapes)
    ad.primitive_jvps[primitive] = derivative
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, mlir.lower_fun(gradients, multiple_results=True))
    return primitive


def _kernels(arm: Arm, verb: str) -> _Kernels:
    """The kernels of a verb, described once for all arms with the same numbers."""
    return cached_on_arm(
        arm,
        f"jax {verb}",
        lambda _: _Kernels(*(_described(native_kernel(arm, verb, width=w)) for w in (None, 2))),
    )


def _described(kernel: NativeKernel) -> _Kernel:
    key = kernel.address, *(array.tobytes() for array in kernel.plan.constants)
    description = _KEPT.setdefault(key, kernel_description(kernel))
    address = ctypes.addressof(description)
    return _Kernel(address, len(kernel.inputs), tuple(kernel.outputs.items()))


@cache
def _registered(inputs: int, outputs: int) -> str:
    """Name of the registered handler for kernels with these numbers of inputs and results."""
    name = f"robolin_{inputs}_{outputs}"
    module = compile_module(handler_module(name, inputs, outputs))
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(module.address(name))
    _KEPT[name] = module, handler
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name
