"""Read recordings of a motion with measured torques for identification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robolin.analysis.identify.recording import Recording
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.errors import RobolinError
from robolin.io.trajectories.read import open_trajectory
from robolin.io.trajectories.trajectory import concat_chunks, require_clock, seconds_since
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
        chunk = concat_chunks(list(stream.chunks(gaps=True)))
        stamps = require_clock(chunk.time, stream.time_unit, file)
        time = seconds_since(stamps, stream.time_unit, stamps[:1])
    columns = chunk.columns
    qd, qdd = columns.get("qd"), columns.get("qdd")
    if qd is not None and not np.nan_to_num(qd).any():
        raise RobolinError(
            "all velocities are 0",
            where=file,
            hint="remove the column of velocities to differentiate positions",
        )
    return Recording(time, columns["q"], columns["tau"] * scale, qd, qdd, file)


def read_recordings(
    arm: Arm,
    paths: Sequence[str],
    flags: Mapping[str, Any],
    scale: Floats,
    notify: Callable[[str], None],
) -> list[Recording]:
    """Read several recordings with the same options."""
    return [read_recording(arm, path, flags, scale, notify) for path in paths]
