"""Result of an identification as tables, JSON and NPZ; and `robolin check` of a stored one."""

from __future__ import annotations

import glob
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from robolin.cli.report import ReportSection, ReportTable, TextLines
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.analysis.identify.identification_result import Identification
    from robolin.checking.check_results import CheckSettings
    from robolin.checking.compare import Comparison
    from robolin.checking.outcome import CheckOutcome
    from robolin.core.arm import Arm

# relative error of a robot file that needs no correction
_SMALL_ERROR = 0.01


def identification_sections(arm: Arm, result: Identification) -> Iterator[ReportSection]:
    first, last = result.stages[0], result.stages[-1]
    yield TextLines([*_verdict(result)])
    names = [stage.name for stage in result.stages]
    rows = [
        (
            joint,
            *(percentage(stage.score.moving[j]) for stage in result.stages),
            percentage(last.score.all_rows[j]),
            f"{result.friction_velocity[j]:g}",
        )
        for j, joint in enumerate(arm.joint_names)
    ]
    rows.append(
        (
            "mean",
            *(percentage(stage.score.mean) for stage in result.stages),
            percentage(last.score.mean_all),
            "",
        )
    )
    header = ("joint", *names, "all rows", "v0")
    title = "Error on held-out rows: RMS(measured - predicted) / RMS(measured), for rows in motion"
    yield ReportTable(header, rows, frozenset(header[1:]), title)
    yield TextLines([f"{name}: {text}" for name, text in result.settings.items()], "Settings")
    yield _parameter_table(result)
    assert first.name == "file"


def identification_screen(
    sections: Sequence[ReportSection], result: Identification
) -> list[ReportSection]:
    """The sections for a terminal: a short verdict, and errors without the mean, which it has."""
    _, errors, *others = sections
    assert isinstance(errors, ReportTable)
    well, partly, by_file = result.determined
    counts = (
        f"the data determine {well} parameters well, {partly} only in part, and {by_file} "
        "not at all"
    )
    short = replace(
        errors,
        rows=errors.rows[:-1],
        title="Error of each joint, for rows in which the joint moves",
    )
    return [TextLines([_errors(result), *result.findings, counts]), short, *others]


def _errors(result: Identification) -> str:
    first, last = result.stages[0], result.stages[-1]
    rows = result.settings["recordings"].rpartition(", ")[2]
    tested = result.settings["held out"].partition(",")[0]
    return (
        f"error on held-out rows: {percentage(first.score.headline)} with the robot file, "
        f"{percentage(last.score.headline)} with the identified parameters "
        f"({tested} of {rows} recorded)"
    )


def _verdict(result: Identification) -> Iterator[str]:
    """The answer in two to four lines."""
    yield _errors(result)
    yield from result.findings
    well, partly, by_file = result.determined
    yield (
        f"the inertias of all bodies are physically possible; the data determine {well} "
        f"parameters well, {partly} only in part, and {by_file} not at all"
    )


def _parameter_table(result: Identification) -> ReportTable:
    from robolin.display.report.identification_page import parameter_texts

    rows = [
        (name, *texts, f"{share:.2f}")
        for name, texts, share in zip(
            result.names, parameter_texts(result, 4), result.share, strict=True
        )
    ]
    header = ("parameter", "file", "identified", "deviation", "share")
    title = (
        "Parameters; share 1: the data determine the parameter; 0: its value and deviation follow "
        "from the prior (--prior)"
    )
    return ReportTable(header, rows, frozenset(header[1:]), title)


def percentage(value: float) -> str:
    return "" if value != value else f"{100.0 * value:.3g} %"


def identification_document(result: Identification) -> dict[str, Any]:
    def clean(values: Any) -> list[float | None]:
        return [None if v != v else float(v) for v in values]

    return {
        "improves": result.improves,
        "stages": [
            {
                "name": stage.name,
                "parameters": stage.parameters,
                "error": clean([stage.score.headline])[0],
                "moving": clean(stage.score.moving),
                "all_rows": clean(stage.score.all_rows),
            }
            for stage in result.stages
        ],
        "friction_velocity": clean(result.friction_velocity),
        "settings": dict(result.settings),
        "findings": list(result.findings),
        "parameters": {
            name: {"file": b, "identified": v, "deviation": d, "share": s}
            for name, b, v, d, s in zip(
                result.names,
                clean(result.before),
                clean(result.values),
                clean(result.deviations),
                clean(result.share),
                strict=True,
            )
        },
    }


def identification_archive(result: Identification, command: str) -> bytes:
    """The result as NPZ, with the command that `robolin check` runs again."""
    import io
    import json

    import numpy as np

    stream = io.BytesIO()
    np.savez(
        stream,
        names=np.array(result.names),
        before=result.before,
        values=result.values,
        deviations=result.deviations,
        prior_deviations=result.prior_deviations,
        covariance=result.covariance,
        share=result.share,
        friction_velocity=result.friction_velocity,
        time=result.time,
        measured=result.measured,
        predicted=result.predicted,
        predicted_before=result.predicted_before,
        command=np.array(command),
        settings=np.array(json.dumps(identification_document(result), ensure_ascii=False)),
    )
    return stream.getvalue()


# part of its standard deviation, and of its value, by which a parameter may differ
OF_DEVIATION, OF_VALUE = 1e-3, 1e-9
_FILES = ("trajectory", "holdout", "unloaded")


def stored_command(arm: str, options: Mapping[str, Any], npz: str) -> str:
    """The command as JSON, with paths relative to the folder of the result."""
    folder = Path(npz).resolve().parent

    def relative(path: str) -> str:
        named = Path(path).exists() or glob.glob(path)
        return os.path.relpath(Path(path).resolve(), folder) if named else path

    plain = {
        name: [*map(relative, value)] if name in _FILES else value
        for name, value in options.items()
    }
    return json.dumps({"arm": relative(arm), "options": plain}, ensure_ascii=False, default=str)


def is_identification(path: str) -> bool:
    """True for an archive of `identify --npz`, which has a covariance and no provenance."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {*archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return False
    return {"covariance.npy", "settings.npy"} <= names and "meta.npy" not in names


def check_identification(path: str, settings: CheckSettings) -> CheckOutcome:
    """Identify again with the stored options, and compare every parameter."""
    from robolin.checking.outcome import CheckOutcome

    start, question = perf_counter(), ""
    try:
        if settings.update:
            hint = "run robolin identify with --npz again"
            raise UsageError(
                "a stored identification cannot be updated", where="--update", hint=hint
            )
        arguments = stored_arguments(path, settings)
        question = f"identify {arguments[0]}"
        comparison = _compared(path, arguments, settings)
        status: Any = "same" if comparison.same else "differs"
        outcome = CheckOutcome(path, path, status, question, comparison)
    except RobolinError as error:
        outcome = CheckOutcome(path, path, "refused", question, error=error)
    return replace(outcome, seconds=perf_counter() - start)


def stored_arguments(path: str, settings: CheckSettings) -> list[str]:
    """Arguments of the stored command: the arm, then its options."""
    stored = _arrays(path)
    if "command" not in stored:
        hint = "run robolin identify with --npz again"
        raise RobolinError("the command of this identification is missing", where=path, hint=hint)
    command = json.loads(str(stored["command"]))
    folder = settings.inputs.root or Path(path).resolve().parent

    def path_of(name: str) -> str:
        inside = os.path.normpath(folder / name)
        return inside if Path(inside).exists() or glob.glob(inside) else name

    arguments = [settings.inputs.model or path_of(command["arm"])]
    # results without this option held out the end of each recording
    for name, value in {"holdout": ["0.3"], **command["options"]}.items():
        if isinstance(value, bool):
            arguments += [f"--{name}"] if value else [f"--no-{name}"]
            continue
        for each in value if isinstance(value, list) else [value]:
            arguments.append(f"--{name}={path_of(each) if name in _FILES else each}")
    return arguments


def _arrays(path: str) -> dict[str, Any]:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise RobolinError("damaged archive", where=path) from error


def _compared(path: str, arguments: list[str], settings: CheckSettings) -> Comparison:
    from robolin.checking.compare import Comparison
    from robolin.checking.differences import Difference, Tolerance, tolerance_of
    from robolin.cli.commands.identify_verb import identified_again

    stored, result = _arrays(path), identified_again(arguments)
    names = [str(name) for name in stored["names"]]
    if names != [*result.names]:
        return Comparison((), structure=("the robot's parameters have different names",))
    entries = []
    for i, name in enumerate(names):
        old, new = float(stored["values"][i]), float(result.values[i])
        allowed = (
            Tolerance(OF_VALUE, OF_DEVIATION * float(stored["deviations"][i]))
            if settings.close is None
            else tolerance_of("identify", "values", settings.close)
        )
        gap = abs(new - old)
        beyond = int(not gap <= allowed.atol + allowed.rtol * abs(old))
        size = max(float(stored["deviations"][i]), 1e-300)
        entries.append(Difference("values", name, "", None, old, new, allowed, beyond, gap / size))
    pairs = zip(stored["friction_velocity"], result.friction_velocity, strict=True)
    for joint, (before, after) in zip(result.arm.joint_names, pairs, strict=True):
        # a velocity is one of a few values
        gap, exact = abs(float(after - before)), Tolerance(OF_VALUE, 0.0)
        beyond = int(gap > OF_VALUE * before)
        name = f"{joint}/friction_velocity"
        entries.append(Difference("values", name, "", None, before, after, exact, beyond, gap))
    ordered = sorted(entries, key=lambda each: (not each.beyond, -each.weight))
    return Comparison(tuple(ordered), strict=False)


def no_improvement(result: Identification, written: bool) -> RobolinError | None:
    """The error of a result that is not better than the file, or than an earlier stage."""
    if result.improves:
        return None
    best = result.best_stage
    errors = ", ".join(f"{s.name} {percentage(s.score.headline)}" for s in result.stages)
    if math.isnan(best.score.mean):
        hint = "no joint moves in the held-out rows: use --holdout with a recording of a motion"
    elif best.name == "file" and best.score.headline < _SMALL_ERROR:
        hint = "the robot file already explains these recordings; no correction is necessary"
    elif best.name == "file":
        hint = (
            "record a motion that determines the parameters better (`robolin excite` computes such "
            "a motion), or check the efforts and their units"
        )
    elif result.warnings:
        hint = f"resolve the cause of the warnings, or add --what {best.name}"
    else:
        hint = f"add --what {best.name}"
    kept = "no robot file is written" if written else "nothing is written"
    message = f"the last stage does not decrease the error on held-out rows: {errors}; {kept}"
    return RobolinError(message, hint=hint)
