"""Read recordings of a motion with measured torques for identification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from robolin.analysis.identify.recording import Recording
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.errors import RobolinError
from robolin.io.trajectories.read import open_trajectory
from robolin.io.trajectories.trajectory import Chunk, require_clock, seconds_since
from robolin.queries.request import display_name
from robolin.queries.states import read_options_from


def read_recording(
    arm: Arm,
    path: str,
    flags: Mapping[str, Any],
    scale: Floats,
    notify: Callable[[str], None],
) -> Recording:
    """Read positions, torques and time, and velocities and accelerations if the file has them.

    flags: how to read the file, by flag name
    scale: factors (n,) of the torques
    """
    rules, file = read_options_from(arm, flags), display_name(path)
    with open_trajectory(path, arm.joint_names, ("q", "tau"), ("qd", "qdd"), rules) as stream:
        for note in stream.notes:
            notify(f"{file}: {note}")
        stamps, columns = _all_rows(stream.chunks(gaps=True))
        stamps = require_clock(stamps, stream.time_unit, file)
        time = seconds_since(stamps, stream.time_unit, stamps[:1])
    qd, qdd = columns.get("qd"), columns.get("qdd")
    if qd is not None and not ((qd != 0.0) & ~np.isnan(qd)).any():
        raise RobolinError(
            "all velocities are 0",
            where=file,
            hint="remove the column of velocities to differentiate positions",
        )
    tau = columns["tau"]
    tau *= scale
    return Recording(time, columns["q"], tau, qd, qdd, file)


def _all_rows(chunks: Iterable[Chunk]) -> tuple[Numbers | None, dict[str, Floats]]:
    """Stamps and columns of all chunks, in memory twice for one column at a time only."""
    stamps: list[Numbers] = []
    parts: dict[str, list[Floats]] = {}
    for chunk in chunks:
        if chunk.time is not None:
            stamps.append(chunk.time)
        for name, values in chunk.columns.items():
            # a chunk may be a view of a table with other columns
            parts.setdefault(name, []).append(np.array(values, dtype=np.float64))
    columns = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
    return np.concatenate(stamps) if stamps else None, columns


def recording_readers(
    arm: Arm,
    paths: Sequence[str],
    flags: Mapping[str, Any],
    scale: Floats,
    notify: Callable[[str], None],
) -> list[Callable[[], Recording]]:
    """Functions that read one recording each, all with the same options."""
    return [partial(read_recording, arm, path, flags, scale, notify) for path in paths]
