"""Identify the parameters of an arm from recordings, in stages that are tested on other rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

import numpy as np

from robolin.analysis.identify.conditioning import (
    SPREAD_BLOCKS,
    CleanRecording,
    clean,
    held_out_parts,
    no_rows,
    smooth_parts,
)
from robolin.analysis.identify.consistent_fit import ball_parameters
from robolin.analysis.identify.data_checks import (
    FittedStage,
    carrier_of_loads,
    efforts_beyond_limits,
    excitation_notes,
    faster_joints,
    fit_warnings,
    load_text,
    payload_change,
    require_measured_efforts,
    require_motion_units,
    require_positions_near_limits,
    require_possible_bodies,
    require_torque_units,
    require_torques,
)
from robolin.analysis.identify.design_rows import (
    PAYLOAD,
    DesignRows,
    ParameterList,
    parameter_list,
    without_known_torques,
)
from robolin.analysis.identify.deviations import BlockSums
from robolin.analysis.identify.identification_result import (
    Identification,
    Stage,
    arm_velocities,
    corrected_arm,
    per_joint,
)
from robolin.analysis.identify.recording import (
    PART_ROWS,
    Recording,
    RowStore,
    StoredRecording,
    checked_recording,
)
from robolin.analysis.identify.signal_faults import fault_notes
from robolin.analysis.identify.stages import (
    FRICTION_VELOCITIES,
    MOST_SHOWN,
    FitRows,
    HeldOut,
    find_weights,
    fit_stage,
    interior_start,
    joint_spreads,
    moves_both_ways,
    scored,
)
from robolin.analysis.identify.trial_fits import choose_filter
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, list_of_names, require_arm, require_real
from robolin.core.progress import running
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, join_and, pluralize
from robolin.errors import UsageError, require_callable, require_mapping

What = Literal["friction", "payload", "links", "all"]
WHATS: tuple[What, ...] = ("friction", "payload", "links", "all")
PRIOR = 0.1
# a recording, or a function that reads one
RecordingSource = Recording | Callable[[], Recording | StoredRecording]
# parts of the progress at which cleaning, smoothing and weighting end
_CLEANED, _SMOOTHED, _WEIGHTED = 0.3, 0.5, 0.9
# λ of the payload's link, which is not trusted, and of links that are free
_PAYLOAD_TRUST, _FREE_TRUST = 1.0, 0.01


@dataclass(frozen=True)
class IdentifyOptions:
    """Options of `identify`; see there."""

    what: What = "all"
    holdout: float | str | Sequence[RecordingSource] = SPREAD_BLOCKS
    payload_link: str | None = None
    unloaded: Sequence[RecordingSource] = ()
    width: float | None = None
    lag: float | None = None
    clock: str | float = "auto"
    friction_velocity: JointValues | None = None
    prior: float = PRIOR
    fix: Mapping[str, float] = field(default_factory=dict)
    free: Sequence[str] = ()


def identify(
    arm: Arm,
    recordings: RecordingSource | Sequence[RecordingSource],
    *,
    what: What = "all",
    holdout: float | str | RecordingSource | Sequence[RecordingSource] = SPREAD_BLOCKS,
    payload_link: str | None = None,
    unloaded: RecordingSource | Sequence[RecordingSource] = (),
    width: float | None = None,
    lag: float | None = None,
    clock: str | float = "auto",
    friction_velocity: JointValues | None = None,
    prior: float = PRIOR,
    fix: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Identification:
    """Identify masses, inertias and friction from recordings, as `robolin identify` does.

    The inertial parameters of every link are physically possible.  Parameters that the recordings
    do not determine keep the values in the robot file.

    Args:
        arm: the arm, from `robolin.load`
        recordings: one or several `Recording`s with measured torques, or functions that return
            a `Recording`, each called once
        what: "friction", "payload" (friction and one link), "links" (friction and all links) or
            "all" (the stages friction, payload and all links, in sequence)
        holdout: held-out rows: "spread" for 30 % in blocks over each recording, the fraction at
            the end of each recording, or other `Recording`s
        payload_link: link of the payload stage or the load; None for the last link before the arm
            branches into fingers
        unloaded: `Recording`s without the load of `recordings`, which becomes `payload/mass`, …
        width: width of the smoothing filter in s; None to estimate it
        lag: delay of the torques relative to the motion in s; None to estimate it
        clock: "auto", "stamps", or the period in s
        friction_velocity: v₀ of the Coulomb friction tanh(q̇ / v₀) in rad/s or m/s: one number,
            (n,), or joint -> value for all joints; None for the arm's velocities, or to find one
            for every joint
        prior: assumed relative error of the robot file: 0.1 for 10 %
        fix: fixed values of parameters, such as {"link/mass": 2.1}
        free: links whose values in the robot file are not used as a prior
        progress: called with a text at every step

    Returns:
        an `Identification`

    Raises:
        RobolinError: shapes that do not fit the arm, torques that are zero or in another unit, or
            too few rows
        UsageError: an unknown link or parameter, or an option out of range

    Example:
        >>> arm = robolin.load("two-link")
        >>> time = np.arange(0.0, 8.0, 0.01)
        >>> q = np.stack([np.sin(1.1 * time), np.sin(1.7 * time + 1.0)], axis=1)
        >>> qd = np.gradient(q, time, axis=0, edge_order=2)
        >>> qdd = np.gradient(qd, time, axis=0, edge_order=2)
        >>> tau = robolin.inverse(arm.with_parameters({"lower/mx": 0.6}), q, qd, qdd)
        >>> result = robolin.identify(arm, robolin.Recording(time, q, tau, qd, qdd))
        >>> [stage.name for stage in result.stages], result.improves
        (['file', 'friction', 'payload', 'all'], True)
    """
    require_arm(arm)
    require_mapping(fix=fix)
    require_callable(progress=progress)
    tests = holdout if isinstance(holdout, float | str) else _listed(holdout)
    options = IdentifyOptions(
        what, tests, payload_link, _listed(unloaded), width, lag, clock, friction_velocity, prior,
        dict(fix or {}), tuple(list_of_names("free", free)),
    )  # fmt: skip
    options = _checked_options(arm, options)
    with running("identify") as update:
        return _Identifier(arm, options, progress or (lambda _: None), update).run(
            _listed(recordings)
        )


def _listed(
    recordings: RecordingSource | Sequence[RecordingSource] | object,
) -> tuple[RecordingSource, ...]:
    if isinstance(recordings, Recording) or callable(recordings):
        return (recordings,)
    if isinstance(recordings, Sequence) and all(
        isinstance(each, Recording) or callable(each) for each in recordings
    ):
        return tuple(recordings)
    message = f"recordings: must be robolin.Recording objects, got {type(recordings).__name__}"
    raise UsageError(message, hint="pass robolin.Recording(time, q, tau, qd)")


def _checked_options(arm: Arm, options: IdentifyOptions) -> IdentifyOptions:
    """The options, if they are in range and name parts of the arm."""
    if options.what not in WHATS:
        raise UsageError(f"what: must be one of {join_and(WHATS)}, got {options.what!r}")
    part = 0.5 if options.holdout == SPREAD_BLOCKS else options.holdout
    if isinstance(part, str) or (isinstance(part, float) and not 0.0 < part < 0.9):
        raise UsageError(f"holdout: must be '{SPREAD_BLOCKS}' or between 0 and 0.9, got {part}")
    if options.friction_velocity is not None:
        per_joint(arm, options.friction_velocity)
    numbers = {"prior": options.prior, "width": options.width, "lag": options.lag}
    require_real(**{k: x for k, x in numbers.items() if x is not None or k == "prior"})
    for name, value in {"width": options.width, "prior": options.prior}.items():
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise UsageError(f"{name}: must be > 0, got {value}")
    names = parameter_list(arm).names
    for name, value in options.fix.items():
        if name not in names:
            raise UsageError("parameter not found", where=name, hint=did_you_mean(name, names))
        if not np.isfinite(value):
            raise UsageError(f"must be finite, got {value}", where=name)
    chosen = [*options.free, *([] if options.payload_link is None else [options.payload_link])]
    for link in list_of_names("payload_link", chosen):
        if link not in arm.frames or arm.frames[link].link == arm.base:
            moving = [name for name, frame in arm.frames.items() if frame.link != arm.base]
            raise UsageError(f"moving link '{link}' not found", hint=did_you_mean(link, moving))
    if options.unloaded and not options.payload_link:
        hint = "name the link that carries the load, for example --payload-link tool0"
        raise UsageError("unloaded recordings require the payload link", hint=hint)
    return options


@dataclass(eq=False)
class _Identifier:
    """One identification: the arm, its options, and remarks about the data."""

    arm: Arm
    options: IdentifyOptions
    report: Callable[[str], None]
    update: Callable[[float], None]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def run(self, recordings: Sequence[RecordingSource]) -> Identification:
        fit, test = self._designs(recordings)
        listed, of_arm = fit.listed, arm_velocities(self.arm)
        option = self.options.friction_velocity
        velocities = of_arm if option is None else per_joint(self.arm, option)
        file_velocity = np.ones(self.arm.n) if of_arm is None else of_arm
        before = scored(test, [listed.values], file_velocity)
        require_torque_units(self.arm, before.rows.tau, before.predicted[0])
        if not self.options.unloaded:
            require_measured_efforts(before.scores[0].headline)
        self.report("computing weights and friction velocities")
        fit.advanced = self._between(_SMOOTHED, _WEIGHTED)
        tried = FRICTION_VELOCITIES if velocities is None else velocities.tolist()
        sample = fit.sample([float(v) for v in tried])
        weights = find_weights(sample, velocities, listed.values)
        sums = BlockSums(len(listed.names))
        factor = fit.compressed(weights.v0, weights.weigh, sums)
        rows = FitRows(factor, sums, moves_both_ways(fit.spread(MOST_SHOWN).qd))
        self.update(_WEIGHTED)
        spread = joint_spreads(fit)
        start = self._start(listed, spread)
        fitted: list[FittedStage] = []
        for name, free, trust in self._stages(listed):
            self.report(f"stage {name}: {pluralize(len(free), 'parameter')}")
            x, known, words, contradicted = fit_stage(
                listed, rows, start, free, spread, trust, self.options.fix
            )
            self.settings["weights"] = words
            fitted.append(FittedStage(name, len(free), x, known))
        after = scored(test, [each.x for each in fitted], weights.v0)
        stages = [Stage("file", 0, before.scores[0])]
        stages += [Stage(*f[:2], score) for f, score in zip(fitted, after.scores, strict=True)]
        self.findings += payload_change(self.arm, listed, self._carrier, fitted, after.scores)
        if listed.carrier is not None:
            self.findings.append(load_text(listed, self._carrier, x, known))
            self.settings["payload link"] = self._carrier
        require_possible_bodies(listed, x)
        self.notes += [*excitation_notes(fit, rows.both_ways), *known.notes(listed.names)]
        self.notes += faster_joints(fit, test)
        self.warnings += efforts_beyond_limits(self.arm, after.rows.tau)
        self.warnings += fit_warnings(self.arm, test.count, contradicted, after.scores[-1])
        self._state_settings(fit, sample, test, after, weights.v0)
        return Identification(
            arm=corrected_arm(self.arm, listed, x, weights.v0),
            names=listed.names,
            before=listed.values,
            values=x,
            deviations=known.deviations,
            prior_deviations=known.prior_deviations,
            covariance=known.covariance,
            share=known.share,
            stages=tuple(stages),
            friction_velocity=weights.v0,
            measured=after.rows.tau,
            predicted=after.predicted[-1],
            predicted_before=before.predicted[0],
            time=after.rows.time,
            settings=self.settings,
            findings=tuple(self.findings),
            notes=(*self.notes, *self.warnings),
            warnings=tuple(self.warnings),
        )

    def _between(self, start: float, end: float) -> Callable[[float], None]:
        """Report fractions of one step as fractions of all steps."""
        return lambda fraction: self.update(start + (end - start) * fraction)

    def _designs(self, recordings: Sequence[RecordingSource]) -> tuple[DesignRows, DesignRows]:
        """Rows of the fit and of the test."""
        options, arm = self.options, self.arm
        if not recordings:
            raise UsageError("recordings: must not be empty", hint="pass at least one recording")
        others = () if isinstance(options.holdout, float | str) else options.holdout
        sources = [*recordings, *options.unloaded, *others]
        store, cleaned = RowStore(1 + 4 * arm.n), []
        for number, source in enumerate(sources):
            ends = (_CLEANED * (number + i) / len(sources) for i in range(2))
            cleaned.append(self._cleaned(source, store, self._between(*ends)))
        self._describe(cleaned)
        loaded = cleaned[: len(recordings)]
        self.update(_CLEANED)
        width, lag, exact = self._filter(loaded)
        listed = parameter_list(arm, self._carrier if options.unloaded else None)
        filtered = None if exact else width
        fit, test = DesignRows(arm, listed, filtered), DesignRows(arm, listed, filtered)
        for number, each in enumerate(cleaned):
            self.report(f"{each.name}: smooth")
            other = number >= len(sources) - len(others)
            carries = 0.0 if number >= len(recordings) and not other else 1.0
            smoothed = DesignRows(arm, listed, filtered)
            step = (_SMOOTHED - _CLEANED) / len(sources)
            advanced = self._between(_CLEANED + step * number, _CLEANED + step * (number + 1))
            for part, rows in enumerate(smooth_parts(each, width, lag)):
                advanced(min(1.0, part * PART_ROWS / each.rows))
                known = without_known_torques(arm, rows)
                smoothed.append(known._replace(loaded=np.full(len(rows.time), carries)))
            parts = [(slice(0, smoothed.count), other)]
            if isinstance(options.holdout, float | str):
                parts = [*held_out_parts(smoothed, options.holdout, width)]
            for design, held_out in ((fit, False), (test, True)):
                design.extend(smoothed, [part for part, is_test in parts if is_test == held_out])
            smoothed.close()
            advanced(1.0)
        store.close()
        if not (fit.count and test.count):
            raise no_rows()
        return fit, test

    def _filter(self, recordings: Sequence[CleanRecording]) -> tuple[float, float, bool]:
        """Width and lag in s, and whether accelerations are given."""
        options, exact = self.options, all(each.exact for each in recordings)
        self.report("computing the lag and the width of the filter")
        width, lag, warnings = choose_filter(self.arm, recordings, options.width, options.lag)
        self.warnings += warnings
        self.settings["width"] = "none, accelerations are given" if exact else f"{width:g} s"
        self.settings["lag"] = f"{1e3 * lag:.1f} ms"
        return width, lag, exact

    def _cleaned(
        self, source: RecordingSource, store: RowStore, advanced: Callable[[float], None]
    ) -> CleanRecording:
        recording = source if isinstance(source, Recording) else source()
        self.report(f"{recording.name}: correcting time stamps and removing spikes")
        if isinstance(recording, Recording):
            recording = checked_recording(recording, self.arm.n)
        require_torques(self.arm, recording)
        require_positions_near_limits(self.arm, recording)
        cleaned = clean(recording, self.options.clock, store, advanced)
        require_motion_units(self.arm, cleaned)
        if isinstance(recording, StoredRecording):
            recording.store.close()
        return cleaned

    def _start(self, listed: ParameterList, spread: Floats) -> Floats:
        """Start values with fixed parameters, whose prior becomes narrow."""
        values = listed.values.copy()
        for name, value in self.options.fix.items():
            i = listed.names.index(name)
            if name.endswith("/mass") and values[i] > 0.0 and value > 0.0:
                # a body of other mass and the same shape
                values[i : i + 10] *= value / values[i]
            values[i] = value
            spread[i] = 1e-7 * max(abs(value), 1e-3)
        if listed.carrier is not None:
            first = listed.names.index(f"{PAYLOAD}/mass")
            link = values[listed.carrier : listed.carrier + 10]
            centre = link[1:4] / link[0] if link[0] else np.zeros(3)
            values[first : first + 10] = ball_parameters(1.0, 0.1, centre)
        return interior_start(listed, values, spread)

    @property
    def _carrier(self) -> str:
        """The moving link of the payload stage."""
        name = self.options.payload_link
        if name is None:
            return carrier_of_loads(self.arm)
        return self.arm.link(self.arm.frames[name].link).name

    def _stages(self, listed: ParameterList) -> list[tuple[str, list[int], Floats]]:
        """Name, free parameters and trust of every stage."""
        what, bodies = self.options.what, listed.bodies
        joints = listed.of("damping", "armature", "friction", "offset")
        load = list(range(len(listed.names) - 10, len(listed.names)))
        always = joints + (load if listed.carrier is not None else [])
        first = listed.names.index(f"{self._carrier}/mass")
        trust = np.full(len(bodies), 1.0 / self.options.prior**2)
        for link in self.options.free:
            owner = self.arm.link(self.arm.frames[link].link).name
            trust[bodies.index(listed.names.index(f"{owner}/mass"))] = _FREE_TRUST
        if listed.carrier is not None:
            trust[-1] = _FREE_TRUST
        weak = trust.copy()
        weak[bodies.index(first)] = min(_PAYLOAD_TRUST, weak[bodies.index(first)])
        everything = list(range(len(listed.names)))
        stages = [("friction", sorted(always), trust)]
        if what in ("payload", "all") and listed.carrier is None:
            stages.append(("payload", sorted({*always, *range(first, first + 10)}), weak))
        if what in ("links", "all"):
            # after a payload stage, the payload's link is not trusted here either
            stages.append((what, everything, weak if len(stages) == 2 else trust))
        return stages

    def _describe(self, recordings: Sequence[CleanRecording]) -> None:
        cleaned, rows = (sum(getattr(r, name) for r in recordings) for name in ("cleaned", "rows"))
        for each in recordings:
            counts = (each.rows, each.left_out, each.constant, each.missing)
            self.notes += fault_notes(self.arm, each.name, counts, each.held)
        self.settings["recordings"] = f"{len(recordings)}, {rows} rows"
        self.settings["clock"] = "; ".join(dict.fromkeys(each.words for each in recordings))
        self.settings["cleaned"] = f"{pluralize(cleaned, 'row')} with spikes"
        self.settings["prior"] = f"assumed error of the robot file: {100 * self.options.prior:g} %"

    def _state_settings(
        self, fit: DesignRows, sample: DesignRows, test: DesignRows, shown: HeldOut, v0: Floats
    ) -> None:
        self.settings["fitted"] = pluralize(fit.count, "smoothed row")
        if sample is not fit:
            self.settings["fitted"] += f", weights and friction velocities from {sample.count}"
        self.settings["held out"] = pluralize(test.count, "smoothed row")
        if len(shown.rows.time) < test.count:
            self.settings["held out"] += f", {len(shown.rows.time)} in the result"
        velocities = ", ".join(f"{v:g}" for v in v0)
        self.settings["friction velocities"] = f"{velocities} rad/s or m/s"
