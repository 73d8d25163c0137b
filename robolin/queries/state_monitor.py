"""States that are answered although something is likely to be wrong with them, and told of.

Whatever the verb, each kind is told once, however many rows it is true of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import hypot, inf, isfinite, log10

import numpy as np

from robolin.core.arm import Arm, Inertia, Mimic
from robolin.core.array_checks import as_joint_array, require_arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.text import pluralize
from robolin.core.threads import threads_for
from robolin.dynamics.algebra.scalar import float_sum
from robolin.evaluation.dispatch import evaluate_any_arm_rows
from robolin.queries.joint_range import JointRangeMonitor, column_max, massless_warning
from robolin.queries.query_context import QueryContext
from robolin.queries.values import Values

DIGITS_PER_CONDITION = 1e-15
FEWEST_DIGITS = 6
# beyond this, fewer digits are right
TOO_LARGE = 10.0**-FEWEST_DIGITS / DIGITS_PER_CONDITION


class StateMonitor:
    """The states of one question: positions far outside limits, and a mass matrix near singular.

    divides: whether the answer divides by the mass matrix, so that its condition matters
    """

    def __init__(self, posed: QueryContext, divides: bool) -> None:
        self._posed, self._divides = posed, divides
        self._odd = JointRangeMonitor(posed.arm)
        self._conditioning = ConditionMonitor(posed.arm, posed.settings.jobs)

    def look(self, q: Floats, place: Callable[[int], str] = lambda row: "") -> None:
        """Take note of one state (n,) or of rows (rows, n); under --strict odd ones are refused."""
        self._odd.look(q)
        if self._divides:
            self._conditioning.look(q, place)
        if (self._posed.arm.loaded_with or {}).get("strict"):
            # before anything of it is handed on
            first = place(0)
            where = f"{first}: " if first else ""
            self._posed.doubt(*(f"{where}{text}" for text in self._odd.warnings()))

    def tell(self, file: str = "") -> None:
        """Say what was found, in the states of this file if they come from one."""
        where = f"{file}: " if file else ""
        self._posed.doubt(*(f"{where}{text}" for text in self._odd.warnings()))
        self._posed.warn(*(f"{where}{text}" for text in self._conditioning.warnings()))


def state_warnings(arm: Arm, q: JointValues, *, jobs: int | None = None) -> tuple[str, ...]:
    """What is likely to be wrong with states before anything is computed about them.

    Functions such as `robolin.inverse` answer for any finite state and say nothing, because one
    state takes them microseconds; commands and `robolin.answer` warn in the words given here.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        jobs: threads for many states; None takes one per processor

    Returns:
        one sentence each for positions far outside their limits or in degrees, for a mass matrix
        that is all but singular, and for an arm that weighs nothing; nothing if all seems well

    Raises:
        RobolinError: a shape that does not fit the arm
        UsageError: no arm

    Example:
        >>> arm = robolin.load("panda")
        >>> robolin.state_warnings(arm, [0, -0.8, 0, -2.4, 0, 1.6, 0.8])
        ()
        >>> for text in robolin.state_warnings(arm, {"panda_joint1": 45, "panda_joint4": -2}):
        ...     print(text.partition(";")[0])
        joint 'panda_joint1' is at 45 rad, far outside its limits of -2.8973 to 2.8973
    """
    require_arm(arm)
    given = as_joint_array(arm, "q", q)
    rows = given.reshape(-1, arm.n)
    odd, conditioning = JointRangeMonitor(arm), ConditionMonitor(arm, jobs)
    odd.look(rows)
    conditioning.look(rows, lambda row: f"row {row + 1}" if given.ndim > 1 else "")
    weightless = massless_warning(arm)
    if weightless:
        return weightless, *odd.warnings()
    return *odd.warnings(), *conditioning.warnings()


class ConditionMonitor:
    """In how many states 𝓜 was too nearly singular, the first of them and the worst.

    Dividing by 𝓜 costs about 1e-15 cond(𝓜) of a result, as `verify` finds it on every arm.  Masses
    and lengths alone bound cond(𝓜) in all poses, so that on most arms no state is looked at.
    """

    def __init__(self, arm: Arm, jobs: int | None = None) -> None:
        self._arm, self._jobs = arm, jobs
        self._count, self._first, self._worst = 0, "", 0.0
        # slides up to which no pose is too nearly singular
        self._fine_up_to = -1.0

    def look(self, q: Floats, place: Callable[[int], str]) -> None:
        """Take note of one state (n,) or of rows (rows, n); `place` says where a row stands."""
        rows = np.atleast_2d(q)
        if self._arm.loops or self._surely_fine(rows):
            return
        conditions = self._conditions(rows)
        bad = np.flatnonzero(conditions > TOO_LARGE)
        if len(bad):
            self._first = self._first or place(int(bad[0]))
            self._count += len(bad)
            self._worst = max(self._worst, float(conditions[bad].max()))

    def _surely_fine(self, q: Floats) -> bool:
        stroke = max_prismatic_travel(self._arm, q)
        if stroke > self._fine_up_to and condition_number_bound(self._arm, stroke) <= TOO_LARGE:
            self._fine_up_to = stroke
        return stroke <= self._fine_up_to

    def warnings(self) -> Iterator[str]:
        """One sentence if there was such a state."""
        if not self._count:
            return
        digits = max(0, int(-log10(DIGITS_PER_CONDITION * self._worst)))
        where = f" in {pluralize(self._count, 'row')}, first {self._first}" if self._first else ""
        yield (
            f"the mass matrix is all but singular{where}: with cond(M) = {self._worst:.1e}, "
            f"{pluralize(digits, 'digit')} of what is divided by it can be relied on; look for a "
            "link with hardly any inertia (`robolin validate`)"
        )

    def _conditions(self, q: Floats) -> Floats:
        """An upper bound of each row's condition, and the condition itself where that matters."""
        given = {"q": q}
        M = self._matrices("mass-matrix", "mass_matrix", given)
        inverse = self._matrices("mass-matrix-inverse", "mass_matrix_inverse", given)
        with np.errstate(invalid="ignore", over="ignore"):
            bounds: Floats = _size(M) * _size(inverse)
        # what is not finite is somebody else's to complain about
        bounds[~np.isfinite(bounds)] = 0.0
        suspects = np.flatnonzero(bounds > TOO_LARGE)
        bounds[suspects] = np.linalg.cond(M[suspects])
        return bounds

    def _matrices(self, algorithm: str, name: str, given: Values) -> Floats:
        jobs = self._jobs or threads_for(len(given["q"]) * self._arm.n**2)
        matrices: Floats = evaluate_any_arm_rows(self._arm, algorithm, given, jobs=jobs)[0][name]
        return matrices


def _size(matrices: Floats) -> Floats:
    """The Frobenius norm of each."""
    squares: Floats = np.einsum("bij,bij->b", matrices, matrices)
    return np.sqrt(squares)


def max_prismatic_travel(arm: Arm, q: Floats) -> float:
    """How far a joint slides at the most, in any of these rows."""
    if not arm.slides:
        return 0.0
    farthest, stroke = column_max(np.abs(q)), 0.0
    for link, place in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        if not link.joint.turns:
            mimic = link.joint.mimic or Mimic("")
            slide = abs(mimic.ratio) * float(farthest[place]) + abs(mimic.offset)
            stroke = max(stroke, slide if isfinite(slide) else inf)
    return stroke


def condition_number_bound(arm: Arm, stroke: float) -> float:
    """A number that cond(𝓜) does not exceed in any pose whose slides go no farther than that.

    𝓜 is at most its trace, to which joint k contributes the inertia about it of all links outboard.
    It is at least 1 / max c, where |q̇|² ≤ Σ c · (parts of twice the kinetic energy): a joint that
    turns is ω of its link less ω of the one inboard, so that q̇² ≤ 2 (ω² + ω'²); for one that
    slides it is the centres' velocities, q̇² ≤ 3 (v² + v'² + r² ω'²).
    """
    if arm.groups or stroke == inf:
        return inf
    # a leader's velocity stands for those of its followers too
    followers = float_sum(link.joint.mimic.ratio**2 for link in arm.links if link.joint.mimic)
    return _largest(arm, stroke) * (1.0 + followers) * _inverse_of_smallest(arm, stroke)


def _largest(arm: Arm, stroke: float) -> float:
    """A bound of the trace of the mass matrix, joints that follow others counted by themselves."""
    count = len(arm.links) + 1
    mass, rotary, reach = [0.0] * (count + 1), [0.0] * (count + 1), [0.0] * (count + 1)
    total = 0.0
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body, joint = link.inertia, link.joint
        mass[k] += body.mass
        rotary[k] += _principal(body)[1]
        reach[k] = max(reach[k], hypot(*body.com))
        total += joint.armature + mass[k] * (reach[k] ** 2 if joint.turns else 1.0)
        total += rotary[k] if joint.turns else 0.0
        parent = link.parent
        mass[parent] += mass[k]
        rotary[parent] += rotary[k]
        slide = 0.0 if joint.turns else stroke
        reach[parent] = max(reach[parent], hypot(*joint.pose.translation) + slide + reach[k])
    return total


def _inverse_of_smallest(arm: Arm, stroke: float) -> float:
    """A bound of 1/λ for the smallest λ of the mass matrix."""
    count = len(arm.links) + 1
    turning, moving, weights = [0.0] * (count + 1), [0.0] * (count + 1), [0.0]
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        joint, parent = link.joint, link.parent
        if joint.armature:
            weights.append(1.0 / joint.armature)
        elif joint.turns:
            turning[k] += 2.0
            turning[parent] += 2.0
        else:
            moving[k] += 3.0
            moving[parent] += 3.0
            inboard = hypot(*arm.link(parent).inertia.com) if parent < arm.base else 0.0
            apart = inboard + hypot(*joint.pose.translation) + stroke + hypot(*link.inertia.com)
            turning[parent] += 3.0 * apart**2
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        weights.append(_over(turning[k], _principal(link.inertia)[0]))
        weights.append(_over(moving[k], link.inertia.mass))
    return max(weights)


def _over(weight: float, inertia: float) -> float:
    return 0.0 if not weight else weight / inertia if inertia > 0.0 else inf


def _principal(body: Inertia) -> tuple[float, float]:
    """The smallest and the largest principal moment of inertia about the centre of mass."""
    xx, xy, xz, yy, yz, zz = body.rotary
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(moments[0]), float(moments[2])
