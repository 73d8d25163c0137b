"""Reference pages of commands, generated from click: one page each, shared options once.

Options of the topics of `robolin help` are on the page of their topic; the page of a command lists
its own options and names the shared ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from inspect import cleandoc

import click

from robolin.cli.commands.help_verbs import TOPIC_TEXTS, topic_options
from robolin.cli.group import group as robolin
from robolin.queries.verbs import VERBS
from tools.markdown import DOCS, ROOT, cell

FOLDER = "reference/commands"
OPTIONS = "reference/options"
_NAV = re.compile(r"(?<=    # commands\n).*?(?=    # /commands\n)", re.DOTALL)


def commands() -> dict[str, click.Command]:
    """Every command by name, in the order of the table of commands."""
    context = click.Context(robolin, info_name="robolin")
    pairs = ((name, robolin.get_command(context, name)) for name in VERBS)
    return {name: command for name, command in pairs if command is not None}


def pages() -> dict[str, str]:
    """Path below docs/ -> text, for the list, every command and every topic."""
    shared = _shared_options()
    texts = {"reference/commands.md": _list_of_commands()}
    texts |= {f"{FOLDER}/{name}.md": _command_page(name, shared) for name in commands()}
    return texts | {f"{OPTIONS}/{topic}.md": _topic_page(topic) for topic in TOPIC_TEXTS}


def write_pages() -> None:
    """Write the pages and their navigation; remove pages of commands that are gone."""
    for folder in (FOLDER, OPTIONS):
        (DOCS / folder).mkdir(exist_ok=True)
        for old in (DOCS / folder).glob("*.md"):
            old.unlink()
    for path, text in pages().items():
        (DOCS / path).write_text(text, "utf-8")
    (ROOT / "zensical.toml").write_text(site_settings(), "utf-8")


def site_settings() -> str:
    """zensical.toml with the pages of commands and options in its navigation."""
    entries = [f'    {{ "Options: {topic}" = "{OPTIONS}/{topic}.md" }},\n' for topic in TOPIC_TEXTS]
    entries += [f'    {{ "{_title(name)}" = "{FOLDER}/{name}.md" }},\n' for name in commands()]
    return _NAV.sub("".join(entries), (ROOT / "zensical.toml").read_text("utf-8"))


def _title(name: str) -> str:
    """The words that run a command, such as `batch plan`."""
    return getattr(VERBS[name], "path", "") or name


def _visible(command: click.Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def _shared_options() -> dict[tuple[str, str], str]:
    """Topic of every shared option, by long name and help text."""
    return {
        _key(option): topic
        for topic in TOPIC_TEXTS
        for option in topic_options(topic)
        if isinstance(option, click.Option)
    }


def _key(option: click.Option) -> tuple[str, str]:
    return max(option.opts, key=len), option.help or ""


def _list_of_commands() -> str:
    lines = [
        "# Commands",
        "",
        "Find the command for a task. Each command has a page with formulas, examples and options.",
        "`robolin COMMAND --help` prints the page of a command, with shorter texts.",
        "",
        "| command | result |",
        "| --- | --- |",
    ]
    for name, verb in VERBS.items():
        lines.append(f"| [`{_title(name)}`](commands/{name}.md) | {cell(verb.summary)} |")
    lines += ["", "Options that many commands share:", ""]
    lines += [f"- [{topic}](options/{topic}.md)" for topic in TOPIC_TEXTS]
    lines += [
        "",
        "The page [Conventions](conventions.md) defines units, frames and signs.",
        "The page [Algorithms](algorithms.md) lists the algorithm of each command.",
    ]
    return "\n".join([*lines, ""])


def _command_page(name: str, shared: Mapping[tuple[str, str], str]) -> str:
    command = commands()[name]
    options = _visible(command)
    summary, text = _description(command)
    lines = [f"# {_title(name)}", "", summary, "", "```text", _usage(name, command)]
    lines += ["", text] if text else []
    lines += ["```"]
    own = [option for option in options if _key(option) not in shared]
    if own:
        lines += ["", "## Options", "", *_rows(own)]
    others: dict[str, list[str]] = {}
    for option in options:
        if _key(option) in shared:
            others.setdefault(shared[_key(option)], []).append(f"`{_key(option)[0]}`")
    if others:
        lines += ["", "## Shared options", ""]
        lines += [
            f"- [{topic}](../options/{topic}.md): {', '.join(others[topic])}"
            for topic in TOPIC_TEXTS
            if topic in others
        ]
    return "\n".join([*lines, ""])


def _topic_page(topic: str) -> str:
    options = [option for option in topic_options(topic) if isinstance(option, click.Option)]
    text = re.sub(r"(?<=[.]) (?=[A-Z])", "\n", TOPIC_TEXTS[topic])
    lines = [
        f"# Options: {topic}",
        "",
        f"These are the options that `robolin help {topic}` prints.",
    ]
    return "\n".join([*lines, text, "", *_rows(options), ""])


def _description(command: click.Command) -> tuple[str, str]:
    """First paragraph of the help text, and the rest as it is printed."""
    text = re.sub(r"^[ \t]*\x08[ \t]*\n", "", cleandoc(command.help or ""), flags=re.MULTILINE)
    first, _, rest = text.strip().partition("\n\n")
    return " ".join(first.split()), rest.strip("\n")


def _usage(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"robolin {_title(name)}")
    return command.get_usage(context)


def _rows(options: list[click.Option]) -> Iterator[str]:
    yield "| option | meaning |"
    yield "| --- | --- |"
    for option in options:
        record = option.get_help_record(click.Context(robolin))
        names = record[0] if record else max(option.opts, key=len)
        yield f"| {_code(names)} | {cell(_meaning(option))} |"


def _code(text: str) -> str:
    """Code in a table cell; a bar would end the cell."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _meaning(option: click.Option) -> str:
    """Help text in one line, with the default."""
    first, _, rest = (option.help or "").partition("\n")
    text = f"{first}. {rest}" if rest else first
    default = option.show_default if isinstance(option.show_default, str) else option.default
    remark = f" (default {default})" if option.show_default and default is not None else ""
    return f"{' '.join(text.split())}{remark}"
