"""Scan CSV text before parsing: count lines and commas, detect quotes and non-ASCII bytes.

The scan reads every byte of a recording, so compiled code processes 64 bytes per step; NumPy
would need six passes.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_BLOCK_BYTES = 64
_QUOTES, _RETURNS, _NON_ASCII, _BLANK_LINES, _UNEVEN = (1 << bit for bit in range(5))


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class ScannedText(NamedTuple):
    """Line count and unusual features of a text.

    ends:            number of line ends
    quotes, returns: True if the text contains quotes, or carriage returns
    ascii:           True if all bytes are ASCII
    blank_lines:     True if a line is empty
    even:            True if all complete lines have the expected number of commas
    commas:          number of commas after the last line end
    at_end:          True if the last byte is a line end
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
    """Scan a text that follows `after`; its lines should have `commas` commas."""
    from robolin.engine.compiled.kernels import has_compiler

    if not has_compiler():
        return _scan_by_lines(text, commas, after)
    # line ends, commas since the last one, feature flags, whether the last byte is a line end
    state = np.array([0, after.commas, 0, after.at_end], np.int64)
    rest = len(text) % _BLOCK_BYTES
    # zero bytes match none of the characters
    for part in (text, text[-rest:].ljust(_BLOCK_BYTES, b"\0") if rest else b""):
        if blocks := len(part) // _BLOCK_BYTES:
            address = np.frombuffer(part, np.uint8).ctypes.data
            _program().scan(address, blocks, commas, state.ctypes.data)
    ends, open_commas, flags, _ = state.tolist()
    at_end = text.endswith(b"\n") if text else after.at_end
    return ScannedText(
        ends,
        quotes=bool(flags & _QUOTES),
        returns=bool(flags & _RETURNS),
        ascii=not flags & _NON_ASCII,
        blank_lines=bool(flags & _BLANK_LINES),
        even=not flags & _UNEVEN,
        commas=open_commas,
        at_end=at_end,
    )


def _scan_by_lines(text: bytes, commas: int, after: ScannedText) -> ScannedText:
    """Scan a text without compiled code."""
    *lines, rest = text.split(b"\n")
    counts = [line.count(b",") for line in lines]
    lengths = [*map(len, lines)]
    if lines:
        counts[0] += after.commas
        lengths[0] += not after.at_end
    return ScannedText(
        len(lines),
        quotes=b'"' in text,
        returns=b"\r" in text,
        ascii=text.isascii(),
        blank_lines=0 in lengths,
        even=all(count == commas for count in counts),
        commas=rest.count(b",") + (0 if lines else after.commas),
        at_end=text.endswith(b"\n") if text else after.at_end,
    )


class _Program(NamedTuple):
    """A compiled function, and the engine that keeps it in memory."""

    scan: Callable[[int, int, int, int], None]
    keeps: Any


@cache
def _program() -> _Program:
    from robolin.engine.compiled.kernels import cached_function

    address, keeps = cached_function(_source(), "scan")
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    return _Program(ctypes.CFUNCTYPE(None, pointer, integer, integer, pointer)(address), keeps)


def _each(letter: str) -> str:
    """LLVM vector constant with one character in every element."""
    return "<" + ", ".join([f"i8 {ord(letter)}"] * _BLOCK_BYTES) + ">"


def _source() -> str:
    """LLVM assembly of the function, compiled on first use."""
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
  %bit = select i1 %any, i64 %flag, i64 0
  ret i64 %bit
}}

define void @scan(ptr %text, i64 %blocks, i64 %expected, ptr %state) {{
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
  %differs = xor i64 %total, %expected
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
  %bit.quotes = call i64 @flag(i64 %quotes.next, i64 {_QUOTES})
  %bit.returns = call i64 @flag(i64 %returns.next, i64 {_RETURNS})
  %bit.others = call i64 @flag(i64 %others.next, i64 {_NON_ASCII})
  %bit.blanks = call i64 @flag(i64 %blanks.next, i64 {_BLANK_LINES})
  %bit.uneven = call i64 @flag(i64 %uneven.next, i64 {_UNEVEN})
  %found.1 = or i64 %found.0, %bit.quotes
  %found.2 = or i64 %found.1, %bit.returns
  %found.3 = or i64 %found.2, %bit.others
  %found.4 = or i64 %found.3, %bit.blanks
  %found.5 = or i64 %found.4, %bit.uneven
  store i64 %ends.next, ptr %ends.at
  store i64 %commas.next, ptr %commas.at
  store i64 %found.5, ptr %found.at
  store i64 %carry.next, ptr %carry.at
  ret void
}}
"""
