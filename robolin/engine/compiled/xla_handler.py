"""Handlers of XLA's foreign function interface: LLVM functions by which JAX calls kernels.

A handler reads the addresses of the arrays from XLA's call frame, calls the kernel, and marks rows
without a result.  The threads of XLA share a large batch; each has its own memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from robolin.engine.compiled.native import NativeKernel, call_kernel

# field -> offset in bytes, in XLA's c_api.h; unchanged since the first version of the interface
_FRAME = {
    "extension": 8,
    "api": 16,
    "context": 24,
    "stage": 32,
    "args": 72,
    "rets": 112,
    "attrs": 160,
}
_API = {"version": 32, "error": 48, "discard": 64, "schedule": 136, "threads": 144}
_BUFFER = {"data": 24, "rank": 32, "dims": 40}
_EXTENSION = {"type": 8, "metadata": 24}
_METADATA_VERSION, _METADATA_TRAITS = 24, 32
_SCALAR_VALUE = 8
_IS_METADATA, _EXECUTE = 1, 3

# XLA's code of an error, RESOURCE_EXHAUSTED, and its text
_NO_MEMORY, _NO_MEMORY_TEXT = 8, b"robolin: not enough memory for a kernel\0"
# function of the system that allocates memory
_ALLOCATE = "malloc"
# function of the system that lets another thread run
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

# memory of a kernel is on the stack up to this many bytes, else it is allocated
_STACK_BYTES = 1 << 18


def kernel_description(kernel: NativeKernel) -> Any:
    """A table for the handler: addresses of the kernel, bytes of its memory, sizes of its rows.

    It keeps the constants of the arm, but neither the arm nor memory for results.
    """
    constants, plan = kernel.plan.constants, kernel.plan
    memory = [-(-size // 64) * 64 for size in kernel.memory]
    numbers = [
        *(kernel.address, *(array.ctypes.data for array in constants), *plan.sizes),
        *(*memory, *kernel.row_sizes),
    ]
    description = (ctypes.c_int64 * len(numbers))(*numbers)
    description._keep_alive = constants, plan.code  # type: ignore[attr-defined]
    return description


class _Task(NamedTuple):
    """A batch that threads share: numbers at these indices, then addresses of all arrays.

    next:   first chunk that no thread has begun
    done:   number of complete chunks
    owners: threads that still use this memory; the last one frees it
    failed: number of chunks without memory for the kernel
    """

    next: int = 0
    done: int = 1
    owners: int = 2
    chunks: int = 3
    chunk: int = 4
    rows: int = 5
    description: int = 6
    failed: int = 7
    arrays: int = 8


_TASK = _Task()

# rows of a chunk; a batch of at least two chunks is shared among the threads of XLA
_CHUNK = 256


class _Code:
    """Functions of an LLVM module, written with offsets in bytes."""

    def __init__(self, module: Any, function: Any) -> None:
        from llvmlite import ir

        self.ir, self.module, self.function = ir, module, function
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.int64, self.int32 = ir.IntType(64), ir.IntType(32)
        self.byte, self.real = ir.IntType(8).as_pointer(), ir.DoubleType()

    def constant(self, number: int) -> Any:
        return self.ir.Constant(self.int64, number)

    def address(self, pointer: Any, offset: int, kind: Any) -> Any:
        byte = self.b.gep(self.b.bitcast(pointer, self.byte), [self.constant(offset)])
        return self.b.bitcast(byte, kind.as_pointer())

    def at(self, pointer: Any, offset: int, kind: Any) -> Any:
        return self.b.load(self.address(pointer, offset, kind))

    def put(self, pointer: Any, offset: int, value: Any) -> None:
        self.b.store(value, self.address(pointer, offset, value.type))

    def add(self, task: Any, index: int, number: int) -> Any:
        """Add to a number of a task that threads share; the number before."""
        shared = self.address(task, 8 * index, self.int64)
        return self.b.atomic_rmw("add", shared, self.constant(number), "seq_cst")

    def external(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of the C library."""
        known = self.module.globals.get(name)
        kind = self.ir.FunctionType(result, arguments)
        return known or self.ir.Function(self.module, kind, name)

    def loop(self, last: Any, initial: Any, body: Callable[[Any, Any], Any]) -> Any:
        """Emit a loop over 0 … last - 1 that passes a value on; return its last value."""
        b = self.b
        head, inside, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        before = b.block
        b.branch(head)
        b.position_at_end(head)
        i, value = b.phi(self.int64), b.phi(initial.type)
        i.add_incoming(self.constant(0), before)
        value.add_incoming(initial, before)
        b.cbranch(b.icmp_signed("<", i, last), inside, after)
        b.position_at_end(inside)
        following = body(i, value)
        i.add_incoming(b.add(i, self.constant(1)), b.block)
        value.add_incoming(following, b.block)
        b.branch(head)
        b.position_at_end(after)
        return value


def handler_module(name: str, inputs: int, outputs: int) -> Any:
    """LLVM module with the handler; its only argument is XLA's call frame."""
    from llvmlite import ir

    byte, nothing = ir.IntType(8).as_pointer(), ir.VoidType()
    module = ir.Module(name)
    work = ir.Function(module, ir.FunctionType(nothing, [byte]), "work")
    help_work = ir.Function(module, ir.FunctionType(nothing, [byte]), "help_work")
    handler = ir.Function(module, ir.FunctionType(byte, [byte]), name)
    _write_work(_Code(module, work), inputs, outputs)
    helper = _Code(module, help_work)
    helper.b.call(work, [help_work.args[0]])
    _release(helper, help_work.args[0])
    helper.b.ret_void()

    code = _Code(module, handler)
    frame, null = handler.args[0], ir.Constant(byte, None)
    _answer_other_requests(code, frame)
    b, int64, constant = code.b, code.int64, code.constant
    arguments = code.at(frame, _FRAME["args"], byte)
    results = code.at(frame, _FRAME["rets"], byte)
    buffers = [code.at(arguments, 8 * i, byte) for i in range(inputs)]
    buffers += [code.at(results, 8 * i, byte) for i in range(outputs)]
    scalar = code.at(code.at(frame, _FRAME["attrs"], byte), 0, byte)
    description = code.at(code.at(scalar, _SCALAR_VALUE, byte), 0, int64)

    # rows: product of all axes but the last
    rank = b.sub(code.at(buffers[0], _BUFFER["rank"], int64), constant(1))
    sizes = code.at(buffers[0], _BUFFER["dims"], int64.as_pointer())
    rows = code.loop(rank, constant(1), lambda i, total: b.mul(total, b.load(b.gep(sizes, [i]))))

    def fill(task: Any, chunk: Any, chunks: Any) -> None:
        values = {name: constant(0) for name in ("next", "done", "failed")}
        values["owners"] = constant(1)
        values |= {"chunks": chunks, "chunk": chunk, "rows": rows, "description": description}
        for field, value in values.items():
            code.put(task, 8 * getattr(_TASK, field), value)
        for i, each in enumerate(buffers):
            code.put(task, 8 * (_TASK.arrays + i), code.at(each, _BUFFER["data"], byte))

    size = 8 * (_TASK.arrays + len(buffers))
    small = b.alloca(ir.IntType(8), constant(size))
    with b.if_then(b.icmp_signed("<", rows, constant(2 * _CHUNK)), likely=True):
        fill(small, rows, constant(1))
        b.call(work, [small])
        b.ret(_error(code, frame, small))

    task = b.call(code.external(_ALLOCATE, byte, int64), [constant(size)])
    chunks = b.sdiv(b.add(rows, constant(_CHUNK - 1)), constant(_CHUNK))
    with b.if_then(b.icmp_unsigned("==", task, null), likely=False):
        # other threads may use a task longer than this call lasts
        fill(small, constant(_CHUNK), chunks)
        b.call(work, [small])
        b.ret(_error(code, frame, small))
    fill(task, constant(_CHUNK), chunks)
    _schedule(code, frame, task, chunks, help_work)
    b.call(work, [task])
    _wait(code, task, chunks)
    error = _error(code, frame, task)
    _release(code, task)
    b.ret(error)
    return module


def _answer_other_requests(code: _Code, frame: Any) -> None:
    """Report the version of the interface; return unless XLA executes the call."""
    b, byte, int32 = code.b, code.byte, code.int32
    null = code.ir.Constant(byte, None)
    extension = code.at(frame, _FRAME["extension"], byte)
    with b.if_then(b.icmp_unsigned("!=", extension, null)):
        kind = code.at(extension, _EXTENSION["type"], int32)
        with b.if_then(b.icmp_signed("==", kind, code.ir.Constant(int32, _IS_METADATA))):
            metadata = code.at(extension, _EXTENSION["metadata"], byte)
            api = code.at(frame, _FRAME["api"], byte)
            code.put(metadata, _METADATA_VERSION, code.at(api, _API["version"], code.int64))
            code.put(metadata, _METADATA_TRAITS, code.ir.Constant(int32, 0))
            b.ret(null)
    stage = code.at(frame, _FRAME["stage"], int32)
    with b.if_then(b.icmp_signed("!=", stage, code.ir.Constant(int32, _EXECUTE))):
        b.ret(null)


def _error(code: _Code, frame: Any, task: Any) -> Any:
    """XLA's error of a complete task; null if no chunk failed."""
    b, byte, ir = code.b, code.byte, code.ir
    name = "no_memory"
    text = code.module.globals.get(name)
    if text is None:
        characters = ir.ArrayType(ir.IntType(8), len(_NO_MEMORY_TEXT))
        text = ir.GlobalVariable(code.module, characters, name)
        text.initializer = ir.Constant(characters, bytearray(_NO_MEMORY_TEXT))
        text.linkage, text.global_constant = "internal", True
    null, before = ir.Constant(byte, None), b.block
    failed = b.icmp_signed("!=", code.at(task, 8 * _TASK.failed, code.int64), code.constant(0))
    with b.if_then(failed, likely=False):
        arguments = b.alloca(ir.IntType(8), code.constant(32))
        number = code.constant(_NO_MEMORY)
        for i, value in enumerate((code.constant(32), null, b.bitcast(text, byte), number)):
            code.put(arguments, 8 * i, value)
        api = code.at(frame, _FRAME["api"], byte)
        create = code.at(api, _API["error"], ir.FunctionType(byte, [byte]).as_pointer())
        made, inside = b.call(create, [arguments]), b.block
    error = b.phi(byte)
    error.add_incoming(null, before)
    error.add_incoming(made, inside)
    return error


def _schedule(code: _Code, frame: Any, task: Any, chunks: Any, help_work: Any) -> None:
    """Give the task to the other threads of XLA, at most one per chunk."""
    b, byte, int64 = code.b, code.byte, code.int64
    api = code.at(frame, _FRAME["api"], byte)
    context = code.at(frame, _FRAME["context"], byte)
    null = code.ir.Constant(byte, None)

    def call_xla(function: str, *fields: Any) -> Any:
        """Call a function of XLA with {size, no extension, context, fields}; its error."""
        size = 8 * (3 + len(fields))
        arguments = b.alloca(code.ir.IntType(8), code.constant(size))
        for i, value in enumerate((code.constant(size), null, context, *fields)):
            code.put(arguments, 8 * i, value)
        kind = code.ir.FunctionType(byte, [byte]).as_pointer()
        return b.call(code.at(api, _API[function], kind), [arguments])

    def discard(error: Any) -> None:
        arguments = b.alloca(code.ir.IntType(8), code.constant(24))
        for i, value in enumerate((code.constant(24), null, error)):
            code.put(arguments, 8 * i, value)
        kind = code.ir.FunctionType(code.ir.VoidType(), [byte]).as_pointer()
        b.call(code.at(api, _API["discard"], kind), [arguments])

    threads = b.alloca(int64)
    b.store(code.constant(1), threads)
    error = call_xla("threads", threads)
    with b.if_then(b.icmp_unsigned("!=", error, null)):
        discard(error)
    others = b.sub(b.load(threads), code.constant(1))
    most = b.sub(chunks, code.constant(1))
    count = b.select(b.icmp_signed("<", others, most), others, most)

    def start(i: Any, kept: Any) -> Any:
        code.add(task, _TASK.owners, 1)
        refused = call_xla("schedule", help_work, task)
        with b.if_then(b.icmp_unsigned("!=", refused, null)):
            discard(refused)
            code.add(task, _TASK.owners, -1)
        return kept

    code.loop(count, code.constant(0), start)


def _wait(code: _Code, task: Any, chunks: Any) -> None:
    """Wait for chunks that other threads have begun."""
    b = code.b
    head, inside, after = (b.append_basic_block(name) for name in ("wait", "yield", "complete"))
    b.branch(head)
    b.position_at_end(head)
    done = code.add(task, _TASK.done, 0)
    b.cbranch(b.icmp_signed("<", done, chunks), inside, after)
    b.position_at_end(inside)
    b.call(code.external(_YIELD, code.int32), [])
    b.branch(head)
    b.position_at_end(after)


def _release(code: _Code, task: Any) -> None:
    owners = code.add(task, _TASK.owners, -1)
    with code.b.if_then(code.b.icmp_signed("==", owners, code.constant(1))):
        code.b.call(code.external("free", code.ir.VoidType(), code.byte), [task])


def _write_work(code: _Code, inputs: int, outputs: int) -> None:
    """Evaluate chunks of a task until all have begun, with memory that threads do not share."""
    b, int64, byte, constant = code.b, code.int64, code.byte, code.constant
    task = code.function.args[0]
    fields = code.at(task, 8 * _TASK.description, byte)
    call, doubles, integers, links, joints, scratch, tables, staging = (
        code.at(fields, 8 * i, int64) for i in range(8)
    )
    sizes = [code.at(fields, 8 * (8 + i), int64) for i in range(outputs)]
    chunks, chunk, rows = (
        code.at(task, 8 * i, int64) for i in (_TASK.chunks, _TASK.chunk, _TASK.rows)
    )
    pointers = [
        code.at(task, 8 * (_TASK.arrays + i), code.real.as_pointer())
        for i in range(inputs + outputs)
    ]
    kernel_memory = b.add(b.add(scratch, tables), staging)
    needed = b.add(kernel_memory, b.add(b.mul(chunk, constant(8)), constant(64)))

    on_stack = b.icmp_signed("<=", needed, constant(_STACK_BYTES))
    with b.if_else(on_stack) as (small, large):
        with small:
            stack = b.alloca(code.ir.IntType(8), needed)
            small_block = b.block
        with large:
            heap = b.call(code.external(_ALLOCATE, byte, int64), [needed])
            large_block = b.block
    start = b.phi(byte)
    start.add_incoming(stack, small_block)
    start.add_incoming(heap, large_block)
    aligned = b.and_(b.add(b.ptrtoint(start, int64), constant(63)), constant(-64))
    memset = code.module.declare_intrinsic("llvm.memset", [byte, int64])
    zero, no = code.ir.Constant(code.ir.IntType(8), 0), code.ir.Constant(code.ir.IntType(1), 0)
    has_memory = b.icmp_unsigned("!=", start, code.ir.Constant(byte, None))
    with b.if_then(has_memory, likely=True):
        b.call(memset, [b.inttoptr(aligned, byte), zero, kernel_memory, no])

    table = b.alloca(int64, 8)
    after_scratch = b.add(aligned, scratch)
    after_tables = b.add(after_scratch, tables)
    addresses = (call, doubles, integers, aligned, after_scratch, after_tables, links, joints)
    for i, value in enumerate(addresses):
        code.put(table, 8 * i, value)
    status = b.inttoptr(b.add(after_tables, staging), code.real.as_pointer())

    def compute(first: Any, count: Any) -> None:
        pairs = [(b.gep(each, [b.mul(first, joints)]), joints) for each in pointers[:inputs]]
        targets = [
            b.gep(each, [b.mul(first, size)])
            for each, size in zip(pointers[inputs:], sizes, strict=True)
        ]
        call_kernel(b, table, pairs, targets, status, constant(0), count)
        _mark_rows(code, count, status, targets, sizes)

    def evaluate(_: Any, kept: Any) -> Any:
        # at most one turn per chunk; a thread that finds none left has only empty turns
        index = code.add(task, _TASK.next, 1)
        first = b.mul(index, chunk)
        end = b.add(first, chunk)
        last = b.select(b.icmp_signed("<", end, rows), end, rows)
        with b.if_then(b.icmp_signed("<", index, chunks)):
            with b.if_else(has_memory, likely=True) as (able, unable):
                with able:
                    compute(first, b.sub(last, first))
                with unable:
                    code.add(task, _TASK.failed, 1)
            code.add(task, _TASK.done, 1)
        return kept

    code.loop(chunks, constant(0), evaluate)
    with b.if_then(b.not_(on_stack)):
        b.call(code.external("free", code.ir.VoidType(), byte), [start])
    b.ret_void()


def _mark_rows(
    code: _Code, rows: Any, status: Any, targets: Sequence[Any], sizes: Sequence[Any]
) -> None:
    """Store NaN in the rows without a result."""
    b, real, zero = code.b, code.real, code.constant(0)

    def mark(row: Any, kept: Any) -> Any:
        status_of_row = b.load(b.gep(status, [row]))
        failed = b.fcmp_unordered("!=", status_of_row, code.ir.Constant(real, 0.0))
        with b.if_then(failed):
            for target, size in zip(targets, sizes, strict=True):
                first = b.mul(row, size)

                def store(i: Any, kept: Any, target: Any = target, first: Any = first) -> Any:
                    entry = b.gep(target, [b.add(first, i)])
                    b.store(code.ir.Constant(real, float("nan")), entry)
                    return kept

                code.loop(size, zero, store)
        return kept

    code.loop(rows, zero, mark)
