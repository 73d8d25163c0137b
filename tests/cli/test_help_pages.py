"""Help pages of all verbs."""

from __future__ import annotations

import json
import re

import click
import pytest

from robolin import __version__
from robolin.cli.group import FOREIGN_OPTIONS, LIKELY_COMMANDS, SYNONYMS, group
from robolin.queries.option_specs import MODEL_OPTIONS
from robolin.queries.verbs import TOPICS, VERBS
from tests.cases import for_each
from tests.cli.command import robolin, run_ok

SUMMARIES = {name: verb.summary for name, verb in VERBS.items()}
# words on the command line, by the name of the command
WORDS = {name: (verb.path or name).split() for name, verb in VERBS.items()}
CONTEXT = click.Context(group)
LONGEST, WIDEST = 40, 80


def command(verb: str) -> click.Command:
    selected = group.get_command(CONTEXT, verb)
    assert selected is not None
    return selected


def options(verb: str) -> list[click.Option]:
    return [param for param in command(verb).params if isinstance(param, click.Option)]


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("verb", SUMMARIES)
def test_help_of_every_verb_has_summary_usage_and_example(verb: str) -> None:
    """The page has the usage, the purpose and a command to copy, and fits a screen."""
    page = run_ok(*WORDS[verb], "--help").out
    words = " ".join(WORDS[verb])

    assert page.startswith(f"Usage: robolin {words} ")
    assert f"\n\n  {SUMMARIES[verb]}\n" in page
    assert re.search(rf"Examples:\n(    .*\n)*    (eval \S*)?robolin {words}", page)
    assert len(page.splitlines()) <= LONGEST
    assert max(map(len, page.splitlines())) <= WIDEST


@for_each("verb", SUMMARIES)
def test_the_list_of_verbs_has_the_summary_of_each_page(verb: str) -> None:
    """The summary in `robolin --help` is the first sentence of the verb's own help."""
    assert (command(verb).help or "").splitlines()[0] == SUMMARIES[verb]


def test_the_group_lists_every_verb() -> None:
    """`robolin --help` and `robolin -h` list the commands with their summaries on one screen."""
    page = run_ok("--help").out

    for verb in VERBS.values():
        assert bool(re.search(rf"^  {verb.name} ", page, re.MULTILINE)) is bool(verb.section)
        assert verb.summary in page or not verb.section
    assert run_ok("-h").out == page == run_ok("help").out
    assert len(page.splitlines()) <= LONGEST
    assert max(map(len, page.splitlines())) <= WIDEST


@pytest.mark.parametrize("verb", SUMMARIES)
def test_every_option_is_on_the_complete_page(verb: str) -> None:
    """--help-all lists every option; the short page has at most fourteen of them."""
    page = run_ok(*WORDS[verb], "--help-all").out
    short = run_ok(*WORDS[verb], "--help").out

    for option in options(verb):
        assert re.search(rf"^  (-\w, )?{max(option.opts, key=len)}\b", page, re.MULTILINE)
    assert len(re.findall(r"^  (-\w, )?--[a-z]", short, re.MULTILINE)) <= 14


def test_topics_list_the_shared_options() -> None:
    """Every topic has a page, and the options of a model are on one of them."""
    pages = {topic: run_ok("help", topic).out for topic in TOPICS}

    assert all(f"\n  --{name}" in pages["model"] for name in MODEL_OPTIONS)
    for topic, name in (
        ("input", "--trajectory"),
        ("output", "-o, --output"),
        ("loops", "--close"),
        ("batch", "--shard"),
    ):
        assert f"\n  {name}" in pages[topic]
    assert run_ok("help", "lqr").out == run_ok("lqr", "--help").out
    assert robolin("help", "simulat").err.endswith("hint: did you mean 'simulate'?\n")


# command -> a command line whose arrays are all in its section "Returns"
RETURNED = {
    **dict.fromkeys(("inverse", "forward", "linearize-inverse", "linearize-forward"), ""),
    **dict.fromkeys(("jacobian", "momentum", "diagonalize", "regressor"), ""),
    "mass-matrix": "--inverse --factor --derivative --coriolis",
    **dict.fromkeys(("state-space", "poles", "lqr"), ""),
    "response": "--duration 0.1 --rows 3",
    "simulate": "--duration 0.01",
    "optimize": "--goal 0.2,0.1 --duration 0.5 --dt 0.1",
    "ik": "--goal tip=1,1,0,0,0,90deg",
    "excite": "--max-velocity 2,3 --max-acceleration 5,9 --duration 1 --iterations 2",
}


@pytest.mark.parametrize("verb", RETURNED)
def test_help_lists_the_arrays_of_the_result(verb: str) -> None:
    """The section "Returns" has the name of every array that the command returns."""
    ran = run_ok(verb, "two-link", *RETURNED[verb].split(), "--format", "json")
    returns = run_ok(verb, "--help").out.partition("Returns:")[2].partition("\n\n")[0]
    arrays = set(json.loads(ran.out)["meta"]["arrays"])

    assert arrays - set(re.findall(r"\w+", returns)) == set()


def test_every_flag_is_explained() -> None:
    """Every option of a help page has a description."""
    for verb in SUMMARIES:
        for option in options(verb):
            assert option.help, f"{verb} {option.opts}"
            first = option.help.splitlines()[0]
            assert first[0].isupper() or option.name == "form", f"{verb} {option.opts}"
            assert not first.endswith("."), f"{verb} {option.opts}"


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
    assert all(run_ok(*words, "--help-all").out.isascii() for words in WORDS.values())


def test_version() -> None:
    """The version is one line."""
    assert run_ok("--version").out == f"robolin {__version__}\n"


def test_no_arguments_show_the_help_on_stderr() -> None:
    """`robolin` alone is wrong usage and prints the help page."""
    ran = robolin()

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == run_ok("--help").out


@pytest.mark.parametrize(
    "typed, hint",
    [
        ("inverze", "did you mean 'inverse'?"),
        ("mass_matrix", "did you mean 'mass-matrix'?"),
        ("linearise-forward", "did you mean 'linearize-forward'?"),
        ("inv", "did you mean 'inverse'?"),
        ("fk", "use `robolin jacobian ARM --only position --only rotation`"),
        ("pose", "use `robolin jacobian ARM --only position --only rotation`"),
        ("bode", "use `robolin response ARM --frequencies 0.1:100:200`"),
        ("qwertz", "run `robolin --help` for the list of commands"),
    ],
)
def test_an_unknown_command_has_a_hint(typed: str, hint: str) -> None:
    """The hint names a similar command, or the command with this meaning."""
    ran = robolin(typed, "panda")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: robolin: unknown command '{typed}'\nhint: {hint}\n"


@pytest.mark.parametrize(
    "words, hint",
    [
        (
            "inverse two-link --tau 1,1",
            "use `robolin forward`, which computes accelerations from --tau",
        ),
        (
            "inverse two-link --torques 1,1",
            "use `robolin forward`, which computes accelerations from --tau",
        ),
        (
            "forward two-link --qdd 1,1",
            "use `robolin inverse`, which computes torques from --qdd",
        ),
        (
            "simulate four-bar --duration 0.01 --rtol 1e-6",
            "add --baumgarte 10,10 (baumgarte=(10, 10)), or remove --rtol (rtol)",
        ),
    ],
)
def test_a_hint_names_the_command_or_option_that_fits(words: str, hint: str) -> None:
    """The hint is about the concept, not about the spelling."""
    ran = robolin(*words.split())
    assert ran.code in (2, 3)
    assert ran.err.endswith(f"hint: {hint}\n")


def test_hints_name_commands_and_options_that_exist() -> None:
    """Every command and option in the hints for names of other programs exists."""
    for hint in LIKELY_COMMANDS.values():
        used = re.findall(r"`(?:robolin )?([a-z-]+)([^`]*)`", hint)
        assert used, hint
        for verb, rest in used:
            known = {name for option in options(verb) for name in option.opts}
            assert set(re.findall(r"--[a-z-]+", rest)) <= known, hint
    known = {name for verb in VERBS for option in options(verb) for name in option.opts}
    assert {f"--{name}" for names in FOREIGN_OPTIONS.values() for name in names} <= known


def test_synonyms_run_the_command() -> None:
    """A name that other programs use for a command runs it, also inside `sweep`."""
    assert set(SYNONYMS.values()) <= set(VERBS)
    assert not set(SYNONYMS) & set(VERBS)
    assert run_ok("rnea", "two-link").out == run_ok("inverse", "two-link").out
    swept = ("two-link", "--payload", "lower:0,1")
    assert run_ok("sweep", "id", *swept).out == run_ok("sweep", "inverse", *swept).out


@pytest.mark.parametrize("verb", [name for name, words in WORDS.items() if len(words) > 1])
def test_the_old_names_of_nested_commands_still_work(verb: str) -> None:
    """`robolin plan` is `robolin batch plan`, and so on."""
    assert run_ok(verb, "--help").out == run_ok(*WORDS[verb], "--help").out
