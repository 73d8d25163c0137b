"""Run mutated files through the command line and collect exit codes and failures."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from polars.exceptions import PolarsError

from tests.cli.command import robolin as command
from tests.fuzz.subject import Subject
from tests.fuzz.subjects import SUBJECTS

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = (0, 1, 2, 3, 4)
AT_ONCE = 200


@dataclass(frozen=True)
class Failure:
    """A file that broke a promise, and how."""

    kind: str
    what: str
    data: bytes


@dataclass
class Tally:
    """How many files of each kind ended with each exit code, and the failures, one of a sort."""

    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)
    repeated: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, code: int, failure: Failure | None) -> None:
        self.codes[kind, code] += 1
        if failure is not None:
            self.repeated[kind, failure.what] += 1
            self.failures.setdefault((kind, failure.what), failure)


class TooLongError(BaseException):
    """A command has taken more time than any may."""


def mutants(kind: str, folder: Path, seed: int, count: int) -> Iterator[bytes]:
    """Yield `count` mutated files of a kind, the same for the same seed."""
    subject = SUBJECTS[kind]
    seeds = subject.seeds(folder)
    rng = random.Random(f"{kind} {seed}")
    for _ in range(count):
        one = rng.choice(seeds)
        try:
            yield subject.change(one, rng)
        except (ValueError, LookupError, TypeError, ArithmeticError, PolarsError):
            # a change that this file does not allow
            yield one


def run_mutant(kind: str, data: bytes, folder: Path) -> tuple[int, Failure | None]:
    """Run one file: its exit code, and the failure if there was one."""
    subject = SUBJECTS[kind]
    path = folder / f"changed.{subject.ext}"
    path.write_bytes(data)
    try:
        with subject.around():
            ran = command(*subject.words(str(path)))
    except TooLongError:
        return -1, Failure(kind, "more time than any file may take", data)
    except BaseException as error:
        return -2, Failure(kind, f"escaped: {type(error).__name__}", data)
    what = ""
    if TooLongError.__name__ in ran.err:
        what = "more time than any file may take"
    elif ran.code not in EXPECTED:
        what = (ran.err.splitlines() or [str(ran.code)])[0][:100]
    elif "Traceback" in ran.err:
        what = "a traceback"
    elif ran.code == 0:
        what = _second_way(subject, path, ran.out)
    return ran.code, Failure(kind, what, data) if what else None


def _second_way(subject: Subject, path: Path, out: str) -> str:
    try:
        with subject.around():
            subject.checked(str(path), out)
    except Exception as error:
        text = str(error).splitlines() or [""]
        return f"the second way: {type(error).__name__}: {text[0][:80]}"
    return ""


def here(kind: str, folder: Path, seed: int, count: int) -> Tally:
    """All in this process, without limits."""
    tally = Tally()
    for data in mutants(kind, folder, seed, count):
        tally.add(kind, *run_mutant(kind, data, folder))
    return tally


def store_failure(failure: Failure) -> Path:
    """Store the file of a failure in the corpus."""
    name = f"{failure.kind}-{sha256(failure.data).hexdigest()[:10]}.{SUBJECTS[failure.kind].ext}"
    (CORPUS / name).write_bytes(failure.data)
    return CORPUS / name


def print_totals(tally: Tally) -> None:
    """Print the totals on stdout."""
    for kind in sorted({kind for kind, _ in tally.codes}):
        codes = {code: count for (of, code), count in sorted(tally.codes.items()) if of == kind}
        sys.stdout.write(f"{kind:15} {sum(codes.values()):7}  {codes}\n")
    for (kind, what), count in tally.repeated.most_common():
        sys.stdout.write(f"FAILED {kind}: {what} ({count} times)\n")
    sys.stdout.flush()
