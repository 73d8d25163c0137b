"""`help()` on a public name tells what it takes, gives and raises, with an example that runs."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import shutil
from dataclasses import fields, is_dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import robolin
import robolin.cluster
import robolin.tables
import robolin.testing
from robolin.dynamics.catalogue import ALGORITHMS, algorithms_by_method
from robolin.queries.option_specs import Verb
from robolin.queries.verbs import VERBS
from tools.markdown import ROOT

NAMES = [name for name in robolin.__all__ if name != "__version__"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(robolin, name))]
# of modules that are imported by themselves
BESIDE = ["cluster.compute", "tables.compute", "testing.assert_matches"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(robolin, name))]
# without what `robolin.operators` makes, and a warning that takes what Python's own take
MADE_BY_USERS = [name for name in CLASSES if name not in ("Operators", "RobolinWarning")]
METHODS = [
    f"{name}.{key}"
    for name in CLASSES
    for key, member in vars(getattr(robolin, name)).items()
    if not key.startswith("_") and isinstance(member, FunctionType | staticmethod)
]
# they look up what is there, and need no example
LOOKUPS = {
    *("Arm.places", "Array.axis_kind"),
    *("Question.asked", "Question.count", "Question.text", "Question.texts"),
}
# docs/plots.md draws
DRAWN = {"Result.plot", "StoredResult.plot"}
QUESTIONS = {algorithm.verb or name for name, algorithm in ALGORITHMS.items()}

# they need no arrays, or take one state of a file
WITHOUT_SHAPES = {
    *("answer", "answer_stream", "check", "compile", "record", "sweep", "write"),
    *("casadi_function", "generate"),
    *("from_urdfpy", "geometry_names", "load", "parameter_names", "read_result", "verify"),
}
# examples that verify an arm or hold it with a controller
COSTLY = {
    *("ComputedTorque", "FeedbackControl", "FeedbackCost", "PDControl", "PlacedPoles"),
    *("PoseControl", "Verification", "Verification.state", "verify"),
}


def public(name: str) -> Any:
    """What a public name stands for, modules that are imported by themselves included."""
    return attrgetter(name)(robolin)


def _sections(name: str) -> dict[str, str]:
    """The parts of a docstring by their titles, what comes before them as ''."""
    text = inspect.getdoc(public(name)) or ""
    parts = re.split(r"^(\w+):$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def _told(section: str) -> set[str]:
    """The names that a section has an entry for, one or several to an entry."""
    entries = re.findall(r"^    (\w[\w, ]*): ", section, flags=re.MULTILINE)
    return {name.strip() for entry in entries for name in entry.split(",")}


def test_everything_public_is_looked_at() -> None:
    """Public names are functions and classes; there is nothing else to describe."""
    assert set(FUNCTIONS) | set(CLASSES) == set(NAMES)


@pytest.mark.parametrize("name", [*FUNCTIONS, *BESIDE])
def test_functions_tell_what_they_take_and_give(name: str) -> None:
    """Each argument has an entry and none is made up; result, errors and example are there."""
    sections = _sections(name)

    assert sections[""].strip()
    assert _told(sections["Args"]) == set(inspect.signature(public(name)).parameters)
    assert sections["Returns"].strip()
    assert "Error: " in sections["Raises"]
    assert ">>> " in sections["Example"]


@pytest.mark.parametrize("name", METHODS)
def test_methods_tell_what_they_take_and_give(name: str) -> None:
    """So do methods of public classes; those that take nothing may say it in a sentence."""
    sections, taken = _sections(name), inspect.signature(public(name)).parameters.keys() - {"self"}

    assert sections[""].strip()
    assert _told(sections.get("Args", "")) == taken
    if taken:
        assert sections["Returns"].strip()
        assert name in LOOKUPS or "Error: " in sections["Raises"]
        assert name in LOOKUPS | DRAWN or ">>> " in sections["Example"]
    if taken and re.search("Floats|Complexes|Simulation|Response|Cost", _annotation(name)):
        assert re.search(r"\([^)]*(n|N|rows|\.\.\.)[^)]*\)|rows", sections["Returns"]), "no shape"


@pytest.mark.parametrize("name", CLASSES)
def test_properties_tell_what_they_are(name: str) -> None:
    """What follows from the fields of a public class is told in a sentence at least."""
    members = vars(getattr(robolin, name)).items()
    told = {
        key: member for key, member in members if isinstance(member, cached_property | property)
    }

    assert [key for key, member in told.items() if key[0] != "_" and not member.__doc__] == []


def _annotation(name: str) -> str:
    return str(inspect.signature(public(name)).return_annotation)


ONE_ALGORITHM = "no effect, because there is one algorithm"


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS if name.replace("_", "-") in QUESTIONS]
)
def test_methods_are_told_where_there_is_a_choice(name: str) -> None:
    """That no method but one answers is said of exactly the questions of which it is true."""
    told = ONE_ALGORITHM in _sections(name)["Args"]
    if "method" in inspect.signature(getattr(robolin, name)).parameters:
        assert told == (len(algorithms_by_method(name.replace("_", "-"))) == 1)


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_arrays_have_shapes_and_units(name: str) -> None:
    """Every argument that is an array is told with its shape and its unit."""
    text = _sections(name).get("Args", "")
    hints = inspect.signature(public(name)).parameters
    arrays = [
        each
        for each, p in hints.items()
        if str(p.annotation).startswith(("ArrayLike", "JointValues"))
    ]

    assert arrays or name in WITHOUT_SHAPES or name == "operators" or name in METHODS
    for each in arrays:
        entry = re.search(
            rf"^    (?:[\w, ]*, )?{each}(?:, [\w, ]*)?: (.*(?:\n     .*)*)", text, re.M
        )
        assert entry, each
        assert re.search(r"\([^)]*(n|rows|values|\.\.\.)[^)]*\)", entry[1]), f"{each} has no shape"
        assert re.search(r"\b(rad|N|m|s|kg|units)\b", entry[1]), f"{each} has no unit"


@pytest.mark.parametrize("name", [*FUNCTIONS, *BESIDE, *MADE_BY_USERS])
def test_keywords_are_spelt_out(name: str) -> None:
    """No keyword hides behind `**`, but for those that are refused and those of every verb."""
    function = public(name)
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_POSITIONAL
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and name != "Question":
            assert parameter.annotation == "Never"


@pytest.mark.parametrize("verb", [verb for verb in VERBS.values() if verb.answers])
def test_questions_tell_their_keywords(verb: Verb) -> None:
    """`help(robolin.Question)` lists the keywords of every verb, and `keywords` explains each."""
    entry = rf"^    {verb.name}: (.*(?:\n     .*)*)"
    listed = re.search(entry, _sections("Question")["Keywords"], re.MULTILINE)
    told = robolin.Question.keywords(verb.name)

    assert listed
    assert listed[1].split() == [*", ".join(told or ["none"]).split()]
    assert [*told] == [label.replace("-", "_") for label in verb.asks]
    assert not [meaning for meaning in told.values() if "--" in meaning or meaning.endswith(": ")]


@pytest.mark.parametrize("name", MADE_BY_USERS)
def test_classes_tell_what_they_take(name: str) -> None:
    """Whatever a class is made of has an entry, whether it becomes a field or not."""
    sections = _sections(name)
    told = _told(sections["Fields"]) | _told(sections.get("Args", ""))
    taken = inspect.signature(getattr(robolin, name)).parameters.values()

    assert told >= {each.name for each in taken if each.kind is not inspect.Parameter.VAR_KEYWORD}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_tell_their_fields(name: str) -> None:
    """Each field of a public class has an entry, arrays their shape, and there is an example."""
    kind, sections = getattr(robolin, name), _sections(name)

    assert sections[""].strip()
    assert ">>> " in sections["Example"]
    assert _told(sections["Fields"])
    if is_dataclass(kind):
        assert _told(sections["Fields"]) == {field.name.lstrip("_") for field in fields(kind)}
        for field in fields(kind):
            if any(word in str(field.type) for word in ("Floats", "Mask", "Numbers")):
                entry = re.search(
                    rf"^    {field.name}: (.*(?:\n     .*)*)", sections["Fields"], re.M
                )
                assert entry
                assert re.search(r"\([^)]+\)", entry[1]), f"{field.name} has no shape"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in COSTLY else name
        # a cluster is nothing to start here
        for name in (*NAMES, *BESIDE[1:], *METHODS)
        if name not in METHODS or "Example" in _sections(name)
    ],
)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands below an example is what it prints."""
    if name == "from_urdfpy":
        pytest.importorskip("urchin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shutil.copy(ROOT / "models" / "ur5.urdf", "arm.urdf")
    names: dict[str, Any] = {"robolin": robolin, "np": np}
    text = inspect.getdoc(public(name)) or ""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=said.append)

    assert runner.tries > 0
    assert not runner.failures, "".join(said)


def test_type_checkers_see_what_is_there() -> None:
    """The imports for type checkers and the table of public names are the same list."""
    tree = ast.parse((ROOT / "robolin" / "__init__.py").read_text("utf-8"))
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    table = {name: robolin._HOME[name] for name in NAMES}

    assert seen == {**table, "__version__": "robolin.version"}


def test_public_names_live_where_the_table_says() -> None:
    """Every public name is defined in the module that it is imported from."""
    elsewhere = [name for name in NAMES if getattr(robolin, name).__module__ != robolin._HOME[name]]

    assert elsewhere == []
