"""Rules for xacro expressions: functions, attributes and sizes that they may use."""

from __future__ import annotations

import ast
import builtins
import math
import re
from string import Formatter
from typing import Any

# limits on one value: characters or items, and bits of an integer
MAX_ITEMS = 1_000_000
MAX_BITS = 100_000

# built-in functions that xacro offers; they return data or types, which have no attributes here
_BUILTINS = (
    "abs all any bool complex dict divmod enumerate filter float frozenset hash int isinstance "
    "issubclass len list map max min ord range repr reversed round set slice sorted str sum tuple "
    "zip"
)

# methods and values that an expression may use, by the type of the object
_DICT = "clear copy fromkeys get items keys pop popitem setdefault update values"
_SET = "copy difference intersection isdisjoint issubset issuperset symmetric_difference union"
_ATTRIBUTES: tuple[tuple[type, frozenset[str]], ...] = tuple(
    (kind, frozenset(names.split()))
    for kind, names in (
        (
            str,
            "capitalize casefold center count endswith expandtabs find format index isalnum "
            "isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
            "istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace "
            "rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip "
            "swapcase title upper zfill",
        ),
        (list, "append clear copy count extend index insert pop remove reverse sort"),
        (tuple, "count index"),
        (dict, _DICT),
        (set, f"{_SET} add clear discard pop remove update"),
        (frozenset, _SET),
        (float, "conjugate imag is_integer real"),
        (int, "bit_length conjugate denominator imag numerator real"),
        (complex, "conjugate imag real"),
        (range, "count index start step stop"),
        (slice, "start step stop"),
    )
)
NAMESPACE_METHODS = frozenset(("get", "items", "keys", "values"))

# a width or precision of five digits, or one taken from the values
_WIDE_PERCENT = re.compile(r"%(?:\([^)]*\))?[-+ #.\d]*?(?:\*|\d{5})")
_WIDE_SPEC = re.compile(r"[{}]|\d{5}")


class ForbiddenError(Exception):
    """An expression or a file requires something that xacro files may not use."""


def safe_builtins() -> dict[str, Any]:
    """Built-in functions that an expression may call, by name."""
    functions = {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return {**functions, "type": type_of}


def math_names() -> dict[str, Any]:
    """Constants and functions of the module `math`, by name."""
    return {name: value for name, value in vars(math).items() if not name.startswith("_")}


def type_of(value: object, /) -> type:
    """The type of a value; `type` with three arguments would create classes."""
    return type(value)


def safe_symbols(symbols: dict[str, Any], namespace: type[Any], own: frozenset[str]) -> list[Any]:
    """Reduce xacro's tables of global names to safe values, in place; return their functions.

    Args:
        symbols: names and values, some of them namespaces with names of their own
        namespace: the type of a namespace
        own: names of functions that the xacro package itself defines
    """
    pure = {id(value) for value in (*safe_builtins().values(), *math_names().values())}
    functions = []
    for name, value in list(symbols.items()):
        if isinstance(value, namespace):
            functions += safe_symbols(value, namespace, own)
            continue
        if value is type:
            value = type_of
            dict.__setitem__(symbols, name, value)
        if isinstance(value, int | float):
            continue
        if id(value) in pure or (name in own and getattr(value, "__module__", "") == "xacro"):
            functions.append(value)
        else:
            dict.pop(symbols, name)
    return [*functions, type_of]


def attribute_of(value: Any, name: str) -> Any:
    """A method or value of plain data; ForbiddenError where expressions may not use it."""
    if not has_attribute(value, name):
        raise forbidden(f"'{name}' of a value of type {type(value).__name__}")
    attribute = getattr(value, name)
    return BoundMethod(value, name) if callable(attribute) else attribute


def has_attribute(value: Any, name: str) -> bool:
    """Return True if expressions may use this attribute of plain data."""
    return any(isinstance(value, kind) and name in allowed for kind, allowed in _ATTRIBUTES)


class BoundMethod:
    """A method of a value, called with limits on the size of its result."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name

    def __call__(self, *values: Any, **named: Any) -> Any:
        if isinstance(self._owner, str):
            if self._name == "format":
                _require_plain_fields(self._owner)
            if any(isinstance(value, int) and value > MAX_ITEMS for value in values):
                raise too_large()
        return getattr(self._owner, self._name)(*values, **named)


def forbidden(what: str) -> ForbiddenError:
    return ForbiddenError(f"an expression must not use {what}")


def too_large() -> ForbiddenError:
    return ForbiddenError(f"a value exceeds {MAX_ITEMS} items or {MAX_BITS} bits")


def require_plain_name(name: str) -> None:
    if "__" in name:
        raise forbidden(f"'{name}'")


def bounded(value: Any) -> Any:
    if isinstance(value, int):
        size, most = value.bit_length(), MAX_BITS
    elif isinstance(value, str | list | tuple | dict | set | frozenset):
        size, most = len(value), MAX_ITEMS
    else:
        return value
    if size > most:
        raise too_large()
    return value


def require_bounded_operation(op: ast.operator, left: Any, right: Any) -> None:
    """Raise before an operation whose result would fill the memory or take forever."""
    bits = 0
    if isinstance(left, int) and isinstance(right, int):
        if isinstance(op, ast.Pow):
            bits = left.bit_length() * right if abs(left) > 1 else 0
        elif isinstance(op, ast.LShift):
            bits = right
    elif isinstance(op, ast.Mult):
        for items, times in ((left, right), (right, left)):
            if isinstance(items, str | list | tuple) and isinstance(times, int):
                bits = MAX_BITS + 1 if len(items) * times > MAX_ITEMS else 0
    elif isinstance(op, ast.Mod) and isinstance(left, str) and _WIDE_PERCENT.search(left):
        bits = MAX_BITS + 1
    if bits > MAX_BITS:
        raise too_large()


def _require_plain_fields(template: str) -> None:
    """Raise where a template of `str.format` reads attributes or items, or pads without bound."""
    for _, field, spec, _ in Formatter().parse(template):
        plain = not field or field.isdecimal() or field.isidentifier()
        if not plain or "__" in (field or ""):
            raise forbidden(f"the field '{field}' in a format")
        if spec and _WIDE_SPEC.search(spec):
            raise too_large()
