"""Run a stored identification again and compare, for `robolin check`."""

from __future__ import annotations

import glob
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.checking.check_results import CheckSettings
    from robolin.checking.compare import Comparison
    from robolin.checking.outcome import CheckOutcome

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
            raise UsageError("cannot update an identification", where="--update", hint=hint)
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

    def found(name: str) -> str:
        inside = os.path.normpath(folder / name)
        return inside if Path(inside).exists() or glob.glob(inside) else name

    arguments = [settings.inputs.model or found(command["arm"])]
    for name, value in command["options"].items():
        if isinstance(value, bool):
            arguments += [f"--{name}"] if value else [f"--no-{name}"]
            continue
        for each in value if isinstance(value, list) else [value]:
            arguments.append(f"--{name}={found(each) if name in _FILES else each}")
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

    stored, found = _arrays(path), identified_again(arguments)
    names = [str(name) for name in stored["names"]]
    if names != [*found.names]:
        return Comparison((), structure=("the parameters of the arm have other names",))
    entries = []
    for i, name in enumerate(names):
        old, new = float(stored["values"][i]), float(found.values[i])
        allowed = (
            Tolerance(OF_VALUE, OF_DEVIATION * float(stored["deviations"][i]))
            if settings.close is None
            else tolerance_of("identify", "values", settings.close)
        )
        gap = abs(new - old)
        beyond = int(not gap <= allowed.atol + allowed.rtol * abs(old))
        size = max(float(stored["deviations"][i]), 1e-300)
        entries.append(Difference("values", name, "", None, old, new, allowed, beyond, gap / size))
    pairs = zip(stored["friction_velocity"], found.friction_velocity, strict=True)
    for joint, (before, after) in zip(found.arm.joint_names, pairs, strict=True):
        # a velocity is one of a few values
        gap, exact = abs(float(after - before)), Tolerance(OF_VALUE, 0.0)
        beyond = int(gap > OF_VALUE * before)
        name = f"{joint}/friction_velocity"
        entries.append(Difference("values", name, "", None, before, after, exact, beyond, gap))
    ordered = sorted(entries, key=lambda each: (not each.beyond, -each.weight))
    return Comparison(tuple(ordered), strict=False)
