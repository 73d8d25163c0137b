"""How a built-in function looks at an array, in assembly: whether it is as a kernel reads it."""

from __future__ import annotations

# where an array keeps what is asked about it, in bytes; `interpreter` sees to it that it is so
TYPE, DATA, RANK, LENGTHS, ITEM_KIND, FLAGS = 8, 16, 24, 32, 56, 64
# and the kind of its items
BYTE_ORDER, ITEM_NUMBER = 26, 28
NATIVE, DOUBLE_TYPE = ord("="), 12
# flags: unbroken rows, on boundaries, may be written to
READABLE, WRITABLE = 0x101, 0x501

LOOK = f"""
; where the numbers of an array are, or nothing if it is not such an array
define internal ptr @looked_at(ptr %object, ptr %array.type, i64 %rank, ptr %lengths, i32 %flags) {{
entry:
  %type.place = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %type.place, align 8
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %no
array:
  %rank.place = getelementptr i8, ptr %object, i64 {RANK}
  %own.rank = load i32, ptr %rank.place, align 4
  %rank.32 = trunc i64 %rank to i32
  %same.rank = icmp eq i32 %own.rank, %rank.32
  %flags.place = getelementptr i8, ptr %object, i64 {FLAGS}
  %own.flags = load i32, ptr %flags.place, align 4
  %common = and i32 %own.flags, %flags
  %same.flags = icmp eq i32 %common, %flags
  %kind.place = getelementptr i8, ptr %object, i64 {ITEM_KIND}
  %kind = load ptr, ptr %kind.place, align 8
  %order.place = getelementptr i8, ptr %kind, i64 {BYTE_ORDER}
  %order = load i8, ptr %order.place, align 1
  %native = icmp eq i8 %order, {NATIVE}
  %number.place = getelementptr i8, ptr %kind, i64 {ITEM_NUMBER}
  %number = load i32, ptr %number.place, align 4
  %double = icmp eq i32 %number, {DOUBLE_TYPE}
  %fits.1 = and i1 %same.rank, %same.flags
  %fits.2 = and i1 %native, %double
  %fits = and i1 %fits.1, %fits.2
  %lengths.place = getelementptr i8, ptr %object, i64 {LENGTHS}
  %own.lengths = load ptr, ptr %lengths.place, align 8
  br i1 %fits, label %axis, label %no
axis:
  %i = phi i64 [0, %array], [%next, %length]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %length, label %yes
length:
  %own.place = getelementptr i64, ptr %own.lengths, i64 %i
  %own = load i64, ptr %own.place, align 8
  %place = getelementptr i64, ptr %lengths, i64 %i
  %wanted = load i64, ptr %place, align 8
  %next = add i64 %i, 1
  %same = icmp eq i64 %own, %wanted
  br i1 %same, label %axis, label %no
yes:
  %data.place = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data.place, align 8
  ret ptr %data
no:
  ret ptr null
}}

; whether two stretches of doubles share memory
define internal i1 @overlap(ptr %a, i64 %a.size, ptr %b, i64 %b.size) alwaysinline {{
  %a.end = getelementptr double, ptr %a, i64 %a.size
  %b.end = getelementptr double, ptr %b, i64 %b.size
  %a.first = icmp ult ptr %a, %b.end
  %b.first = icmp ult ptr %b, %a.end
  %both = and i1 %a.first, %b.first
  ret i1 %both
}}
"""
