"""Result of an identification: values, deviations, and errors on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from robolin.analysis.identify.design_rows import PAYLOAD, ParameterList
from robolin.analysis.identify.deviations import BY_FILE, WELL
from robolin.analysis.identify.stages import Score
from robolin.core.arm import Arm
from robolin.core.arm_parameters import arm_with_parameters
from robolin.core.arrays import Floats, JointValues, as_joint_array
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.errors import UsageError

# line of a result about its friction velocities
ARMATURE_REMARK = "to apply the armature, add --armature"
FRICTION_REMARK = "to apply the Coulomb friction, add --friction-velocity"
# relative difference below which two errors count as equal
_EQUAL = 0.02
# errors below this fraction of the torques are zero for any sensor
_NO_ERROR = 1e-6


@dataclass(frozen=True)
class Stage:
    """One stage: its name, how many parameters it fits, and its errors on held-out rows."""

    name: str
    parameters: int
    score: Score


@dataclass(frozen=True, eq=False, repr=False)
class Identification(DisplayMixin):
    """Parameters of an arm that fit recordings, with standard deviations and remaining errors.

    Fields:
        arm: the arm with the identified masses, inertias, damping and armature
        names: `link/mass`, …, `joint/damping`, `joint/friction`, `joint/offset`, …, (p,)
        before: values in the robot file (p,)
        values: identified values (p,): kg, kg·m, kg·m², N·m·s/rad, N·m
        deviations: standard deviations (p,), from the scatter between blocks of time and from the
            prior
        prior_deviations: the part of `deviations` that is due to the prior (p,)
        covariance: (p, p)
        share: (p,), the part of the prior variance that the recordings remove; if it is 0, the
            value and the deviation follow from the prior
        stages: errors on held-out rows, `file` first
        friction_velocity: v₀ of the Coulomb friction tanh(q̇ / v₀) of every joint (n,)
        measured: smoothed torques of the held-out rows (rows, n)
        predicted: torques of the last stage for the same rows (rows, n)
        predicted_before: torques of the robot file for the same rows (rows, n)
        time: times of the held-out rows (rows,) in s
        settings: estimated or given settings: rows, width, lag, clock, cleaned rows, prior
        findings: sentences about the payload
        notes: remarks about the data, with the warnings
        warnings: notes that show a poor fit or wrong data

    Example:
        >>> arm = robolin.load("two-link")
        >>> time = np.arange(0.0, 8.0, 0.01)
        >>> q = np.stack([np.sin(1.1 * time), np.sin(1.7 * time + 1.0)], axis=1)
        >>> qd = np.gradient(q, time, axis=0, edge_order=2)
        >>> qdd = np.gradient(qd, time, axis=0, edge_order=2)
        >>> heavy = arm.with_parameters({"lower/mass": 1.2})
        >>> tau = robolin.inverse(heavy, q, qd, qdd)
        >>> result = robolin.identify(arm, robolin.Recording(time, q, tau, qd, qdd))
        >>> result.stages[-1].score.mean < 1e-3 * result.stages[0].score.mean
        True
    """

    arm: Arm
    names: tuple[str, ...]
    before: Floats
    values: Floats
    deviations: Floats
    prior_deviations: Floats
    covariance: Floats
    share: Floats
    stages: tuple[Stage, ...]
    friction_velocity: Floats
    measured: Floats
    predicted: Floats
    predicted_before: Floats
    time: Floats
    settings: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def value(self, name: str) -> tuple[float, float]:
        """Identified value and standard deviation of a parameter.

        Args:
            name: one of `names`, such as 'panda_link7/mass'

        Returns:
            (value, deviation)

        Raises:
            UsageError: an unknown name

        Example:
            >>> arm = robolin.load("two-link")
            >>> time = np.arange(0.0, 8.0, 0.01)
            >>> q = np.stack([np.sin(1.1 * time), np.sin(1.7 * time + 1.0)], axis=1)
            >>> qd = np.gradient(q, time, axis=0, edge_order=2)
            >>> qdd = np.gradient(qd, time, axis=0, edge_order=2)
            >>> tau = robolin.inverse(arm, q, qd, qdd) + [0.0, 0.5]
            >>> result = robolin.identify(arm, robolin.Recording(time, q, tau, qd, qdd))
            >>> round(result.value("elbow/offset")[0], 3)
            0.5
        """
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise UsageError("parameter not found", where=name, hint=hint)
        i = self.names.index(name)
        return float(self.values[i]), float(self.deviations[i])

    @property
    def determined(self) -> tuple[int, int, int]:
        """Numbers of parameters that the data determine well, in part, and not at all."""
        well = int((self.share >= WELL).sum())
        by_file = int((self.share <= BY_FILE).sum())
        return well, len(self.share) - well - by_file, by_file

    @property
    def model_flags(self) -> tuple[str, ...]:
        """Options for values that a URDF file cannot contain, and the torque offsets."""
        return tuple(_model_flags(self))

    @property
    def improves(self) -> bool:
        """True if the last stage lowers the held-out error and no other stage is clearly better."""
        last = self.stages[-1].score.headline
        least = max((1.0 + _EQUAL) * self.best_stage.score.headline, _NO_ERROR)
        return last < self.stages[0].score.headline and last <= least

    @property
    def best_stage(self) -> Stage:
        """The stage with the smallest error on held-out rows; of equal stages, the earliest."""
        return min(self.stages, key=lambda stage: stage.score.headline)


def _model_flags(result: Identification) -> Iterator[str]:
    def of(kind: str, least: float) -> list[str]:
        pairs = zip(result.names, result.values, strict=True)
        return [
            f"{name.rpartition('/')[0]}={value:.6g}"
            for name, value in pairs
            if name.endswith(f"/{kind}") and abs(value) > least
        ]

    v0 = [f"{value:g}" for value in result.friction_velocity]
    own = ",".join(f"{name}={v}" for name, v in zip(result.arm.joint_names, v0, strict=True))
    velocity = v0[0] if len({*v0}) == 1 else own
    yield f"{FRICTION_REMARK} {velocity}"
    if "payload/mass" in result.names:
        mass, *moments = (result.value(f"payload/{part}")[0] for part in ("mass", "mx", "my", "mz"))
        centre = ",".join(f"{moment / mass:.4g}" for moment in moments)
        link = result.settings["payload link"]
        yield f"the file has no load: add --payload {link}:{mass:.6g}@{centre}"
    if armature := of("armature", 1e-9):
        yield f"{ARMATURE_REMARK} {','.join(armature)}"
    if offsets := of("offset", 1e-9):
        yield f"torque offsets, which a robot file cannot store: {', '.join(offsets)} N·m or N"


def arm_velocities(arm: Arm) -> Floats | None:
    """Friction velocities (n,) of the arm; None if its friction is not applied."""
    if arm.friction_velocity is None:
        return None
    return np.array([joint.friction_velocity or arm.friction_velocity for joint in arm.joints])


def per_joint(arm: Arm, velocities: JointValues) -> Floats:
    """Given friction velocities as (n,)."""
    values = as_joint_array(arm, "friction_velocity", velocities)
    if values.ndim != 1:
        shape = f"({arm.n},)"
        raise UsageError(f"friction_velocity: must have shape {shape}, got {values.shape}")
    for name, value in zip(arm.joint_names, values.tolist(), strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise UsageError(
                f"friction_velocity: the value of joint '{name}' must be > 0, got {value:g}"
            )
    return values


def corrected_arm(arm: Arm, listed: ParameterList, x: Floats, v0: Floats) -> Arm:
    """The arm with identified values."""
    own = (f"{name}/friction_velocity" for name in arm.joint_names)
    smooth = arm_with_parameters(arm, dict(zip(own, v0, strict=True)))
    known = {p for p in listed.names if not p.startswith(f"{PAYLOAD}/")}
    values = {
        name: float(value)
        for name, value in zip(listed.names, x, strict=True)
        if name in known and not name.endswith("/offset")
    }
    one_sided = {joint.name for joint in arm.joints if joint.friction_negative is not None}
    for joint in one_sided:
        both = values.pop(f"{joint}/friction")
        values |= {f"{joint}/friction_positive": both, f"{joint}/friction_negative": both}
    return arm_with_parameters(smooth, values)
