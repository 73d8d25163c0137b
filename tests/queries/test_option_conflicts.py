"""Every declared conflict of options is an error, both on the command line and in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click
import numpy as np
import pytest

import robolin as library
from robolin.cli.flags.flag import Flag, VerbCommand
from robolin.cli.group import group
from robolin.queries.option_specs import (
    EXCLUDES,
    MODIFIES,
    NO_CONDITIONS,
    REQUIRES,
    STATES_OPTION,
    TRAJECTORY,
    OptionSpec,
    check_conflicts,
    conflict,
)
from robolin.queries.verbs import VERBS
from tests.cases import in_groups
from tests.cli.command import robolin

VALUES: Mapping[str, Any] = {"columns": "position={joint}", "rows": "0:1", "trajectory": "a.csv"}


class Case(NamedTuple):
    """Options with one conflict, and the error that it must give."""

    verb: str
    options: Mapping[str, Any]
    label: str
    kind: str
    other: str

    @property
    def id(self) -> str:
        return f"{self.verb} --{self.label} {self.kind} {self.other}"

    def is_in(self, text: str) -> bool:
        other = "" if self.other == STATES_OPTION else self.other.partition("=")[0]
        label = self.label if self.label in self.options else f"{self.label} "
        return f"--{label}".strip() in text and f": {self.kind} " in text and other in text


def value_of(spec: Any, label: str) -> Any:
    if label == STATES_OPTION:
        return np.zeros((3, 2))
    if isinstance(spec, Flag):
        if isinstance(spec.type, click.Choice) and label != "format":
            return spec.type.choices[0]
        return True if spec.is_flag else "json" if label == "format" else "1"
    values = {"switch": True, "count": 2, "choice": spec.choices[:1] and spec.choices[0]}
    default = values.get(spec.kind, "0,0")
    if label == "rows" and spec.kind == "count":
        return 2
    return VALUES.get(label, default)


def with_term(specs: Mapping[str, Any], options: dict[str, Any], term: str) -> dict[str, Any]:
    """Add what makes a term true."""
    label, equals, values = term.partition("=")
    if term.startswith("!"):
        return options
    spec = specs.get(label, OptionSpec())
    return {**options, label: values.split("|")[0] if equals else value_of(spec, label)}


def conditions(spec: Any) -> Iterator[tuple[str, str]]:
    for kind, mapping in (
        (REQUIRES, spec.requires),
        (MODIFIES, spec.modifies),
        (EXCLUDES, spec.excludes),
    ):
        for condition in mapping:
            yield kind, condition


def completed(
    specs: Mapping[str, Any], options: dict[str, Any], skipped: tuple[str, str]
) -> dict[str, Any]:
    """Add the options that the others require, except for one condition."""
    for label in [*options]:
        for kind, condition in conditions(specs.get(label, OptionSpec())):
            terms, _, _ = condition.partition(" if ")
            if kind == EXCLUDES or (label, condition) == skipped:
                continue
            alone = {label: OptionSpec(requires={condition: ""})}
            try:
                check_conflicts(alone, options)
            except library.UsageError:
                return completed(specs, with_term(specs, options, terms.split()[0]), skipped)
    return options


def cases_of(verb: str, specs: Mapping[str, Any]) -> Iterator[Case]:
    for label, spec in specs.items():
        for kind, condition in conditions(spec):
            terms, _, limits = condition.partition(" if ")
            options = {label: value_of(spec, label)}
            for limit in limits.split():
                options = with_term(specs, options, limit)
            if kind != EXCLUDES:
                options = completed(specs, options, (label, condition))
                yield Case(verb, options, label, kind, terms.split()[0])
                continue
            for term in terms.split():
                known = term.partition("=")[0] in {*specs, STATES_OPTION}
                if known and term.partition("=")[0] != label:
                    both = with_term(specs, options, term)
                    # an exclusion is reported before a missing option, except by `States`
                    if not TRAJECTORY.keys().isdisjoint(both):
                        both = completed(specs, both, ("", ""))
                    yield Case(verb, both, label, kind, term)


def declared() -> list[Case]:
    """All conflicts of the table of commands, the same one once."""
    cases: dict[tuple[Any, ...], Case] = {}
    for verb in VERBS.values():
        if verb.answers:
            for case in cases_of(verb.name, verb.options):
                cases.setdefault((case.label, case.kind, case.other, str(case.options)), case)
    return [*cases.values()]


DECLARED = declared()


def in_python(case: Case) -> None:
    verb = VERBS[case.verb]
    asks = {k.replace("-", "_"): v for k, v in case.options.items() if k in verb.own_options}
    for label, spec in verb.own_options.items():
        if spec.required:
            asks.setdefault(label, "1")
    options = {k.replace("-", "_"): v for k, v in case.options.items() if k not in verb.own_options}
    if STATES_OPTION in options:
        options["q"] = options.pop(STATES_OPTION)
    if "trajectory" in verb.states_from and verb.states_from["trajectory"].required:
        options.setdefault("trajectory", "a.csv")
    states = library.States(**options)
    library.answer(library.load("two-link"), library.Question(case.verb, **asks), states)


def test_the_table_declares_conflicts_of_every_kind() -> None:
    """The cases below cover every kind of conflict, and most commands."""
    assert {case.kind for case in DECLARED} == {REQUIRES, MODIFIES, EXCLUDES}
    assert len(DECLARED) > 80


@in_groups("case", DECLARED)
def test_declared_conflicts_are_errors_in_python(case: Case) -> None:
    """A conflict raises a UsageError that names both options."""
    with pytest.raises(library.UsageError) as caught:
        in_python(case)
    assert case.is_in(str(caught.value)), str(caught.value)
    assert caught.value.hint


ON_COMMAND_LINE = [case for case in DECLARED if STATES_OPTION not in case.options]


@in_groups("case", ON_COMMAND_LINE)
def test_declared_conflicts_are_errors_on_the_command_line(case: Case) -> None:
    """The same conflict ends a command with exit code 2 and the same message."""
    words = [f"--{k}" if v is True else f"--{k}={v}" for k, v in case.options.items()]
    verb = VERBS[case.verb]
    required = [k for k, v in (verb.own_options | verb.states_from).items() if v.required]
    words += [f"--{label}=1" for label in required if label not in case.options]
    ran = robolin(case.verb, "two-link", *words)
    assert (ran.code, ran.out) == (2, "")
    assert case.is_in(ran.err), ran.err
    assert "\nhint: " in ran.err


def flag_cases() -> Iterator[Case]:
    """Conflicts that flags declare, the same flag in one command only."""
    seen: set[int] = set()
    for name in VERBS:
        command = group.get_command(click.Context(group), name)
        assert isinstance(command, VerbCommand)
        flags = {max(p.opts, key=len).lstrip("-"): p for p in command.params}
        specs = {k: p if isinstance(p, Flag) else OptionSpec() for k, p in flags.items()}
        fresh = {
            label: spec
            for label, spec in specs.items()
            if isinstance(spec, Flag) and any(conditions(spec)) and id(spec) not in seen
        }
        seen |= {id(spec) for spec in fresh.values()}
        yield from (case for case in cases_of(name, specs) if case.label in fresh)


FLAG_CASES = [*flag_cases()]
ARGUMENTS = {
    "count": ("inverse",),
    "record": (),
    "generate": ("two-link", "momentum-observer", "--output=c"),
}


@in_groups("case", FLAG_CASES)
def test_conflicts_of_flags_are_errors(case: Case) -> None:
    """A conflict that a flag declares ends the command before anything is read or written."""
    words = [*ARGUMENTS.get(case.verb, ("two-link",) if VERBS[case.verb].answers else ())]
    for label, value in case.options.items():
        if label in ("arm", "stored", "words"):
            words.append(str(value))
        else:
            words.append(f"--{label}" if value is True else f"--{label}={value}")
    ran = robolin(case.verb, *words)
    assert (ran.code, ran.out) == (2, "")
    assert f": {case.kind} " in ran.err


def test_an_error_lists_alternatives_and_all_excluded_options() -> None:
    """Messages name every option that is excluded, and every one that would do."""
    assert str(conflict("a", EXCLUDES, ["b", "c"], "")) == "--a: cannot be used with --b and --c"
    assert str(conflict("a", REQUIRES, ["b", "c=x|y"], "")) == "--a: requires --b or --c x or y"
    assert str(conflict("a=1", MODIFIES, ["output"], "")) == "--a 1: has no effect without -o"


def test_options_without_conditions_are_accepted() -> None:
    """An option alone that requires nothing has no conflict."""
    assert OptionSpec().requires is NO_CONDITIONS
    check_conflicts({"a": OptionSpec(excludes={"b": ""})}, {"a": True})
    check_conflicts({"a": OptionSpec(requires={"b if a=1": ""})}, {"a": "2"})
