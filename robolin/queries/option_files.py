"""Option values in small YAML or TOML files: column names and states.

A file is read once, when the question is created; results record its contents, not its path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.text import did_you_mean
from robolin.core.text_parsing import text_of
from robolin.errors import FileError, RobolinError, UsageError

_ENDINGS = (".yaml", ".yml", ".toml")
_TABLES = (".csv", ".tsv", ".npz", ".parquet", ".mat", ".json")
_MAX_BYTES = 1 << 20
_TIME = "time"

# one text, texts in joint order, or texts by joint
FlagValue = str | Sequence[str] | Mapping[str, str]


def is_option_file(text: str) -> bool:
    """True if a text is the path of an option file rather than a value."""
    return "=" not in text and PurePath(text).suffix.lower() in _ENDINGS


def column_rules_with_files(texts: Sequence[str]) -> tuple[str, ...]:
    """Replace every file among column rules by the rules in it."""
    from robolin.io.trajectories.read_options import separate_rules

    rules: list[str] = []
    for text in texts:
        rules += _rules_in(text) if is_option_file(text) else separate_rules(text)
    return tuple(rules)


def _rules_in(path: str) -> list[str]:
    rules: list[str] = []
    words = [*COLUMN_WORDS.values(), "current", _TIME]
    for key, value in read_flag_values(path).items():
        if key not in words:
            hint = did_you_mean(
                key, words, f"use {', '.join(words)} as keys; set other options with flags"
            )
            raise RobolinError(f"unknown quantity '{key}'", where=path, hint=hint)
        if isinstance(value, Mapping) and key != _TIME:
            rules += [f"{joint}/{key}={column}" for joint, column in value.items()]
        elif isinstance(value, str):
            rules.append(f"{key}={value}")
        else:
            hint = "use a pattern such as arm.{joint}.angle, or JOINT: COLUMN pairs"
            raise RobolinError(
                f"'{key}' must be a column pattern or a mapping of joints to columns, got a list",
                where=path,
                hint=hint,
            )
    return rules


def read_state_file(path: str, quantities: Sequence[str]) -> dict[str, str]:
    """Read a state file; return each quantity as option text."""
    if not is_option_file(path):
        hint = f"use a file that ends in {', '.join(_ENDINGS)}"
        if PurePath(path).suffix.lower() in _TABLES:
            hint = f"use --trajectory {path} for a table with one state per row"
        raise UsageError("not a state file", where=f"--state={path}", hint=hint)
    by_word = {word: short for short, word in COLUMN_WORDS.items()}
    state: dict[str, str] = {}
    for key, value in read_flag_values(path).items():
        name = by_word.get(key, key)
        if name not in quantities:
            hint = did_you_mean(key, [*quantities, *by_word], "use q, qd, qdd and tau")
            raise RobolinError(f"unknown state quantity '{key}'", where=path, hint=hint)
        if name in state:
            raise RobolinError(
                f"'{name}' is given twice", where=path, hint="keep only one of the values"
            )
        state[name] = _typed(key, value, path)
    return state


def _typed(key: str, value: FlagValue, path: str) -> str:
    items = [*value, *value.values()] if isinstance(value, Mapping) else value
    for item in [items] if isinstance(items, str) else items:
        if "," in item and not isinstance(value, str):
            message = f"'{key}' must have one number per joint, got '{item}'"
            raise RobolinError(message, where=path, hint="write one number per joint")
    return text_of(value)


def read_flag_values(path: str) -> dict[str, FlagValue]:
    """Read a file as a mapping from keys to values, every number as text."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        message = f"could not read: {error.strerror or error}"
        raise FileError(message, where=path, hint="check the path") from error
    if len(data) > _MAX_BYTES:
        raise RobolinError(
            f"must have at most {_MAX_BYTES} bytes, got {len(data)}",
            where=path,
            hint="check the path",
        )
    read = _toml if path.lower().endswith(".toml") else _yaml
    value = read(data, path) if data.strip() else {}
    if not value:
        raise RobolinError("the file is empty", where=path, hint="write KEY: VALUE lines")
    return value


def _yaml(data: bytes, path: str) -> dict[str, FlagValue]:
    from robolin.description.yaml.yaml_nodes import Node, read_nodes

    root, findings = read_nodes(data, path)
    for finding in findings:
        raise finding.error()
    if root is None or root.kind != "mapping":
        raise RobolinError(
            "must be a mapping of keys to values", where=path, hint="write KEY: VALUE lines"
        )

    def plain(node: Node) -> FlagValue:
        if node.kind == "mapping":
            return {key.text: _scalar(plain(value), path) for key, value in node.pairs}
        if node.kind == "list":
            return [_scalar(plain(item), path) for item in node.children]
        return node.text

    return {key.text: plain(value) for key, value in root.pairs}


def _toml(data: bytes, path: str) -> dict[str, FlagValue]:
    import tomllib

    try:
        table = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise RobolinError(f"not well-formed TOML: {error}", where=path) from error

    def plain(value: Any) -> FlagValue:
        if isinstance(value, dict):
            return {key: _scalar(plain(item), path) for key, item in value.items()}
        if isinstance(value, list):
            return [_scalar(plain(item), path) for item in value]
        return text_of(value)

    return {key: plain(value) for key, value in table.items()}


def _scalar(value: FlagValue, path: str) -> str:
    if not isinstance(value, str):
        raise RobolinError("nested too deeply", where=path, hint="write KEY: {JOINT: VALUE}")
    return value


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert option values to plain types; column files become rules."""
    texts = options.get("columns")
    return {**options, "columns": column_rules_with_files(texts)} if texts else dict(options)
