"""Generated docs: findings, commands, public names, output of examples, and pictures.

`python -m tools.pages` writes them; tests fail while a page is out of date.
`python -m tools.pages PAGE …` runs the examples of these pages only, and `none` those of no page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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

Look up the meaning and the usual remedy of each finding that `robolin validate` reports.

```console
$ robolin validate two-link
two-link: no findings
```

Every finding has a stable id, a level, a line number and a hint.

| level | meaning | effect on commands |
| --- | --- | --- |
| error | the file does not describe a valid robot | commands reject the file with exit code 3 |
| warning | a value is implausible, or some commands will fail | only `--strict` rejects the file |
| note | a part of the file is valid, but is often a mistake | commands accept the file |

`robolin validate` reports all problems of a file in one run.
The model assumptions of every result contain the number of warnings.
`robolin validate` exits with code 1 if it reports an error or a warning.
With `--strict`, notes also give exit code 1.
`--ignore ID` ignores all findings with this id.
A project can contain a list of [known findings](../howto/ci.md#robot-files).
`validate` ignores the findings in this list.
"""


def findings_page() -> str:
    """Every finding id with its level, meaning and usual fix."""
    return "\n".join(
        [
            _FINDINGS,
            "## Reading the file",
            "",
            "These findings concern syntax, names, and the connections of joints and links.",
            "",
            *_finding_rows(READING_IDS),
            "",
            "## Physical plausibility",
            "",
            "These findings concern the values of masses, inertias, axes and limits.",
            "",
            *_finding_rows(VALIDATION_IDS),
            "",
        ]
    )


def _finding_rows(ids: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield "| id | level | meaning | remedy |"
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


def main(names: Sequence[str] = ()) -> None:
    for name, text in PAGES.items():
        (DOCS / name).write_text(text(), "utf-8")
    write_pages()
    for page in pages():
        if not names or page.name in [Path(name).name for name in names]:
            refresh_examples(page)


if __name__ == "__main__":
    main(sys.argv[1:])
