"""robolin validate: errors, warnings and notes about robot files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import (
    METHOD,
    RobotFile,
    VerbCommand,
    bundled,
    flag,
    validated_path,
)
from robolin.cli.flags.model_flags import XACRO_FLAGS, sources_with_options
from robolin.cli.output.report import ALL_FLAG, VALIDATE_EXTENSIONS, VALIDATE_FORMS, report_flags
from robolin.core.text_parsing import parse_names
from robolin.errors import FOUND_SOMETHING, FileError, UsageError

if TYPE_CHECKING:
    from robolin.checking.validate_settings import ValidateSettings
    from robolin.cli.output.validate_report import ValidatedFile
    from robolin.description.building.option_texts import ModelOptions

_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class ValidateOptions:
    """Files, ignored findings, and the output of the report."""

    arms: tuple[str, ...]
    strict: bool
    ignore: tuple[str, ...]
    config: str | None
    write_baseline: str | None
    xacro_arg: tuple[str, ...]
    package: tuple[str, ...]
    path: str | None
    form: str | None
    everything: bool
    color: str

    def settings(self) -> ValidateSettings:
        """Ignored findings of the project and of the flags."""
        from robolin.checking.validate_settings import read_settings, require_ids

        config = Path(validated_path(self.config)) if self.config is not None else None
        settings = read_settings(config, Path.cwd())
        ids = [each for text in self.ignore for each in parse_names(text)]
        more = require_ids(ids, "--ignore")
        return replace(settings, ignore=settings.ignore | more)

    def sources(self) -> list[str]:
        """All files without duplicates, patterns expanded."""
        return list(dict.fromkeys(self._spelled_out()))

    def _spelled_out(self) -> Iterator[str]:
        for name in self.arms:
            if _PATTERN.isdisjoint(name) or Path(validated_path(name)).exists():
                yield name
                continue
            from glob import glob

            matches = sorted(glob(name, recursive=True))
            if not matches:
                hint = "quote the pattern, and check the folder it starts in"
                raise FileError("no file matches this pattern", where=name, hint=hint)
            yield from matches


_FLAGS = [
    RobotFile(["arms"], nargs=-1, required=True, metavar="ARM..."),
    flag("--strict", METHOD, "Exit with code 1 for notes, too"),
    flag(
        "--ignore ID",
        METHOD,
        "Ignore findings with these ids; repeatable\nErrors are never ignored.",
        multiple=True,
    ),
    flag(
        "--config FILE",
        METHOD,
        "File with [validate] settings (default robolin.toml or pyproject.toml, here or above)",
    ),
    flag(
        "--write-baseline FILE",
        METHOD,
        "Store all findings as known and exit with 0\n"
        "`baseline` in [validate] names this file; only new findings count afterwards.",
    ),
    *XACRO_FLAGS,
    *report_flags("Write to a .txt, .json, .xml (JUnit) or .sarif file", VALIDATE_FORMS),
    ALL_FLAG,
]


@click.command("validate", cls=VerbCommand)
@bundled("options", _FLAGS, ValidateOptions)
def command(options: ValidateOptions) -> None:
    """Report errors and suspicious values in robot files.

    Prints FILE:LINE: LEVEL ID: MESSAGE and a hint for every finding.
    ARM may be a pattern, such as 'robots/**/*.urdf'.
    Exits with 1 for errors and warnings; with --strict also for notes.

    \b
    Examples:
      robolin validate arm.urdf
      robolin validate arm.urdf --strict --format json
      robolin validate 'robots/**/*.urdf' --ignore massless-link
      robolin validate arm.urdf --format github -o found.sarif
    """
    from robolin.cli.output.report import reports_for
    from robolin.cli.output.validate_report import write_validate_report

    reports = reports_for(
        options.path, options.form, options.color, VALIDATE_EXTENSIONS, options.everything
    )
    settings = options.settings()
    sources = options.sources()
    _require_kept(options, settings, sources)
    reading = sources_with_options(sources, options.xacro_arg, options.package)
    files = [_validated(*each, settings) for each in reading]
    for report in reports:
        write_validate_report(report, files)
    if options.write_baseline is not None:
        _store(files, settings, validated_path(options.write_baseline))
        return
    counted = ("error", "warning", "note") if options.strict else ("error", "warning")
    if any(file.counts[level] for file in files for level in counted):
        click.get_current_context().exit(FOUND_SOMETHING)


def _require_kept(options: ValidateOptions, settings: ValidateSettings, sources: list[str]) -> None:
    """Reject an output that is an input; only a baseline may be updated."""
    from robolin.cli.output.report import require_no_robot
    from robolin.io.paths import require_output_is_no_input

    if options.path is not None:
        require_output_is_no_input(options.path, [*sources, *settings.files])
        require_no_robot(options.path)
    if options.write_baseline is not None:
        require_output_is_no_input(options.write_baseline, [*sources, *settings.files[:1]])


def _validated(source: str, options: ModelOptions, settings: ValidateSettings) -> ValidatedFile:
    from robolin.cli.output.validate_report import ValidatedFile
    from robolin.description.load import read
    from robolin.description.validate.validate import validate

    counted, ignored = settings.split(source, validate(read(source, options)))
    return ValidatedFile(source, counted, ignored)


def _store(files: list[ValidatedFile], settings: ValidateSettings, path: str) -> None:
    from robolin.checking.validate_settings import baseline_text
    from robolin.io.atomic import atomic_write

    if any(file.counts["error"] for file in files):
        broken = next(file.source for file in files if file.counts["error"])
        hint = "correct the file, or remove it from the command"
        raise UsageError(f"'{broken}' has errors, which cannot be ignored", where=path, hint=hint)
    # keep findings of the previous baseline
    everything = {file.source: [*file.findings, *file.ignored] for file in files}
    with atomic_write(path) as stream:
        stream.write(baseline_text(everything, settings.folder).encode())
