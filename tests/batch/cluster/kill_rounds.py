"""Kill workers, clients and schedulers at random times; the remaining parts must be complete.

After every round the parts have the bytes of a run by one process, nothing half-written is left,
and only missing parts were computed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import numpy as np

from tests.cli.command import START, environment

PARTS, PART_ROWS = 64, 500
JOINTS = [f"panda_joint{i}" for i in range(1, 8)]


def write_recordings(folder: Path) -> None:
    """Four recordings of sixteen parts each."""
    rng = np.random.default_rng(5)
    rows = PARTS * PART_ROWS // 4
    head = ",".join(f"{joint}/{word}" for word in ("position", "velocity") for joint in JOINTS)
    for name in "abcd":
        values = rng.uniform(-1, 1, (rows, 14))
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", header=head, comments="")


def command(folder: Path, out: str, *more: str) -> list[str]:
    """The command whose process is killed."""
    words = ["mass-matrix", "panda", "--trajectory", str(folder / "*.csv"), "-o", str(folder / out)]
    options = ["--part-rows", str(PART_ROWS), "--resume", "--jobs", "1"]
    return [sys.executable, "-c", START, *words, *options, *more]


def killed_while_running(words: list[str], longest: float) -> bool:
    """Run a command and kill it at a random moment; whether it was still running then."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env=environment(), **quiet) as process:
        try:
            process.wait(timeout=random.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True
    return False


def finish(words: list[str]) -> None:
    """Run a command to its end."""
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder except the plan, which contains the paths of recordings."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "_plan.json"}


class Campaign:
    """Rounds of killing in a folder; a final run of each must complete all parts.

    usual:  seconds that a command takes if it is not killed
    report: receives the kind and the number killed so far, after every successful round
    """

    def __init__(self, folder: Path, report: Callable[[str, int], None]) -> None:
        self.folder, self.report = folder, report
        write_recordings(folder)
        # kernels are compiled before anything is timed
        finish(command(folder, "first"))
        begun = monotonic()
        finish(command(folder, "single"))
        self.usual = monotonic() - begun
        self.single = files_of(folder / "single")
        assert len(self.single) == PARTS + 1
        self.rounds = 0

    def require_right(self, out: str) -> None:
        """The folder has exactly the files of one process."""
        assert files_of(self.folder / out) == self.single
        self.rounds += 1

    def require_only_missing(self, out: str, run: Callable[[], None]) -> None:
        """A last run does not change complete parts."""
        folder = self.folder / out
        before = {path: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}
        run()
        changed = [path.name for path in before if path.stat().st_mtime_ns != before[path]]
        assert not changed, f"computed again: {changed}"
        self.require_right(out)

    def kill_shards(self, kills: int, done: int) -> None:
        """Kill plain commands, two of which work on the same parts at the same time."""
        while done < kills:
            out = f"shards_{self.rounds}"
            while done < kills and len(list((self.folder / out).glob("part-*"))) < PARTS - 4:
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                words = command(self.folder, out, "--shard", f"{random.randint(1, 3)}/3")
                with subprocess.Popen(words, env=environment(), **quiet) as other:
                    done += killed_while_running(command(self.folder, out), self.usual)
                    other.send_signal(signal.SIGKILL)
            self.require_only_missing(out, lambda out=out: finish(command(self.folder, out)))
            self.report("shards", done)

    def kill_workers(self, kills: int, done: int) -> None:
        """Kill workers while their client continues."""
        import distributed

        with distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster:
            while done < kills:
                out, stop, count = f"workers_{self.rounds}", Event(), [0]
                killer = Thread(
                    target=_kill_some, args=(cluster, stop, count, kills - done), daemon=True
                )
                killer.start()
                finish(command(self.folder, out, "--cluster", cluster.scheduler_address))
                stop.set()
                killer.join()
                done += count[0]
                again = command(self.folder, out, "--cluster", cluster.scheduler_address)
                self.require_only_missing(out, lambda again=again: finish(again))
                self.report("workers", done)

    def kill_clients(self, kills: int, done: int) -> None:
        """Kill clients while their workers continue."""
        import distributed

        with distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster:
            where = ("--cluster", cluster.scheduler_address)
            while done < kills:
                out = f"clients_{self.rounds}"
                for _ in range(min(5, kills - done)):
                    done += killed_while_running(command(self.folder, out, *where), self.usual)
                finish(command(self.folder, out, *where))
                self.require_right(out)
                self.report("clients", done)

    def kill_schedulers(self, kills: int, done: int) -> None:
        """Kill schedulers; clients report it, and other workers complete the missing parts."""
        for number in range(done, kills):
            out = f"schedulers_{number}"
            code, messages = self._scheduler_killed(out, 18786 + number)
            assert code != 70, messages
            self.require_only_missing(out, lambda out=out: finish(command(self.folder, out)))
            print(f"exit {code}, messages: {messages[-160:]!r}", flush=True)
            self.report("schedulers", number + 1)

    def _scheduler_killed(self, out: str, port: int) -> tuple[int, str]:
        """Exit code and messages of a client whose scheduler is killed after the first part."""
        where = f"tcp://127.0.0.1:{port}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", where, "--nthreads", "1"]
        scheduler = subprocess.Popen([*dask, "--port", str(port), "--no-dashboard"], **quiet)
        workers = [
            subprocess.Popen([*worker, "--no-nanny", "--no-dashboard"], env=environment(), **quiet)
            for _ in range(4)
        ]
        client = subprocess.Popen(
            command(self.folder, out, "--cluster", where),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not list((self.folder / out).glob("part-*")) and client.poll() is None:
            sleep(0.1)
        sleep(random.uniform(0, 1))
        scheduler.kill()
        messages = client.communicate()[1]
        for process in (scheduler, *workers):
            process.kill()
            process.wait()
        return client.returncode, messages


def _kill_some(cluster: object, stop: Event, count: list[int], most: int) -> None:
    while count[0] < most and not stop.wait(random.uniform(0.5, 6)):
        # one that is killed before it is ready is not replaced by itself
        cluster.scale(4)  # type: ignore[attr-defined]
        nanny = random.choice([*cluster.workers.values(), None])  # type: ignore[attr-defined]
        if nanny is not None and nanny.pid:
            os.kill(nanny.pid, signal.SIGKILL)
            count[0] += 1
