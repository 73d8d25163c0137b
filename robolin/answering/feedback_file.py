"""Gains that `lqr` has stored, as the control law of a simulation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robolin.answering.answer import gathered
from robolin.answering.posed_question import file_label
from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.errors import RobolinError
from robolin.files.provenance_reader import open_bytes
from robolin.files.provenance_writer import plain
from robolin.files.stored import open_stored
from robolin.input_checks import seconds_of
from robolin.results.result import Result
from robolin.simulation.feedback_control import FeedbackControl


@dataclass(frozen=True, eq=False)
class StoredFeedback:
    """A control law from a file, its weights where they are there, and the file itself.

    other_figures: whether the arm has changed since the gains were found
    """

    law: FeedbackControl
    name: str
    digest: str
    other_figures: bool
    Q: Floats | None = None
    R: Floats | None = None

    @property
    def start(self) -> tuple[Floats, Floats]:
        """Where the arm is on its way, at the beginning."""
        q, qd = (np.asarray(each, dtype=float) for each in (self.law.q, self.law.qd))
        return (q, qd) if self.law.time is None else (q[0], qd[0])

    @property
    def line(self) -> str:
        """The control law in words."""
        if self.law.time is None:
            return f"τ₀ - K x, gains of {self.name}"
        rows = np.size(self.law.time)
        return f"τ₀ - K x, gains of {self.name} on straight lines between its {rows} rows"


def read_feedback(arm: Arm, path: str) -> StoredFeedback:
    """The gains in a file, if they are for this arm."""
    name = file_label(path)
    with open_stored(path) as stored:
        found = gathered(stored.result_stream())
    with open_bytes(Path(path)) as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    _require_gains(arm, found, name)
    changed = found.model is not None and plain(arm.figures) != found.model
    arrays = dict(found.stored())
    law = FeedbackControl(
        K=found["K"],
        q=found["q"],
        qd=found["qd"],
        tau=found["tau"],
        actuated=[label.removesuffix("/effort") for label in _labels(found, "K")[0]],
        time=None if found.time is None else seconds_of(found.time, name),
        basis=arrays.get("basis"),
        P=found["P"],
    )
    weights: dict[str, Any] = {key: arrays[key] for key in ("Q", "R") if key in arrays}
    return StoredFeedback(law, name, digest, changed, **weights)


def _require_gains(arm: Arm, found: Result, name: str) -> None:
    """Refuse what is no regulator, that of another arm, and one that cannot be run as it is."""
    if found.verb != "lqr" or "K" not in found:
        hint = "`robolin lqr ARM -o gains.npz` stores gains"
        raise RobolinError(f"this is a result of {found.verb}, not of lqr", where=name, hint=hint)
    if found.joints != arm.joint_names:
        hint = f"'{arm.name}' has {', '.join(arm.joint_names)}"
        message = f"the gains are for another arm, with the joints {', '.join(found.joints)}"
        raise RobolinError(message, where=name, hint=hint)
    states = _labels(found, "K")[1]
    if any(label.endswith("/integral") for label in states):
        message = "the gains have integrals among their states, which an arm has not"
        raise RobolinError(message, where=name, hint="find them without --integral")
    if "dt" in found.options and "time-varying" not in found.options:
        message = "the gains are for torques held between samples"
        raise RobolinError(message, where=name, hint="find them without --dt")
    if found.batch is not None and found.time is None:
        hint = "the motion they were found along needs a column 'time'"
        raise RobolinError("the gains do not tell when they count", where=name, hint=hint)
    if found.batch is not None and "basis" in found:
        message = "a motion with closed loops changes its coordinates from row to row"
        raise RobolinError(message, where=name, hint="find gains for one state")


def _labels(found: Result, name: str) -> tuple[tuple[str, ...], ...]:
    return next(array.labels for array in found.arrays if array.name == name)
