"""robolin identify: correct the parameters of a robot file from recordings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import (
    METHOD,
    OUTPUT,
    STATE,
    VerbCommand,
    explicit_options,
    flag,
    validated_path,
)
from robolin.cli.flags.output_flags import color_flag, short_note, wrapped_lines
from robolin.cli.flags.state_flags import MODEL_PARAMS, READING_FLAGS
from robolin.cli.identify_report import (
    identification_archive,
    identification_document,
    identification_screen,
    identification_sections,
    no_improvement,
    stored_command,
)
from robolin.cli.main import say
from robolin.cli.report import ALL_FLAG, FORMS, Report
from robolin.core.choices import PICTURE_FORMATS
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import extensions, location_of, trajectory_formats
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.analysis.identify.identification_result import Identification
    from robolin.core.arm import Arm
    from robolin.core.arrays import Floats
    from robolin.description.corrected_file import CorrectedFile
    from robolin.description.model import Reading

_WHATS = ("friction", "payload", "links", "all")
_SPREAD = "spread"
_TEXTS: dict[str, Any] = {"multiple": True}
# a part of each recording that is held out; all other texts are names of files
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)? *%?", re.IGNORECASE)
# lines of a screen for the error that nothing is written
_ERROR_LINES = 3

_OWN = [
    flag(
        "--trajectory FILE",
        STATE,
        "Recording with measured efforts; repeatable\n"
        f"Formats: {extensions(trajectory_formats())}. Columns are JOINT/position, JOINT/velocity "
        "(optional) and JOINT/effort. FILE may be a pattern ('fit/*.csv') or a folder.",
        required=True,
        **_TEXTS,
    ),
    flag(
        "--holdout FILE",
        STATE,
        "Hold out these recordings, or a part of each recording (default spread)\n"
        "The fit uses only the other rows; held-out rows test the fit. spread holds out 30% of "
        "each recording, in up to four blocks. 30% or 0.3 holds out the last 30% of each "
        "recording. Repeat the option for several files.",
        **_TEXTS,
    ),
    flag("--unloaded FILE", STATE, "Recording without the payload; repeatable", **_TEXTS),
    flag(
        "--effort-scale FACTORS",
        STATE,
        "Multiply measured efforts by these factors, such as 0.001\n"
        "Use one factor for all joints, one per joint, or JOINT=FACTOR for every joint. The "
        "factor 0.001 converts N mm to N m.",
    ),
    *[each for each in READING_FLAGS if each.name != "differentiate"],
    flag(
        "--what",
        METHOD,
        "Parameters to identify\n"
        "friction: joint friction. payload: joint friction and the link with the payload. links: "
        "joint friction and all links. all: these three stages in sequence.",
        choices=_WHATS,
        default="all",
    ),
    flag("--payload-link LINK", METHOD, "Payload link (default: last link before the fingers)"),
    flag("--width S", METHOD, "Width of the smoothing filter [s] (default: estimated)", type=float),
    flag("--lag S", METHOD, "Delay of the measured efforts [s] (default: estimated)", type=float),
    flag(
        "--clock CLOCK",
        METHOD,
        "Times of the rows: auto, stamps, or the sample period [s]\n"
        "stamps: the times in the file. auto: the times in the file, or estimated times if the "
        "estimated times fit better.",
        default="auto",
    ),
    flag(
        "--prior PART",
        METHOD,
        "Assumed relative error of the robot file: 0.1 or 10%\n"
        "A larger error is assumed for links whose values contradict the recordings.",
        default="0.1",
    ),
    flag(
        "--fix NAME=VALUE",
        METHOD,
        "Fix a parameter at a value (forearm/mass=2.1); repeatable",
        **_TEXTS,
    ),
    flag(
        "--free LINK",
        METHOD,
        "Use no prior for this link; repeatable\n"
        "The fit then does not use the values of this link in the robot file.",
        **_TEXTS,
    ),
    flag(
        "-o --output FILE",
        OUTPUT,
        "Write the corrected robot file\n"
        "The file has the format of ARM (URDF, SDF, MJCF or YAML) and differs only in values; "
        "comments, order and meshes do not change. A xacro file is expanded to URDF.",
        into="path",
    ),
    flag("--npz FILE", OUTPUT, "Write the identified values and their covariance", into="npz"),
    flag(
        "--report FILE",
        OUTPUT,
        "Write an HTML report about the fit",
        into="report",
    ),
    flag(
        "--plot FILE",
        OUTPUT,
        "Plot torques and residuals\nThe file is .svg, .png or .pdf. Requires matplotlib.",
        into="plot",
    ),
    flag("--format", OUTPUT, "Output format (default table)", into="form", choices=FORMS),
    color_flag("Colours on standard output"),
    ALL_FLAG,
    flag("-q --quiet", OUTPUT, "Hide warnings and notes"),
]
_SHORT = (
    "trajectory holdout unloaded torque-constants columns what payload-link "
    "prior fix free output report plot quiet"
)


@click.command("identify", cls=VerbCommand, params=[*MODEL_PARAMS, *_OWN], short=_SHORT)
def command(**values: Any) -> None:
    """Correct a robot file to match recordings.

    \b
    Fits friction, then a payload, then all links. Tests each stage on rows that
    the fit does not use. All inertias are physically possible. Parameters that
    the recordings do not determine keep their values. If the test error does not
    decrease, no robot file is written.

    \b
    Examples:
      robolin identify arm.urdf --trajectory log.csv -o corrected.urdf
      robolin identify arm.urdf --trajectory 'fit/*.csv' --holdout 'test/*.csv'
      robolin identify arm.urdf --trajectory log.csv --what friction
      robolin identify arm.urdf --trajectory load.csv --unloaded free.csv \\
          --payload-link tool0
    """
    from robolin.description.corrected_file import file_digests, require_same_robot_files

    source = arm_source(
        validated_path(values["arm"]),
        _model_options(click.get_current_context()),
        VERBS["identify"],
    )
    _require_extensions(source, values)
    reading = source.reading()
    _require_outputs(values, reading)
    arm = source.arm(reading)
    digests = {} if values["path"] is None else file_digests(source.path, reading)
    report = Report(None, values["form"] or "table", values["color"], values["everything"])
    notes: list[str] = []
    try:
        result = _identified(arm, values, notes.append)
    except RobolinError:
        _say(notes, values["quiet"], report.shows_screen)
        raise
    notes += [note for note in result.notes if note not in result.warnings]
    # pages are written in any case: they show why an error does not fall
    contents = _pages(arm, result, values)
    remarks, failure = list[str](), no_improvement(result, bool(contents))
    if values["path"] is not None and failure is None:
        require_same_robot_files(source.path, reading, digests)
        try:
            corrected = _corrected(source, reading, arm, result, values["path"])
        except RobolinError as error:
            failure = error
        else:
            contents[values["path"]] = corrected.text
            remarks = [*corrected.notes, *_remarks(source, result), *corrected.armature_notes]
    if values["npz"] is not None and failure is None:
        options = {"holdout": [_SPREAD], **explicit_options(click.get_current_context())}
        command_text = stored_command(values["arm"], options, values["npz"])
        contents[values["npz"]] = identification_archive(result, command_text)
    written = [*(f"{path}: written" for path in contents), *remarks]
    sections = list(identification_sections(arm, result))
    lines = sum(wrapped_lines("warning", each) for each in result.warnings)
    lines += sum(wrapped_lines("note", _shortened(note)) for note in [*notes, *written])
    lines += 0 if failure is None else _ERROR_LINES
    screen = identification_screen(sections, result)
    report.write(sections, identification_document(result), screen, lines)
    _say(result.warnings, values["quiet"], short=False, kind="warning")
    _say(notes, values["quiet"], report.shows_screen)
    _write(contents)
    _say(written, values["quiet"], report.shows_screen)
    if failure is not None:
        raise failure


def identified_again(arguments: list[str]) -> Identification:
    """The result of these arguments, without output."""
    with command.make_context("identify", [*arguments]) as ctx:
        options = _model_options(ctx)
        source = arm_source(validated_path(ctx.params["arm"]), options, VERBS["identify"])
        return _identified(source.arm(source.reading()), ctx.params, lambda _: None)


def _shortened(note: str) -> str:
    """A note as one line of a terminal; flags to copy stay complete."""
    return note if " --" in note else short_note("note", note)


def _say(notes: Sequence[str], quiet: bool, short: bool, kind: str = "note") -> None:
    for note in [] if quiet else notes:
        say(kind, _shortened(note) if short else note)


def _model_options(ctx: click.Context) -> dict[str, Any]:
    """Model options on the command line, by name."""
    from robolin.queries.option_specs import MODEL_OPTIONS

    return {name: value for name, value in explicit_options(ctx).items() if name in MODEL_OPTIONS}


def _require_extensions(source: ArmSource, values: Mapping[str, Any]) -> None:
    path, npz, report, plot = (values[each] for each in ("path", "npz", "report", "plot"))
    if path is not None:
        from robolin.description.corrected_file import require_extension
        from robolin.description.robot_source import robot_text

        if source.path == "-":
            hint = "pass the path of the robot file"
            raise UsageError("a file on standard input cannot be corrected", where="-o", hint=hint)
        require_extension(validated_path(path), robot_text(source.path))
    if npz is not None and _suffix(npz) != ".npz":
        raise UsageError("the extension must be .npz", where=npz, hint="use --npz found.npz")
    if report is not None and _suffix(report) not in (".html", ".htm"):
        hint = "use --report found.html"
        raise UsageError("the extension must be .html", where=report, hint=hint)
    if plot is not None and _suffix(plot)[1:] not in PICTURE_FORMATS:
        hint = f"use {', '.join(f'.{each}' for each in PICTURE_FORMATS)}"
        raise UsageError("unknown plot extension", where=plot, hint=hint)


def _require_outputs(values: Mapping[str, Any], reading: Reading) -> None:
    """Reject outputs that overwrite an input or cannot be written, before anything is computed.

    reading: names the files that the robot file includes
    """
    from robolin.io.atomic import require_writable
    from robolin.io.format_table import require_outputs_are_no_inputs

    flags = ("path", "npz", "report", "plot")
    outputs = [values[name] for name in flags if values[name] is not None]
    held_out = () if _is_part(values["holdout"]) else values["holdout"]
    named = [each for each in (values["trajectory"], held_out, values["unloaded"]) if each]
    recordings = [file for texts in named for path in _paths(texts) for file in _files_of(path)]
    require_outputs_are_no_inputs(outputs, [values["arm"], *reading.files, *recordings])
    for output in outputs:
        require_writable(Path(output))


def _files_of(recording: str) -> Iterator[str]:
    """The file of a recording, or all files of a folder that is one recording."""
    folder = Path(location_of(recording))
    yield from map(str, folder.rglob("*")) if folder.is_dir() else [recording]


def _suffix(path: str) -> str:
    return PurePath(validated_path(path)).suffix.lower()


def _identified(
    arm: Arm, values: Mapping[str, Any], notify: Callable[[str], None]
) -> Identification:
    from robolin.analysis.identify.identify import identify
    from robolin.queries.measured_torques import recording_readers
    from robolin.queries.option_files import column_rules_with_files

    flags = {name.replace("_", "-"): value for name, value in values.items()}
    flags["columns"] = column_rules_with_files(values["columns"])
    scale = _factors(arm, values["effort_scale"])

    def read(texts: Sequence[str]) -> list[Any]:
        return recording_readers(arm, _paths(texts), flags, scale, notify) if texts else []

    texts: tuple[str, ...] = values["holdout"] or (_SPREAD,)
    held_out: Any = _SPREAD
    if texts != (_SPREAD,):
        held_out = _percentage("--holdout", texts[0]) if _is_part(texts) else read(texts)
    return identify(
        arm,
        read(values["trajectory"]),
        what=values["what"],
        holdout=held_out,
        payload_link=values["payload_link"],
        unloaded=read(values["unloaded"]),
        width=values["width"],
        lag=values["lag"],
        clock=_clock(values["clock"]),
        prior=_percentage("--prior", values["prior"]),
        fix=_fixed(values["fix"]),
        free=values["free"],
    )


def _paths(texts: Sequence[str]) -> list[str]:
    from robolin.batch.batch_plan import recordings

    return [each.path for each in recordings([validated_path(text) for text in texts])]


def _is_part(texts: Sequence[str]) -> bool:
    return len(texts) == 1 and (texts[0] == _SPREAD or bool(_NUMBER.fullmatch(texts[0].strip())))


def _percentage(option: str, text: str) -> float:
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        message = f"must be a fraction or a percentage, got {text!r}"
        raise UsageError(message, where=option, hint=f"use {option} 10%") from None


def _clock(text: str) -> str | float:
    if text in ("auto", "stamps"):
        return text
    try:
        period = float(text)
    except ValueError:
        period = 0.0
    if not period > 0.0:
        message = f"must be auto, stamps or a period in s, got {text!r}"
        raise UsageError(message, where="--clock")
    return period


def _fixed(texts: Sequence[str]) -> dict[str, float]:
    from robolin.core.text_parsing import parse_named_numbers

    return {
        name: value
        for name, (value, _) in parse_named_numbers(
            "--fix", texts, is_angle=lambda _: False
        ).items()
    }


def _factors(arm: Arm, text: str | None) -> Floats:
    """Factors (n,) of the efforts."""
    import numpy as np

    from robolin.core.text import did_you_mean
    from robolin.core.text_parsing import parse_named_numbers

    option = "--effort-scale"
    if text is None:
        return np.ones(arm.n)
    if "=" in text:
        named = parse_named_numbers(option, [text], is_angle=lambda _: False)
        for name in named:
            if name not in arm.joint_names:
                hint = did_you_mean(name, arm.joint_names)
                raise UsageError(f"joint '{name}' not found", where=option, hint=hint)
        missing = [name for name in arm.joint_names if name not in named]
        if missing:
            raise UsageError(f"missing joint '{missing[0]}'", where=option, hint="name all joints")
        return np.array([named[name][0] for name in arm.joint_names])
    try:
        numbers = np.array([float(each) for each in text.split(",")])
    except ValueError:
        raise UsageError(f"must be numbers, got {text!r}", where=option) from None
    if len(numbers) not in (1, arm.n):
        message = f"must be one number or {arm.n} numbers, got {len(numbers)}"
        raise UsageError(message, where=option)
    return np.broadcast_to(numbers, (arm.n,)).copy()


def _pages(arm: Arm, result: Identification, values: Mapping[str, Any]) -> dict[str, bytes]:
    """Report and plot by their paths."""
    pages: dict[str, bytes] = {}
    name = PurePath(values["arm"]).name
    if values["report"] is not None:
        from robolin.display.report.identification_page import identification_page

        pages[values["report"]] = identification_page(name, arm, result).encode()
    if values["plot"] is not None:
        from robolin.display.plots.draw_panels import drawn_panels, picture_bytes
        from robolin.display.plots.result_panels import identification_panels

        title = f"{name}: torques of held-out rows before and after identification"
        figure = drawn_panels(identification_panels(arm, result), title)
        pages[values["plot"]] = picture_bytes(figure, _suffix(values["plot"])[1:])
    return pages


def _write(contents: Mapping[str, bytes]) -> None:
    """Write the corrected robot file and the numbers, both complete or neither."""
    from robolin.io.atomic import atomic_write_all

    if not contents:
        return
    with atomic_write_all(list(contents)) as streams:
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)


def _corrected(
    source: ArmSource, reading: Reading, arm: Arm, result: Identification, path: str
) -> CorrectedFile:
    from robolin.description.corrected_file import corrected_file
    from robolin.description.robot_source import robot_text

    assert reading.description is not None
    arms, remarks = (arm, result.arm), _remarks(source, result)
    robot = robot_text(source.path)
    return corrected_file(robot, reading.description, source.options, *arms, Path(path), remarks)


def _remarks(source: ArmSource, result: Identification) -> list[str]:
    """Lines about identified values that the file does not hold; armature depends on the format."""
    from robolin.analysis.identify.identification_result import ARMATURE_REMARK, FRICTION_REMARK
    from robolin.description.robot_source import robot_text

    held = (ARMATURE_REMARK, FRICTION_REMARK)[: 1 + (robot_text(source.path).kind == "yaml")]
    return [line for line in result.model_flags if not line.startswith(held)]
