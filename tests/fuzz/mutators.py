"""Mutate files according to their format, so that most mutants are still readable."""

from __future__ import annotations

import copy
import io
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars

NUMBERS = [
    *("0", "-0", "1", "-1", "1e-320", "1e200", "-1e200", "1e308", "1e999", "nan", "inf", "-inf"),
    *("1e-200", "9" * 400, "0x10", "1_000", "١٢", "", " ", "1,5", "true", "~", "pi/2", "90deg"),
]
WORDS = [
    "",
    " ",
    "a",
    "base",
    "joints",
    "::error::x",
    "\x1b[31m",
    "\0",
    "é",
    "\ud800",
    "../x",
    "<<",
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 1e308, 10**30, "", "x", "*", "joints", "-", [], [1], ["a"], [[]]),
    *({}, {"a": 1}, "\ud800", "/etc", {"rtol": -1}, [None], 1 << 62),
]
EXPRESSIONS = [
    *("", "1/0", "m", "m*", "[]", "{}", "None", "pi", "[0][9]", "'a'*3", "1e308*10"),
    *(
        "().__class__",
        "open('/etc/passwd').read()",
        "range(10**9)",
        "[0]*10**10",
        "'%1000000000d'%1",
    ),
    *(
        "arg mass",
        "arg nothing",
        "find nothing",
        "env HOME",
        "eval 1+1",
        "cwd",
        "dirname",
        "lambda: 0",
    ),
    *(
        "sum(range(10**9))",
        "xacro.load_yaml('/etc/passwd')",
        "m if m else l",
        "-m",
        "1e400",
        "\x1b[31m",
    ),
]
# they go on until they are stopped, which takes seconds
ENDLESS = ["sum(range(10**9))", "9**9**9"]
PUNCTUATION = "<>\"'&/=${}[]():;,.|#-+*\n\t\r \\\0é"


def any_text(text: str, rng: random.Random) -> str:
    """A character, a piece or a line changed, lost, doubled or moved."""
    at = rng.randrange(len(text) + 1)
    match rng.randrange(6):
        case 0:
            return text[:at] + rng.choice(PUNCTUATION) + text[at + 1 :]
        case 1:
            return text[:at] + text[at + rng.randint(1, 30) :]
        case 2:
            start = rng.randrange(len(text) + 1)
            return text[:at] + text[start : start + rng.randint(1, 80)] + text[at:]
        case 3:
            lines = text.splitlines(keepends=True) or [""]
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i] = rng.choice([lines[j], "", lines[i] * 2, lines[i].rstrip("\n")])
            return "".join(lines)
        case 4:
            return _replaced(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", NUMBERS, text, rng)
        case _:
            return _replaced(r"[A-Za-z_]\w*", WORDS, text, rng)


def urdf(text: str, rng: random.Random) -> str:
    """An element doubled, lost or moved, an attribute renamed or given another value."""
    match rng.randrange(4):
        case 0:
            return _again(r"<(\w+)[^<>]*/>", text, rng)
        case 1:
            return _again(r"<(link|joint)\b.*?</\1>", text, rng)
        case 2:
            return _replaced(r'(?<=")[^"]*(?=")', [*NUMBERS, *WORDS, "0 0 1", "0 0"], text, rng)
        case _:
            return any_text(text, rng)


def sdf(text: str, rng: random.Random) -> str:
    """The text of an element replaced, an element doubled or lost, or a change as in URDF."""
    names = ["world", "__model__", "hand::palm", "lift", "a::b::c", "part.sdf", "model://part"]
    match rng.randrange(4):
        case 0:
            odd = [*NUMBERS, *WORDS, *names, "0 0 1", "0 0 0 0 0 90"]
            return _replaced(r"(?<=>)[^<>\n]+(?=<)", odd, text, rng)
        case 1:
            return _again(r"<(\w+)\b[^<>]*>[^<>]*</\1>|<(\w+)\b[^<>]*/>", text, rng)
        case 2:
            return _replaced(r'(?<=")[^"]*(?=")', names, text, rng)
        case _:
            return urdf(text, rng)


def xacro(text: str, rng: random.Random) -> str:
    """Mutate as URDF, or replace expressions by others, which may be any Python expression."""
    if rng.random() < 0.4:
        choices = EXPRESSIONS if rng.random() < 0.99 else ENDLESS
        return _replaced(r"(?<=\$\{)[^{}]*(?=\})|(?<=\$\()[^()]*(?=\))", choices, text, rng)
    return urdf(text, rng)


def yaml(text: str, rng: random.Random) -> str:
    """A value replaced, a key renamed, an item doubled, anchors and tags put in."""
    match rng.randrange(4):
        case 0:
            return _replaced(
                r"(?<=: )[^\n,}\]]+", [*NUMBERS, *WORDS, "[]", "{}", "&a 1"], text, rng
            )
        case 1:
            return _again(r"(?m)^ +- .*$\n?", text, rng)
        case 2:
            return _replaced(r"\w+(?=:)", [*WORDS, "mass", "name", "? a"], text, rng)
        case _:
            return any_text(text, rng)


def toml(text: str, rng: random.Random) -> str:
    """A value of another type, a key or a table twice."""
    match rng.randrange(3):
        case 0:
            odd = [
                "1",
                "[]",
                "{}",
                "{a=1}",
                "[[1]]",
                "inf",
                "1979-05-27",
                '""',
                "true",
                "'''",
                "[1",
            ]
            return _replaced(r"(?<== )[^\n]+", odd, text, rng)
        case 1:
            return _again(r"(?m)^.*$\n?", text, rng)
        case _:
            return any_text(text, rng)


def csv(text: str, rng: random.Random) -> str:
    """Replace, add or remove a cell, or move a line or a quotation mark."""
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    cells = lines[at].rstrip("\r\n").split(",")
    i = rng.randrange(len(cells))
    match rng.randrange(5):
        case 0:
            cells[i] = rng.choice(NUMBERS)
        case 1:
            cells.insert(i, rng.choice(NUMBERS))
        case 2:
            cells.pop(i)
        case 3:
            cells[i] = f'"{cells[i]}{rng.choice(["", chr(10), chr(34)])}"'
        case _:
            return any_text(text, rng)
    lines[at] = ",".join(cells) + rng.choice(["\n", "\n", "\n", "\r\n", "\r", ""])
    return "".join(lines)


def tree(document: Any, rng: random.Random) -> Any:
    """A part of a JSON document replaced, removed or added."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 2, 3])):
        paths = [path for path in _paths(document) if path]
        if not paths:
            return rng.choice(VALUES)
        *way, last = rng.choice(paths)
        around = document
        for step in way:
            around = around[step]
        kind = rng.random()
        if kind < 0.2:
            del around[last]
        elif kind < 0.3 and isinstance(around, dict):
            around[rng.choice(["x", "", "arm", "q", "time", "tau"])] = rng.choice(VALUES)
        else:
            around[last] = copy.deepcopy(rng.choice(VALUES))
    return document


def npz(data: bytes, rng: random.Random) -> bytes:
    """Change types and shapes of arrays, headers, members or the compression."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(parts))
    match rng.randrange(6):
        case 0:
            array = np.load(io.BytesIO(parts[name]))
            kinds: list[Callable[[Any], Any]] = [
                *(lambda a: a.T, lambda a: a[:0], lambda a: a.ravel(), lambda a: a.astype(str)),
                *(lambda a: np.asfortranarray(a), lambda a: a[..., None], lambda a: a[:1]),
            ]
            held = io.BytesIO()
            np.save(held, rng.choice(kinds)(array))
            parts[name] = held.getvalue()
        case 1:
            del parts[name]
        case 2:
            head = parts[name][:128]
            parts[name] = any_bytes(head, rng) + parts[name][128:]
        case 3:
            old = re.search(rb"\((\d+)", parts[name][:128])
            if old:
                size = rng.choice([b"0", b"9", b"99999999", b"-1", b"9" * 20])
                parts[name] = parts[name].replace(old[0], b"(" + size, 1)
        case 4:
            return any_bytes(data, rng)
        case _:
            ways = [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]
            return any_bytes(zipped(parts, rng.choice(ways)), rng)
    return zipped(parts, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


def parquet(data: bytes, rng: random.Random) -> bytes:
    """Change column types, add NaN or duplicate names, or change bytes."""
    frame = polars.read_parquet(io.BytesIO(data))
    name = rng.choice(frame.columns)
    match rng.randrange(5):
        case 0:
            kind = rng.choice([polars.String, polars.Int64, polars.Float32, polars.Boolean])
            frame = frame.with_columns(polars.col(name).cast(kind))
        case 1:
            gap = rng.choice([None, float("nan"), float("inf")])
            frame = frame.with_columns(
                polars.when(polars.int_range(polars.len()) == 3)
                .then(polars.lit(gap, polars.Float64))
                .otherwise(polars.col(name))
                .alias(name)
            )
        case 2:
            frame = frame.rename({name: rng.choice(["x", "time", "", "q[99]", name + " "])})
        case _:
            return any_bytes(data, rng)
    held = io.BytesIO()
    frame.write_parquet(held)
    return held.getvalue()


def any_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, lost, or doubled."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0 | 1 if at < len(changed):
                changed[at] = rng.choice([0, 255, changed[at] ^ (1 << rng.randrange(8))])
            case 2:
                del changed[at : at + rng.randint(1, 40)]
            case _:
                changed[at:at] = changed[at : at + rng.randint(1, 40)]
    return bytes(changed)


def zipped(parts: dict[str, bytes], way: int) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", way) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=way)
    return held.getvalue()


def of_text(change: Callable[[str, random.Random], str]) -> Callable[[bytes, random.Random], bytes]:
    """Turn a mutator of text into one of bytes that applies it a few times."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        text = data.decode()
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            text = change(text, rng) if text else text
        return text.encode(errors="surrogatepass")

    return changed


def _replaced(pattern: str, choices: list[str], text: str, rng: random.Random) -> str:
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    one = rng.choice(matches)
    return text[: one.start()] + rng.choice(choices) + text[one.end() :]


def _again(pattern: str, text: str, rng: random.Random) -> str:
    matches = list(re.finditer(pattern, text, re.DOTALL))
    if not matches:
        return text
    one, other = rng.choice(matches), rng.choice(matches)
    new = rng.choice(["", one[0] * 2, other[0]])
    return text[: one.start()] + new + text[one.end() :]


def _paths(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*way, key))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from _paths(value[i], (*way, i))
