"""Failures that a cluster must survive; run by hand, not by the tests.

`python -m tests.batch.cluster --shards 20 --workers 50 --clients 20 --schedulers 5 --cases` kills
this number of each, then runs named failures, and prints the findings.  With `--report FILE` it
resumes a run that was stopped.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from tests.batch.cluster.kill_rounds import Campaign
from tests.batch.cluster.named_cases import NamedCases

KINDS = ("shards", "workers", "clients", "schedulers")


class Report:
    """The number of killed processes of each kind, and of successful rounds."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        stored = json.loads(path.read_text()) if path and path.exists() else {}
        self.killed: dict[str, int] = stored.get("killed", {})
        self.rounds: dict[str, int] = stored.get("rounds", {})

    def right(self, kind: str, killed: int) -> None:
        """Count a successful round; `killed` is the total so far."""
        self.killed[kind] = killed
        self.rounds[kind] = self.rounds.get(kind, 0) + 1
        print(f"{kind}: {killed} killed, {self.rounds[kind]} rounds right", flush=True)
        if self._path:
            self._path.write_text(json.dumps({"killed": self.killed, "rounds": self.rounds}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in KINDS:
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--cases", action="store_true", help="also run named failures")
    parser.add_argument("--report", type=Path, help="store findings, and resume from them")
    args = vars(parser.parse_args())
    report = Report(args["report"])
    if any(args[name] for name in KINDS):
        with tempfile.TemporaryDirectory() as folder:
            campaign = Campaign(Path(folder), report.right)
            for name in KINDS:
                if args[name] > report.killed.get(name, 0):
                    getattr(campaign, f"kill_{name}")(args[name], report.killed.get(name, 0))
    if args["cases"]:
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(NamedCases(Path(folder)).run()), flush=True)
    killed = ", ".join(f"{report.killed[name]} {name}" for name in KINDS if name in report.killed)
    print(f"all right: {killed or 'nobody'} killed in {sum(report.rounds.values())} rounds")


if __name__ == "__main__":
    main()
