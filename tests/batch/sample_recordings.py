"""A few small recordings in folders, and a request for all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robolin.batch.batch_plan import Division, PartsPlan, planned_parts, recordings
from robolin.batch.survey import NamedRecording
from robolin.core.arm import Arm
from robolin.queries.request import Request, request_from_options

COLUMNS = [
    f"{joint}/{word}" for word in ("position", "velocity") for joint in ("shoulder", "elbow")
]
SIZES = {"run_1/a.csv": 100, "run_1/b.csv": 25, "run_2/a.csv": 60, "c.npz": 70}
ROWS = sum(SIZES.values())


def write_recordings(folder: Path) -> None:
    """Four recordings of one arm in three folders."""
    rng = np.random.default_rng(7)
    for name, rows in SIZES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        time, values = np.arange(rows) / 128, rng.normal(size=(rows, 4))
        if path.suffix == ".npz":
            joints = np.array(["shoulder", "elbow"])
            np.savez(path, time=time, q=values[:, :2], qd=values[:, 2:], joints=joints)
        else:
            table = np.column_stack([time, values])
            head = ",".join(["time", *COLUMNS])
            np.savetxt(path, table, delimiter=",", header=head, comments="", fmt="%.17g")


def all_recordings(folder: Path) -> tuple[NamedRecording, ...]:
    return recordings([str(folder / "run_*"), str(folder / "c.npz")])


def make_request(named: tuple[NamedRecording, ...], **options: object) -> tuple[Request, Arm]:
    request = request_from_options("inverse", "two-link", {**options, "trajectory": named[0].path})
    return request, request.source.arm()


def make_plan(
    folder: Path, part_rows: int | None = 40, **options: object
) -> tuple[PartsPlan, Request, Arm]:
    named = all_recordings(folder)
    request, arm = make_request(named, **options)
    return planned_parts(request, arm, named, Division(part_rows, "npz")), request, arm
