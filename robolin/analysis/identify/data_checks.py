"""Checks of recordings before a fit, and remarks about what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from robolin.analysis.identification import RANK_BELOW, identifiable, random_motions
from robolin.analysis.identify.consistent_fit import is_possible
from robolin.analysis.identify.design_rows import (
    MOVING_SPEED,
    PAYLOAD,
    DesignRows,
    ParameterList,
    without_friction,
)
from robolin.analysis.identify.deviations import Uncertainty
from robolin.analysis.identify.recording import (
    PART_ROWS,
    Recording,
    StoredRecording,
    recorded_rows,
    recording_parts,
)
from robolin.analysis.identify.stages import Score
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.text import join_and, pluralize
from robolin.errors import RobolinError

# ratio of measured to modelled torques beyond which a unit must be wrong
_WRONG_UNIT = 6.0
# correlation of measured and modelled torques below which a sign must be wrong
_OPPOSITE = -0.8
# relative error of a robot file below which the efforts are computed with it, not measured
_EXACT_ERROR = 1e-6
# part of the moving held-out rows above which faster motions are reported
_FASTER = 0.1
# rows over which positions and velocities are compared, and the periods in s that are possible
_ROWS_OF_MOTION, _SHORTEST_PERIOD, _LONGEST_PERIOD = 50, 2e-5, 1.0
# time steps that are this many times the median are gaps
_GAP = 20.0
# deviations within which two changes of a mass agree, and from which on a change is clear
_AGREE, _CLEAR = 2.0, 3.0
# part by which the error of the payload stage may exceed that of the last stage
_AS_GOOD = 0.05
# held-out rows below which their error says little
_FEW_ROWS = 50
# relative error of a joint above which its efforts are explained poorly
_POOR = 0.3
# multiple of an effort limit that suggests another unit
_BEYOND_LIMIT = 10.0


def require_torques(arm: Arm, recording: Recording | StoredRecording) -> None:
    """Reject a recording in which the torques of a joint are 0 in all rows."""
    idle = np.ones(arm.n, dtype=bool)
    for part, _ in recording_parts(recording):
        idle &= ~((part.tau != 0.0) & ~np.isnan(part.tau)).any(axis=0)
    if idle.all():
        raise RobolinError(
            "all measured torques are 0",
            where=recording.name,
            hint="check the effort columns: --columns effort=PATTERN",
        )
    if idle.any():
        joints = join_and([n for n, z in zip(arm.joint_names, idle, strict=True) if z])
        raise RobolinError(
            f"the measured torques of {joints} are 0 in all rows",
            where=recording.name,
            hint="lock joints without a torque sensor: --lock JOINT=0",
        )


def require_positions_near_limits(arm: Arm, recording: Recording | StoredRecording) -> None:
    """Reject positions that are far outside the joint limits: their unit must be wrong."""
    stride = -(-recorded_rows(recording) // PART_ROWS)
    q = np.concatenate([part.q[::stride] for part, _ in recording_parts(recording)])
    for j, joint in enumerate(arm.joints):
        column = q[:, j]
        column = column[np.abs(column) < 1e100]
        if not column.size:
            raise RobolinError(
                f"no position of joint '{joint.name}' is a finite number", where=recording.name
            )
        low, high = np.percentile(column, [5.0, 95.0])
        if joint.limits.far_outside(float(low), float(high), turns=joint.turns):
            raise RobolinError(
                f"positions of joint '{joint.name}' are far outside its limits: "
                f"{low:.4g} to {high:.4g}",
                where=recording.name,
                hint="if the positions are in degrees, add --degrees"
                if joint.turns
                else "positions of prismatic joints must be in m",
            )


def require_motion_units(arm: Arm, recording: Recording | StoredRecording) -> None:
    """Reject times in another unit, and velocities that contradict the positions.

    recording: without spikes
    """
    moved, travelled, period = [], [], []
    for part, _ in recording_parts(recording):
        steps = np.diff(part.time)
        period.append(float(np.median(steps)) if len(steps) else np.nan)
        rows = np.arange(0, len(part.time), _ROWS_OF_MOTION)
        if part.qd is None or len(rows) < 2:
            continue
        way = np.cumsum(0.5 * (part.qd[1:] + part.qd[:-1]) * steps[:, None], axis=0)
        # the velocities within a gap are unknown
        gaps = np.concatenate([[0], np.cumsum(steps > _GAP * period[-1])])
        joined = np.diff(gaps[rows]) == 0
        change = np.diff(np.concatenate([np.zeros((1, arm.n)), way])[rows], axis=0)
        travelled.append(change[joined])
        moved.append(np.diff(part.q[rows], axis=0)[joined])
    if not _SHORTEST_PERIOD <= (seconds := float(np.nanmedian(period))) <= _LONGEST_PERIOD:
        raise RobolinError(
            f"the median time step is {seconds:.4g} s; it must be from {_SHORTEST_PERIOD:g} s to "
            f"{_LONGEST_PERIOD:g} s",
            where=recording.name,
            hint="set the unit of the times, for example --time-unit ms",
        )
    if not moved:
        return
    way, change = np.concatenate(travelled), np.concatenate(moved)
    moves = (np.abs(change) > 0.02).any(axis=0) | (np.abs(way) > 0.1).any(axis=0)
    sizes = [np.maximum(np.sqrt(np.sum(each**2, axis=0)), 1e-12) for each in (way, change)]
    ratio = sizes[0] / sizes[1]
    fits = (np.sum(way * change, axis=0) > 0.5 * sizes[0] * sizes[1]) & (
        np.abs(np.log(ratio)) < 1.0
    )
    wrong = moves & ~fits
    if wrong.any():
        factor = float(np.median(ratio[moves]))
        joints = join_and([n for n, w in zip(arm.joint_names, wrong, strict=True) if w])
        message = f"the velocities of {joints} contradict the positions"
        hint = "check the velocity columns, or remove them to differentiate the positions"
        if wrong[moves].all() and not 1.0 / 30.0 < factor < 30.0:
            message = f"the velocities are {factor:.3g} times the time derivatives of the positions"
            hint = "check the units of velocities and times: --degrees, --time-unit"
        raise RobolinError(message, where=recording.name, hint=hint)


def require_torque_units(arm: Arm, measured: Floats, predicted: Floats) -> None:
    """Reject torques (rows, n) whose size shows another unit, or motor currents.

    predicted: with the robot file, for the same rows
    """
    if not any(arm.gravity):
        # without gravity, wrong masses and wrong units look the same
        return
    size = np.sqrt(np.mean(predicted**2, axis=0))
    heavy = size > 0.2 * size.max()
    product = np.sum(measured * predicted, axis=0)
    slope = product / np.maximum(size**2 * len(measured), 1e-300)
    length = np.sqrt(np.sum(measured**2, axis=0) * len(measured))
    correlation = product / np.maximum(length * size, 1e-300)
    ratio = float(np.median(slope[heavy]))
    turned = heavy & (correlation < _OPPOSITE)
    if turned.any() or (ratio < 0.0 and np.median(np.abs(slope[heavy])) > 0.2):
        names = [n for n, t in zip(arm.joint_names, turned, strict=True) if t]
        of_joints = f" of {join_and(names)}" if names else ""
        message = f"measured torques and model torques{of_joints} have opposite signs"
        raise RobolinError(message, hint="check the sign and the order of the columns")
    if 1.0 / _WRONG_UNIT < abs(ratio) < _WRONG_UNIT:
        return
    usual = heavy & (np.abs(slope) < _WRONG_UNIT) & (np.abs(slope) > 1.0 / _WRONG_UNIT)
    wrong = [n for n, h, u in zip(arm.joint_names, heavy, usual, strict=True) if h and not u]
    of_joints = f" of {join_and(wrong)}" if usual.any() else ""
    if np.median(correlation[heavy]) < 0.5:
        hint = "check the order, signs and units of the effort columns"
    elif ratio > 300.0:
        scale = ",".join(f"{n}={0.001 if n in wrong else 1:g}" for n in arm.joint_names)
        scale = scale if of_joints else "0.001"
        hint = f"if the efforts{of_joints} are in N·mm, add --effort-scale {scale}"
    else:
        hint = "if the efforts are motor currents, add --torque-constants JOINT=K,…"
    message = f"measured torques{of_joints} are {ratio:.3g} times the model torques"
    raise RobolinError(message, hint=hint)


def efforts_beyond_limits(arm: Arm, measured: Floats) -> Iterator[str]:
    """Warnings about joints whose efforts (rows, n) are far beyond the effort limit."""
    for joint, tau in zip(arm.joints, measured.T, strict=True):
        limit = max(map(abs, joint.limits.effort_range))
        # single wrong values do not count
        size = float(np.percentile(np.abs(tau), 90.0))
        if 0.0 < limit < np.inf and size > _BEYOND_LIMIT * limit:
            yield (
                f"the efforts of joint '{joint.name}' are {size / limit:.0f} times the effort "
                "limit in the file: check their unit, for example N·mm instead of N·m"
            )


def require_possible_bodies(listed: ParameterList, x: Floats) -> None:
    """Reject fixed values for which no body exists."""
    impossible = [
        listed.names[b].rpartition("/")[0] for b in listed.bodies if not is_possible(x[b : b + 10])
    ]
    if impossible:
        raise RobolinError(
            f"the fixed values make the inertia of {join_and(impossible)} physically impossible",
            hint="check the values of --fix",
        )


def excitation_notes(fit: DesignRows, both_ways: Mask) -> Iterator[str]:
    """Remarks about joints that never move or never reverse, and about missing excitation.

    both_ways: which joints (n,) move in both directions
    """
    for name, moves, reverses in zip(fit.arm.joint_names, fit.sizes.moves, both_ways, strict=True):
        if not moves:
            yield f"joint '{name}' never moves: its friction is not determined"
        elif not reverses:
            yield (
                f"joint '{name}' moves in one direction only: its friction cannot be separated "
                "from an offset"
            )
    arm = without_friction(fit.arm)
    possible = identifiable(arm, *random_motions(arm, 60)).rank
    rows = fit.spread(400)
    rank = identifiable(arm, rows.q, rows.qd, rows.qdd, 100.0 * RANK_BELOW).rank
    if rank < possible:
        yield (
            f"the motion excites {rank} of {possible} identifiable parameter combinations; the "
            "robot file determines the other combinations"
        )


def faster_joints(fit: DesignRows, test: DesignRows) -> Iterator[str]:
    """Notes about joints that move faster in held-out rows, so that friction is extrapolated."""
    fastest = fit.sizes.fastest
    moving, faster = np.zeros((2, fit.arm.n))
    for part in test.parts():
        speed = np.abs(test.rows(part).qd)
        moving += np.sum(speed > MOVING_SPEED, axis=0)
        faster += np.sum(speed > fastest, axis=0)
    shares = faster / np.maximum(moving, 1.0)
    for joint, limit, part in zip(fit.arm.joints, fastest, shares, strict=True):
        if limit > MOVING_SPEED and part > _FASTER:
            unit = "rad/s" if joint.turns else "m/s"
            yield (
                f"in {100.0 * part:.0f} % of the held-out rows, joint '{joint.name}' is faster "
                f"than in any fitted row ({limit:.2f} {unit}): its friction is extrapolated"
            )


def carrier_of_loads(arm: Arm) -> str:
    """The end of the longest chain of links without branches: the hand, not one of its fingers."""
    children = Counter(link.parent for link in arm.links_tip_to_base)
    length, ends = {arm.base: 0}, []
    for number in range(len(arm.links), 0, -1):
        link = arm.link(number)
        before = length[link.parent] if children[link.parent] == 1 else 0
        length[number] = before + 1
        ends.append((length[number], -number))
    return arm.link(-max(ends)[1]).name


class FittedStage(NamedTuple):
    """A stage before its test: name, number of parameters, their values (p,) and deviations."""

    name: str
    parameters: int
    x: Floats
    known: Uncertainty


def payload_change(
    arm: Arm,
    listed: ParameterList,
    carrier: str,
    stages: Sequence[FittedStage],
    scores: Sequence[Score],
) -> Iterator[str]:
    """State by how much the mass of the payload's link differs from the file, if it does.

    The last stage, which fits all links, must confirm the difference.  If it finds another one, but
    does not lower the error, the difference may be that of a link before.

    scores: of the stages on held-out rows
    """
    i, last = listed.names.index(f"{carrier}/mass"), stages[-1]
    payload = next((each for each in stages if each.name == "payload"), None)
    if payload is None:
        return
    error, least = scores[stages.index(payload)].headline, scores[-1].headline
    change, deviation = float(payload.x[i] - listed.values[i]), float(payload.known.deviations[i])
    if abs(change) < max(_CLEAR * deviation, 0.03 * abs(listed.values[i])):
        return
    last_change, last_deviation = last.x[i] - listed.values[i], last.known.deviations[i]
    gap = abs(last_change - change) / max(float(np.hypot(deviation, last_deviation)), 1e-300)
    confirmed = gap <= _AGREE and abs(last_change) >= _CLEAR * last_deviation
    if not confirmed and error > (1.0 + _AS_GOOD) * least:
        return
    # the difference of the stages shows what errors of other links contribute
    deviation = float(np.hypot(deviation, last_change - change))
    link = next(each for each in arm.links if each.name == carrier)
    # at least one significant digit of the deviation
    digits = int(np.clip(np.ceil(-np.log10(max(deviation, 1e-9))), 2, 6))
    way = "heavier" if change > 0.0 else "lighter"
    if not confirmed:
        yield (
            f"link '{link.name}', or a link before it, is about {abs(change):.2g} kg {way} than in "
            "the file: the recording does not determine which of these links"
        )
        return
    amount = f"link '{link.name}' is {abs(change):.{digits}f} ± {deviation:.{digits}f} kg {way}"
    cause = "a load is missing in the file"
    if change < 0.0:
        part = f"a part fixed to it ({', '.join(link.merged)})" if link.merged else "a part of it"
        cause = f"{part} was not mounted during the recording"
    yield f"{amount} than in the file: {cause}, or the masses in the file are wrong"


def load_text(listed: ParameterList, carrier: str, x: Floats, known: Uncertainty) -> str:
    """Mass and centre of mass of an identified load."""
    i = listed.names.index(f"{PAYLOAD}/mass")
    centre = ", ".join(f"{each:.3f}" for each in x[i + 1 : i + 4] / x[i])
    return (
        f"payload {x[i]:.3f} ± {known.deviations[i]:.3f} kg, centre of mass ({centre}) m in "
        f"link '{carrier}'"
    )


def fit_warnings(arm: Arm, tested: int, contradicted: Sequence[str], score: Score) -> Iterator[str]:
    """Warnings about a poor fit, or a test with few rows.

    tested: number of held-out rows
    contradicted: links, as in `contradicted_links`
    """
    if tested < _FEW_ROWS:
        yield (
            f"only {pluralize(tested, 'smoothed row')} test the fit, so its error is uncertain: "
            "record a longer motion"
        )
    if np.isnan(score.mean):
        yield (
            "no joint moves in the held-out rows, so these rows do not test the fit: pass a "
            "recording of a motion with --holdout"
        )
    yield from contradicted_links(contradicted)
    yield from unexplained_joints(arm, score)


def contradicted_links(names: Sequence[str]) -> Iterator[str]:
    """A note about links that only values unlike those of the file explain."""
    if names:
        yield (
            f"the recording contradicts the values of {join_and([*names])} in the file by more "
            "than 100 %: check the masses in the file, the zero positions, signs and order of the "
            "joints, and the units of the efforts"
        )


def unexplained_joints(arm: Arm, score: Score) -> Iterator[str]:
    """Notes about joints whose efforts no parameters explain, or only poorly."""
    names = [
        f"'{n}'" for n, error in zip(arm.joint_names, score.moving, strict=True) if error > 0.9
    ]
    for name, error in zip(arm.joint_names, score.moving, strict=True):
        if _POOR < error <= 0.9:
            yield (
                f"the fit leaves an error of {100.0 * error:.0f} % for joint '{name}': check its "
                "positions and efforts"
            )
    if names:
        yield (
            f"no parameter values explain the efforts of {join_and(names)}: "
            "check the order, signs and units of the effort columns"
        )


def require_measured_efforts(error: float) -> None:
    """Reject efforts that the robot file explains to the last digits.

    Args:
        error: relative error of the file on held-out rows
    """
    if error < _EXACT_ERROR:
        raise RobolinError(
            f"the robot file already explains the efforts: error {error:.1g} on held-out rows, "
            "so there is nothing to identify",
            hint="use measured efforts; the efforts in the recording were computed with the robot "
            "file",
        )
