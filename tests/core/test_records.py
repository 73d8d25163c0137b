"""Dataclasses completed on first use are those of the standard library."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, field, replace
from functools import partial
from typing import Any, ClassVar

import pytest

from robolin.core.records import OnUse, dataclass
from tests.cli.command import ROOT, python

STANDARD = re.compile(r"^ *from dataclasses import .*\bdataclass\b", re.MULTILINE)

Decorator = Callable[..., Any]


def classes(decorator: Decorator) -> dict[str, Any]:
    """Classes with every feature that the package uses, made by a decorator."""

    @decorator(frozen=True)
    class Point:
        x: float
        y: float = 2.0
        names: list[str] = field(default_factory=list)
        hidden: int = field(default=3, compare=False, repr=False)
        LIMIT: ClassVar[int] = 7

    @decorator(frozen=True)
    class Named(Point):
        label: str = field(kw_only=True)
        total: float = field(init=False, default=0.5)

    @decorator
    class Counter:
        count: int
        seen: dict[str, int] = field(default_factory=dict)
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.count

    @decorator(frozen=True, eq=False, repr=False)
    class Bare:
        value: object = None

    @decorator(frozen=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @decorator
    class Empty:
        pass

    return {kind.__name__: kind for kind in (Point, Named, Counter, Bare, Own, Empty)}


ARGUMENTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "Point": ((1.0,), {"names": ["a"]}),
    "Named": ((1.0, 4.0), {"label": "n", "hidden": 5}),
    "Counter": ((3,), {}),
    "Bare": ((), {"value": 1}),
    "Own": ((2,), {}),
    "Empty": ((), {}),
}


@pytest.fixture(params=[0, 8], ids=["compiled", "not compiled"])
def not_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Number of instances of a new class before its `__init__` is compiled."""
    monkeypatch.setattr("robolin.core.records._NOT_WORTH_COMPILING", request.param)
    count: int = request.param
    return count


@pytest.mark.usefixtures("not_compiled")
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("inspected", [False, True], ids=["used", "inspected"])
def test_equals_the_standard_library(name: str, inspected: bool) -> None:
    """Attributes, representation, comparison, hash, fields and errors are those of a dataclass."""
    ours, theirs = classes(dataclass)[name], classes(dataclasses.dataclass)[name]
    if inspected:
        assert dataclasses.is_dataclass(ours)
    arguments, keywords = ARGUMENTS[name]
    one, other = ours(*arguments, **keywords), theirs(*arguments, **keywords)
    if name != "Bare":
        assert repr(one) == repr(other)
    assert (one == ours(*arguments, **keywords)) == (other == theirs(*arguments, **keywords))
    assert (one == other) == (name == "Own")
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    details = [
        [(f.name, f.type, f.init, f.kw_only) for f in dataclasses.fields(each)]
        for each in (ours, theirs)
    ]
    assert details[0] == details[1]
    assert dataclasses.asdict(one) == dataclasses.asdict(other)


@pytest.mark.usefixtures("not_compiled")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_have_the_standard_errors(name: str) -> None:
    """Unknown, repeated, missing and too many arguments."""
    ours, theirs = classes(dataclass)[name], classes(dataclasses.dataclass)[name]
    arguments, keywords = ARGUMENTS[name]
    repeated = dict.fromkeys(("x", "value", "count"), 1)
    wrong = [(arguments, {"unknown": 1}), (arguments, keywords | repeated), ((), {"hidden": 1})]
    for some, named in [*wrong, ((0,) * 9, {}), (arguments, keywords | {"total": 1.0})]:
        with pytest.raises(TypeError) as expected:
            theirs(*some, **named)
        with pytest.raises(TypeError) as raised:
            ours(*some, **named)
        assert str(raised.value) == str(expected.value)


def test_the_constructor_of_many_instances_is_compiled(not_compiled: int) -> None:
    """Instances before and after that are equal."""
    kind = classes(dataclass)["Counter"]
    records = []
    for i in range(12):
        assert isinstance(vars(kind)["__init__"], OnUse) == (i <= not_compiled)
        records.append(kind(3))
    assert len({repr(record) for record in records}) == 1
    assert all(record == records[0] for record in records)


def test_a_frozen_record_does_not_change() -> None:
    """Assignment and deletion fail before and after the fields are read."""
    kind = classes(dataclass)["Point"]
    for _ in range(2):
        point = kind(1.0)
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
            point.x = 2.0
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
            del point.x
        assert dataclasses.replace(point, x=3.0) == kind(3.0)
        assert hash(kind(1.0, names=())) == hash(kind(1.0, names=(), hidden=9))


def test_a_class_of_the_library_is_pickled_and_inherited() -> None:
    """A record of the library can be pickled, and be the base of an ordinary dataclass."""
    from robolin.core.arm_parts import Limits

    assert pickle.loads(pickle.dumps(Limits(effort=2.0))) == Limits(effort=2.0)

    @dataclasses.dataclass(frozen=True)
    class Wider(Limits):
        margin: float = 0.0

    assert Wider(effort=2.0, margin=1.0).margin == 1.0


def test_threads_may_use_a_class_first() -> None:
    """Several threads that use a new class at the same time get complete records."""
    for _ in range(50):
        kind = classes(dataclass)["Named"]
        with ThreadPoolExecutor(4) as pool:
            records = [*pool.map(partial(kind, 1.0, label="a").__call__, range(8))]
            copies = [*pool.map(partial(replace, label="b"), records)]
        assert [record.label for record in copies] == ["b"] * 8


def test_fields_may_have_any_name_and_threads_may_count_together() -> None:
    """As for the compiled method: `record`; a count below 0 compiles the method as well."""

    @dataclass
    class Named:
        record: int

    assert Named(record=3).record == 3
    vars(Named)["__init__"].left = -1
    assert Named(4).record == 4
    assert inspect.isfunction(vars(Named)["__init__"])


def test_modules_use_these_dataclasses() -> None:
    """Only algorithms, which import nothing else of the package, use the standard library."""
    package = ROOT / "robolin"
    users = [path for path in package.rglob("*.py") if STANDARD.search(path.read_text("utf-8"))]
    allowed = ("core/records.py", "dynamics/")
    names = [path.relative_to(package).as_posix() for path in users]
    assert [name for name in names if not name.startswith(allowed)] == []


def test_an_import_compiles_no_method() -> None:
    """Importing the package's modules compiles no method of a record."""
    program = """
import robolin.core.arm, robolin.queries.request, robolin.description.model
from robolin.core.arm_parts import Joint
from robolin.core.records import OnUse
for name in ("__init__", "__dataclass_fields__"):
    print(isinstance(vars(Joint)[name], OnUse))
"""
    assert python(program).out == "True\nTrue\n"
