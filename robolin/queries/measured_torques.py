"""Recordings with measured torques: for `inverse --external`, and for identification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from robolin.analysis.external_torque import (
    ObserverRows,
    contact_rows,
    contact_thresholds,
    coulomb_torque,
)
from robolin.analysis.identify.recording import RowStore, StoredRecording
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.core.quantity_table import unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array
from robolin.core.text_parsing import FlagText, parse_named_numbers, parse_per_joint, parse_seconds
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import SETTLING_TIME, observer_gain
from robolin.io.trajectories.read import open_trajectory
from robolin.io.trajectories.trajectory import Chunk, require_clock, seconds_since
from robolin.queries.algorithm_answer import AlgorithmQuery
from robolin.queries.question import Question
from robolin.queries.request import QueryContext, display_name
from robolin.queries.states import read_options_from
from robolin.queries.values import StateInputs

_NOT_UNIQUE = (
    "with closed loops, joint torques are not unique, so external torques cannot be computed"
)


def external_query(context: QueryContext) -> ExternalQuery:
    """The observer with the settings of a question."""
    if context.arm.loops:
        raise UsageError(_NOT_UNIQUE, where="--external", hint="add --open-loops")
    settling = _seconds(context, "settling-time") or SETTLING_TIME
    dt = _seconds(context, "dt")
    thresholds = thresholds_of(context.arm, context.question)
    for joint, threshold in zip(context.arm.joints, thresholds, strict=True):
        friction = coulomb_torque(context.arm, joint.name)
        if threshold is not None and threshold < friction:
            context.warn(
                f"threshold {threshold:g} of joint '{joint.name}' is below its Coulomb friction "
                f"{friction:g}"
            )
    return ExternalQuery(
        ("generalized-momentum",),
        settling=settling,
        dt=dt,
        thresholds=thresholds,
        observer=ObserverRows(context.arm, settling, dt),
    )


def _seconds(context: QueryContext, name: str) -> float | None:
    text = context.question.text(name)
    return None if text is None else parse_seconds(FlagText(f"--{name}", text))


def thresholds_of(arm: Arm, question: Question) -> list[float | None]:
    """--threshold with one value per joint, or JOINT=VALUE for some; else Coulomb friction."""
    text = question.text("threshold")
    if text is None:
        return contact_thresholds(arm, {})
    typed = FlagText("--threshold", text)
    values = dict(zip(arm.joint_names, parse_per_joint(typed, arm, angular=False), strict=True))
    if "=" in text:
        named = parse_named_numbers(typed.flag, (text,))
        values = {name: value for name, value in values.items() if name in named}
    for name, value in values.items():
        if value <= 0.0:
            raise typed.wrong(f"joint '{name}': must be above 0, got {value:g}")
    return contact_thresholds(arm, values)


@dataclass
class ExternalQuery(AlgorithmQuery):
    """Momentum and its rate by the model, then the observer row after row."""

    settling: float = SETTLING_TIME
    dt: float | None = None
    thresholds: list[float | None] = field(default_factory=list)
    observer: ObserverRows | None = None
    _first: Any = None

    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[tuple[Array, ...], int]:
        """Estimate external torques; the observer continues from the rows before."""
        assert self.observer is not None
        arrays, failed = super().rows(context, inputs, chunk, jobs)
        momentum, rate = arrays
        torques = self.observer.add(momentum.values, rate.values, self._seconds_of(inputs, chunk))
        touched = contact_rows(torques, self.thresholds)
        external = replace(
            rate,
            name="tau_external",
            values=torques,
            unit=unit_of("tau_external", [joint.kind for joint in context.arm.joints]),
            column="external_effort",
        )
        return (external, Array("contact", touched, (), unit_of("contact", ()))), failed

    def _seconds_of(self, inputs: StateInputs, chunk: Chunk) -> Floats:
        if self.dt is not None:
            return np.zeros(chunk.rows)
        time = require_clock(chunk.time, inputs.time_unit, inputs.file, "the momentum observer")
        if self._first is None:
            self._first = time[:1]
        return seconds_since(time, inputs.time_unit, self._first)

    def notes(self) -> list[str]:
        """Rows that the observer skips."""
        repeated = self.observer.repeated if self.observer else 0
        plural = "rows repeat" if repeated > 1 else "row repeats"
        return [f"{repeated} {plural} the time of the previous row"] if repeated else []

    def lines(self, context: QueryContext, inputs: StateInputs, rows: int | None) -> dict[str, Any]:
        """Settings of the observer and the thresholds."""
        joints = zip(context.arm.joint_names, self.thresholds, strict=True)
        period = "of the time column" if self.dt is None else f"{self.dt:g} s"
        return {
            **super().lines(context, inputs, rows),
            "torque": "measured in the recording; tau_external acts in addition",
            "observer": f"gain {observer_gain(self.settling):.6g} 1/s, error 1 % after "
            f"{self.settling:g} s; period {period}",
            "thresholds": {name: value for name, value in joints if value is not None} or "none",
        }


def read_recording(
    arm: Arm,
    path: str,
    flags: Mapping[str, Any],
    scale: Floats,
    notify: Callable[[str], None],
) -> StoredRecording:
    """Read positions, torques and time, and velocities and accelerations if the file has them.

    flags: how to read the file, by flag name
    scale: factors (n,) of the torques
    """
    rules, file = read_options_from(arm, flags), display_name(path)
    first: Numbers | None = None
    names: tuple[str, ...] = ()
    store, moves = RowStore(0), False
    with open_trajectory(path, arm.joint_names, ("q", "tau"), ("qd", "qdd"), rules) as stream:
        for note in stream.notes:
            notify(f"{file}: {note}")
        for chunk in stream.chunks(gaps=True):
            stamps = require_clock(chunk.time, stream.time_unit, file)
            if first is None:
                first = stamps[:1]
                names = tuple(n for n in ("q", "tau", "qd", "qdd") if n in chunk.columns)
                store = RowStore(1 + arm.n * len(names))
            tables = {name: chunk.columns[name] for name in names}
            tables["tau"] = tables["tau"] * scale
            store.append(seconds_since(stamps, stream.time_unit, first), *tables.values())
            if (qd := tables.get("qd")) is not None and not moves:
                moves = bool(((qd != 0.0) & ~np.isnan(qd)).any())
    if "qd" in names and not moves:
        raise RobolinError(
            "all velocities are 0",
            where=file,
            hint="to differentiate positions, remove the velocity columns",
        )
    return StoredRecording(file, store, names, arm.n, 0, store.rows)


def recording_readers(
    arm: Arm,
    paths: Sequence[str],
    flags: Mapping[str, Any],
    scale: Floats,
    notify: Callable[[str], None],
) -> list[Callable[[], StoredRecording]]:
    """Functions that read one recording each, all with the same options."""
    return [partial(read_recording, arm, path, flags, scale, notify) for path in paths]


# what the sign of a residual means, in the model assumptions
RESIDUAL_LINE = "measured in the recording; tau_residual = tau_measured - tau"
NOT_UNIQUE = "with closed loops, joint torques are not unique, so a residual is not defined"


@dataclass
class ResidualQuery(AlgorithmQuery):
    """Inverse dynamics of every row, with the measured torques and the residual."""

    @property
    def needs(self) -> tuple[str, ...]:
        return (*super().needs, "tau")

    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[tuple[Array, ...], int]:
        """Add measured torques and residuals to the torques of the model."""
        if context.arm.loops:
            raise UsageError(NOT_UNIQUE, where="--residual", hint="add --open-loops")
        arrays, failed = super().rows(context, inputs, chunk, jobs)
        (model,) = arrays
        # rows without a result have no residual
        measured = np.where(np.isfinite(model.values), chunk.columns["tau"], np.nan)
        named = (("measured", measured), ("residual", measured - model.values))
        return (
            model,
            *(
                replace(model, name=f"tau_{word}", values=values, column=f"{word}_effort")
                for word, values in named
            ),
        ), failed

    def lines(self, context: QueryContext, inputs: StateInputs, rows: int | None) -> dict[str, Any]:
        return {**super().lines(context, inputs, rows), "torque": RESIDUAL_LINE}
