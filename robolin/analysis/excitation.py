"""Exciting motions for identification: Fourier series within limits, D-optimal, by a search."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, pi

import numpy as np

from robolin.analysis.identification import (
    RANK_BELOW,
    Identifiable,
    identifiable,
    random_motions,
    regressor,
)
from robolin.api.inverse_and_forward import inverse
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    as_joint_array,
    require_arm,
    require_real,
    require_tree,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.progress import track
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

# samples per period of the fastest harmonic in the search, and in the final check
_SAMPLES, _CHECKED = 10, 200
# halvings of the interval in which the largest amplitude within the torque limits is searched
_HALVINGS = 6
# relative round-off of times that are multiples of others
_ROUNDING = 1e-9
# random motions that show what any motion can determine
_RANDOM = 100
# weight of the condition number, compared with the information per parameter
_CONDITION_WEIGHT = 2.0
# the search begins with this many random motions
_BEGINNINGS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Excitation(DisplayMixin):
    """A motion that starts and ends at rest, and the parameters that it makes identifiable.

    Fields:
        time: (rows,) in s
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        qdd: accelerations (rows, n) in rad/s² or m/s²
        tau: torques of the model (rows, n) in N·m or N
        identifiable: rank, shares and condition number of the regressor along the motion
        possible: rank of the regressor for random motions, the largest possible rank
        used: (n, 4), the largest used fraction of the limits of position, velocity, acceleration
            and torque, on a finer grid; 0 without a limit

    Example:
        >>> arm = robolin.load("two-link")
        >>> limits = {"max_velocity": [2.0, 3.0], "max_acceleration": [10.0, 20.0]}
        >>> motion = robolin.excite(arm, duration=4.0, iterations=20, **limits)
        >>> motion.identifiable.rank, motion.possible
        (9, 9)
        >>> bool((motion.used <= 0.9 + 1e-9).all())
        True
    """

    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    identifiable: Identifiable
    possible: int
    used: Floats


@dataclass(frozen=True)
class _MotionLimits:
    """Limits of all joints, each (n,); infinite without a limit."""

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats
    effort_lower: Floats


@dataclass(frozen=True)
class _FourierBasis:
    """Motions of one joint at some times, as matrices of free coefficients, without offset.

    The coefficients span the series with q̇ = q̈ = 0 at the start and the end of a period.
    """

    q: Floats
    qd: Floats
    qdd: Floats


def _fourier(times: Floats, period: float, harmonics: int) -> _FourierBasis:
    """sin and cos of all harmonics, scaled to equal velocities."""
    rates = 2.0 * pi / period * np.arange(1, harmonics + 1)
    angles = times[:, None] * rates

    def series(derivative: int) -> Floats:
        size = rates ** (derivative - 1)
        shifted = angles + 0.5 * pi * derivative
        return np.hstack([np.sin(shifted) * size, np.cos(shifted) * size])

    at_rest = np.vstack([np.repeat([1.0, 0.0], harmonics), np.hstack([0.0 * rates, rates])])
    # orthonormal basis of all coefficients without velocity and acceleration at the start
    free = np.linalg.svd(at_rest)[2][2:].T
    return _FourierBasis(series(0) @ free, series(1) @ free, series(2) @ free)


@dataclass(frozen=True)
class _MotionCandidate:
    """Coefficients (n, free), location in the range (n,) from 0 to 1, and the overall amplitude."""

    shape: Floats
    location: Floats
    amplitude: float = 1.0


class _ExcitationSearch:
    """Random search for the largest determinant of the information matrix."""

    def __init__(self, arm: Arm, limits: _MotionLimits, period: float, harmonics: int) -> None:
        self.arm, self.limits, self._period, self._harmonics = arm, limits, period, harmonics
        count = _SAMPLES * harmonics
        self._coarse = _fourier(np.arange(count) * period / count, period, harmonics)
        count = _CHECKED * harmonics
        self.fine = _fourier(np.arange(count + 1) * period / count, period, harmonics)
        known = np.isfinite(limits.effort)
        self._weights = 1.0 / np.where(known, limits.effort, 1.0) if known.all() else None
        self._columns = _independent_columns(arm)
        self.possible = len(self._columns)

    def motion(
        self, candidate: _MotionCandidate, basis: _FourierBasis | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """q, q̇ and q̈ (rows, n), as large as position, velocity and acceleration limits allow.

        The size follows from the fine grid, so that all grids have the same motion.
        """
        fine, limits = self.fine, self.limits
        q, qd, qdd = (each @ candidate.shape.T for each in (fine.q, fine.qd, fine.qdd))
        low, high = q.min(axis=0), q.max(axis=0)
        ratios = (
            (limits.upper - limits.lower) / (high - low),
            limits.velocity / np.abs(qd).max(axis=0),
            limits.acceleration / np.abs(qdd).max(axis=0),
        )
        scale = candidate.amplitude * np.min(ratios, axis=0)
        span = limits.upper - limits.lower - scale * (high - low)
        offset = limits.lower + candidate.location * span - scale * low
        rows = basis or self._coarse
        q, qd, qdd = (each @ candidate.shape.T for each in (rows.q, rows.qd, rows.qdd))
        return offset + scale * q, scale * qd, scale * qdd

    def within_torques(self, candidate: _MotionCandidate) -> _MotionCandidate | None:
        """The same motion with the largest amplitude that the torque limits allow."""

        def fits(amplitude: float) -> _MotionCandidate | None:
            smaller = _MotionCandidate(candidate.shape, candidate.location, amplitude)
            tau = inverse(self.arm, *self.motion(smaller), jobs=1)
            inside = (tau <= self.limits.effort) & (tau >= self.limits.effort_lower)
            return smaller if inside.all() else None

        if (full := fits(1.0)) is not None:
            return full
        best, low, high = None, 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            trial = fits(middle)
            best, low, high = (trial, middle, high) if trial else (best, low, middle)
        return best

    def score(self, candidate: _MotionCandidate) -> float:
        """Logarithm of information per base parameter, less that of the condition number."""
        motion = self.motion(candidate)
        Y = regressor(self.arm, *motion, jobs=1).matrix
        base = Y[..., self._columns]
        if self._weights is not None:
            base = base * self._weights[:, None]
        diagonal = np.abs(np.diag(np.linalg.qr(base.reshape(-1, self.possible), mode="r")))
        if not (diagonal > 0.0).all():
            return -inf
        condition = _condition(Y.reshape(-1, Y.shape[-1]), self.possible)
        return float(np.log(diagonal).mean() - _CONDITION_WEIGHT * np.log(condition))

    def random(self, rng: np.random.Generator) -> _MotionCandidate:
        shape = (self.arm.n, 2 * self._harmonics - 2)
        return _MotionCandidate(rng.normal(size=shape), rng.random(self.arm.n))

    def changed(
        self, candidate: _MotionCandidate, step: float, rng: np.random.Generator
    ) -> _MotionCandidate:
        """Another candidate, with some of the joints changed."""
        chosen = rng.random(self.arm.n) < max(0.3, 1.0 / self.arm.n)
        chosen[rng.integers(self.arm.n)] = True
        size = np.sqrt(np.mean(candidate.shape**2, axis=1, keepdims=True))
        noise = step * size * rng.normal(size=candidate.shape.shape)
        moved = candidate.location + step * rng.normal(size=self.arm.n)
        # reflect at the ends of the range
        location = 1.0 - np.abs(1.0 - np.abs(moved) % 2.0)
        return _MotionCandidate(
            np.where(chosen[:, None], candidate.shape + noise, candidate.shape),
            np.where(chosen, location, candidate.location),
        )

    def run(self, iterations: int, seed: int) -> _MotionCandidate:
        """The best of `iterations` candidates; the step follows the rate of success."""
        rng, step = np.random.default_rng(seed), 0.5
        best: _MotionCandidate | None = None
        best_score = -inf
        for i in track("excite", range(iterations), iterations):
            fresh = best is None or i < min(_BEGINNINGS, iterations // 4)
            tried = self.random(rng) if best is None or fresh else self.changed(best, step, rng)
            allowed = self.within_torques(tried)
            score = -inf if allowed is None else self.score(allowed)
            if score > best_score:
                best, best_score = allowed, score
                step = min(1.0, step * 1.5)
            elif not fresh:
                step = max(0.01, step * 0.9)
        if best is None:
            raise RobolinError(
                "found no motion within the effort limits",
                where=self.arm.source,
                hint="check the effort limits and the payload, or use more iterations",
            )
        return best


def _condition(columns: Floats, rank: int) -> float:
    """Ratio of the extreme singular values of unit columns; there are `rank` above round-off."""
    lengths = np.linalg.norm(columns, axis=0)
    counts = lengths > RANK_BELOW * lengths.max()
    unit = columns[:, counts] / lengths[counts]
    # a Gram matrix would square the condition number
    sizes = np.linalg.svd(np.linalg.qr(unit, mode="r"), compute_uv=False)
    return float(sizes[0] / max(float(sizes[rank - 1]), 1e-300))


def _independent_columns(arm: Arm) -> list[int]:
    """Columns of the regressor that are a basis of all others: Gram–Schmidt with pivots."""
    motions = random_motions(arm, _RANDOM)
    matrix = regressor(arm, *motions).matrix
    rest = matrix.reshape(-1, matrix.shape[-1])
    lengths = np.linalg.norm(rest, axis=0)
    rest = rest / np.where(lengths > 0.0, lengths, 1.0)
    chosen: list[int] = []
    for _ in range(identifiable(arm, *motions).rank):
        sizes = np.linalg.norm(rest, axis=0)
        best = int(sizes.argmax())
        chosen.append(best)
        unit = rest[:, best] / sizes[best]
        for _ in range(2):
            # a second projection removes the round-off of the first
            rest = rest - np.outer(unit, unit @ rest)
    return sorted(chosen)


def excite(
    arm: Arm,
    *,
    duration: float = 10.0,
    period: float | None = None,
    harmonics: int = 5,
    dt: float = 0.01,
    margin: float = 0.9,
    max_velocity: JointValues | None = None,
    max_acceleration: JointValues | None = None,
    iterations: int = 1000,
    seed: int = 0,
) -> Excitation:
    """Search for a motion from which the dynamic parameters can be estimated accurately.

    Every joint moves along a Fourier series, from rest to rest. The motion stays within the limits
    of position, velocity, acceleration and torque. A random search maximizes the determinant of the
    information matrix of the base parameters (D-optimal), with a penalty on the condition number.
    On one machine, the same arguments always produce the same motion.

    Args:
        arm: the arm, from `robolin.load`
        duration: duration of the motion in s, a multiple of `period`
        period: period of the Fourier series in s; None for the duration
        harmonics: number of sines and cosines of each joint, at least 2
        dt: time between rows in s
        margin: fraction of all limits that the motion uses, up to 1
        max_velocity: (n,) in rad/s or m/s; None for the limits in the robot file
        max_acceleration: (n,) in rad/s² or m/s²; None for no limit besides torques
        iterations: number of motions that the search tries
        seed: random seed

    Returns:
        an `Excitation`: the motion with its torques, and the identifiable parameters

    Raises:
        RobolinError: limits that are missing or impossible, or closed loops
        UsageError: `arm` is not an `Arm`, or invalid arguments

    Example:
        >>> arm = robolin.load("panda")
        >>> motion = robolin.excite(arm, duration=2.0, iterations=1)
        >>> motion.q.shape, bool(np.abs(motion.qd[[0, -1]]).max() < 1e-9)
        ((201, 7), True)
    """
    require_arm(arm)
    require_tree(arm, "excite")
    period = duration if period is None else period
    _require_arguments(duration, period, harmonics, dt, margin, iterations, seed)
    limits = _limits(arm, margin, max_velocity, max_acceleration)
    search = _ExcitationSearch(arm, limits, period, harmonics)
    best = search.run(iterations, seed)
    best, used = _checked(search, best, margin)
    rows = round(duration / dt) + 1
    # exact times of a whole number of steps
    time = np.arange(rows, dtype=np.float64) * dt
    q, qd, qdd = search.motion(best, _fourier(time, period, harmonics))
    parameters = identifiable(arm, q, qd, qdd)
    return Excitation(time, q, qd, qdd, inverse(arm, q, qd, qdd), parameters, search.possible, used)


def _checked(
    search: _ExcitationSearch, best: _MotionCandidate, margin: float
) -> tuple[_MotionCandidate, Floats]:
    """Shrink the motion until it is within the limits on a finer grid; return the used fractions.

    Between the rows of the search, torques may exceed their limits by a little.
    """
    for _ in range(100):
        used = _used(search, *search.motion(best, search.fine))
        if (used <= 1.0 + _ROUNDING).all():
            return best, margin * np.minimum(used, 1.0)
        best = _MotionCandidate(best.shape, best.location, 0.995 * best.amplitude)
    raise RobolinError(
        "the motion exceeds effort limits between its rows",
        where=search.arm.source,
        hint="use fewer harmonics or another seed",
    )


def _used(search: _ExcitationSearch, q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Largest used fraction (n, 4) of position, velocity, acceleration and torque limits."""
    limits, tau = search.limits, inverse(search.arm, q, qd, qdd)
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    effort = np.maximum(tau / limits.effort, tau / limits.effort_lower)
    fractions = ((q - middle) / half, qd / limits.velocity, qdd / limits.acceleration)
    return np.stack([*(np.abs(each).max(axis=0) for each in fractions), effort.max(axis=0)], axis=1)


def _limits(
    arm: Arm, margin: float, velocity: JointValues | None, acceleration: JointValues | None
) -> _MotionLimits:
    """All limits times the margin; an error names all joints without the necessary ones."""
    overrides = {
        name: as_joint_array(arm, name, values)
        for name, values in (("max_velocity", velocity), ("max_acceleration", acceleration))
        if values is not None
    }
    for name, values in overrides.items():
        if values.shape != (arm.n,) or not (values > 0.0).all():
            raise UsageError(
                "must be one number above 0 per joint", where=name, hint=f"give {arm.n} numbers"
            )
    rows, missing = [], []
    for i, joint in enumerate(arm.joints):
        lower, upper = joint.limits.lower, joint.limits.upper
        if joint.turns and lower is None and upper is None:
            # any angle is possible: one turn
            lower, upper = -pi, pi
        speed = overrides["max_velocity"][i] if velocity is not None else joint.limits.velocity
        least, most = joint.limits.effort_range
        rate = overrides["max_acceleration"][i] if acceleration is not None else inf
        if lower is None or upper is None:
            missing.append(f"position of '{joint.name}'")
        if speed is None:
            missing.append(f"velocity of '{joint.name}'")
        if most == inf and rate == inf:
            missing.append(f"effort of '{joint.name}'")
        rows.append((lower or 0.0, upper or 0.0, speed or 0.0, rate, most, least))
    if missing:
        raise RobolinError(
            f"limits are missing: {', '.join(missing)}",
            where=arm.source,
            hint="add limits to the robot file, or set --max-velocity and --max-acceleration "
            "(max_velocity, max_acceleration)",
        )
    lower, upper, *others = np.array(rows, dtype=np.float64).T
    _require_possible(arm, lower, upper, others)
    half, middle = 0.5 * margin * (upper - lower), 0.5 * (upper + lower)
    return _MotionLimits(middle - half, middle + half, *(margin * each for each in others))


def _require_possible(arm: Arm, lower: Floats, upper: Floats, others: Sequence[Floats]) -> None:
    velocity, _, most, least = others
    for i, joint in enumerate(arm.joints):
        fault = None
        if not lower[i] < upper[i]:
            fault = f"positions from {lower[i]:g} to {upper[i]:g}"
        elif not velocity[i] > 0.0:
            fault = f"velocity {velocity[i]:g}"
        elif not least[i] < 0.0 < most[i]:
            fault = f"efforts from {least[i]:g} to {most[i]:g}"
        if fault:
            raise RobolinError(
                f"joint '{joint.name}' cannot move within its limits: {fault}",
                where=arm.source,
                hint=f"correct the limits, or exclude the joint with --lock {joint.name}=VALUE",
            )


def _require_arguments(
    duration: float,
    period: float,
    harmonics: int,
    dt: float,
    margin: float,
    iterations: int,
    seed: int,
) -> None:
    require_real(duration=duration, period=period, dt=dt, margin=margin)
    for name, value in (("duration", duration), ("period", period), ("dt", dt)):
        if not (isfinite(value) and value > 0.0):
            raise UsageError(f"must be a time above 0 s, got {value:g}", where=name)
    if abs(duration / period - round(duration / period)) > _ROUNDING or duration < period:
        raise UsageError(
            f"{duration:g} s is not a multiple of the period {period:g} s, so the motion would "
            "not end at rest",
            where="duration",
            hint=f"for example {max(1, round(duration / period)) * period:g} s",
        )
    if abs(duration / dt - round(duration / dt)) > _ROUNDING * duration / dt:
        raise UsageError(f"the duration {duration:g} s is not a multiple of {dt:g} s", where="dt")
    if not 0.0 < margin <= 1.0:
        raise UsageError(f"must be above 0 and at most 1, got {margin:g}", where="margin")
    for name, count, least in (
        ("harmonics", harmonics, 2),
        ("iterations", iterations, 1),
        ("seed", seed, 0),
    ):
        if not isinstance(count, int) or count < least:
            raise UsageError(f"must be an integer ≥ {least}, got {count!r}", where=name)
