"""The long runs: python -m tests.fuzz --mutants 350000, and --kills 1000."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.campaign import AT_ONCE, Tally, print_totals, store_failure
from tests.fuzz.kills import campaign
from tests.fuzz.long_run import Batch, apart, ready
from tests.fuzz.subjects import SUBJECTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("--mutants", type=int, default=10_000, help="how many files in all")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other files")
    parser.add_argument("--kind", action="append", choices=list(SUBJECTS), help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--keep", action="store_true", help="put failures into the corpus")
    parser.add_argument("--kills", type=int, help="kill so many writes instead")
    options = parser.parse_args()
    if options.kills:
        return _kills(options.kills, options.seed)
    kinds, total = options.kind or list(SUBJECTS), Tally()
    end = time.monotonic() + 60 * options.minutes
    # files in memory: a disk would take more time than most commands
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        os.chdir(folder)
        os.environ["ROBOLIN_CACHE"] = f"{folder}/kernels"
        ready()
        batches = _batches(kinds, options.seed, options.mutants, Path(folder), end)
        done = 0
        for tally in apart(batches, options.jobs):
            _add(tally, total, options.keep)
            done += sum(tally.codes.values())
            sys.stderr.write(f"\r{done} of {options.mutants}, {len(total.failures)} failures")
    print_totals(total)
    return 1 if total.failures else 0


def _batches(
    kinds: list[str], seed: int, mutants: int, folder: Path, end: float
) -> Iterator[Batch]:
    """The kinds in turn, until there are enough files or it is too late."""
    for done in range(0, mutants, AT_ONCE):
        if time.monotonic() > end:
            return
        kind = kinds[(done // AT_ONCE) % len(kinds)]
        count = min(AT_ONCE, mutants - done)
        yield Batch(kind, folder / f"batch{done}", seed + done, count)


def _add(tally: Tally, total: Tally, keep: bool) -> None:
    """Add the results of a batch and print new kinds of failures immediately: a run takes hours."""
    for sort, failure in tally.failures.items():
        if sort not in total.failures:
            total.failures[sort] = failure
            sys.stderr.write(f"\nFAILED {failure.kind}: {failure.what}\n")
            if keep:
                store_failure(failure)
    total.codes += tally.codes
    total.repeated += tally.repeated


def _kills(count: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROBOLIN_CACHE"] = f"{folder}/kernels"
        ready()
        kills = campaign(count, Path(folder), seed)
        os.chdir("/")
    sys.stdout.write(f"in all       {dict(kills.ended)}\n")
    for what, times in Counter(kills.broken).most_common():
        sys.stdout.write(f"FAILED {what} ({times} times)\n")
    return 1 if kills.broken else 0


raise SystemExit(main())
