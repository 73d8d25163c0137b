"""Docstrings of public names describe arguments, result and errors, with an example that runs."""

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
import robolin.testing
from robolin.dynamics.catalogue import ALGORITHMS, algorithms_by_method
from robolin.queries.option_specs import Verb
from robolin.queries.verbs import VERBS
from tests.cases import for_each
from tools.markdown import ROOT

NAMES = [name for name in robolin.__all__ if name != "__version__"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(robolin, name))]
# functions of modules that are not imported with the package
OTHER_MODULES = ["cluster.compute", "tables.compute", "testing.assert_matches"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(robolin, name))]
# without the result of `robolin.operators` and the warning, which takes any arguments
MADE_BY_USERS = [name for name in CLASSES if name not in ("Operators", "RobolinWarning")]
METHODS = [
    f"{name}.{key}"
    for name in CLASSES
    for key, member in vars(getattr(robolin, name)).items()
    if not key.startswith("_") and isinstance(member, FunctionType | staticmethod)
]
# lookups that need no example
LOOKUPS = {
    *("Arm.coordinate_indices", "Array.axis_kind"),
    *("Question.flag", "Question.count", "Question.text", "Question.texts"),
}
# shown in docs/howto/plots.md
DRAWN = {"Result.plot", "StoredResult.plot"}
QUESTIONS = {algorithm.verb or name for name, algorithm in ALGORITHMS.items()}

# functions without array arguments, or with one state of a file
WITHOUT_SHAPES = {
    *("answer", "answer_stream", "check", "compile", "native_kernel", "record", "sweep", "write"),
    *("casadi_function", "generate", "identify", "recording_paths"),
    *(
        "from_urdfpy",
        "geometry_names",
        "load",
        "parameter_names",
        "read_result",
        "report",
        "verify",
    ),
}
# slow examples: they verify an arm or simulate a controller
COSTLY = {
    *("ComputedTorque", "FeedbackControl", "FeedbackCost", "PDControl", "PlacedPoles"),
    *("PoseControl", "Verification", "Verification.state", "verify"),
}


def public(name: str) -> Any:
    """The object of a public name, also of modules that are not imported with the package."""
    return attrgetter(name)(robolin)


def _sections(name: str) -> dict[str, str]:
    """The parts of a docstring by their titles, what comes before them as ''."""
    text = inspect.getdoc(public(name)) or ""
    parts = re.split(r"^(\w+):$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def _entries(section: str) -> set[str]:
    """Names that have an entry in a section; an entry may have several names."""
    entries = re.findall(r"^    (\w[\w, ]*): ", section, flags=re.MULTILINE)
    return {name.strip() for entry in entries for name in entry.split(",")}


def test_public_names_are_functions_and_classes() -> None:
    """Public names are functions and classes; there is nothing else to describe."""
    assert set(FUNCTIONS) | set(CLASSES) == set(NAMES)


@for_each("name", [*FUNCTIONS, *OTHER_MODULES])
def test_functions_describe_arguments_and_results(name: str) -> None:
    """Each argument has an entry and none is made up; result, errors and example are there."""
    sections = _sections(name)

    assert sections[""].strip()
    assert _entries(sections["Args"]) == set(inspect.signature(public(name)).parameters)
    assert sections["Returns"].strip()
    assert "Error: " in sections["Raises"]
    assert ">>> " in sections["Example"]


@for_each("name", METHODS)
def test_methods_describe_arguments_and_results(name: str) -> None:
    """Methods of public classes have entries too; without arguments one sentence is enough."""
    sections, taken = _sections(name), inspect.signature(public(name)).parameters.keys() - {"self"}

    assert sections[""].strip()
    assert _entries(sections.get("Args", "")) == taken
    if taken:
        assert sections["Returns"].strip()
        assert name in LOOKUPS or "Error: " in sections["Raises"]
        assert name in LOOKUPS | DRAWN or ">>> " in sections["Example"]
    if taken and re.search("Floats|Complexes|Simulation|Response|Cost", _annotation(name)):
        assert re.search(r"\([^)]*(n|N|rows|\.\.\.)[^)]*\)|rows", sections["Returns"]), "no shape"


@for_each("name", CLASSES)
def test_properties_have_docstrings(name: str) -> None:
    """Every public property has at least one sentence."""
    members = vars(getattr(robolin, name)).items()
    properties = {
        key: member for key, member in members if isinstance(member, cached_property | property)
    }

    assert [key for key, member in properties.items() if key[0] != "_" and not member.__doc__] == []


def _annotation(name: str) -> str:
    return str(inspect.signature(public(name)).return_annotation)


ONE_ALGORITHM = "no effect, because there is only one algorithm"


@for_each("name", [name for name in FUNCTIONS if name.replace("_", "-") in QUESTIONS])
def test_functions_with_one_algorithm_say_so(name: str) -> None:
    """Exactly the functions with a single algorithm state this."""
    has_sentence = ONE_ALGORITHM in _sections(name)["Args"]
    if "method" in inspect.signature(getattr(robolin, name)).parameters:
        assert has_sentence == (len(algorithms_by_method(name.replace("_", "-"))) == 1)


@for_each("name", [*FUNCTIONS, *METHODS])
def test_arrays_have_shapes_and_units(name: str) -> None:
    """Every array argument is described with its shape and its unit."""
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
        assert re.search(r"\([^)]*(n|parameters|rows|values|\.\.\.)[^)]*\)", entry[1]), (
            f"{each} has no shape"
        )
        assert re.search(r"\b(rad|N|m|s|kg|units)\b", entry[1]), f"{each} has no unit"


@for_each("name", [*FUNCTIONS, *OTHER_MODULES, *MADE_BY_USERS])
def test_keywords_are_spelt_out(name: str) -> None:
    """No keyword hides behind `**`, but for those that are rejected and those of every verb."""
    function = public(name)
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_POSITIONAL
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and name != "Question":
            assert parameter.annotation == "Never"


@pytest.mark.parametrize("verb", [verb for verb in VERBS.values() if verb.answers])
def test_questions_list_their_keywords(verb: Verb) -> None:
    """`help(robolin.Question)` lists the keywords of every verb, and `keywords` explains each."""
    entry = rf"^    {verb.name}: (.*(?:\n     .*)*)"
    listed = re.search(entry, _sections("Question")["Keywords"], re.MULTILINE)
    keywords = robolin.Question.keywords(verb.name)

    assert listed
    assert listed[1].split() == [*", ".join(keywords or ["none"]).split()]
    assert [*keywords] == [label.replace("-", "_") for label in verb.own_options]
    assert not [text for text in keywords.values() if "--" in text or text.endswith(": ")]


@for_each("name", MADE_BY_USERS)
def test_classes_describe_their_arguments(name: str) -> None:
    """Every argument of a class has an entry, also if it is not a field."""
    sections = _sections(name)
    entries = _entries(sections["Fields"]) | _entries(sections.get("Args", ""))
    parameters = inspect.signature(getattr(robolin, name)).parameters.values()

    assert entries >= {p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}


@for_each("name", CLASSES)
def test_classes_describe_their_fields(name: str) -> None:
    """Each field of a public class has an entry, arrays their shape, and there is an example."""
    kind, sections = getattr(robolin, name), _sections(name)

    assert sections[""].strip()
    assert ">>> " in sections["Example"]
    assert _entries(sections["Fields"])
    if is_dataclass(kind):
        assert _entries(sections["Fields"]) == {field.name.lstrip("_") for field in fields(kind)}
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
        # do not start a cluster here
        for name in (*NAMES, *OTHER_MODULES[1:], *METHODS)
        if name not in METHODS or "Example" in _sections(name)
    ],
)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints the output that is shown below it."""
    if name == "from_urdfpy":
        pytest.importorskip("urchin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shutil.copy(ROOT / "models" / "ur5.urdf", "arm.urdf")
    names: dict[str, Any] = {"robolin": robolin, "np": np}
    text = inspect.getdoc(public(name)) or ""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    output: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=output.append)

    assert runner.tries > 0
    assert not runner.failures, "".join(output)


def test_imports_for_type_checkers_are_complete() -> None:
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

    assert seen == table


def test_public_names_live_where_the_table_says() -> None:
    """Every public name is defined in the module that it is imported from."""
    elsewhere = [name for name in NAMES if getattr(robolin, name).__module__ != robolin._HOME[name]]

    assert elsewhere == []
