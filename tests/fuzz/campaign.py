"""Changed files through the command line, in processes that may not hang or grow."""

from __future__ import annotations

import os
import pickle
import random
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from polars.exceptions import PolarsError

from tests.cli.command import robolin as command
from tests.fuzz.subjects import SUBJECTS, Subject

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = (0, 1, 2, 3, 4)
MOST_SECONDS = 5.0
MOST_BYTES = 1 << 30
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


def files(kind: str, folder: Path, seed: int, count: int) -> Iterator[bytes]:
    """So many changed files of a kind, the same for the same seed."""
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


def tried(kind: str, data: bytes, folder: Path) -> tuple[int, Failure | None]:
    """The exit code of one file, and what was wrong with that."""
    subject = SUBJECTS[kind]
    path = folder / f"changed.{subject.ext}"
    path.write_bytes(data)
    begin = time.process_time()
    try:
        ran = command(*subject.words(str(path)))
    except TooLongError:
        return -1, Failure(kind, f"more than {MOST_SECONDS} s", data)
    except BaseException as error:
        return -2, Failure(kind, f"escaped: {type(error).__name__}", data)
    what = ""
    if ran.code not in EXPECTED:
        what = (ran.err.splitlines() or [str(ran.code)])[0][:100]
    elif "Traceback" in ran.err:
        what = "a traceback"
    elif time.process_time() - begin > MOST_SECONDS:
        what = f"more than {MOST_SECONDS} s"
    elif ran.code == 0:
        what = _second_way(subject, path, ran.out)
    return ran.code, Failure(kind, what, data) if what else None


def _second_way(subject: Subject, path: Path, out: str) -> str:
    try:
        subject.checked(str(path), out)
    except Exception as error:
        text = str(error).splitlines() or [""]
        return f"the second way: {type(error).__name__}: {text[0][:80]}"
    return ""


def here(kind: str, folder: Path, seed: int, count: int) -> Tally:
    """All in this process, without limits."""
    tally = Tally()
    for data in files(kind, folder, seed, count):
        tally.add(kind, *tried(kind, data, folder))
    return tally


def apart(kind: str, folder: Path, seed: int, count: int) -> Tally:
    """In a process of its own; one that is stuck is ended and leaves its last file behind."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _work(kind, folder, seed, count, write)
    os.close(write)
    data = _everything(read, 4 * MOST_SECONDS + count)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if data:
        found: Tally = pickle.loads(data)
        return found
    tally = Tally()
    last = next(folder.glob("changed.*"), None)
    left = last.read_bytes() if last else b""
    tally.add(kind, -3, Failure(kind, "stuck, or killed by the system", left))
    return tally


def _work(kind: str, folder: Path, seed: int, count: int, write: int) -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    with open("/proc/self/statm") as text:
        used = int(text.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * MOST_BYTES, used + 2 * MOST_BYTES))
    tally = Tally()
    try:
        for data in files(kind, folder, seed, count):
            signal.setitimer(signal.ITIMER_REAL, 2 * MOST_SECONDS)
            tally.add(kind, *tried(kind, data, folder))
            signal.setitimer(signal.ITIMER_REAL, 0)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if grown > MOST_BYTES:
            tally.add(kind, -4, Failure(kind, f"{grown >> 20} MiB of memory", data))
    except BaseException:
        traceback.print_exc()
    with open(write, "wb") as stream:
        stream.write(pickle.dumps(tally))
    os._exit(0)


def _alarm(*_: object) -> None:
    raise TooLongError


def _everything(read: int, seconds: float) -> bytes:
    end, data = time.monotonic() + seconds, b""
    with open(read, "rb", buffering=0) as stream:
        while time.monotonic() < end:
            ready, _, _ = select.select([stream], [], [], 0.5)
            if ready:
                piece = stream.read(1 << 20)
                if not piece:
                    return data
                data += piece
    return b""


def kept(failure: Failure) -> Path:
    """The file of a failure, kept for the tests."""
    name = f"{failure.kind}-{sha256(failure.data).hexdigest()[:10]}.{SUBJECTS[failure.kind].ext}"
    (CORPUS / name).write_bytes(failure.data)
    return CORPUS / name


def say(tally: Tally) -> None:
    """The figures on stdout."""
    for kind in sorted({kind for kind, _ in tally.codes}):
        codes = {code: count for (of, code), count in sorted(tally.codes.items()) if of == kind}
        sys.stdout.write(f"{kind:15} {sum(codes.values()):7}  {codes}\n")
    for (kind, what), count in tally.repeated.most_common():
        sys.stdout.write(f"FAILED {kind}: {what} ({count} times)\n")
    sys.stdout.flush()
