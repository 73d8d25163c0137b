"""robolin check: compute stored results again and compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, OUTPUT, VerbCommand, bundled, flag, validated_path
from robolin.cli.flags.output_flags import BLOCK_FLAGS
from robolin.cli.report import (
    CHECK_EXTENSIONS,
    CHECK_FORMS,
    Report,
    report_flags,
    reports_for,
)
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.checking.check_results import CheckSettings
    from robolin.checking.outcome import CheckOutcome
    from robolin.checking.suite import Case


@dataclass(frozen=True)
class CheckOptions:
    """Results to check, tolerances, and the output of the report."""

    stored: tuple[str, ...]
    against: str | None
    rtol: float | None
    atol: float | None
    update: bool
    suite: str | None
    model: str | None
    root: str | None
    everything: bool
    form: str | None
    path: str | None
    color: str
    jobs: int | None
    chunk_rows: int | None

    def check_settings(self) -> CheckSettings:
        from robolin.checking.check_results import CheckSettings
        from robolin.checking.differences import uniform_tolerances
        from robolin.checking.recorded_question import Inputs
        from robolin.queries.request import Settings

        root = None if self.root is None else Path(validated_path(self.root))
        close = uniform_tolerances(self.rtol, self.atol)
        settings = Settings(self.jobs, self.chunk_rows)
        return CheckSettings(Inputs(self.model, root), close, settings, self.update)

    def reports(self) -> list[Report]:
        return reports_for(self.path, self.form, self.color, CHECK_EXTENSIONS)

    def require_sense(self) -> None:
        """Reject flags that cannot be combined."""
        if self.against is not None and len(self.stored) != 1:
            hint = "run `robolin check BEFORE --against AFTER`"
            raise UsageError(
                "requires one STORED file", where=f"--against={self.against}", hint=hint
            )


_FILE, _FORMAT, _COLOR = report_flags(
    "Write the report to a .txt, .json or .xml (JUnit) file", CHECK_FORMS
)
_PARAMS = [
    click.Argument(["stored"], nargs=-1, metavar="[STORED]..."),
    flag(
        "--against FILE",
        METHOD,
        "Compare STORED with FILE, without recomputation",
        excludes={
            "update model root": "remove this option: --against only compares two stored files"
        },
    ),
    flag(
        "--rtol R",
        METHOD,
        "Relative tolerance (default: the stored tolerance, else 0)\n"
        "Numbers are equal if abs(recomputed - stored) <= A + R * abs(stored). --atol sets A.",
        type=float,
    ),
    flag(
        "--atol A",
        METHOD,
        "Absolute tolerance (default: the stored tolerance, else 0)\n"
        "A is in the unit of the array. Numbers are equal if abs(recomputed - stored) <= "
        "A + R * abs(stored). --rtol sets R.",
        type=float,
    ),
    flag("--update", METHOD, "Replace stored results that differ; exit code 1 if any was replaced"),
    flag(
        "--suite FILE",
        METHOD,
        "Suite file, used if STORED is omitted (default: nearest robolin.toml or pyproject.toml)",
        excludes={"stored": "pass either stored results or a suite"},
    ),
    flag("--model ARM", METHOD, "Use this robot instead of the recorded robot"),
    flag(
        "--root FOLDER",
        METHOD,
        "Folder for relative paths in the stored result (default: the folder of the stored result)",
        modifies={
            "stored": "add a STORED file: paths in a suite are relative to the suite's folder"
        },
    ),
    flag("--all", OUTPUT, "Show all entries, including equal entries", into="everything"),
    _FORMAT,
    _FILE,
    _COLOR,
    *BLOCK_FLAGS,
]


@click.command("check", cls=VerbCommand)
@bundled("options", _PARAMS, CheckOptions)
def command(options: CheckOptions) -> None:
    """Recompute stored results and compare them.

    Runs the recorded command with the current model and inputs, and compares all numbers.
    Without STORED, checks all cases of the suite. Numbers must be equal, unless tolerances are
    set on the command line, in the suite or in the stored result.

    Exits with code 1 if a result differs, and with code 3 if a stored file cannot be used.

    \b
    Examples:
      robolin check holding.npz
      robolin check holding.npz --rtol 1e-9
      robolin check before.npz --against after.npz
      robolin check --format github
    """
    from robolin.checking.check_results import check_in_parallel
    from robolin.checking.outcome import worst_exit_code
    from robolin.cli.commands.diff_verb import write_check_report

    options.require_sense()
    reports = options.reports()
    checks = _checks(options)
    _require_inputs_kept(options)
    outcomes = check_in_parallel(checks, options.jobs or os.cpu_count() or 1)
    for report in reports:
        write_check_report(report, outcomes, options.everything)
    click.get_current_context().exit(worst_exit_code(outcomes))


def _checks(options: CheckOptions) -> list[Callable[[], CheckOutcome]]:
    """The checks, as functions that run independently."""
    from robolin.checking.check_results import check_case, check_file, check_pair
    from robolin.checking.suite import nearest_suite
    from robolin.cli.identify_report import check_identification, is_identification

    config = options.check_settings()
    if options.against is not None:
        return [
            partial(
                check_pair,
                validated_path(options.stored[0]),
                validated_path(options.against),
                config,
            )
        ]
    if options.stored:
        return [
            partial(
                check_identification if is_identification(name) else check_file,
                validated_path(name),
                config,
            )
            for name in _without_companions(options.stored)
        ]
    cases = nearest_suite(options.suite)
    if options.model is not None:
        cases = tuple(_with_arm(case, options.model) for case in cases)
    return [partial(check_case, case, config) for case in cases]


def _without_companions(stored: tuple[str, ...]) -> list[str]:
    """The stored results, each once, without the provenance files of CSV results among them."""
    from robolin.io.format_table import with_companion

    companions = {os.path.normpath(each) for name in stored for each in with_companion(name)[1:]}
    return [name for name in dict.fromkeys(stored) if os.path.normpath(name) not in companions]


def _require_inputs_kept(options: CheckOptions) -> None:
    """Reject a report path that is an input of a case or of a stored result."""
    from robolin.checking.suite import nearest_suite, suite_file
    from robolin.cli.report import require_no_robot
    from robolin.io.format_table import require_output_is_no_input

    if options.path is None or not Path(options.path).exists():
        return
    if options.stored:
        for name in options.stored:
            require_output_is_no_input(options.path, _read_for(name, options.check_settings()))
    else:
        require_output_is_no_input(options.path, [suite_file(options.suite)])
        for case in nearest_suite(options.suite):
            require_output_is_no_input(options.path, [case.stored, *case.question.files])
    require_no_robot(options.path)


def _read_for(stored: str, settings: CheckSettings) -> tuple[str, ...]:
    """Input files of a stored result; an invalid result is reported later."""
    from robolin.checking.recorded_question import recorded_question
    from robolin.cli.identify_report import is_identification, stored_arguments
    from robolin.io.stored import open_stored

    try:
        if is_identification(stored):
            arm, *others = stored_arguments(stored, settings)
            return (stored, arm, *(each.partition("=")[2] for each in others))
        with open_stored(stored) as opened:
            return recorded_question(opened, settings.inputs).files
    except RobolinError:
        return ()


def _with_arm(case: Case, arm: str) -> Case:
    """The case with another robot."""
    return replace(case, question=replace(case.question, arm=arm))
