"""The pages that are written by the code they describe: findings and commands.

`python -m tests.docs.generate` writes them anew; tests fail while they are not current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click

from robolin.description.reading_ids import READING_IDS
from robolin.description.validation_ids import VALIDATION_IDS
from tests.docs.finding_fixes import FIXES
from tests.docs.pages import DOCS

WIDTH = 100

_FINDINGS = """\
# Findings

What `robolin validate` can say about a robot file, and what usually helps.
Every finding has an id that stays the same from release to release, a level, the line it is about, and a hint.

| level | what it means | what happens |
| --- | --- | --- |
| error | the file does not describe an arm | nothing is computed; exit code 3, all errors of the file together |
| warning | the file loads, but no real arm is like that, or some verb will fail | results are given and their contract counts the warnings; `--strict` refuses the file |
| note | possible and harmless, but often not what was meant | only `validate` tells |

`robolin validate` itself ends with exit code 1 when it found anything.
"""

_COMMANDS = """\
# Commands

Every verb with its help page, as the command prints it.
`robolin VERB --help` shows the same at 100 columns.
What the numbers mean is in [conventions](conventions.md), which algorithm answers which verb in [algorithms](algorithms.md).
"""


def findings_page() -> str:
    """Every finding id with its level, what it means and what usually helps."""
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
        yield f"| `{name}` | {level} | {_cell(meaning)} | {FIXES[name]} |"


def _cell(text: str) -> str:
    """Angle brackets would be taken for markup."""
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")


def commands() -> dict[str, click.Command]:
    """Every verb by name, in the order of the main help page."""
    from robolin.cli.main import main

    context = click.Context(main, info_name="robolin")
    found = ((name, main.get_command(context, name)) for name in main.list_commands(context))
    return {name: command for name, command in found if command is not None}


def help_text(command: click.Command, *names: str) -> str:
    """The help page of a command as it is printed at the width of the docs."""
    parent = None
    for name in names[:-1]:
        parent = click.Context(click.Group(name), info_name=name, parent=parent)
    context = click.Context(
        command,
        info_name=names[-1],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    lines = (line.rstrip() for line in command.get_help(context).splitlines())
    return "\n".join(lines).strip("\n")


def commands_page() -> str:
    """A section for the program and one for every verb."""
    from robolin.cli.main import main

    parts = [_COMMANDS, "## robolin", "", *_fenced(help_text(main, "robolin"))]
    for name, command in commands().items():
        parts += ["", f"## {name}", "", *_fenced(help_text(command, "robolin", name))]
    return "\n".join([*parts, ""])


def _fenced(text: str) -> list[str]:
    return ["```text", text, "```"]


PAGES: Mapping[str, Callable[[], str]] = {
    "findings.md": findings_page,
    "commands.md": commands_page,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
