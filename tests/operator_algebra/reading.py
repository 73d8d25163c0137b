"""Carrying out the lines of an explanation as they read, for serial arms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from robolin.operator_algebra.expression import Expression
from robolin.operator_algebra.primitives import Block
from robolin.operator_algebra.robot import Operators

TOKEN = re.compile(r"(?P<symbol>[^\s()+]+?)\(k(?P<shift>[-+]1)?\)|(?P<number>\d+\.?\d*)|[-+()]")


def carried_out(formula: Expression, x: np.ndarray, op: Operators) -> np.ndarray:
    """y for x, by the lines of `formula.explain()` and nothing else."""
    assert formula.columns
    assert formula.rows
    values = {"x": {k: x[list(formula.columns.rows_of(k))] for k in range(1, op.n + 1)}}
    blocks = {
        part.symbol: part
        for part in (op.H, op.M, op.P, op.G, op.D, op.Dinv, op.Mhat, op.Hd, op.rotors)
    }
    for outward, lines in _sweeps(formula.explain()):
        for k in range(op.n, 0, -1) if outward else range(1, op.n + 1):
            for name, right in lines:
                near = {"at": lambda symbol, j: _value(symbol, j, values, blocks)}
                values.setdefault(name, {})[k] = eval(_python(right, k), near)
    product = np.zeros(formula.rows.size)
    for k in range(1, op.n + 1):
        product[list(formula.rows.rows_of(k))] = values["y"][k]
    return product


def _sweeps(text: str) -> Iterator[tuple[bool, list[tuple[str, str]]]]:
    """Each sweep's direction and its lines, cut in a name and what it is."""
    for part in re.split(r"\n(?=\S)", text)[1:]:
        heading, *lines = part.splitlines()
        cut = (line.strip().split("(k) = ") for line in lines)
        yield "base to tip" in heading, [(name, right) for name, right in cut]


def _python(right: str, k: int) -> str:
    """Factors side by side become products."""
    code = ""
    ended = ""
    for token in TOKEN.finditer(right):
        if token["symbol"]:
            sign = "-" if token["symbol"].startswith("-") else ""
            symbol = token["symbol"].removeprefix("-")
            text = f"{sign}at({symbol!r}, {k + int(token['shift'] or 0)})"
        else:
            text = token[0]
        starts = token["symbol"] or token["number"] or text == "("
        code += {"factor": " @ ", "number": " * "}.get(ended, " ") if starts else " "
        code += text
        ended = "number" if token["number"] else "factor" if text[-1] == ")" else ""
    return code.strip()


def _value(symbol: str, k: int, values: dict[str, Any], blocks: dict[str, Block]) -> np.ndarray:
    block = blocks.get(symbol.removesuffix("*"))
    if block is None:
        # beyond the tip and the base there is nothing
        return values.get(symbol, {}).get(k, np.zeros(6))
    own = block.dense()[np.ix_(list(block.rows.rows_of(k)), list(block.columns.rows_of(k)))]
    return own.T if symbol.endswith("*") else own
