"""How a kernel is entered, in assembly: for a range of rows, or by threads that share rows out.

A compiler that cannot know where its stack lies either spills whole registers across the borders
of cache lines, which costs a tenth of the time in every other process, or gives up a register to
find its way.  So a kernel takes an aligned stack for granted, and the two functions here, the only
ones that call it, see to it.

Threads share out rows among themselves; nobody hands out work.  Rows are divided into one region
per thread.  A thread claims piece after piece of its own region, so that from call to call it
meets the same memory; when that is done it goes on in the regions of the others.  Claiming is
adding to a counter that all threads see at once, which takes no time worth speaking of, so pieces
can be small and all threads end together.  A last counter holds the rows that are done: whoever
asked for them looks at that one, and need not wait for a thread that woke up too late.
"""

from __future__ import annotations

# counters lie a cache line apart, so that threads which claim do not disturb each other
COUNTER_STRIDE = 8

RANGE = "i64 %first, i64 %last"
SHARING = "i64 %piece, i64 %worker, i64 %workers, ptr noalias readonly %bounds, ptr %claimed"

# how often to look whether the others are done with their last pieces, before going to sleep:
# 25 µs or so, less than falling asleep and waking up would take
PATIENCE = 50_000

# a call that were the last thing done would become a jump, and leave the stack as it came
_CALL = """
  notail call void @kernel({known}, i64 %first, i64 %last)
  ret void
"""

_SHARE = f"""
entry:
  %all.place = getelementptr i64, ptr %bounds, i64 %workers
  %all = load i64, ptr %all.place, align 8
  %last.line = mul i64 %workers, {COUNTER_STRIDE}
  %finished = getelementptr i64, ptr %claimed, i64 %last.line
  %asked = icmp eq i64 %worker, 0
  %patience = select i1 %asked, i64 {PATIENCE}, i64 1
  br label %region
region:
  %turn = phi i64 [0, %entry], [%following, %done]
  %shifted = add i64 %worker, %turn
  %here = urem i64 %shifted, %workers
  %after = add i64 %here, 1
  %end.place = getelementptr i64, ptr %bounds, i64 %after
  %end = load i64, ptr %end.place, align 8
  %line = mul i64 %here, {COUNTER_STRIDE}
  %counter = getelementptr i64, ptr %claimed, i64 %line
  br label %claim
claim:
  %first = atomicrmw add ptr %counter, i64 %piece monotonic
  %left = icmp slt i64 %first, %end
  br i1 %left, label %work, label %done
work:
  %beyond = add i64 %first, %piece
  %last = call i64 @llvm.smin.i64(i64 %beyond, i64 %end)
  notail call void @kernel({{known}}, i64 %first, i64 %last)
  %count = sub i64 %last, %first
  %earlier = atomicrmw add ptr %finished, i64 %count release
  br label %claim
done:
  %following = add i64 %turn, 1
  %more = icmp slt i64 %following, %workers
  br i1 %more, label %region, label %look
look:
  %looks = phi i64 [1, %done], [%again, %wait]
  %so.far = load atomic i64, ptr %finished acquire, align 8
  %complete = icmp eq i64 %so.far, %all
  %tired = icmp sge i64 %looks, %patience
  %enough = or i1 %complete, %tired
  br i1 %enough, label %over, label %wait
wait:
  %again = add i64 %looks, 1
  br label %look
over:
  %answer = zext i1 %complete to i64
  ret i64 %answer
"""


def entries(kernel_arguments: str) -> str:
    """`call` and `share` for a kernel that takes these arguments and then a range of rows.

    `share` answers 1 if all rows are done, by whomever, and 0 if somebody is still at work.
    """
    # attributes are for definitions; a call names type and value alone
    words = [argument.split() for argument in kernel_arguments.split(", ")]
    known = ", ".join(f"{kind} {name}" for kind, *_, name in words)
    return "\n".join(
        f'define {answer} @{name}({kernel_arguments}, {more}) "stackrealign" {{{body}}}'
        for answer, name, more, body in (
            ("void", "call", RANGE, _CALL.format(known=known)),
            ("i64", "share", SHARING, _SHARE.format(known=known)),
        )
    )
