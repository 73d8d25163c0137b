"""Xacro expressions are evaluated from an allow-list of Python, without a way out of it."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import pytest

import robolin
from robolin.description.xacro.expression_rules import MAX_BITS, MAX_ITEMS, ForbiddenError
from robolin.errors import RobolinError
from tests.cases import for_each
from tests.cli.command import robolin as robolin_command

xacro: Any = pytest.importorskip(
    "xacro",
    reason="xacro files need the package xacro, which is not installed",
)

from robolin.description.xacro.expression_rules import safe_symbols  # noqa: E402
from robolin.description.xacro.expressions import Evaluator  # noqa: E402
from robolin.description.xacro.xacro_worker import _XACRO_FUNCTIONS  # noqa: E402

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def names() -> dict[str, Any]:
    """Values of every kind that a robot file defines."""
    dotted = xacro.YamlDictWrapper(
        {"mass": 2.5, "list": [1, {"x": 3}], "items": "key", "deep": {"er": {"q": -1}}}
    )
    return {"m": 3, "r": 0.25, "prefix": "left_", "none": None, "cfg": dotted, "xyz": "1 2 3"}


def evaluate(expression: str) -> Any:
    """The value of an expression with xacro's own names around it."""
    symbols = xacro.create_global_symbols()
    functions = safe_symbols(symbols, xacro.NameSpace, _XACRO_FUNCTIONS)
    known = Evaluator(functions, xacro.NameSpace, xacro.YamlDictWrapper)
    return known(expression, {**symbols, **names()})


def by_python(expression: str) -> Any:
    """The value that Python's own evaluator has for it."""
    code = compile(expression.strip(), "<expression>", "eval")
    return eval(code, {**xacro.create_global_symbols(), **names()})


# as public robot files have them, and one of each kind of syntax
ORDINARY = [
    "1./12 * m * (3 * r**2 + r**2)",
    "-radians(120) + pi/2",
    "math.sin(pi/3) * math.pi",
    "0.1 + 0.2 - 1e-17",
    "7 // 2, 7 % 3, -7 // 2, 1 << 5, 33 >> 2, 6 & 3, 6 | 1, 6 ^ 3, ~5, +3",
    "prefix + 'link' if prefix else ''",
    "not m and none is None or 'x' not in xyz",
    "m == 3 and prefix != ''",
    "1 < m <= 3 < 2 < 1/0",
    "m is not None",
    "float(xyz.split(' ')[2]) + len(xyz.split())",
    "cfg.mass * cfg['mass']",
    "cfg.list[1].x + cfg.deep.er['q']",
    "cfg['items'], list(cfg.items())[0]",
    "cfg.get('nothing', -1)",
    "xyz[0], xyz[2:], xyz[::-1], [1, 2, 3][-1]",
    "[2*x for x in [1, 2, 3] if x > 1 if x < 3]",
    "[(x, y) for x in python.range(3) for y in python.range(x)]",
    "{k: v for k, v in python.zip('ab', [1, 2])}",
    "python.sum(x for x in [0.1]*10)",
    "python.sorted(python.set('E4 E3M5 E2M3'.split()))",
    "dict(a=1, b=2), {**dict(a=1), 'c': 3}, [*[1, 2], 3], {1, 2}, (1,)",
    "max(*[1, 5, 3]), min([2, 1]), round(2.567, 2), python.abs(-1)",
    "' '.join([s.upper() for s in ['a', 'b']])",
    "list(map(float, xyz.split()))",
    "list(map(' '.join, [['a', 'b']]))",
    "python.isinstance([1], list)",
    "python.type(1) == int",
    "'%s_%03d %.3f' % (prefix, m, r)",
    "'{f}={v} {v:.3f}'.format(f='a', v=r)",
    "int('12') + bool('x') + python.ord('a')",
    "python.any([s in xyz for s in ',; '])",
    "xacro.dotify(dict(a=dict(b=4))).a.b",
    "xacro.tokenize('a, b;c')",
    "(2.0).is_integer() and (3).real == 3",
    "python.list(python.reversed([1, 2])) + list(python.enumerate('a'))",
    "2**1000 % 97, 1e308*10, (-8)**(1/3)",
    "inf, e, tau",
]


@for_each("expression", ORDINARY)
def test_values_are_those_of_python(expression):
    """An ordinary expression has the value and the type that Python gives it."""
    ours, python = evaluate(expression), by_python(expression)
    assert repr(ours) == repr(python)
    assert type(ours) is type(python)


MISTAKES = (AttributeError, NameError, SyntaxError, TypeError)
FAILS = ["1/0", "m.nothing", "nothing", "cfg.nothing", "[1][5]", "{}['a']", "1 +", "m(2)", "len(1)"]


@pytest.mark.parametrize("expression", FAILS)
def test_mistakes_are_those_of_python(expression):
    """A mistake is reported with Python's message, or as an attribute that is not offered."""
    with pytest.raises((ArithmeticError, LookupError, *MISTAKES)) as python:
        by_python(expression)
    with pytest.raises((type(python.value), ForbiddenError)) as ours:
        evaluate(expression)
    if not isinstance(ours.value, ForbiddenError):
        assert str(ours.value) == str(python.value)


# published escapes from Python's own evaluator, and some of our own
ESCAPES = [
    # frames
    "(x for x in [1]).gi_frame",
    "(x for x in [1]).gi_frame.f_back.f_back.f_globals",
    "(lambda gs: (gs.append((gs[0].gi_frame.f_back for _ in [1])), list(gs[0])[0])[1])([])",
    "[g := (g.gi_frame.f_back for _ in [1])]",
    "(lambda: 0).func_globals",
    "xacro.load_yaml.f_globals",
    "xacro.fatal.gi_code",
    # classes, by name and by text
    "().__class__.__base__.__subclasses__()",
    "[x.__class__ for x in (1,)]",
    "(1).__getattribute__('real')",
    "getattr((), '__cl' + 'ass__')",
    "python.vars(xacro)",
    "python.vars(m)",
    "python.type('X', (), {})",
    "python.type(python.type(1))('X', (), {})",
    "list(map(python.type, ['X'], [()], [{}]))",
    "python.type(1).mro()",
    "str.mro()",
    "python.type(cfg).fget",
    "list[int]",
    # templates that walk attributes
    "'{0.__class__}'.format(m)",
    "'{0.real}'.format(m)",
    "'{a[b]}'.format(a=cfg)",
    "'{:{w}}'.format(m, w=3)",
    "str.format('{0.real}', m)",
    "list(map(str.format, ['{0.real}'], [m]))",
    "list(map('{0.real}'.format, [m]))",
    "'{0.real}'.format_map(cfg)",
    "f'{m}'",
    "f'{m.real!r:>{m}}'",
    # modules
    "math.__loader__",
    "math.__spec__.loader.load_module('os')",
    "__import__('os')",
    "__builtins__",
    "python.__builtins__",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd')",
    "python.open('/etc/passwd')",
    "compile('1', '', 'eval')",
    "breakpoint()",
    "globals()",
    # syntax
    "lambda: 1",
    "(lambda x=().real: x)()",
    "(y := 1)",
    "[y := x for x in [1]]",
    "[0 for m.real in [1]]",
    "[0 for cfg['a'] in [1]]",
    "[i async for i in [1]]",
    "(yield)",
    "await m",
    # codecs and bytes
    "b'abc'",
    "'abc'.encode('idna')",
    "'abc'.encode('rot13').decode()",
    "str(b'abc', 'idna')",
    # internals of xacro
    "math.parent",
    "xacro.root",
    "python.unevaluated",
    "math.update(pi=3)",
    "python.pop('len')",
    # tracebacks
    "xacro.fatal('a').__traceback__",
    "m.with_traceback(none)",
    "[].sort.__self__",
    "''.join.__self__",
    "''.join._owner",
    "''.join._name",
]


@for_each("expression", ESCAPES)
def test_no_expression_reaches_the_interpreter(expression):
    """Published escapes from Python's evaluator are rejected before any of them runs."""
    with pytest.raises((ForbiddenError, NameError, TypeError, SyntaxError)) as caught:
        evaluate(expression)
    if isinstance(caught.value, TypeError):
        assert "argument" in str(caught.value) or "not subscriptable" in str(caught.value)


LARGE = [
    "9**9**9",
    "1 << 10**9",
    "'a' * 10**9",
    "10**9 * [0]",
    "(0,) * 10**9",
    "'%1000000000d' % 1",
    "'%.*f' % (10**9, 1)",
    "'a'.ljust(10**9)",
    "'{:1000000000}'.format(1)",
    "('a' * 10**6) + 'a'",
    "[*python.range(2*10**6)]",
]


@pytest.mark.parametrize("expression", LARGE)
def test_no_value_grows_without_bound(expression):
    """A value that would fill the memory is rejected before it is computed."""
    with pytest.raises(ForbiddenError, match=f"exceeds {MAX_ITEMS} items or {MAX_BITS} bits"):
        evaluate(expression)


def test_every_function_is_known():
    """Names in an expression are data, functions of `math`, or functions on the list."""
    symbols = xacro.create_global_symbols()
    functions = {id(value) for value in safe_symbols(symbols, xacro.NameSpace, _XACRO_FUNCTIONS)}
    tables = [symbols, *(v for v in symbols.values() if isinstance(v, xacro.NameSpace))]
    assert len(tables) == 4
    for table in tables:
        for name, value in dict.items(table):
            plain = isinstance(value, int | float | xacro.NameSpace)
            assert plain or id(value) in functions, name
    assert "vars" not in symbols["python"]
    assert symbols["math"]["sin"] is math.sin


# walks from a generator's frame to the process's own guard, switches it off and runs a program
FRAME = "(lambda gs: (gs.append((gs[0].gi_frame.f_back for _ in [1])), list(gs[0])[0])[1])([])"
RUN = "f.f_globals['os'].system('touch escaped')"
OPEN = "python.vars(f.f_locals['roots']).update(_searching=True)"
WALK = (
    "(lambda self, f: self(self, f))((lambda self, f: "
    f"({OPEN}, {RUN}) if 'roots' in f.f_locals else self(self, f.f_back)), {FRAME})"
)
PROPERTY = "<xacro:property name='p' value=\"{}\"/>"
FILES = {
    "frames": "<link name='${" + html.escape(WALK) + "}'/>",
    "a condition": "<xacro:if value='${" + html.escape(WALK) + "}'/>",
    "an argument": "<xacro:arg name='a' default='${" + html.escape(WALK) + "}'/>",
    "a default": "<xacro:macro name='m' params='a:=${open(1)}'/><xacro:m/>",
    "an include": "<xacro:include filename='${" + html.escape(WALK) + "}'/>",
    "eval": PROPERTY.format("open('escaped', 'w')") + "<link name='$(eval ${p})'/>",
    "eval of builtins": PROPERTY.format("exec('import os')") + "<link name='$(eval ${p})'/>",
    "yaml": "<link name='${xacro.load_yaml(\"bad.yaml\")}'/>",
    "yaml units": "<link name='${xacro.load_yaml(\"units.yaml\")}'/>",
}


@pytest.mark.usefixtures("reader_processes")
@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_file_runs_a_program(tmp_path, monkeypatch, name):
    """Expressions start no process and write no file, wherever xacro evaluates them."""
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("!!python/object/apply:os.system ['touch escaped']")
    Path("units.yaml").write_text(f'!degrees "{WALK}"')
    Path("a.xacro").write_text(f"{HEAD}{FILES[name]}</robot>")
    with pytest.raises(RobolinError):
        robolin.load("a.xacro")
    assert not Path("escaped").exists()


@pytest.mark.slow
def test_eval_has_functions_arguments_and_mathematics(tmp_path, monkeypatch):
    """`$(eval ...)` computes with arguments by name, converted to numbers where they are."""
    monkeypatch.chdir(tmp_path)
    joint = (
        "<xacro:arg name='size' default='2'/><xacro:property name='call' value=\"arg('size') + "
        "len('ab') + sqrt(4)\"/><link name='a'/><link name='b'/><joint name='j' type='revolute'>"
        "<parent link='a'/><child link='b'/><limit lower='0' upper='$(eval size*2 if true else 0)' "
        "effort='$(eval ${call})' velocity='1'/></joint>"
    )
    Path("a.xacro").write_text(f"{HEAD}{joint}</robot>")
    done = robolin_command("inspect", "a.xacro", "--format", "json")
    assert done.code == 0, done.err
    limits = robolin.load("a.xacro").joints[0].limits
    assert (limits.upper, limits.effort) == (4, 6)


DEEP = ["-" * 3000 + "1", "1" + "+1" * 50_000, "not " * 3000 + "1", "x" + ".x" * 20_000]


@pytest.mark.parametrize("expression", DEEP, ids=["minus", "plus", "not", "attribute"])
def test_an_expression_nested_too_deeply_is_called_that(expression: str) -> None:
    """The stack is exhausted by the expression, and the error says so, with its beginning."""
    with pytest.raises(ForbiddenError, match=r"nested too deeply in '.{70}"):
        evaluate(expression)


def test_deep_expressions_and_macro_cycles_are_distinguished(tmp_path: Path) -> None:
    """The error for a deep expression does not mention macros that call each other."""
    file = tmp_path / "arm.xacro"
    file.write_text(f'{HEAD}<link name="a${{{"-" * 3000}1}}"/></robot>')
    with pytest.raises(RobolinError, match="nested too deeply"):
        robolin.load(file)
    macro = '<xacro:macro name="m"><xacro:m/><a b="${1 + 2 * 3}"/></xacro:macro>'
    file.write_text(f"{HEAD}{macro}<xacro:m/></robot>")
    with pytest.raises(RobolinError, match="macros or includes are infinitely recursive"):
        robolin.load(file)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("python.reversed('abc')", "reversed"),
        ("python.map(python.str, [1])", "map"),
        ("python.zip([1], [2])", "zip"),
        ("(x for x in [1])", "list_iterator"),
        ("'abc'.upper", "BoundMethod"),
        ("[1, {'a': (python.reversed('abc'),)}]", "reversed"),
    ],
)
def test_a_value_without_a_text_is_refused(expression: str, kind: str) -> None:
    """Its text would be an address in memory, which differs from run to run."""
    with pytest.raises(ForbiddenError, match=rf"has type '{kind}', which is not text; use list\("):
        evaluate(expression)


def test_a_list_that_contains_itself_is_checked_once() -> None:
    """Recursive containers end the check."""
    loop: list[Any] = []
    loop.append(loop)
    assert Evaluator([], xacro.NameSpace, xacro.YamlDictWrapper)("a", {"a": loop}) is loop


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("open('/etc/passwd')", "'open' is not allowed in xacro expressions"),
        ("getattr(m, 'real')", "'getattr' is not allowed in xacro expressions"),
        ("prefx + 'a'", "name 'prefx' is not defined; did you mean 'prefix'[?]"),
        ("math.rradians(1)", "name 'rradians' is not defined; did you mean 'radians'[?]"),
        ("qqqq", "name 'qqqq' is not defined$"),
    ],
)
def test_an_unknown_name_says_why(expression: str, message: str) -> None:
    """A Python function that is not available, a misspelt name, and an unknown name."""
    with pytest.raises(NameError, match=message):
        evaluate(expression)


def test_a_misspelt_property_is_suggested(tmp_path: Path) -> None:
    """Names from every scope are suggested, even where imports are blocked."""
    file = tmp_path / "arm.xacro"
    mass = '<xacro:property name="link_mass" value="2"/>'
    macro = '<xacro:macro name="m" params="size"><a b="${link_mas * size}"/></xacro:macro>'
    file.write_text(f'{HEAD}{mass}{macro}<xacro:m size="1"/></robot>')
    with pytest.raises(RobolinError, match="did you mean 'link_mass'"):
        robolin.load(file)
