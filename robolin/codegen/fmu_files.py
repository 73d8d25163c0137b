"""Functional mock-up units (FMI 2.0 and 3.0): forward dynamics for other simulators, as C sources.

The archive has the dynamics with loops, whose numbers are in the instance: gravity and a payload
are parameters.  Directional derivatives are the exact ones of linearize-forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from math import prod
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from robolin import __version__
from robolin.codegen.c_files import CProgram, comment_text, quoted_text
from robolin.codegen.c_function import ArmData, CFunction, loop_function, own_function
from robolin.codegen.functions import ChosenQuestion
from robolin.codegen.mpc_files import filled_template
from robolin.core.arm import Arm
from robolin.core.arm_parts import axis_to_z, transpose
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import printable
from robolin.dynamics.algebra.trigonometry import DOUBLE
from robolin.engine.compiled.layout import HEAD_DOUBLES, LINK_DOUBLES, MASS
from robolin.engine.parameters import float_table
from robolin.errors import RobolinError, UsageError

_NEEDED = ("forward", "linearize-forward")

# exponents of kg, m, s and rad
_UNITS = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s²": {"rad": 1, "s": -2},
    "N·m": {"kg": 1, "m": 2, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s²": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "kg": {"kg": 1},
}


@dataclass(frozen=True)
class _Variable:
    """A variable of the model.

    derivative: value reference of the state that it is the derivative of, or None
    """

    reference: int
    name: str
    causality: str
    unit: str
    text: str
    start: float | None = None
    derivative: int | None = None

    @property
    def variability(self) -> str:
        return "tunable" if self.causality == "parameter" else "continuous"

    @property
    def initial(self) -> str | None:
        if self.causality in ("input", "independent"):
            return None
        return "calculated" if self.start is None else "exact"


def require_fmu(program: CProgram) -> None:
    """Reject programs that a functional mock-up unit does not support."""
    verbs = [function.verb for function in program.functions]
    if missing := [verb for verb in _NEEDED if verb not in verbs]:
        names = " and ".join(_NEEDED)
        raise UsageError(f"an FMU requires {names}", hint=f"add {' and '.join(missing)}")
    if program.precision is not DOUBLE:
        raise UsageError("an FMU requires double precision", hint="omit --real float")
    if program.arm.groups:
        group = program.arm.groups[0]
        remedy = f"fix the joint with --base {program.arm.link(group.body).name}"
        if program.arm.floating_base:
            remedy = "omit --floating-base and --base-joint"
        raise RobolinError(
            f"joint '{group.name}': an FMU does not support {group.kind} joints",
            where=program.arm.source,
            hint=f"{remedy}, or use simulate",
        )


def fmu_archives(program: CProgram, questions: Sequence[ChosenQuestion]) -> dict[str, bytes]:
    """Both archives by file name."""
    by_verb = {question.verb: question for question in questions}
    chosen = [by_verb[verb] for verb in _NEEDED]
    return {f"{program.prefix}_fmi{fmi}.fmu": _archive(program, chosen, fmi) for fmi in (2, 3)}


def _archive(program: CProgram, questions: Sequence[ChosenQuestion], fmi: int) -> bytes:
    """Archive with a fixed date for every file, so that the same arm gives the same bytes."""
    variables = list(_variables(program.arm))
    # identifies the model: the description without this number, and the program
    source = "\n".join(_source(program, questions, fmi, "")) + "\n"
    description = "\n".join(_description(program, variables, fmi, ""))
    token = "{" + sha256(f"{source}{description}".encode()).hexdigest()[:32] + "}"
    files = {
        "modelDescription.xml": _description(program, variables, fmi, token),
        f"sources/{program.prefix}.c": _source(program, questions, fmi, token),
    }
    if fmi == 3:
        files["sources/buildDescription.xml"] = _build_description(program)
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        for name, lines in files.items():
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, "".join(f"{line}\n" for line in lines))
    return _marked(stream.getvalue())


_MARK = b"made by robolin generate, SHA-256 of the rest: "


def _marked(content: bytes) -> bytes:
    """The archive with a comment that has its hash."""
    comment = _MARK + sha256(content).hexdigest().encode()
    return content[:-2] + len(comment).to_bytes(2, "little") + comment


def is_marked_archive(content: bytes) -> bool:
    """True for an archive that this package wrote and that is unchanged."""
    length = len(_MARK) + 64
    return _marked(content[: -length - 2] + b"\0\0") == content


def _variables(arm: Arm) -> Iterator[_Variable]:
    """Variables in the order of their value references."""
    yield _Variable(0, "time", "independent", "s", "time")
    n, turns = arm.n, [joint.turns for joint in arm.joints]
    kinds = (
        ("{}.position", "output", "position", 0.0, None),
        ("{}.velocity", "output", "velocity", 0.0, None),
        ("der({}.position)", "local", "velocity", None, 0),
        ("{}.acceleration", "output", "acceleration", None, n),
        ("{}.effort", "input", "effort", 0.0, None),
    )
    reference = 1
    for name, causality, part, start, state in kinds:
        for i, joint in enumerate(arm.joint_names):
            text = f"{part} of joint '{joint}'"
            unit, of = joint_unit(part, turns[i]), None if state is None else 1 + state + i
            yield _Variable(reference, name.format(joint), causality, unit, text, start, of)
            reference += 1
    frame = arm.links[-1].name
    settings = [(f"gravity.{axis}", "m/s²", f"gravity along {axis} of the root") for axis in "xyz"]
    settings.append(("payload.mass", "kg", f"point mass on link '{frame}'"))
    settings += [
        (f"payload.{axis}", "m", f"position of the point mass along {axis}") for axis in "xyz"
    ]
    for (name, unit, text), start in zip(settings, (*arm.gravity, 0, 0, 0, 0), strict=True):
        yield _Variable(reference, name, "parameter", unit, text, float(start))
        reference += 1


def _description(
    program: CProgram, variables: Sequence[_Variable], fmi: int, token: str
) -> Iterator[str]:
    """The file modelDescription.xml."""
    prefix, n = program.prefix, program.arm.n
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    identity = "guid" if fmi == 2 else "instantiationToken"
    first = f'fmiVersion="{fmi}.0" modelName={_quoted(program.arm.name)} {identity}="{token}"'
    events = ' numberOfEventIndicators="0"' if fmi == 2 else ""
    yield f'<fmiModelDescription {first} generationTool="robolin {__version__}"{events}>'
    states = 'canGetAndSetFMUstate="true" canSerializeFMUstate="true"'
    offers = 'providesDirectionalDerivative="true"'
    if fmi == 3:
        states, offers = states.replace("FMUstate", "FMUState"), offers.replace('e="', 'es="')
    inner = f"<SourceFiles><File name={_quoted(f'{prefix}.c')}/></SourceFiles>"
    end = f">{inner}</ModelExchange>" if fmi == 2 else "/>"
    yield f'  <ModelExchange modelIdentifier="{prefix}" {states} {offers}{end}'
    yield "  <UnitDefinitions>"
    used = {variable.unit for variable in variables}
    for unit, powers in _UNITS.items():
        if unit in used:
            base = " ".join(f'{name}="{power}"' for name, power in powers.items())
            yield f"    <Unit name={_quoted(unit)}><BaseUnit {base}/></Unit>"
    yield "  </UnitDefinitions>"
    yield '  <DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6"/>'
    yield "  <ModelVariables>"
    yield from (f"    {_variable(each, fmi)}" for each in variables)
    yield "  </ModelVariables>"
    yield "  <ModelStructure>"
    outputs = [each.reference for each in variables if each.causality == "output"]
    rates = [*range(2 * n + 1, 4 * n + 1)]
    if fmi == 2:
        for part, chosen in (("Outputs", outputs), ("Derivatives", rates)):
            yield f"    <{part}>{_unknowns(chosen)}</{part}>"
        yield f"    <InitialUnknowns>{_unknowns(rates)}</InitialUnknowns>"
    else:
        parts = {"Output": outputs, "ContinuousStateDerivative": rates, "InitialUnknown": rates}
        for part, chosen in parts.items():
            yield from (f'    <{part} valueReference="{reference}"/>' for reference in chosen)
    yield "  </ModelStructure>"
    yield "</fmiModelDescription>"


def _unknowns(references: Sequence[int]) -> str:
    return "".join(f'<Unknown index="{reference + 1}"/>' for reference in references)


def _variable(each: _Variable, fmi: int) -> str:
    parts = {
        "name": each.name,
        "valueReference": str(each.reference),
        "description": each.text,
        "causality": each.causality,
        "variability": each.variability,
        "initial": each.initial,
    }
    # FMI 2 refers to variables by their number, FMI 3 by their value reference
    state = None if each.derivative is None else str(each.derivative + (fmi == 2))
    kind = {"unit": each.unit, "derivative": state}
    kind["start"] = None if each.start is None else repr(each.start)
    if fmi == 3:
        return f"<Float64 {_attributes(parts | kind)}/>"
    return f"<ScalarVariable {_attributes(parts)}><Real {_attributes(kind)}/></ScalarVariable>"


def _attributes(values: dict[str, str | None]) -> str:
    return " ".join(
        f"{name}={_quoted(value)}" for name, value in values.items() if value is not None
    )


def _quoted(text: str) -> str:
    return quoteattr(printable(text))


def _build_description(program: CProgram) -> Iterator[str]:
    prefix = program.prefix
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<fmiBuildDescription fmiVersion="3.0">'
    yield f'  <BuildConfiguration modelIdentifier="{prefix}">'
    yield '    <SourceFileSet language="C99" compilerOptions="-ffp-contract=off">'
    yield f'      <SourceFile name="{prefix}.c"/>'
    yield "    </SourceFileSet>"
    yield "  </BuildConfiguration>"
    yield "</fmiBuildDescription>"


def _source(
    program: CProgram, questions: Sequence[ChosenQuestion], fmi: int, token: str
) -> Iterator[str]:
    """C source of the model and its interface."""
    arm, parameters = program.arm, questions[0].parameters
    data = ArmData(parameters, "numbers", "integers")
    functions = [loop_function(question, data, DOUBLE, "own_") for question in questions]
    frame = arm.frames[arm.links[-1].name]
    link = arm.links_tip_to_base[frame.link - 1]
    words = {
        "name": comment_text(arm.name),
        "fmi": str(fmi),
        "version": __version__,
        "n": str(arm.n),
        "prefix": program.prefix,
        "link": comment_text(arm.links[-1].name),
        "token": token,
        "count": str(len(float_table(parameters))),
        "body": str(HEAD_DOUBLES + LINK_DOUBLES * (frame.link - 1) + MASS),
        "settings": _list((*arm.gravity, 0.0, 0.0, 0.0, 0.0)),
        "own": _list((link.inertia.mass, *link.inertia.com, *link.inertia.rotary)),
        "axes": _list(transpose(axis_to_z(link.joint.axis))),
        "frame_axes": _list(frame.pose.rotation),
        "frame_origin": _list(frame.pose.translation),
        "tables": "\n".join(_tables(arm, ArmData(parameters, "start_numbers", "integers"))),
        "functions": "\n".join(_functions(functions, arm.n)),
    }
    for template in ("fmu_template.c", f"fmu_template_{fmi}.c"):
        yield from filled_template(template, program.prefix, words)


def _list(values: Sequence[float]) -> str:
    return ", ".join(repr(float(value)) for value in values)


def _tables(arm: Arm, data: ArmData) -> Iterator[str]:
    yield from data.text(DOUBLE)
    yield "static const char *const joint_texts[] = {"
    for joint in arm.joint_names:
        yield f"    {quoted_text(f'joint {joint} moves no inertia')},"
    yield "};"


def _functions(functions: Sequence[CFunction], n: int) -> Iterator[str]:
    for which in sorted({which for function in functions for which in function.calls}):
        yield from own_function(which, DOUBLE, "own_")
        yield ""
    for function in functions:
        inputs = [f"const double {name}[{n}]" for name in function.needs]
        results = [f"double {name}[{max(1, prod(size))}]" for name, size in function.gives.items()]
        arguments = ", ".join(("const double *numbers", *inputs, *results))
        yield f"static int {function.verb.replace('-', '_')}({arguments})"
        yield "{"
        yield from (f"    {line}".rstrip() for line in function.body)
        yield "}"
        yield ""
