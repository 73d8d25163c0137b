"""Run every example of README and docs and compare its output.

console blocks: each line that starts with `$ ` is a command, and the lines up to the next one are
its output, errors included.  On the first page it is given to a shell in which `robolin` is the
real entry point; elsewhere a plain `robolin …` is run in this process, which need not start one.
A line `...` stands for any number of lines.  Files below `<!-- given: NAME -->` are there.

python blocks: with `>>>` they are doctests, without they are run; a page shares its names.

Blocks below a comment such as `<!-- command: main -->` install things and are left to CI.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from robolin.cli.main import main
from tests.cases import for_each
from tools.console_blocks import commands, environment, matches, printed, trimmed
from tools.markdown import Block, blocks, examples, given_files, pages
from tools.page_pictures import PICTURES, drawn_in, pictures_of, words_of

# its blocks are run by tests of PyTorch and JAX, which check what they learn
LEARNING = "learning.md"
# pages whose examples are run even when little time is to be spent
QUICK = {"README.md", "conventions.md", "notation.md"}
BY_A_SHELL = {"README.md"}
# characters with a meaning for the shell
SHELL = re.compile(r"[|&;<>()$`*?\[\]#~!{}]")
# made by the README's command, by benchmarks and by a browser: see CONTRIBUTING.md
DRAWN_BY_TOOLS = {"linearize-forward.svg", "performance.svg", "report.png"}
# js: tests/codegen/test_wasm.py runs the blocks of its page in node
LANGUAGES = {"", "console", "js", "json", "python", "sh", "text", "toml", "xml", "yaml"}


def plain_words(command: str) -> list[str]:
    """Arguments after `robolin` of a command that needs no shell; empty if it needs one."""
    name, *words = shlex.split(command.replace("\\\n", " "))
    return words if name == "robolin" and not SHELL.search(command) else []


def printed_here(
    words: list[str], folder: Path, variables: dict[str, str], patch: pytest.MonkeyPatch
) -> list[str]:
    """The lines that a command prints, errors among them, run in `folder` by this process."""
    both = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with patch.context() as here:
        here.chdir(folder)
        for name, value in variables.items():
            here.setenv(name, value)
        here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        here.setattr(sys, "stdout", both)
        here.setattr(sys, "stderr", both)
        main(words)
    assert isinstance(both.buffer, io.BytesIO)
    return trimmed(both.buffer.getvalue().decode().splitlines())


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("bin"))


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, marks=() if page.name in QUICK else pytest.mark.slow)
        for page in pages()
        for block in examples(page, "console")
    ],
    ids=str,
)
def test_commands_print_what_is_shown(
    block: Block, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command in a console block prints what is below it, and draws what the page shows."""
    for name, content in given_files(block.page).items():
        (tmp_path / name).write_text(content, "utf-8")
    for command, shown in commands(block.text):
        words = [] if block.page.name in BY_A_SHELL else plain_words(command)
        if words:
            lines = printed_here(words, tmp_path, variables, monkeypatch)
        else:
            lines = printed(command, tmp_path, variables)
        assert matches(shown, lines), "\n".join(
            [f"{block}: {command}", "--- shown", *shown, "--- printed", *lines]
        )
    for name, drawn in drawn_in(block.page, tmp_path).items():
        assert words_of(drawn) == words_of(PICTURES / name), f"{block}: {name} is not current"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.name in QUICK else pytest.mark.slow)
        for page in pages()
        if page.name != LEARNING and examples(page, "python")
    ],
    ids=lambda page: page.name,
)
def test_python_examples_run(
    page: Path, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every Python block runs, and what it prints is what is shown."""
    monkeypatch.chdir(tmp_path)
    for name in ("PATH", "PYTHONPATH", "ROBOLIN_CACHE"):
        monkeypatch.setenv(name, variables[name])
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in examples(page, "python"):
        if ">>>" in block.text:
            _run_doctest(block, names)
        else:
            exec(compile(block.text, str(block), "exec"), names)


def test_every_picture_is_shown_and_made() -> None:
    """Pages show all pictures there are, and each is drawn by a command of its page or a tool."""
    shown = {name: page for page in pages() for name in pictures_of(page)}
    assert set(shown) == {file.name for file in PICTURES.iterdir()}
    for name, page in shown.items():
        drawn = any(f"-o {name}" in block.text for block in examples(page, "console"))
        assert drawn or name in DRAWN_BY_TOOLS


@for_each("page", pages())
def test_blocks_have_a_known_language(page: Path) -> None:
    """Every block has a language that the tests run."""
    unknown = [f"{b}: {b.language!r}" for b in blocks(page) if b.language not in LANGUAGES]
    unrun = [str(b) for b in blocks(page) if b.language != "console" and "$ robolin" in b.text]
    assert not unknown
    assert not unrun


def _run_doctest(block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.text, names, str(block), str(block.page), block.line
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    output: list[str] = []
    runner.run(test, out=output.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.summarize(verbose=False).failed, "".join(output)
