"""robolin validate: errors, warnings and notes about robot files.

Findings are written as lines, JSON, GitHub annotations, JUnit XML or SARIF.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from robolin import __version__
from robolin.checking.outcome import (
    ANNOTATED_AT_MOST,
    github_command,
    shared_finding,
    xml_attribute,
    xml_lines,
)
from robolin.cli.flags.flag import (
    METHOD,
    OUTPUT,
    RobotFile,
    VerbCommand,
    bundled,
    flag,
    validated_path,
)
from robolin.cli.flags.state_flags import XACRO_FLAGS, sources_with_options
from robolin.cli.report import (
    ALL_FLAG,
    VALIDATE_EXTENSIONS,
    VALIDATE_FORMS,
    Report,
    TextLines,
    render_report,
    report_flags,
)
from robolin.core.records import dataclass
from robolin.core.text import pluralize, printable, printable_json
from robolin.core.text_parsing import parse_names
from robolin.description.model import Finding
from robolin.errors import FOUND_SOMETHING, FileError, UsageError

if TYPE_CHECKING:
    from robolin.checking.validate_settings import ValidateSettings
    from robolin.description.building.keywords import ModelOptions


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
    quiet: bool

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
                hint = "quote the pattern, and check its first folder"
                raise FileError("no file matches this pattern", where=name, hint=hint)
            yield from matches


_FLAGS = [
    RobotFile(["arms"], nargs=-1, required=True, metavar="ARM..."),
    flag("--strict", METHOD, "Also exit with code 1 for notes"),
    flag(
        "--ignore ID",
        METHOD,
        "Ignore findings with these ids; repeatable\nErrors are never ignored.",
        multiple=True,
    ),
    flag(
        "--config FILE",
        METHOD,
        "File with [validate] settings (default: nearest robolin.toml or pyproject.toml)",
    ),
    flag(
        "--write-baseline FILE",
        METHOD,
        "Write all findings to a baseline file and exit with code 0\n"
        "Then set `baseline` in [validate] to this file: later runs ignore the findings in "
        "the baseline.",
    ),
    *XACRO_FLAGS,
    *report_flags("Write to a .txt, .json, .xml (JUnit) or .sarif file", VALIDATE_FORMS),
    ALL_FLAG,
    flag("-q --quiet", OUTPUT, "List errors only"),
]


@click.command("validate", cls=VerbCommand)
@bundled("options", _FLAGS, ValidateOptions)
def command(options: ValidateOptions) -> None:
    """Report errors and suspicious values in robot files.

    Prints every error, warning and note as FILE:LINE: LEVEL ID: MESSAGE, with a hint.
    ARM may be a pattern, such as 'robots/**/*.urdf'.
    Exits with code 1 for errors and warnings; with --strict, also for notes.

    \b
    Examples:
      robolin validate arm.urdf
      robolin validate arm.urdf --strict --format json
      robolin validate 'robots/**/*.urdf' --ignore massless-link
      robolin validate arm.urdf --format github -o found.sarif
    """
    from robolin.cli.report import reports_for

    reports = reports_for(
        options.path, options.form, options.color, VALIDATE_EXTENSIONS, options.everything
    )
    settings = options.settings()
    sources = options.sources()
    _require_kept(options, settings, sources)
    reading = sources_with_options(sources, options.xacro_arg, options.package)
    files = [_validated(*each, settings) for each in reading]
    for report in reports:
        write_validate_report(report, files, options.quiet)
    if options.write_baseline is not None:
        _store(files, settings, validated_path(options.write_baseline))
        return
    counted = ("error", "warning", "note") if options.strict else ("error", "warning")
    if any(file.counts[level] for file in files for level in counted):
        click.get_current_context().exit(FOUND_SOMETHING)


def _require_kept(options: ValidateOptions, settings: ValidateSettings, sources: list[str]) -> None:
    """Reject an output that is an input; only a baseline may be updated."""
    from robolin.cli.report import require_no_robot
    from robolin.io.format_table import require_output_is_no_input

    if options.path is not None:
        require_output_is_no_input(options.path, [*sources, *settings.files])
        require_no_robot(options.path)
    if options.write_baseline is not None:
        require_output_is_no_input(options.write_baseline, [*sources, *settings.files[:1]])


def _validated(source: str, options: ModelOptions, settings: ValidateSettings) -> ValidatedFile:
    from robolin.description.inspection import file_findings
    from robolin.description.load import read

    findings = file_findings(read(source, options), source)
    counted, ignored = settings.split(source, findings)
    return ValidatedFile(source, counted, ignored)


def _store(files: list[ValidatedFile], settings: ValidateSettings, path: str) -> None:
    from robolin.checking.validate_settings import baseline_text
    from robolin.io.atomic import atomic_write

    if any(file.counts["error"] for file in files):
        broken = next(file.source for file in files if file.counts["error"])
        hint = "correct the file, or remove the file from the command"
        raise UsageError(f"'{broken}' has errors, which cannot be ignored", where=path, hint=hint)
    # keep findings of the previous baseline
    everything = {file.source: [*file.findings, *file.ignored] for file in files}
    with atomic_write(path) as stream:
        stream.write(baseline_text(everything, settings.folder).encode())


_LEVELS = ("error", "warning", "note")
# findings of one kind on a terminal, and lines of further ones
_SHOWN, _LINES = 2, 8
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


@dataclass(frozen=True)
class ValidatedFile:
    """A robot file by its given name, and its findings."""

    source: str
    findings: Sequence[Finding]
    ignored: Sequence[Finding] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings of each level that count."""
        levels = Counter(str(finding.level) for finding in self.findings)
        return {level: levels[level] for level in _LEVELS}


def write_validate_report(
    report: Report, files: Sequence[ValidatedFile], errors_only: bool = False
) -> None:
    """Write the findings in the requested format; a table may list errors only."""
    texts = {"junit": junit_findings, "sarif": sarif}
    # these documents leave the machine: remove absolute paths
    if report.form == "github":
        report.write_text(github_findings([_shared(file) for file in files], report.everything))
    elif report.form in texts:
        report.write_text(texts[report.form]([_shared(file) for file in files]))
    else:
        screen = report.shows_screen and not errors_only
        lines = _fitting_lines(files) if screen else [*_lines(files, errors_only)]
        report.write([TextLines(lines)], validate_document(files))


def _shared(file: ValidatedFile) -> ValidatedFile:
    """The file and its findings without absolute paths."""
    findings = map(shared_finding, file.findings)
    ignored = map(shared_finding, file.ignored)
    from robolin.io.locations import shared_name

    return ValidatedFile(shared_name(file.source), [*findings], [*ignored])


def _fitting_lines(files: Sequence[ValidatedFile]) -> list[str]:
    """Fewer findings of each kind, if two of each exceed the screen."""
    width, height = get_terminal_size()
    for shown in range(_SHOWN, 0, -1):
        lines = list(_screen_lines(files, shown))
        if render_report([TextLines(lines)], width, False).count("\n") < height:
            break
    return lines


def _screen_lines(files: Sequence[ValidatedFile], shown: int) -> Iterator[str]:
    """The verdict of each file first, then errors, warnings and notes; equal kinds together."""
    for file in files:
        yield f"{file.source}: {_summary(file)}"
        by_kind: dict[tuple[str, str], list[Finding]] = {}
        for finding in file.findings:
            by_kind.setdefault((finding.level, finding.id), []).append(finding)
        for level in _LEVELS:
            for (its_level, name), findings in by_kind.items():
                if its_level == level:
                    yield from _kind_lines(name, findings, shown)
    if len(files) > 1:
        yield _clean_files(files)


def _kind_lines(name: str, findings: Sequence[Finding], count: int) -> Iterator[str]:
    """The first findings of one kind, and the lines of the others."""
    shown = findings if findings[0].level == "error" else findings[:count]
    for finding in shown:
        yield from _finding_lines(finding)
    if rest := findings[len(shown) :]:
        lines = [str(finding.location.line) for finding in rest if finding.location.line]
        where = f", line{'s' * (len(lines) > 1)} {', '.join(lines[:_LINES])}" if lines else ""
        more = ", …" if len(lines) > _LINES else ""
        yield f"  … {len(rest)} more {name}{where}{more} (--all)"


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.location}: {finding.level} {finding.id}: {finding.message}"
    if finding.hint:
        yield f"    hint: {finding.hint}"


def _clean_files(files: Sequence[ValidatedFile]) -> str:
    clean = sum(not any(file.counts.values()) for file in files)
    return f"{len(files)} files: {clean} without findings"


def _lines(files: Sequence[ValidatedFile], errors_only: bool = False) -> Iterator[str]:
    for file in files:
        for finding in file.findings:
            if finding.level == "error" or not errors_only:
                yield from _finding_lines(finding)
        yield f"{file.source}: {_summary(file)}"
    if len(files) > 1:
        yield _clean_files(files)


def _summary(file: ValidatedFile) -> str:
    counts = [pluralize(n, level) for level, n in file.counts.items() if n]
    counts = counts or ["no findings"]
    return ", ".join([*counts, *([f"{len(file.ignored)} ignored"] if file.ignored else [])])


def validate_document(files: Sequence[ValidatedFile]) -> dict[str, Any]:
    """A document for one file, or a list of several files with total counts."""
    if len(files) == 1:
        return _document(files[0])
    counts: Counter[str] = Counter()
    for file in files:
        counts.update(file.counts)
    totals = {level: counts[level] for level in _LEVELS}
    return {"counts": totals, "files": [_document(file) for file in files]}


def _document(file: ValidatedFile) -> dict[str, Any]:
    ignored = {"ignored": [_plain(finding) for finding in file.ignored]} if file.ignored else {}
    findings = [_plain(finding) for finding in file.findings]
    return {"source": file.source, "counts": file.counts, "findings": findings, **ignored}


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "level": finding.level,
        "file": finding.location.file,
        "line": finding.location.line,
        "column": finding.location.column,
        "message": finding.message,
        "hint": finding.hint,
    }


def github_findings(files: Sequence[ValidatedFile], everything: bool = False) -> str:
    """A workflow command for each of the worst findings, and a line for each file.

    everything: whether all findings of a file are annotated
    """
    lines = []
    for file in files:
        worst = sorted(file.findings, key=lambda finding: _LEVELS.index(finding.level))
        shown = worst if everything else worst[:ANNOTATED_AT_MOST]
        for finding in shown:
            text = f"{finding.message}\nhint: {finding.hint}" if finding.hint else finding.message
            title, location = f"robolin validate: {finding.id}", finding.location
            where = {"line": location.line, "col": location.column}
            level = _GITHUB[finding.level]
            lines.append(github_command(level, text, file=location.file, **where, title=title))
        more = len(worst) - len(shown)
        omitted = f"; {pluralize(more, 'finding')} not annotated (--all)" if more else ""
        lines.append(f"{file.source}: {_summary(file)}{omitted}")
    return "".join(f"{printable(line)}\n" for line in lines)


def junit_findings(files: Sequence[ValidatedFile]) -> str:
    """A JUnit document with one test case per file; notes do not count as failures."""
    failed = [file for file in files if file.counts["error"] or file.counts["warning"]]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="robolin validate" tests="{len(files)}" failures="{len(failed)}" '
        'errors="0">',
    ]
    for file in files:
        head = f'  <testcase name={xml_attribute(file.source)} classname="validate"'
        if file in failed:
            message = xml_attribute(_summary(file))
            lines += [
                f"{head}>",
                f"    <failure message={message}>{xml_lines(_lines([file]))}</failure>",
            ]
            lines.append("  </testcase>")
        else:
            lines.append(f"{head}/>")
    return "".join(f"{line}\n" for line in (*lines, "</testsuite>"))


def sarif(files: Sequence[ValidatedFile]) -> str:
    """A SARIF 2.1.0 log for code scanning services; ignored findings are suppressed."""
    from robolin.checking.validate_settings import KNOWN_IDS

    ids = sorted({finding.id for file in files for finding in (*file.findings, *file.ignored)})
    rules = [
        {
            "id": each,
            "shortDescription": {"text": KNOWN_IDS[each][1]},
            "defaultConfiguration": {"level": KNOWN_IDS[each][0]},
        }
        for each in ids
    ]
    results = [_sarif_result(finding, ids) for file in files for finding in file.findings]
    for finding in (finding for file in files for finding in file.ignored):
        results.append({**_sarif_result(finding, ids), "suppressions": [{"kind": "external"}]})
    driver = {"name": "robolin", "semanticVersion": __version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return printable_json(json.dumps(log, indent=1, ensure_ascii=False)) + "\n"


def _sarif_result(finding: Finding, ids: Sequence[str]) -> dict[str, Any]:
    text = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.location.file)}}
    if finding.location.line:
        region = {"startLine": finding.location.line}
        location["region"] = region | (
            {"startColumn": finding.location.column} if finding.location.column else {}
        )
    return {
        "ruleId": finding.id,
        "ruleIndex": ids.index(finding.id),
        "level": finding.level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }
