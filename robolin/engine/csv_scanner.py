"""What the bytes of a text tell before any number of it is read: lines, cells, unusual signs.

Every byte of a recording is looked at for this, so that it is done by machine code of our own, 64
bytes at a time; NumPy would go over them six times.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_AT_ONCE = 64
_QUOTES, _RETURNS, _OTHER_LETTERS, _BLANK_LINES, _UNEVEN = (1 << bit for bit in range(5))


class ScannedText(NamedTuple):
    """Lines that end within a text, and what is unusual about it.

    quotes, returns: whether there are any
    ascii:           whether there are no letters but those of ASCII
    blank_lines:     whether a line ends where it begins
    even:            whether all lines that end have so many commas
    commas:          those behind the last end
    at_end:          whether the last byte ends a line
    """

    ends: int
    quotes: bool
    returns: bool
    ascii: bool
    blank_lines: bool
    even: bool
    commas: int
    at_end: bool


NOTHING_YET = ScannedText(0, False, False, True, False, True, 0, True)


def scan_bytes(text: bytes, commas: int = 0, after: ScannedText = NOTHING_YET) -> ScannedText:
    """Look at a text, whose lines are to have so many commas, behind another one."""
    # ends, commas of the line so far, what was found, and whether the last byte was an end
    state = np.array([0, after.commas, 0, after.at_end], np.int64)
    rest = len(text) % _AT_ONCE
    # zeros are no letters that anybody looks for
    for part in (text, text[-rest:].ljust(_AT_ONCE, b"\0") if rest else b""):
        if blocks := len(part) // _AT_ONCE:
            place = np.frombuffer(part, np.uint8).ctypes.data
            _program().scan(place, blocks, commas, state.ctypes.data)
    ends, behind, found, _ = state.tolist()
    at_end = text.endswith(b"\n") if text else after.at_end
    return ScannedText(
        ends,
        quotes=bool(found & _QUOTES),
        returns=bool(found & _RETURNS),
        ascii=not found & _OTHER_LETTERS,
        blank_lines=bool(found & _BLANK_LINES),
        even=not found & _UNEVEN,
        commas=behind,
        at_end=at_end,
    )


class _Program(NamedTuple):
    """A function in machine code, and what keeps it in memory."""

    scan: Callable[[int, int, int, int], None]
    keeps: Any


@cache
def _program() -> _Program:
    from robolin.engine.compiled.kernels import cached_function

    address, keeps = cached_function(_source(), "scan")
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    return _Program(ctypes.CFUNCTYPE(None, pointer, whole, whole, pointer)(address), keeps)


def _each(letter: str) -> str:
    """A letter in every place of a vector."""
    return "<" + ", ".join([f"i8 {ord(letter)}"] * _AT_ONCE) + ">"


def _source() -> str:
    """The function as LLVM reads it, made when it is first run."""
    return f"""
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)

define i64 @mask(<64 x i8> %bytes, <64 x i8> %letter) alwaysinline {{
  %same = icmp eq <64 x i8> %bytes, %letter
  %bits = bitcast <64 x i1> %same to i64
  ret i64 %bits
}}

define i64 @flag(i64 %bits, i64 %flag) alwaysinline {{
  %any = icmp ne i64 %bits, 0
  %told = select i1 %any, i64 %flag, i64 0
  ret i64 %told
}}

define void @scan(ptr %text, i64 %blocks, i64 %wanted, ptr %state) {{
begin:
  %ends.at = getelementptr i64, ptr %state, i64 0
  %commas.at = getelementptr i64, ptr %state, i64 1
  %found.at = getelementptr i64, ptr %state, i64 2
  %carry.at = getelementptr i64, ptr %state, i64 3
  %ends.0 = load i64, ptr %ends.at
  %commas.0 = load i64, ptr %commas.at
  %found.0 = load i64, ptr %found.at
  %carry.0 = load i64, ptr %carry.at
  br label %block

block:
  %i = phi i64 [ 0, %begin ], [ %i.next, %next ]
  %ends = phi i64 [ %ends.0, %begin ], [ %ends.next, %next ]
  %commas = phi i64 [ %commas.0, %begin ], [ %commas.next, %next ]
  %carry = phi i64 [ %carry.0, %begin ], [ %carry.next, %next ]
  %quotes = phi i64 [ 0, %begin ], [ %quotes.next, %next ]
  %returns = phi i64 [ 0, %begin ], [ %returns.next, %next ]
  %others = phi i64 [ 0, %begin ], [ %others.next, %next ]
  %blanks = phi i64 [ 0, %begin ], [ %blanks.next, %next ]
  %uneven = phi i64 [ 0, %begin ], [ %uneven.next, %next ]
  %place = getelementptr <64 x i8>, ptr %text, i64 %i
  %bytes = load <64 x i8>, ptr %place, align 1
  %line.ends = call i64 @mask(<64 x i8> %bytes, <64 x i8> {_each(chr(10))})
  %line.commas = call i64 @mask(<64 x i8> %bytes, <64 x i8> {_each(",")})
  %quote = call i64 @mask(<64 x i8> %bytes, <64 x i8> {_each('"')})
  %return = call i64 @mask(<64 x i8> %bytes, <64 x i8> {_each(chr(13))})
  %high = icmp slt <64 x i8> %bytes, zeroinitializer
  %other = bitcast <64 x i1> %high to i64
  %quotes.next = or i64 %quotes, %quote
  %returns.next = or i64 %returns, %return
  %others.next = or i64 %others, %other
  %shifted = shl i64 %line.ends, 1
  %begins = or i64 %shifted, %carry
  %blank = and i64 %begins, %line.ends
  %blanks.next = or i64 %blanks, %blank
  %carry.next = lshr i64 %line.ends, 63
  %count = call i64 @llvm.ctpop.i64(i64 %line.ends)
  %ends.next = add i64 %ends, %count
  br label %line

line:
  %left = phi i64 [ %line.ends, %block ], [ %left.next, %end ]
  %cells = phi i64 [ %line.commas, %block ], [ %cells.next, %end ]
  %so.far = phi i64 [ %commas, %block ], [ 0, %end ]
  %uneven.next = phi i64 [ %uneven, %block ], [ %uneven.new, %end ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %next, label %end

end:
  %before = sub i64 %left, 1
  %rest = and i64 %left, %before
  %lowest = xor i64 %left, %rest
  %below = sub i64 %lowest, 1
  %cells.line = and i64 %cells, %below
  %cells.count = call i64 @llvm.ctpop.i64(i64 %cells.line)
  %total = add i64 %so.far, %cells.count
  %differs = xor i64 %total, %wanted
  %uneven.new = or i64 %uneven.next, %differs
  %above = xor i64 %below, -1
  %cells.next = and i64 %cells, %above
  %left.next = and i64 %left, %before
  br label %line

next:
  %cells.left = call i64 @llvm.ctpop.i64(i64 %cells)
  %commas.next = add i64 %so.far, %cells.left
  %i.next = add i64 %i, 1
  %last = icmp eq i64 %i.next, %blocks
  br i1 %last, label %done, label %block

done:
  %told.quotes = call i64 @flag(i64 %quotes.next, i64 {_QUOTES})
  %told.returns = call i64 @flag(i64 %returns.next, i64 {_RETURNS})
  %told.others = call i64 @flag(i64 %others.next, i64 {_OTHER_LETTERS})
  %told.blanks = call i64 @flag(i64 %blanks.next, i64 {_BLANK_LINES})
  %told.uneven = call i64 @flag(i64 %uneven.next, i64 {_UNEVEN})
  %found.1 = or i64 %found.0, %told.quotes
  %found.2 = or i64 %found.1, %told.returns
  %found.3 = or i64 %found.2, %told.others
  %found.4 = or i64 %found.3, %told.blanks
  %found.5 = or i64 %found.4, %told.uneven
  store i64 %ends.next, ptr %ends.at
  store i64 %commas.next, ptr %commas.at
  store i64 %found.5, ptr %found.at
  store i64 %carry.next, ptr %carry.at
  ret void
}}
"""
