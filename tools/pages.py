"""Generated docs: findings, commands, public names, output of examples, and pictures.

`python -m tools.pages` writes them; tests fail while a page is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from robolin.cli.group import group as robolin
from robolin.description.finding_ids import READING_IDS, VALIDATION_IDS
from tools.command_pages import write_pages
from tools.console_blocks import ANYTHING, environment, printed
from tools.console_blocks import commands as console_commands
from tools.finding_fixes import FIXES
from tools.markdown import DOCS, cell, examples, given_files, pages
from tools.package_table import architecture_page
from tools.page_pictures import keep_pictures
from tools.reference import reference_page

WIDTH = 80

_FINDINGS = """\
# Findings

What `robolin validate` can say about a robot file, and what usually helps.
Every finding has an id that never changes, a level, the line it is about, and a hint.

| level | what it means | what happens |
| --- | --- | --- |
| error | the file does not describe an arm | every verb refuses it, with exit code 3 |
| warning | no real arm is like that, or a verb will fail | it loads, unless with `--strict` |
| note | harmless, but often not what was meant | it loads |

All problems of a file are reported at once.
The contract of every result counts the warnings.
`robolin validate` ends with exit code 1 when it found an error or a warning.
With `--strict` a note is enough.
`--ignore ID` leaves some out.
A project can also keep a list of [known ones](../howto/ci.md#robot-files).
"""


def findings_page() -> str:
    """Every finding id with its level, meaning and usual fix."""
    return "\n".join(
        [
            _FINDINGS,
            "## Found while reading",
            "",
            "These concern the text: its syntax, its names and how its parts are connected.",
            "",
            *_finding_rows(READING_IDS),
            "",
            "## Found in the physics",
            "",
            "These concern the numbers, in files that can be read.",
            "",
            *_finding_rows(VALIDATION_IDS),
            "",
        ]
    )


def _finding_rows(ids: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield "| id | level | what it means | what usually helps |"
    yield "| --- | --- | --- | --- |"
    for name, (level, meaning) in sorted(ids.items()):
        yield f"| `{name}` | {level} | {cell(meaning)} | {FIXES[name]} |"


def help_text(*words: str) -> str:
    """Help text of `robolin WORDS --help`."""
    variables = {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    printed = CliRunner().invoke(robolin, [*words, "--help"], prog_name="robolin", env=variables)
    assert printed.exit_code == 0, printed.output
    return "\n".join(line.rstrip() for line in printed.output.strip("\n").splitlines())


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/findings.md": findings_page,
    "dev/architecture.md": architecture_page,
    "reference/api.md": reference_page,
}


def refresh_examples(page: Path) -> None:
    """Update the output of the commands of a page; outputs with `...` are unchanged."""
    text = page.read_text("utf-8")
    with TemporaryDirectory() as home:
        variables = environment(Path(home))
        for block in examples(page, "console"):
            with TemporaryDirectory() as folder:
                for name, content in given_files(page).items():
                    (Path(folder) / name).write_text(content, "utf-8")
                fresh = "".join(_rerun(block.text, Path(folder), variables))
                keep_pictures(page, Path(folder))
            text = text.replace(f"```console\n{block.text}```", f"```console\n{fresh}```")
    if text != page.read_text("utf-8"):
        page.write_text(text, "utf-8")


def _rerun(text: str, folder: Path, variables: dict[str, str]) -> Iterator[str]:
    for command, shown in console_commands(text):
        lines = printed(command, folder, variables)
        kept = shown if ANYTHING in shown else lines
        yield "\n".join([f"$ {command}", *kept]) + "\n"


def main() -> None:
    for name, text in PAGES.items():
        (DOCS / name).write_text(text(), "utf-8")
    write_pages()
    for page in pages():
        refresh_examples(page)


if __name__ == "__main__":
    main()
