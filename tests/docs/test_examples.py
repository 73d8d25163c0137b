"""What README and docs show is what happens: every example is run and its output compared.

```console blocks: each line that starts with `$ ` is a command, given to a shell in which
`robolin` is the real entry point, and the lines up to the next command are its output, errors
included.  A line `...` stands for any number of lines.
```python blocks: with `>>>` they are doctests, without they are run; a page shares its names.

Blocks below a comment such as `<!-- command: main -->` install things and are left to CI.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages

LANGUAGES = {"", "console", "json", "python", "sh", "text", "toml", "urdf", "xml", "yaml"}
ANYTHING = "..."


def _tested(language: str) -> list[Block]:
    found = (block for page in pages() for block in blocks(page) if block.language == language)
    return [block for block in found if not block.mark.startswith("command:")]


def _python_pages() -> list[list[Block]]:
    found = _tested("python")
    return [own for page in pages() if (own := [block for block in found if block.page == page])]


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose `robolin` runs this source tree: no colour, 100 columns, no terminal."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "robolin"
    start = "import sys; sys.argv[0] = 'robolin'; from robolin.cli.main import run; sys.exit(run())"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{start}" "$@"\n')
    script.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return kept | {
        "PATH": f"{folder}:{os.defpath}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
    }


@pytest.mark.parametrize("block", _tested("console"), ids=str)
def test_commands_print_what_is_shown(block: Block, shell: dict[str, str], tmp_path: Path) -> None:
    """Every command in a console block prints exactly the lines below it."""
    for command, shown in _commands(block.text):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        assert _matches(shown, printed), (
            f"{block}: {command}\n--- shown\n" + "\n".join(shown) + "\n--- printed\n" + done.stdout
        )


@pytest.mark.parametrize("page", _python_pages(), ids=lambda page: page[0].page.name)
def test_python_examples_run(
    page: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every Python block runs, and what it prints is what is shown."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in page:
        if ">>>" in block.text:
            _run_doctest(block, names)
        else:
            exec(compile(block.text, str(block), "exec"), names)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_blocks_say_what_they_are(page: Path) -> None:
    """No example escapes the tests by a language that nobody runs."""
    unknown = [f"{b}: {b.language!r}" for b in blocks(page) if b.language not in LANGUAGES]
    unrun = [str(b) for b in blocks(page) if b.language != "console" and "$ robolin" in b.text]
    assert not unknown
    assert not unrun


def _run_doctest(block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.text, names, str(block), str(block.page), block.line
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.summarize(verbose=False).failed, "".join(said)


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Commands with the output shown below each; a trailing backslash continues a command."""
    found: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"a console block starts with a command, not with {line!r}"
            found[-1][1].append(line.rstrip())
    for command, shown in found:
        while shown and not shown[-1]:
            shown.pop()
        yield command, shown


def _matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines agree, `...` standing for any; blank lines at the end do not count."""
    while printed and not printed[-1]:
        printed = printed[:-1]
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == ANYTHING else re.escape(line) + r"\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None
