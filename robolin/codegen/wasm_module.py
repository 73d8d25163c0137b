"""WebAssembly module with the functions of one arm, written from operation graphs or traces.

Every function has no arguments: it reads its inputs from fixed addresses of the memory, writes its
results there and returns a status, as the generated C does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from math import prod
from typing import Any

from robolin.codegen import wasm_code as op
from robolin.codegen.c_function import (
    NOT_THERE,
    TOO_FAR,
    LoopChain,
    clear_results,
    program_angles,
    program_steps,
)
from robolin.codegen.functions import ChosenQuestion
from robolin.codegen.wasm_code import WasmCode, WasmInstructions, leb_vector, unsigned
from robolin.core.choices import SourceLayout
from robolin.core.records import dataclass
from robolin.dynamics.algebra.trigonometry import DOUBLE, sin_cos_in, tanh_in
from robolin.engine.compiled import layout as tables
from robolin.engine.compiled.lanes import SCALAR, Lane, Value
from robolin.engine.compiled.plan import variant_of
from robolin.engine.operation_graph import (
    ADDITION,
    CHOICE,
    COSINE_OF,
    INPUT_NUMBER,
    MULTIPLICATION,
    NEGATIVE,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    Operand,
    OperationGraph,
    UnrolledProgram,
    ancestors,
)
from robolin.engine.parameters import Parameters, first_of_subtrees, float_table, int_table

# unrolled code up to this number of joints, and of operations of a function: about 80 kB
UNROLLED_UP_TO, LARGEST_UNROLLED = 12, 10_000

_ONE, _ZERO = (1.0).hex(), (0.0).hex()
_PAGE = 65536


@dataclass(frozen=True)
class WasmFunction:
    """A function of the module.

    inputs:  argument name -> region of its numbers, one per joint
    results: name -> shape
    sizes:   region -> bytes of memory that it needs
    data:    region -> initial bytes
    """

    question: ChosenQuestion
    inputs: Mapping[str, str]
    results: Mapping[str, tuple[int, ...]]
    code: WasmCode
    unrolled: bool
    sizes: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.question.verb.replace("-", "_")

    def region(self, result: str) -> str:
        return f"{self.name}.{result}"


@dataclass(frozen=True)
class WasmModule:
    """The bytes of a module, and the addresses of its numbers."""

    content: bytes
    functions: tuple[WasmFunction, ...]
    addresses: Mapping[str, int]


def wasm_module(questions: Sequence[ChosenQuestion], layout: SourceLayout = "auto") -> WasmModule:
    """Translate functions of one arm to a module; the same functions give the same bytes."""
    parameter_sets: list[Parameters] = []
    functions = tuple(_function(question, layout, parameter_sets) for question in questions)
    sizes, data = _regions(functions)
    addresses, end = {}, 0
    for region in sorted(sizes, key=lambda name: (name not in data, list(sizes).index(name))):
        addresses[region] = end
        end += -(-sizes[region] // 8) * 8
    bodies = [_own_function(which).encoded({}) for which in (sin_cos_in(DOUBLE), _tanh)]
    bodies += [function.code.encoded(addresses) for function in functions]
    real, pair = leb_vector([op.F64]), leb_vector([op.F64, op.F64])
    types = [
        b"\x60" + real + pair,
        b"\x60" + real + real,
        b"\x60" + leb_vector([]) + leb_vector([op.I32]),
    ]
    exports = [(function.name, b"\x00" + unsigned(2 + i)) for i, function in enumerate(functions)]
    exports.append(("memory", b"\x02\x00"))
    filled = [
        b"\x00\x41"
        + op.signed(addresses[region])
        + b"\x0b"
        + leb_vector([bytes([x]) for x in content])
        for region, content in data.items()
    ]
    sections = {
        1: leb_vector(types),
        3: leb_vector([unsigned(0), unsigned(1), *(unsigned(2) for _ in functions)]),
        5: leb_vector([b"\x00" + unsigned(end // _PAGE + 1)]),
        7: leb_vector([_text(name) + kind for name, kind in exports]),
        10: leb_vector(bodies),
        11: leb_vector(filled),
    }
    content = b"\0asm\x01\0\0\0" + b"".join(_section(*each) for each in sections.items())
    return WasmModule(_marked(content), functions, addresses)


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + unsigned(len(content)) + content


def _text(text: str) -> bytes:
    return unsigned(len(text.encode())) + text.encode()


# a section at the end that names the program, with the hash of everything before
_MARK = "made by robolin generate"


def _marked(content: bytes) -> bytes:
    return content + _section(0, _text(_MARK) + sha256(content).digest())


def is_marked(content: bytes) -> bool:
    """True for a module that this package wrote and that is unchanged."""
    length = len(_marked(b""))
    return _marked(content[:-length]) == content


def _regions(functions: Sequence[WasmFunction]) -> tuple[dict[str, int], dict[str, bytes]]:
    """Size of every region, and the contents of those that have some."""
    sizes: dict[str, int] = {}
    data: dict[str, bytes] = {}
    for function in functions:
        data |= function.data
        own = {region: len(content) for region, content in function.data.items()}
        own |= function.sizes
        own |= dict.fromkeys(function.inputs.values(), 8 * function.question.arm.n)
        for name, shape in function.results.items():
            own[function.region(name)] = 8 * max(1, prod(shape))
        for region, size in own.items():
            sizes[region] = max(sizes.get(region, 0), size)
    return sizes, data


def _function(
    question: ChosenQuestion, layout: SourceLayout, parameter_sets: list[Parameters]
) -> WasmFunction:
    if layout == "unrolled" or (layout == "auto" and question.arm.n <= UNROLLED_UP_TO):
        program = question.unrolled(question.parameters)
        if layout == "unrolled" or len(program.needed()) <= LARGEST_UNROLLED:
            return _straight_function(question, program)
    if question.parameters not in parameter_sets:
        parameter_sets.append(question.parameters)
    return _loop_function(question, parameter_sets.index(question.parameters))


def _tanh(x: Any) -> tuple[Any, ...]:
    return (tanh_in(DOUBLE, x),)


def _own_function(function: Any) -> WasmCode:
    """Sine and cosine, or tanh, of the argument."""
    x = OperationGraph().input("x")
    results = function(x)
    graph = _GraphCode(WasmCode(1))
    graph.known[x.number] = Value("f0")
    for number in ancestors(results):
        if number is not x:
            graph.compute(number)
    graph.code.finish(*map(graph.operand, results))
    return graph.code


class _GraphCode:
    """Code that computes the numbers of an operation graph."""

    def __init__(self, code: WasmCode) -> None:
        self.code = code
        self.known: dict[int, Value] = {}

    def operand(self, number: Operand) -> str:
        if not isinstance(number, GraphNumber):
            return float(number).hex()
        known = self.known[number.unsigned.number]
        return self.code.emit("f", op.NEGATED, known) if number.kind == NEGATIVE else known

    def compute(self, number: GraphNumber) -> None:
        if number.number not in self.known:
            self.known[number.number] = self._made(number)

    def _made(self, number: GraphNumber) -> Value:
        code, kind = self.code, number.kind
        if kind == INPUT_NUMBER:
            name, index = number.entry
            return code.load("f", f"{name}+{8 * index}")
        if kind in (SINE_OF, COSINE_OF):
            (angle,) = number.operands
            assert isinstance(angle, GraphNumber), "a constant angle has a constant sine"
            both = code.call(op.SIN_COS_INDEX, self.operand(angle), 2)
            for each, value in zip(angle.sin_cos(), both, strict=True):
                self.known[each.number] = value
            return self.known[number.number]
        if kind == TANH_OF:
            return code.call(op.TANH_INDEX, self.operand(number.operands[0]), 1)[0]
        if kind == ROOT_OF:
            return code.emit("f", op.ROOT, self.operand(number.operands[0]))
        if kind == CHOICE:
            a, b, yes, no = map(self.operand, number.operands)
            return code.emit("f", op.SELECT, yes, no, code.emit("i", op.LESS, a, b))
        first, second = number.operands
        if kind == ADDITION and isinstance(second, GraphNumber) and second.kind == NEGATIVE:
            operands = self.operand(first), self.operand(second.unsigned)
            return code.emit("f", op.F64_OPS["fsub"], *operands)
        name = {ADDITION: "fadd", MULTIPLICATION: "fmul"}.get(kind, "fdiv")
        return code.emit("f", op.F64_OPS[name], self.operand(first), self.operand(second))


def _straight_function(question: ChosenQuestion, program: UnrolledProgram) -> WasmFunction:
    """Straight-line code of an unrolled program."""
    shapes = {name: result.shape for name, result in program.results.items()}
    inputs = {name: name for name in program.inputs}
    function = WasmFunction(question, inputs, shapes, WasmCode(), unrolled=True)
    graph, status, clean = _GraphCode(function.code), "", ""
    for step in program_steps(program):
        if step.compute is not None:
            graph.compute(step.compute)
        elif step.store is not None:
            (number,), (name, index) = step.uses, step.store
            value = function.code.emit("f", op.F64_OPS["fadd"], graph.operand(number), clean)
            function.code.store(value, f"{function.region(name)}+{8 * index}")
        else:
            status = _status(program, graph)
            clean = _clean(function.code, status)
    function.code.finish(status)
    return function


def _status(program: UnrolledProgram, graph: _GraphCode) -> str:
    """Status: first joint without inertia, or another error."""
    code, status = graph.code, Value("0")
    for guard in reversed(program.guards):
        value, floor = graph.operand(guard.value), graph.operand(guard.floor)
        positive = code.emit("i", op.LESS, _ZERO, value)
        fine = code.emit("i", op.I32_AND, positive, code.emit("i", op.LESS, floor, value))
        number = NOT_THERE if guard.result else guard.joint + 1
        status = code.emit("i", op.SELECT, status, str(number), fine)
    for angle in program_angles(program):
        exact = _exact_angle(code, graph.operand(angle))
        status = code.emit("i", op.SELECT, status, str(TOO_FAR), exact)
    return status


def _exact_angle(code: WasmCode, angle: str) -> str:
    size = code.emit("f", op.ABSOLUTE, angle)
    return code.emit("i", op.NOT_ABOVE, size, DOUBLE.largest_angle.hex())


def _clean(code: WasmCode, status: str) -> str:
    """0, or NaN for results that do not exist; adding it turns -0.0 into 0.0."""
    fine = code.emit("f", op.CONVERTED, code.emit("i", op.IS_ZERO, status))
    return code.emit("f", op.F64_OPS["fdiv"], _ZERO, fine)


def _loop_function(question: ChosenQuestion, which: int) -> WasmFunction:
    """Translate the algorithm with its loops; the numbers of the arm are in memory."""
    parameters, algorithm = question.parameters, question.algorithm
    n, m = parameters.n, len(parameters.order)
    names = f"numbers{which}", f"integers{which}"
    asm = WasmInstructions(n, m, *names)
    chain = LoopChain(asm, variant_of(parameters), algorithm.needs, algorithm.gives)
    clear_results(chain)
    fixed = {name: f"{question.verb}.{name}.fixed" for name in question.fixed}
    too_far = _gather(chain, asm, {**question.arguments, **fixed})
    algorithm.run(chain)
    shapes = {name: parameters.sizes(shape) for name, shape in algorithm.gives.items()}
    staged = 0
    for shape in shapes.values():
        staged += max(1, prod(shape))
    sizes = {
        "scratch": 8 * chain.scratch_vectors * (n + 2),
        "tables": 8 * chain.table_count * (m + 1) ** 2,
        "staging": 8 * staged,
    }
    parents = [0, *(row.parent for row in parameters.links)]
    integers = int_table(parameters, first_of_subtrees(parents)).astype("<i4")
    data = {names[0]: float_table(parameters).astype("<f8").tobytes(), names[1]: integers.tobytes()}
    for name, region in fixed.items():
        data[region] = question.fixed[name].astype("<f8").tobytes()
    inputs = {called: called for called in question.arguments.values()}
    function = WasmFunction(question, inputs, shapes, asm.code, False, sizes, data)
    _hand_out(chain, asm, function, too_far)
    return function


def _gather(chain: LoopChain, asm: WasmInstructions, regions: Mapping[str, str]) -> Value:
    """Copy the inputs by link; the result is not 0 if an angle is too large for an exact sine."""
    far = asm.code.value("i")
    asm.code.assign(far, "0")
    for k in chain.tip_to_base():
        index = chain.arm.int_entry(tables.PLACE, chain.arm.int_entry(tables.COORDINATE, k))
        for name in chain.inputs:
            address = asm.address(Value(f"{regions[name]}+0"), index)
            value = chain.apply_mimic(name, k, Lane(asm, asm.load(SCALAR, address)))
            chain.arrays[name][k] = value
            if name == "q":
                exact = _exact_angle(asm.code, value.value)
                beyond = asm.code.emit("i", op.IS_ZERO, exact)
                asm.code.assign(far, asm.code.emit("i", op.I32_OR, far, beyond))
    return far


def _hand_out(
    chain: LoopChain, asm: WasmInstructions, function: WasmFunction, too_far: Value
) -> None:
    """Write every result and return the status."""
    code = asm.code
    status = code.emit("i", op.TRUNCATED, chain.status.lanes[0].value)
    failed = code.emit("i", op.ABOVE, status, "0")
    link = code.emit("i", op.SELECT, status, "1", failed)
    coordinate = asm.load("i64", asm.address(chain.arm.table(tables.COORDINATE), link, "i64"))
    joint = asm.load("i64", asm.address(chain.arm.table(tables.PLACE), coordinate, "i64"))
    number = code.emit("i", op.I32_OPS["add"], joint, "1")
    status = code.emit("i", op.SELECT, number, status, failed)
    status = code.emit("i", op.SELECT, str(TOO_FAR), status, too_far)
    clean = _clean(code, status)
    for name in chain.staging.gives:
        start = asm.vector_address(asm.staging, chain.staging.offsets[name])
        end = Value(f"{function.region(name)}+0")
        for e in asm.loop(0, chain.staging.sizes[name], 1):
            value = asm.load_vector(asm.vector_address(start, e))
            code.store(code.emit("f", op.F64_OPS["fadd"], value, clean), asm.address(end, e))
    code.finish(status)
