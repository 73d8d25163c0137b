"""What a cluster has to survive, by command; nothing of it is part of the tests.

`python -m tests.batch.cluster --shards 20 --workers 50 --clients 20 --schedulers 5 --cases` kills
so many of each, then lets named things go wrong, and prints what it has found.  With `--report
FILE` it continues where another run was stopped.
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
    """How many of each kind have been killed, and after how many rounds all was right."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        told = json.loads(path.read_text()) if path and path.exists() else {}
        self.killed: dict[str, int] = told.get("killed", {})
        self.rounds: dict[str, int] = told.get("rounds", {})

    def right(self, kind: str, killed: int) -> None:
        """One more round has ended well, with so many killed in all."""
        self.killed[kind] = killed
        self.rounds[kind] = self.rounds.get(kind, 0) + 1
        print(f"{kind}: {killed} killed, {self.rounds[kind]} rounds right", flush=True)
        if self._path:
            self._path.write_text(json.dumps({"killed": self.killed, "rounds": self.rounds}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in KINDS:
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--cases", action="store_true", help="let named things go wrong, too")
    parser.add_argument("--report", type=Path, help="keep what was found, and go on behind it")
    wanted = vars(parser.parse_args())
    report = Report(wanted["report"])
    if any(wanted[name] for name in KINDS):
        with tempfile.TemporaryDirectory() as folder:
            campaign = Campaign(Path(folder), report.right)
            for name in KINDS:
                if wanted[name] > report.killed.get(name, 0):
                    getattr(campaign, f"kill_{name}")(wanted[name], report.killed.get(name, 0))
    if wanted["cases"]:
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(NamedCases(Path(folder)).run()), flush=True)
    killed = ", ".join(f"{report.killed[name]} {name}" for name in KINDS if name in report.killed)
    print(f"all right: {killed or 'nobody'} killed in {sum(report.rounds.values())} rounds")


if __name__ == "__main__":
    main()
