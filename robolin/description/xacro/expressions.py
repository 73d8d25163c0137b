"""Evaluator for xacro expressions: an allow-list of syntax, functions and attributes.

Xacro expressions are written in Python.  Python's own `eval` cannot be confined, because any
object leads by its attributes to the interpreter.  This evaluator walks the syntax tree itself.
It keeps one invariant: every callable that an expression can obtain is safe to call with every
value that an expression can obtain.
"""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, cast

from robolin.core.text import closest_match
from robolin.description.xacro.expression_rules import (
    NAMESPACE_METHODS,
    BoundMethod,
    ForbiddenError,
    attribute_of,
    bounded,
    forbidden,
    has_attribute,
    require_bounded_operation,
    require_plain_name,
)

_SUBSCRIPTABLE = (str, list, tuple, dict, range)
_VIEWS: tuple[type, ...] = (
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(iter([])),
    type(reversed([])),
)
_ITERABLE: tuple[type, ...] = (
    *(str, list, tuple, dict, set, frozenset, range),
    *(map, filter, zip, enumerate, reversed),
    *_VIEWS,
)

# values that have a text; a text with the address of an object would differ in every run
_SCALARS = str | int | float | complex | range | slice | type | None
_CONTAINERS = (list, tuple, set, frozenset, dict, *_VIEWS[:3])

# an expression nested deeper than this, not a circle of macros, is what exhausts the stack
MAX_DEPTH = 100
# minimum similarity of a misspelt name to a known one
MISSPELT = 0.75

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


class Names(Protocol):
    """Names that an expression may use; a missing one raises KeyError."""

    def __getitem__(self, name: str, /) -> Any: ...


class Evaluator:
    """Evaluates expressions with the given functions as the only ones that may be called.

    Args:
        functions: callables that are safe with any argument
        namespace: the type whose attributes are names of xacro
        dotted: the type of dictionaries whose keys are attributes
    """

    namespace: type[Any]
    dotted: type[Any]

    def __init__(self, functions: Iterable[Any], namespace: type[Any], dotted: type[Any]) -> None:
        self.functions: dict[int, Any] = {id(function): function for function in functions}
        self.namespace, self.dotted = namespace, dotted

    def __call__(self, expression: str, names: Names) -> Any:
        """The value of an expression; ForbiddenError where it leaves the allow-list."""
        text = expression.strip()
        tree = _parsed(text)
        try:
            value = _Scope(self, names, {}).value(tree.body)
            self._require_data(value)
            return value
        except RecursionError:
            if _depth(tree) > MAX_DEPTH:
                raise _too_deep(text) from None
            raise
        except ForbiddenError as error:
            if error.__cause__ is not None:
                raise
            raise ForbiddenError(f"{error} in '{_shortened(text)}'") from error

    def _require_data(self, value: Any) -> None:
        """Raise for a value whose text would be a memory address, inside containers too."""
        values, seen = [value], {id(value)}
        while values:
            value = values.pop()
            if isinstance(value, self.namespace | _SCALARS) or id(value) in self.functions:
                continue
            if not isinstance(value, _CONTAINERS):
                raise ForbiddenError(
                    f"the result has type '{type(value).__name__}', which is not text; use "
                    "list(...) for an iterator"
                )
            parts: list[Any] = list(cast("Iterable[Any]", value))
            if isinstance(value, dict):
                parts += dict.values(value)
            values += [part for part in parts if id(part) not in seen]
            seen |= {id(part) for part in parts}


def _parsed(text: str) -> ast.Expression:
    try:
        return ast.parse(text, "<expression>", "eval")
    except MemoryError:
        # Python's parser reports its full stack in this way
        raise _too_deep(text) from None
    except RecursionError:
        if _frames() < sys.getrecursionlimit() // 2:
            raise _too_deep(text) from None
        raise


def _depth(tree: ast.AST) -> int:
    """How deeply the nodes of a syntax tree are nested."""
    depth, level = 0, [tree]
    while level := [child for node in level for child in ast.iter_child_nodes(node)]:
        depth += 1
    return depth


def _frames() -> int:
    """The number of calls that are under way."""
    count, frame = 0, sys._getframe()
    while (outer := frame.f_back) is not None:
        count, frame = count + 1, outer
    return count


def _too_deep(text: str) -> ForbiddenError:
    return ForbiddenError(f"an expression is nested too deeply in '{_shortened(text)}'")


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


class _Scope:
    """One evaluation, with the variables of the comprehensions around it."""

    def __init__(self, rules: Evaluator, names: Names, variables: Mapping[str, Any]) -> None:
        self._rules, self._names, self._variables = rules, names, variables

    def value(self, node: ast.expr) -> Any:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise forbidden(_SYNTAX.get(type(node), type(node).__name__))
        return handler(self, node)

    def constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bytes) or node.value is ...:
            raise forbidden(repr(node.value))
        return node.value

    def name(self, node: ast.Name) -> Any:
        require_plain_name(node.id)
        if node.id in self._variables:
            return self._variables[node.id]
        try:
            return self._names[node.id]
        except KeyError:
            raise NameError(_undefined(node.id, self._names)) from None

    def attribute(self, node: ast.Attribute) -> Any:
        require_plain_name(node.attr)
        value, name = self.value(node.value), node.attr
        if isinstance(value, self._rules.namespace):
            return BoundMethod(value, name) if name in NAMESPACE_METHODS else _named(value, name)
        if isinstance(value, self._rules.dotted) and not has_attribute(value, name):
            return value[name]
        return attribute_of(value, name)

    def subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if not isinstance(value, _SUBSCRIPTABLE):
            raise TypeError(f"'{type(value).__name__}' object is not subscriptable")
        return value[self.value(node.slice)]

    def slice(self, node: ast.Slice) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else self.value(end) for end in ends))

    def call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        values = self.items(node.args)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            named |= dict(value) if keyword.arg is None else {keyword.arg: value}
        known = isinstance(function, BoundMethod) or id(function) in self._rules.functions
        if callable(function) and not known:
            raise forbidden(f"'{ast.unparse(node.func)}' as a function")
        return bounded(function(*values, **named))

    def binary(self, node: ast.BinOp) -> Any:
        apply = _BINARY.get(type(node.op))
        if apply is None:
            raise forbidden("'@'")
        left, right = self.value(node.left), self.value(node.right)
        require_bounded_operation(node.op, left, right)
        return bounded(apply(left, right))

    def unary(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def boolean(self, node: ast.BoolOp) -> Any:
        stop = isinstance(node.op, ast.Or)
        value: Any = None
        for operand in node.values:
            value = self.value(operand)
            if bool(value) is stop:
                break
        return value

    def compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        result: Any = True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            result = _COMPARE[type(op)](left, right)
            if not result:
                break
            left = right
        return result

    def choice(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def items(self, nodes: Iterable[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(_iterable(self.value(node.value)))
            else:
                items.append(self.value(node))
        return cast("list[Any]", bounded(items))

    def mapping(self, node: ast.Dict) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            mapping |= self.value(value) if key is None else {self.value(key): self.value(value)}
        return mapping

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> list[Any]:
        return [inner.value(node.elt) for inner in self.inside(node.generators)]

    def dict_comprehension(self, node: ast.DictComp) -> dict[Any, Any]:
        inside = self.inside(node.generators)
        return {inner.value(node.key): inner.value(node.value) for inner in inside}

    def inside(self, loops: list[ast.comprehension]) -> Iterator[_Scope]:
        """One scope for each iteration of nested loops whose conditions hold."""
        if not loops:
            yield self
            return
        loop, *rest = loops
        if loop.is_async:
            raise forbidden("async")
        for item in _iterable(self.value(loop.iter)):
            inner = _Scope(
                self._rules, self._names, {**self._variables, **_bind(loop.target, item)}
            )
            if all(inner.value(condition) for condition in loop.ifs):
                yield from inner.inside(rest)


_HANDLERS: dict[type[ast.expr], Callable[[_Scope, Any], Any]] = {
    ast.Constant: _Scope.constant,
    ast.Name: _Scope.name,
    ast.Attribute: _Scope.attribute,
    ast.Subscript: _Scope.subscript,
    ast.Slice: _Scope.slice,
    ast.Call: _Scope.call,
    ast.BinOp: _Scope.binary,
    ast.UnaryOp: _Scope.unary,
    ast.BoolOp: _Scope.boolean,
    ast.Compare: _Scope.compare,
    ast.IfExp: _Scope.choice,
    ast.List: lambda scope, node: scope.items(node.elts),
    ast.Tuple: lambda scope, node: tuple(scope.items(node.elts)),
    ast.Set: lambda scope, node: set(scope.items(node.elts)),
    ast.Dict: _Scope.mapping,
    ast.ListComp: _Scope.comprehension,
    ast.SetComp: lambda scope, node: set(scope.comprehension(node)),
    # a list's iterator: a generator would hold a frame
    ast.GeneratorExp: lambda scope, node: iter(scope.comprehension(node)),
    ast.DictComp: _Scope.dict_comprehension,
}
_SYNTAX: dict[type[ast.expr], str] = {
    ast.Lambda: "'lambda'",
    ast.NamedExpr: "':='",
    ast.JoinedStr: "an f-string",
    ast.Await: "'await'",
    ast.Yield: "'yield'",
    ast.YieldFrom: "'yield'",
    ast.Starred: "'*'",
}


def _named(namespace: Any, name: str) -> Any:
    try:
        return namespace[name]
    except KeyError:
        raise NameError(_undefined(name, namespace)) from None


def _undefined(name: str, names: Any) -> str:
    """Why a name has no value: a function that is not offered, or perhaps a misspelt name."""
    if callable(getattr(builtins, name, None)):
        return f"'{name}' is not allowed in xacro expressions"
    known: list[str] = []
    while isinstance(names, dict):
        # a table of xacro holds the names of its own scope
        known += names
        names = getattr(names, "parent", None)
    near = closest_match(name, known, MISSPELT)
    return f"name '{name}' is not defined" + (f"; did you mean '{near}'?" if near else "")


def _iterable(value: Any) -> Iterable[Any]:
    if not isinstance(value, _ITERABLE):
        raise TypeError(f"'{type(value).__name__}' object is not iterable")
    return cast("Iterable[Any]", value)


def _bind(target: ast.expr, item: Any) -> dict[str, Any]:
    """Variables of a loop for one item; tuples are unpacked."""
    if isinstance(target, ast.Name):
        require_plain_name(target.id)
        return {target.id: item}
    if not isinstance(target, ast.Tuple | ast.List):
        raise forbidden(f"'{ast.unparse(target)}' as a variable")
    items = list(_iterable(item))
    if len(items) != len(target.elts):
        raise ValueError(f"{len(target.elts)} values expected, got {len(items)}")
    pairs = zip(target.elts, items, strict=True)
    return {name: value for inner, part in pairs for name, value in _bind(inner, part).items()}
