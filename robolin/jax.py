"""JAX functions with exact derivatives: compiled kernels that XLA calls without copies.

A handler of XLA's foreign function interface is written in LLVM, like the kernels: it reads the
addresses of the arrays from the call frame, calls the kernel and marks rows without a result.
First derivatives are `linearize_inverse` and `linearize_forward`; second derivatives are their
changes, from Hessian-vector products with all unit weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    from robolin.errors import UsageError

    raise UsageError("robolin.jax requires JAX", hint="pip install jax") from error

import ctypes

import numpy as np

from robolin.api.compiled_calls import native_kernel
from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import require_arm, require_tree
from robolin.core.text import join_and
from robolin.engine.compiled.native import NativeKernel, call_kernel, compile_module
from robolin.errors import RobolinError, UsageError

JaxArray: TypeAlias = Any

# compiled functions of JAX have addresses of these, and can live longer than arms
_KEPT: list[Any] = []

# field -> offset in bytes, in XLA's c_api.h; unchanged since the first version of the interface
_FRAME = {"extension": 8, "api": 16, "stage": 32, "args": 72, "rets": 112, "attrs": 160}
_BUFFER = {"data": 24, "rank": 32, "dims": 40}
_EXTENSION = {"type": 8, "metadata": 24}
_METADATA_VERSION, _METADATA_TRAITS, _API_VERSION = 24, 32, 32
_SCALAR_VALUE = 8
_IS_METADATA, _EXECUTE = 1, 3

# memory of a kernel is on the stack up to this many bytes, else it is allocated
_STACK_BYTES = 1 << 18


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


def function(arm: Arm, verb: str) -> Callable[[JaxArray, JaxArray, JaxArray], JaxArray]:
    """Inverse or forward dynamics as a function of JAX arrays, on the CPU.

    Values are bit-identical to those of the NumPy functions, and so are Jacobians.  The function
    works inside `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev`, `hessian` and `lax.scan`.

    Args:
        arm: the arm, from `robolin.load`; without closed loops and multi-DoF joints
        verb: "inverse" for τ(q, q̇, q̈), "forward" for q̈(q, q̇, τ)

    Returns:
        a function of three arrays (..., n), which broadcast; a state without a result gives NaN

    Raises:
        UsageError: not an arm, another verb, or JAX without 64-bit numbers
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
    require_arm(arm)
    if verb not in _FUNCTIONS:
        names = join_and([f"'{name}'" for name in _FUNCTIONS])
        raise UsageError(f"command: must be {names}, got '{verb}'", hint=f"use one of {names}")
    require_tree(arm, f"robolin.jax.function(arm, '{verb}')")
    if arm.groups:
        raise RobolinError(
            f"robolin.jax: joint '{arm.groups[0].name}' has several degrees of freedom, so "
            "its gradient is along twists, not along its coordinates",
            where=arm.source,
            hint="use robolin.gradient_forward, whose gradient_q is along twists",
        )
    _require_64_bits()
    dynamics = _differentiable(arm, _FUNCTIONS[verb], verb)

    def evaluate(first: JaxArray, second: JaxArray, third: JaxArray) -> JaxArray:
        _require_64_bits()
        names = _FUNCTIONS[verb].inputs
        values = [
            _checked(arm, name, value)
            for name, value in zip(names, (first, second, third), strict=True)
        ]
        return dynamics(*jnp.broadcast_arrays(*values))

    evaluate.__name__ = f"{verb}_dynamics"
    inputs = ", ".join(_FUNCTIONS[verb].inputs)
    evaluate.__doc__ = f"{verb.capitalize()} dynamics of '{arm.name}' from {inputs}."
    return evaluate


def _require_64_bits() -> None:
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise UsageError(
            "robolin.jax requires 64-bit numbers",
            hint='call jax.config.update("jax_enable_x64", True) first',
        )


def _checked(arm: Arm, name: str, value: Any) -> JaxArray:
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise RobolinError(f"{name}: must be an array of numbers: {error}") from error
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise RobolinError(f"{name}: must be an array of real numbers, got type {array.dtype}")
    array = array.astype(np.float64)
    if array.ndim and array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name}: must have {arm.n} values along its last axis, one per joint of "
            f"'{arm.name}', got {array.shape[-1]}",
            hint=f"joint order: {', '.join(arm.joint_names)}",
        )
    return array if array.ndim else jnp.broadcast_to(array, (arm.n,))


def _differentiable(arm: Arm, dynamics: _Function, verb: str) -> Callable[..., JaxArray]:
    """The function with rules for first and second derivatives."""
    value, model = _call(arm, verb), _call(arm, dynamics.linear)
    bend = _call(arm, dynamics.hessian)

    @jax.custom_jvp
    def evaluate(*state: JaxArray) -> JaxArray:
        return value(*state)[dynamics.result]

    @jax.custom_jvp
    def jacobians(*state: JaxArray) -> tuple[JaxArray, ...]:
        arrays = model(*state)
        return tuple(arrays[name] for name in dynamics.jacobians)

    @evaluate.defjvp
    def _first_order(
        state: Sequence[JaxArray], along: Sequence[JaxArray]
    ) -> tuple[JaxArray, JaxArray]:
        products = [
            jnp.einsum("...ij,...j->...i", matrix, change)
            for matrix, change in zip(jacobians(*state), along, strict=True)
        ]
        return evaluate(*state), products[0] + products[1] + products[2]

    @jacobians.defjvp
    def _second_order(state: Sequence[JaxArray], along: Sequence[JaxArray]) -> tuple[Any, Any]:
        # row i of the change belongs to the weights that select result i
        q, qd, third = state
        qdd = third if verb == "inverse" else evaluate(*state)
        shape = (*q.shape[:-1], arm.n, arm.n)
        rows = [jnp.broadcast_to(each[..., None, :], shape) for each in (q, qd, qdd)]
        weights = jnp.broadcast_to(jnp.eye(arm.n), shape)
        directions = [jnp.broadcast_to(each[..., None, :], shape) for each in along]
        changes = bend(*rows, weights, *directions)
        return jacobians(*state), tuple(changes[f"dgradient_{name}"] for name in dynamics.inputs)

    # its type is known only where JAX is installed
    differentiable: Callable[..., Any] = evaluate
    return differentiable


def _call(arm: Arm, verb: str) -> Callable[..., dict[str, JaxArray]]:
    """A kernel as a function of JAX arrays (..., n) of one shape."""
    many, one = (_target_of(arm, verb, width) for width in (None, 2))

    def call(*inputs: JaxArray) -> dict[str, JaxArray]:
        batch = inputs[0].shape[:-1]
        kernel, address = one if all(size == 1 for size in batch) else many
        results = [
            jax.ShapeDtypeStruct((*batch, *shape), np.float64) for shape in kernel.outputs.values()
        ]
        target = _registered(len(kernel.inputs), len(kernel.outputs))
        foreign = jax.ffi.ffi_call(target, results, vmap_method="broadcast_all")
        arrays = foreign(*inputs, kernel=np.int64(address))
        return dict(zip(kernel.outputs, arrays, strict=True))

    return call


def _target_of(arm: Arm, verb: str, width: int | None) -> tuple[NativeKernel, int]:
    """The kernel, and the address of its description for the handler."""
    make = partial(_described, verb=verb, width=width)
    kernel, description = cached_on_arm(arm, f"jax {verb} {width}", make)
    return kernel, ctypes.addressof(description)


def _described(arm: Arm, verb: str, width: int | None) -> tuple[NativeKernel, Any]:
    """The kernel with its description: fields of a table, bytes of memory, sizes of rows."""
    kernel = native_kernel(arm, verb, width=width)
    table = kernel.table()
    memory = [-(-size // 64) * 64 for size in kernel.memory]
    numbers = [
        *(table.call, table.doubles, table.integers, table.links, table.joints),
        *(*memory, *kernel.row_sizes),
    ]
    description = (ctypes.c_int64 * len(numbers))(*numbers)
    _KEPT.append((kernel, table, description))
    return kernel, description


@cache
def _registered(inputs: int, outputs: int) -> str:
    """Name of the registered handler for kernels with these numbers of inputs and results."""
    name = f"robolin_{inputs}_{outputs}"
    module = compile_module(_handler(name, inputs, outputs))
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(module.address(name))
    _KEPT.append((module, handler))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name


def _handler(name: str, inputs: int, outputs: int) -> Any:
    """LLVM module with the handler; its only argument is XLA's call frame."""
    from llvmlite import ir

    int64, int32, byte = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
    real, null = ir.DoubleType(), ir.Constant(byte, None)
    module = ir.Module(name)
    own = ir.Function(module, ir.FunctionType(byte, [byte]), name)
    frame = own.args[0]
    b = ir.IRBuilder(own.append_basic_block("entry"))

    def constant(number: int) -> Any:
        return ir.Constant(int64, number)

    def at(pointer: Any, offset: int, kind: Any) -> Any:
        address = b.gep(pointer, [constant(offset)])
        return b.load(b.bitcast(address, kind.as_pointer()))

    def put(pointer: Any, offset: int, value: Any) -> None:
        address = b.gep(pointer, [constant(offset)])
        b.store(value, b.bitcast(address, value.type.as_pointer()))

    # XLA first requests the version of the interface: report that of its own functions
    extension = at(frame, _FRAME["extension"], byte)
    with b.if_then(b.icmp_unsigned("!=", extension, null)):
        described = b.icmp_signed(
            "==", at(extension, _EXTENSION["type"], int32), ir.Constant(int32, _IS_METADATA)
        )
        with b.if_then(described):
            metadata = at(extension, _EXTENSION["metadata"], byte)
            api = at(frame, _FRAME["api"], byte)
            put(metadata, _METADATA_VERSION, at(api, _API_VERSION, int64))
            put(metadata, _METADATA_TRAITS, ir.Constant(int32, 0))
            b.ret(null)
    executed = b.icmp_signed("==", at(frame, _FRAME["stage"], int32), ir.Constant(int32, _EXECUTE))
    with b.if_then(b.not_(executed)):
        b.ret(null)

    scalar = at(at(frame, _FRAME["attrs"], byte), 0, byte)
    description = at(at(scalar, _SCALAR_VALUE, byte), 0, int64)
    fields = b.inttoptr(description, int64.as_pointer())

    def field(index: int) -> Any:
        return b.load(b.gep(fields, [constant(index)]))

    arguments, results = at(frame, _FRAME["args"], byte), at(frame, _FRAME["rets"], byte)
    buffers = [at(arguments, 8 * i, byte) for i in range(inputs)]
    returned = [at(results, 8 * i, byte) for i in range(outputs)]
    call, doubles, integers, links, joints, scratch, tables, staging = (field(i) for i in range(8))

    # rows: product of all axes but the last
    rank = b.sub(at(buffers[0], _BUFFER["rank"], int64), constant(1))
    sizes = at(buffers[0], _BUFFER["dims"], int64.as_pointer())
    rows = _loop(
        b,
        ir,
        constant(0),
        rank,
        constant(1),
        lambda i, total: b.mul(total, b.load(b.gep(sizes, [i]))),
    )
    status_bytes = b.and_(b.add(b.mul(rows, constant(8)), constant(63)), constant(-64))
    needed = b.add(b.add(b.add(scratch, tables), staging), b.add(status_bytes, constant(64)))

    # memory of this call: threads do not share any
    on_stack = b.icmp_signed("<=", needed, constant(_STACK_BYTES))
    with b.if_else(on_stack) as (small, large):
        with small:
            stack = b.alloca(ir.IntType(8), needed)
            small_block = b.block
        with large:
            malloc = ir.Function(module, ir.FunctionType(byte, [int64]), "malloc")
            heap = b.call(malloc, [needed])
            large_block = b.block
    start = b.phi(byte)
    start.add_incoming(stack, small_block)
    start.add_incoming(heap, large_block)
    aligned = b.and_(b.add(b.ptrtoint(start, int64), constant(63)), constant(-64))
    memset = module.declare_intrinsic("llvm.memset", [byte, int64])
    zero, no = ir.Constant(ir.IntType(8), 0), ir.Constant(ir.IntType(1), 0)
    kernel_memory = b.add(b.add(scratch, tables), staging)
    b.call(memset, [b.inttoptr(aligned, byte), zero, kernel_memory, no])

    table = b.alloca(int64, 8)
    after_scratch = b.add(aligned, scratch)
    after_tables = b.add(after_scratch, tables)
    addresses = (call, doubles, integers, aligned, after_scratch, after_tables, links, joints)
    for i, value in enumerate(addresses):
        b.store(value, b.gep(table, [constant(i)]))
    status = b.inttoptr(b.add(after_tables, staging), real.as_pointer())
    pairs = [(at(each, _BUFFER["data"], byte), joints) for each in buffers]
    targets = [at(each, _BUFFER["data"], real.as_pointer()) for each in returned]
    call_kernel(b, table, pairs, targets, status, constant(0), rows)

    _mark_rows(b, ir, rows, status, targets, [field(8 + i) for i in range(outputs)])
    with b.if_then(b.not_(on_stack)):
        free = ir.Function(module, ir.FunctionType(ir.VoidType(), [byte]), "free")
        b.call(free, [start])
    b.ret(null)
    return module


def _mark_rows(
    b: Any, ir: Any, rows: Any, status: Any, targets: Sequence[Any], sizes: Sequence[Any]
) -> None:
    """Store NaN in the rows without a result."""
    int64, real = ir.IntType(64), ir.DoubleType()
    zero = ir.Constant(int64, 0)

    def mark(row: Any, kept: Any) -> Any:
        failed = b.fcmp_unordered("!=", b.load(b.gep(status, [row])), ir.Constant(real, 0.0))
        with b.if_then(failed):
            for target, size in zip(targets, sizes, strict=True):
                first = b.mul(row, size)

                def store(i: Any, kept: Any, target: Any = target, first: Any = first) -> Any:
                    entry = b.gep(target, [b.add(first, i)])
                    b.store(ir.Constant(real, float("nan")), entry)
                    return kept

                _loop(b, ir, zero, size, zero, store)
        return kept

    _loop(b, ir, zero, rows, zero, mark)


def _loop(
    b: Any, ir: Any, first: Any, last: Any, initial: Any, body: Callable[[Any, Any], Any]
) -> Any:
    """Emit a loop over first … last - 1 that passes a value on; return its last value."""
    head, inside, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    i, value = b.phi(first.type), b.phi(initial.type)
    i.add_incoming(first, before)
    value.add_incoming(initial, before)
    b.cbranch(b.icmp_signed("<", i, last), inside, after)
    b.position_at_end(inside)
    following = body(i, value)
    i.add_incoming(b.add(i, ir.Constant(first.type, 1)), b.block)
    value.add_incoming(following, b.block)
    b.branch(head)
    b.position_at_end(after)
    return value
