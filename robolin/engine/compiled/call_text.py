"""LLVM assembly of a built-in CPython function that runs a kernel for one state.

CPython passes `self`, the arguments and the names of keyword arguments to a built-in function.
This function reads the table of `call_table` from `self`, checks that every argument is an array
that the kernel can read, and runs the kernel:

    without `out`: into new arrays; several results are returned as a tuple, followed by copies of
                   the first inputs if the table requires them
    with `out`:    into its arrays, if they match the results and overlap no other array

All other arguments, and states with a nonzero kernel status, are passed unchanged to the Python
path, an ordinary function that validates, explains or computes.  The function holds the GIL from
the last argument check to the end, so all threads can share the memory of one table.
"""

from __future__ import annotations

from collections.abc import Mapping

# byte offsets of the fields of a NumPy array; `call_table` checks them at run time
TYPE, DATA, RANK, LENGTHS, ITEM_KIND, FLAGS = 8, 16, 24, 32, 56, 64
# byte offsets of the fields of its dtype
BYTE_ORDER, ITEM_NUMBER = 26, 28
NATIVE, DOUBLE_TYPE = ord("="), 12
# flags: C-contiguous, aligned, writable
READABLE, WRITABLE = 0x101, 0x501

_CHECKS = f"""
; data pointer of a double array with this shape and flags, or null
define internal ptr @data_of(ptr %object, ptr %array.type, i64 %rank, ptr %lengths, i32 %flags) {{
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
  %expected = load i64, ptr %place, align 8
  %next = add i64 %i, 1
  %same = icmp eq i64 %own, %expected
  br i1 %same, label %axis, label %no
yes:
  %data.place = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data.place, align 8
  ret ptr %data
no:
  ret ptr null
}}

; true if two ranges of doubles overlap
define internal i1 @overlap(ptr %a, i64 %a.size, ptr %b, i64 %b.size) alwaysinline {{
  %a.end = getelementptr double, ptr %a, i64 %a.size
  %b.end = getelementptr double, ptr %b, i64 %b.size
  %a.first = icmp ult ptr %a, %b.end
  %b.first = icmp ult ptr %b, %a.end
  %both = and i1 %a.first, %b.first
  ret i1 %both
}}
"""


# byte offset of the data pointer in a ctypes object, such as the table
TABLE_OFFSET = 16

MOST_INPUTS, MOST_RESULTS, MOST_AXES = 8, 8, 5

_CALL = f"""
define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %names) {{
entry:
  %starts = alloca [{2 * MOST_INPUTS + 2} x i64], align 16
  %places = alloca [{MOST_RESULTS + 1} x i64], align 16
  %made = alloca [{MOST_RESULTS} x ptr], align 16
  %handed = alloca ptr, align 8
  %status.place = alloca double, align 8
  %table.place = getelementptr i8, ptr %self, i64 {TABLE_OFFSET}
  %table = load ptr, ptr %table.place, align 8
; fields
  %named = icmp ne ptr %names, null
  br i1 %named, label %keyword, label %positional

keyword:
  %names.count = call i64 %tuple_size(ptr %names)
  %one.name = icmp eq i64 %names.count, 1
  %all.given = icmp eq i64 %count, %inputs
  %plausible = and i1 %one.name, %all.given
  br i1 %plausible, label %which, label %plain_path
which:
  %name = call ptr %tuple_item(ptr %names, i64 0)
  %is.out = icmp eq ptr %name, %out_name
  br i1 %is.out, label %with.out, label %plain_path
positional:
  %no.out = icmp eq i64 %count, %inputs
  br i1 %no.out, label %make, label %perhaps
perhaps:
  %short = sub i64 %count, 1
  %one.more = icmp eq i64 %short, %inputs
  br i1 %one.more, label %with.out, label %plain_path
with.out:
  %out.place = getelementptr ptr, ptr %arguments, i64 %inputs
  %given = load ptr, ptr %out.place, align 8
  %is.none = icmp eq ptr %given, %none
  br i1 %is.none, label %make, label %look.at.out

; create new arrays before checking the arguments: creating them may run other code
make:
  br label %make.next
make.next:
  %r = phi i64 [0, %make], [%r.next, %make.one]
  %make.more = icmp slt i64 %r, %created
  br i1 %make.more, label %make.it, label %inputs.begin
make.it:
  %new.rank.place = getelementptr i64, ptr %ranks, i64 %r
  %new.rank.64 = load i64, ptr %new.rank.place, align 8
  %new.rank = trunc i64 %new.rank.64 to i32
  %new.lengths.first = mul i64 %r, {MOST_AXES}
  %new.lengths = getelementptr i64, ptr %lengths, i64 %new.lengths.first
  %array = call ptr %new_array(ptr %array_type, i32 %new.rank, ptr %new.lengths, i32 {DOUBLE_TYPE},
                               ptr null, ptr null, i32 0, i32 0, ptr null)
  %there = icmp ne ptr %array, null
  br i1 %there, label %make.one, label %failed
make.one:
  %made.place = getelementptr ptr, ptr %made, i64 %r
  store ptr %array, ptr %made.place, align 8
  %array.data.place = getelementptr i8, ptr %array, i64 {DATA}
  %array.data = load i64, ptr %array.data.place, align 8
  %result.place = getelementptr i64, ptr %places, i64 %r
  store i64 %array.data, ptr %result.place, align 8
  %r.next = add i64 %r, 1
  br label %make.next

; arrays of the argument `out`
look.at.out:
  %single = icmp eq i64 %results, 1
  br i1 %single, label %out.begin, label %out.tuple
out.tuple:
  %given.type.place = getelementptr i8, ptr %given, i64 {TYPE}
  %given.type = load ptr, ptr %given.type.place, align 8
  %is.ours = icmp eq ptr %given.type, %result_type
  %is.tuple = icmp eq ptr %given.type, %tuple_type
  %is.either = or i1 %is.ours, %is.tuple
  br i1 %is.either, label %out.count, label %plain_path
out.count:
  %given.count = call i64 %tuple_size(ptr %given)
  %all.there = icmp eq i64 %given.count, %results
  br i1 %all.there, label %out.begin, label %plain_path
out.begin:
  br label %out.next
out.next:
  %o = phi i64 [0, %out.begin], [%o.next, %out.fits]
  %out.more = icmp slt i64 %o, %results
  br i1 %out.more, label %out.which, label %inputs.begin
out.which:
  br i1 %single, label %out.look, label %out.item
out.item:
  %item = call ptr %tuple_item(ptr %given, i64 %o)
  %is.item = icmp ne ptr %item, null
  br i1 %is.item, label %out.look, label %failed
out.look:
  %target = phi ptr [%given, %out.which], [%item, %out.item]
  %rank.place = getelementptr i64, ptr %ranks, i64 %o
  %rank = load i64, ptr %rank.place, align 8
  %lengths.first = mul i64 %o, {MOST_AXES}
  %o.lengths = getelementptr i64, ptr %lengths, i64 %lengths.first
  %o.data = call ptr @data_of(ptr %target, ptr %array_type, i64 %rank, ptr %o.lengths,
                                i32 {WRITABLE})
  %o.there = icmp ne ptr %o.data, null
  br i1 %o.there, label %out.fits, label %plain_path
out.fits:
  %o.place = getelementptr ptr, ptr %places, i64 %o
  store ptr %o.data, ptr %o.place, align 8
  %o.next = add i64 %o, 1
  br label %out.next

inputs.begin:
  %fresh = phi i1 [true, %make.next], [false, %out.next]
  %target.object = phi ptr [null, %make.next], [%given, %out.next]
  br label %inputs.next
inputs.next:
  %i = phi i64 [0, %inputs.begin], [%i.next, %input.fits]
  %input.more = icmp slt i64 %i, %inputs
  br i1 %input.more, label %input.look, label %inputs.end
input.look:
  %argument.place = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument.place, align 8
  %i.data = call ptr @data_of(ptr %argument, ptr %array_type, i64 %input_rank,
                                ptr %input_lengths, i32 {READABLE})
  %i.there = icmp ne ptr %i.data, null
  br i1 %i.there, label %input.fits, label %dropped
input.fits:
  %start.number = shl i64 %i, 1
  %start.place = getelementptr ptr, ptr %starts, i64 %start.number
  store ptr %i.data, ptr %start.place, align 8
  %stride.place = getelementptr i64, ptr %start.place, i64 1
  store i64 0, ptr %stride.place, align 8
  %i.next = add i64 %i, 1
  br label %inputs.next
; a constant input is not an argument; kernels without one do not read it
inputs.end:
  %fixed.number = shl i64 %inputs, 1
  %fixed.start = getelementptr ptr, ptr %starts, i64 %fixed.number
  store ptr %fixed, ptr %fixed.start, align 8
  %fixed.stride = getelementptr i64, ptr %fixed.start, i64 1
  store i64 0, ptr %fixed.stride, align 8
  br i1 %fresh, label %run, label %apart.next

; output arrays must not overlap inputs or each other
apart.next:
  %p = phi i64 [0, %inputs.end], [%p.next, %apart.each.end]
  %apart.more = icmp slt i64 %p, %results
  br i1 %apart.more, label %apart.one, label %run
apart.one:
  %p.place = getelementptr ptr, ptr %places, i64 %p
  %p.data = load ptr, ptr %p.place, align 8
  %p.size.place = getelementptr i64, ptr %sizes, i64 %p
  %p.size = load i64, ptr %p.size.place, align 8
  br label %apart.input
apart.input:
  %a = phi i64 [0, %apart.one], [%a.next, %apart.input.look]
  %a.more = icmp slt i64 %a, %inputs
  br i1 %a.more, label %apart.input.look, label %apart.result
apart.input.look:
  %a.number = shl i64 %a, 1
  %a.place = getelementptr ptr, ptr %starts, i64 %a.number
  %a.data = load ptr, ptr %a.place, align 8
  %a.next = add i64 %a, 1
  %a.shared = call i1 @overlap(ptr %p.data, i64 %p.size, ptr %a.data, i64 %joints)
  br i1 %a.shared, label %plain_path, label %apart.input
apart.result:
  %b = phi i64 [0, %apart.input], [%b.next, %apart.result.look]
  %b.more = icmp slt i64 %b, %p
  br i1 %b.more, label %apart.result.look, label %apart.each.end
apart.result.look:
  %b.place = getelementptr ptr, ptr %places, i64 %b
  %b.data = load ptr, ptr %b.place, align 8
  %b.size.place = getelementptr i64, ptr %sizes, i64 %b
  %b.size = load i64, ptr %b.size.place, align 8
  %b.next = add i64 %b, 1
  %b.shared = call i1 @overlap(ptr %p.data, i64 %p.size, ptr %b.data, i64 %b.size)
  br i1 %b.shared, label %plain_path, label %apart.result
apart.each.end:
  %p.next = add i64 %p, 1
  br label %apart.next

run:
  %past.caches = getelementptr i64, ptr %places, i64 %results
  store i64 0, ptr %past.caches, align 8
  call void %kernel(ptr %doubles, ptr %wholes, ptr %starts, ptr %places, ptr %status.place,
                    ptr %scratch, ptr %tables, ptr %staging, i64 %links, i64 %joints, i64 0, i64 1)
  %status = load double, ptr %status.place, align 8
  %valid = fcmp oeq double %status, 0.0
  br i1 %valid, label %answer, label %dropped
answer:
  br i1 %fresh, label %new, label %same
same:
  call void %keep(ptr %target.object)
  ret ptr %target.object
new:
  %several = icmp ne i64 %created, 1
  br i1 %several, label %copy.next, label %alone
alone:
  %only = load ptr, ptr %made, align 8
  ret ptr %only
; arrays after the results are copies of inputs
copy.next:
  %k = phi i64 [%results, %new], [%k.next, %copy.end]
  %copy.more = icmp slt i64 %k, %created
  br i1 %copy.more, label %copy.one, label %gather
copy.one:
  %k.made.place = getelementptr ptr, ptr %made, i64 %k
  %k.array = load ptr, ptr %k.made.place, align 8
  %k.data.place = getelementptr i8, ptr %k.array, i64 {DATA}
  %k.data = load ptr, ptr %k.data.place, align 8
  %k.input = sub i64 %k, %results
  %k.start.number = shl i64 %k.input, 1
  %k.start.place = getelementptr ptr, ptr %starts, i64 %k.start.number
  %k.start = load ptr, ptr %k.start.place, align 8
  %k.next = add i64 %k, 1
  br label %copy.number
copy.number:
  %e = phi i64 [0, %copy.one], [%e.next, %copy.it]
  %e.more = icmp slt i64 %e, %joints
  br i1 %e.more, label %copy.it, label %copy.end
copy.it:
  %e.from.place = getelementptr double, ptr %k.start, i64 %e
  %e.number = load double, ptr %e.from.place, align 8
  %e.place = getelementptr double, ptr %k.data, i64 %e
  store double %e.number, ptr %e.place, align 8
  %e.next = add i64 %e, 1
  br label %copy.number
copy.end:
  br label %copy.next
gather:
  %tuple = call ptr %tuple_new(i64 %created)
  %got.tuple = icmp ne ptr %tuple, null
  br i1 %got.tuple, label %put.next, label %failed.after
put.next:
  %t = phi i64 [0, %gather], [%t.next, %put.one]
  %put.more = icmp slt i64 %t, %created
  br i1 %put.more, label %put.one, label %put.end
put.one:
  %t.place = getelementptr ptr, ptr %made, i64 %t
  %t.array = load ptr, ptr %t.place, align 8
  %put = call i32 %tuple_put(ptr %tuple, i64 %t, ptr %t.array)
  %t.next = add i64 %t, 1
  br label %put.next
put.end:
  %unnamed = icmp eq ptr %name_them, null
  br i1 %unnamed, label %bare, label %give.names
bare:
  ret ptr %tuple
give.names:
  store ptr %tuple, ptr %handed, align 8
  %with.names = call ptr %vectorcall(ptr %name_them, ptr %handed, i64 1, ptr null)
  call void %drop(ptr %tuple)
  ret ptr %with.names

; out of memory: release the new arrays and keep the interpreter's exception
failed:
  %so.far = phi i64 [%r, %make.it], [0, %out.item]
  br label %clear
failed.after:
  br label %clear
; no result: release the new arrays and call the Python path
dropped:
  %unneeded = select i1 %fresh, i64 %created, i64 0
  br label %clear
clear:
  %left = phi i64 [%so.far, %failed], [%created, %failed.after], [%unneeded, %dropped]
  %error = phi i1 [true, %failed], [true, %failed.after], [false, %dropped]
  br label %clear.next
clear.next:
  %c = phi i64 [0, %clear], [%c.next, %clear.one]
  %clear.more = icmp slt i64 %c, %left
  br i1 %clear.more, label %clear.one, label %clear.end
clear.one:
  %c.place = getelementptr ptr, ptr %made, i64 %c
  %c.array = load ptr, ptr %c.place, align 8
  call void %drop(ptr %c.array)
  %c.next = add i64 %c, 1
  br label %clear.next
clear.end:
  br i1 %error, label %nothing, label %plain_path
nothing:
  ret ptr null
plain_path:
  %answered = call ptr %vectorcall(ptr %plain, ptr %arguments, i64 %count, ptr %names)
  ret ptr %answered
}}
"""


def call_text(offsets: Mapping[str, int]) -> str:
    """The complete module, for a table with these byte offsets of its fields."""
    return _CHECKS + _CALL.replace("; fields", "\n".join(_fields(offsets)))


# fields that are integers, and arrays that are read in place
_NUMBERS = ("inputs", "results", "created", "links", "joints", "input_rank")
_LISTS = ("input_lengths", "sizes", "ranks", "lengths")


def _fields(offsets: Mapping[str, int]) -> list[str]:
    lines = []
    for name, offset in offsets.items():
        where = f"%{name}" if name in _LISTS else f"%{name}.place"
        lines.append(f"  {where} = getelementptr i8, ptr %table, i64 {offset}")
        if name not in _LISTS:
            kind = "i64" if name in _NUMBERS else "ptr"
            lines.append(f"  %{name} = load {kind}, ptr {where}, align 8")
    return lines
