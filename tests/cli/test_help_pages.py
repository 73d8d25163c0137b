"""Help pages of all verbs."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from robolin.cli.group import group
from robolin.queries.option_specs import MODEL_OPTIONS
from robolin.queries.verbs import VERBS
from robolin.version import __version__
from tests.cases import for_each
from tests.cli.command import robolin, run_ok

SUMMARIES = {name: verb.summary for name, verb in VERBS.items()}
CONTEXT = click.Context(group)


def command(verb: str) -> click.Command:
    found = group.get_command(CONTEXT, verb)
    assert found is not None
    return found


@pytest.mark.parametrize("verb", SUMMARIES)
def test_help_of_every_verb_has_summary_usage_and_example(verb: str) -> None:
    """The page has the usage, the purpose and a command to copy."""
    page = run_ok(verb, "--help").out

    assert page.startswith(f"Usage: robolin {verb} ")
    assert re.search(r"\n\n  [A-Z].*\.\n", page)
    assert re.search(rf"Examples?:\n    robolin {verb}", page)


@for_each("verb", SUMMARIES)
def test_the_list_of_verbs_has_the_summary_of_each_page(verb: str) -> None:
    """The summary in `robolin --help` is the first sentence of the verb's own help."""
    assert (command(verb).help or "").splitlines()[0] == SUMMARIES[verb]


def test_the_group_lists_every_verb() -> None:
    """`robolin --help` and `robolin -h` show all verbs with their summaries."""
    page = run_ok("--help").out

    for verb, summary in SUMMARIES.items():
        assert f"  {verb} " in page
        assert summary.split()[0] in page
    assert run_ok("-h").out == page


def test_every_flag_is_explained() -> None:
    """Every option of a help page has a description."""
    for verb in SUMMARIES:
        for param in command(verb).params:
            if isinstance(param, click.Option):
                assert param.help, f"{verb} {param.opts}"


def test_the_same_flag_means_the_same_everywhere() -> None:
    """A model flag has one help text in all verbs."""
    explained: dict[str, set[str]] = {}
    for verb in SUMMARIES:
        for param in command(verb).params:
            if getattr(param, "section", "") == "Model":
                explained.setdefault(param.opts[0], set()).add(getattr(param, "help", ""))

    assert set(explained) == {f"--{name}" for name in MODEL_OPTIONS}
    assert all(len(texts) == 1 for texts in explained.values())


def test_help_is_plain_ascii() -> None:
    """A help page can be shown by any terminal."""
    assert all(run_ok(verb, "--help").out.isascii() for verb in SUMMARIES)


@pytest.mark.slow
@pytest.mark.parametrize("verb", SUMMARIES)
def test_examples_on_bundled_arms_run(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example that names a bundled arm and no file of results works as printed."""
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^    robolin (.*)$", run_ok(verb, "--help").out, re.MULTILINE):
        words = line.partition(" > ")[0].split()
        # what is checked has to be stored first: tests/docs runs docs/howto/ci.md
        stored = words[0] in ("check", "record")
        # tests/cli/test_bench_verb.py measures fewer rows, tests of parts have a folder of them
        stored |= words[0] in ("bench", "status", "merge")
        # docs/explain/verify.md has an arm verified in as many states as it is by default
        words += ["--samples", "1"] if words[0] == "verify" else []
        if not stored and "arm.urdf" not in words and "-o" not in words:
            run_ok(*words)


def test_version() -> None:
    """The version is one line."""
    assert run_ok("--version").out == f"robolin {__version__}\n"


def test_no_arguments_show_the_help_on_stderr() -> None:
    """`robolin` alone is wrong usage and prints the help page."""
    ran = robolin()

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == run_ok("--help").out


@pytest.mark.parametrize(
    "typed, meant",
    [
        ("inverze", "inverse"),
        ("mass_matrix", "mass-matrix"),
        ("linearise-forward", "linearize-forward"),
        ("linearise", "linearize-inverse' or 'linearize-forward"),
        ("inv", "inverse"),
    ],
)
def test_a_mistyped_verb_is_recognized(typed: str, meant: str) -> None:
    """The error for an unknown verb suggests the most similar one."""
    ran = robolin(typed, "panda")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: robolin: there is no verb '{typed}'\nhint: did you mean")
    assert ran.err.endswith(f"'{meant}'?\n")
