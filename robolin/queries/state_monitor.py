"""Warnings about suspicious states, which are evaluated nevertheless.

Each kind of warning is emitted once per query, for any number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import degrees, hypot, inf, isfinite, log10, pi, radians

from robolin.core.arm import Arm, Inertia, Joint, Mimic
from robolin.core.arrays import Floats, JointValues, as_joint_array, np, on_floats, require_arm
from robolin.core.quantity_table import joint_unit
from robolin.core.text import pluralize, quote_list
from robolin.core.threads import threads_for
from robolin.dynamics.algebra.scalar import float_sum
from robolin.evaluation.evaluate import evaluate_any_arm_rows
from robolin.queries.request import QueryContext
from robolin.queries.values import Values

DIGITS_PER_CONDITION = 1e-15
MIN_DIGITS = 6
# condition number above which fewer digits are correct
MAX_CONDITION = 10.0**-MIN_DIGITS / DIGITS_PER_CONDITION


class StateMonitor:
    """Checks the states of one query: positions far outside limits, near-singular mass matrix.

    divides: the result divides by the mass matrix, so its condition number matters
    """

    def __init__(self, context: QueryContext, divides: bool) -> None:
        self._context, self._divides = context, divides
        self._ranges = JointRangeMonitor(context.arm)
        self._condition = ConditionMonitor(context.arm, context.settings.jobs)

    def update(self, q: Floats, location: Callable[[int], str] = lambda row: "") -> None:
        """Check one state (n,) or rows (rows, n); under --strict raise for implausible q."""
        self._ranges.update(q)
        if self._divides:
            self._condition.update(q, location)
        if self._context.strict:
            # raise before any result of these states is passed on
            first = location(0)
            where = f"{first}: " if first else ""
            self._context.warn_or_raise(*(f"{where}{text}" for text in self._ranges.warnings()))

    def report(self, file: str = "") -> None:
        """Emit the collected warnings, prefixed by the file of the states if any."""
        where = f"{file}: " if file else ""
        self._context.warn_or_raise(*(f"{where}{text}" for text in self._ranges.warnings()))
        self._context.warn(*(f"{where}{text}" for text in self._condition.warnings()))


def state_warnings(arm: Arm, q: JointValues, *, jobs: int | None = None) -> tuple[str, ...]:
    """Check states for likely mistakes without computing results.

    Functions such as `robolin.inverse` evaluate any finite state without checks, because they
    need only microseconds per state; commands and `robolin.answer` emit the warnings listed here.

    Args:
        arm: the robot, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        jobs: number of threads for many states (default: one per processor)

    Returns:
        one warning each for positions far outside their limits or in degrees, for a near-singular
        mass matrix, and for an arm without mass; () if there is nothing to report

    Raises:
        RobolinError: an array with the wrong shape
        UsageError: `arm` is not an Arm

    Example:
        >>> arm = robolin.load("panda")
        >>> robolin.state_warnings(arm, [0, -0.8, 0, -2.4, 0, 1.6, 0.8])
        ()
        >>> for text in robolin.state_warnings(arm, {"panda_joint1": 45, "panda_joint4": -2}):
        ...     print(text.partition(";")[0])
        joint 'panda_joint1' is at 45 rad, far outside its limits of -2.8973 to 2.8973
    """
    require_arm(arm)
    positions = as_joint_array(arm, "q", q)
    rows = positions.reshape(-1, arm.n)
    ranges, condition = JointRangeMonitor(arm), ConditionMonitor(arm, jobs)
    ranges.update(rows)
    condition.update(rows, lambda row: f"row {row + 1}" if positions.ndim > 1 else "")
    massless = massless_warning(arm)
    if massless:
        return massless, *ranges.warnings()
    return *ranges.warnings(), *condition.warnings()


class ConditionMonitor:
    """Counts states with a near-singular 𝓜; records the first and the worst one.

    Dividing by 𝓜 causes a relative error of about 1e-15 cond(𝓜), as `verify` measures.  Masses and
    lengths bound cond(𝓜) in all poses, so for most arms no state has to be checked.
    """

    def __init__(self, arm: Arm, jobs: int | None = None) -> None:
        self._arm, self._jobs = arm, jobs
        self._count, self._first, self._worst = 0, "", 0.0
        # prismatic displacement up to which no pose is near-singular
        self._safe_travel = -1.0

    def update(self, q: Floats, location: Callable[[int], str]) -> None:
        """Check one state (n,) or rows (rows, n); `location` returns the text for a row."""
        if self._arm.loops or not q.size or (on_floats({"q": q}) and self._is_safe_state(q)):
            return
        rows = np.atleast_2d(q)
        if self._is_safe(rows):
            return
        conditions = self._conditions(rows)
        bad = np.flatnonzero(conditions > MAX_CONDITION)
        if len(bad):
            self._first = self._first or location(int(bad[0]))
            self._count += len(bad)
            self._worst = max(self._worst, float(conditions[bad].max()))

    def _is_safe(self, q: Floats) -> bool:
        stroke = max_prismatic_travel(self._arm, q)
        if (
            stroke > self._safe_travel
            and condition_number_bound(self._arm, stroke) <= MAX_CONDITION
        ):
            self._safe_travel = stroke
        return stroke <= self._safe_travel

    def _is_safe_state(self, q: Floats) -> bool:
        """True if bounds without NumPy, which are wider, exclude a near-singular matrix."""
        stroke = max_prismatic_travel(self._arm, q)
        if condition_number_bound(self._arm, stroke, inertia_bounds) <= MAX_CONDITION:
            return True
        names = ("mass-matrix", "mass-matrix-inverse")
        matrices = [self._matrices(name, name.replace("-", "_"), {"q": q}) for name in names]
        norm, norm_of_inverse = (hypot(*matrix.ravel().tolist()) for matrix in matrices)
        return norm * norm_of_inverse < 0.99 * MAX_CONDITION

    def warnings(self) -> Iterator[str]:
        """Yield one warning if any state was near-singular."""
        if not self._count:
            return
        digits = max(0, int(-log10(DIGITS_PER_CONDITION * self._worst)))
        where = f" in {pluralize(self._count, 'row')}, first {self._first}" if self._first else ""
        yield (
            f"the mass matrix is nearly singular{where}: cond(M) = {self._worst:.1e}, "
            f"about {pluralize(digits, 'correct digit')} in results of forward dynamics; "
            "check links with small inertia (`robolin validate`)"
        )

    def _conditions(self, q: Floats) -> Floats:
        """Upper bounds of the condition numbers; exact where a bound is too large."""
        values = {"q": q}
        M = self._matrices("mass-matrix", "mass_matrix", values)
        inverse = self._matrices("mass-matrix-inverse", "mass_matrix_inverse", values)
        with np.errstate(invalid="ignore", over="ignore"):
            bounds: Floats = _frobenius_norm(M) * _frobenius_norm(inverse)
        # non-finite values are reported elsewhere; ignore them here
        bounds[~np.isfinite(bounds)] = 0.0
        suspects = np.flatnonzero(bounds > MAX_CONDITION)
        bounds[suspects] = np.linalg.cond(M[suspects])
        return bounds

    def _matrices(self, algorithm: str, name: str, values: Values) -> Floats:
        jobs = self._jobs or threads_for(len(values["q"]) * self._arm.n**2)
        matrices: Floats = evaluate_any_arm_rows(self._arm, algorithm, values, jobs=jobs)[0][name]
        return matrices


def _frobenius_norm(matrices: Floats) -> Floats:
    """Frobenius norm of each matrix."""
    squares: Floats = np.einsum("bij,bij->b", matrices, matrices)
    return np.sqrt(squares)


def max_prismatic_travel(arm: Arm, q: Floats) -> float:
    """Largest absolute displacement of a prismatic joint in one state or in rows, in m."""
    if not arm.slides:
        return 0.0
    one_state = q.ndim == 1
    largest = [abs(value) for value in q.tolist()] if one_state else column_max(np.abs(q)).tolist()
    stroke = 0.0
    for link, coordinate in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        if not link.joint.turns:
            mimic = link.joint.mimic or Mimic("")
            slide = abs(mimic.ratio) * largest[coordinate] + abs(mimic.offset)
            stroke = max(stroke, slide if isfinite(slide) else inf)
    return stroke


# smallest and largest principal moment of inertia of a body, or bounds of both
ExtremeInertias = Callable[[Inertia], tuple[float, float]]


def exact_inertias(body: Inertia) -> tuple[float, float]:
    """Smallest and largest principal moment of inertia about the centre of mass."""
    xx, xy, xz, yy, yz, zz = body.rotary
    eigenvalues = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float(eigenvalues[0]), float(eigenvalues[2])


def inertia_bounds(body: Inertia) -> tuple[float, float]:
    """A lower bound of the smallest and an upper bound of the largest principal moment.

    The largest is at most the trace t of a positive semidefinite matrix, and the product of the
    other two is at most (t/2)², so the smallest is at least the determinant over (t/2)².
    """
    xx, xy, xz, yy, yz, zz = body.rotary
    trace = xx + yy + zz
    minors = (xx, xx * yy - xy * xy, xx * zz - xz * xz, yy * zz - yz * yz)
    determinant = xx * minors[3] - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    # beyond the round-off of the determinant
    square = _square(trace)
    safe_determinant = determinant - 1e-14 * square * trace
    if isfinite(safe_determinant) and min(*minors, safe_determinant) > 0.0:
        return 4.0 * safe_determinant / square, trace
    return 0.0, inf


def condition_number_bound(
    arm: Arm, stroke: float, inertias: ExtremeInertias = exact_inertias
) -> float:
    """Upper bound of cond(𝓜) over all poses with prismatic displacements up to `stroke`.

    𝓜 is at most its trace, to which joint k contributes the inertia about it of all links outboard.
    It is at least 1 / max c, where |q̇|² ≤ Σ c · (parts of twice the kinetic energy).  The rate of a
    revolute joint is ω of its link less ω of the inboard link, so q̇² ≤ 2 (ω² + ω'²).  For a
    prismatic joint the centres' velocities give q̇² ≤ 3 (v² + v'² + r² ω'²).
    """
    if arm.groups or stroke == inf:
        return inf
    # the velocity of a leader also moves its mimic joints
    followers = float_sum(_square(link.joint.mimic.ratio) for link in arm.links if link.joint.mimic)
    trace, inverse = _trace_bound(arm, stroke, inertias), _inverse_bound(arm, stroke, inertias)
    return trace * (1.0 + followers) * inverse


def _trace_bound(arm: Arm, stroke: float, inertias: ExtremeInertias) -> float:
    """Upper bound of the trace of the mass matrix, with mimic joints as independent ones."""
    count = len(arm.links) + 1
    mass, rotary, reach = [0.0] * (count + 1), [0.0] * (count + 1), [0.0] * (count + 1)
    total = 0.0
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body, joint = link.inertia, link.joint
        mass[k] += body.mass
        rotary[k] += inertias(body)[1]
        reach[k] = max(reach[k], hypot(*body.com))
        total += joint.armature + mass[k] * (_square(reach[k]) if joint.turns else 1.0)
        total += rotary[k] if joint.turns else 0.0
        parent = link.parent
        mass[parent] += mass[k]
        rotary[parent] += rotary[k]
        slide = 0.0 if joint.turns else stroke
        reach[parent] = max(reach[parent], hypot(*joint.pose.translation) + slide + reach[k])
    return total


def _inverse_bound(arm: Arm, stroke: float, inertias: ExtremeInertias) -> float:
    """Upper bound of 1/λ for the smallest eigenvalue λ of the mass matrix."""
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
            turning[parent] += 3.0 * _square(apart)
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        weights.append(_over(turning[k], inertias(link.inertia)[0]))
        weights.append(_over(moving[k], link.inertia.mass))
    return max(weights)


def _square(value: float) -> float:
    """The square; infinity if it overflows, where a power of Python raises."""
    return value * value


def _over(weight: float, inertia: float) -> float:
    return 0.0 if not weight else weight / inertia if inertia > 0.0 else inf


_REVOLUTION = 2.0 * pi

# rows reduced together: reducing short rows one by one is slower
_ROWS_PER_BLOCK = 64


class JointRangeMonitor:
    """Running minimum and maximum of each joint's position, compared with its limits."""

    def __init__(self, arm: Arm) -> None:
        self._joints = arm.joints
        self._lowest, self._highest = [inf] * arm.n, [-inf] * arm.n
        self._nearest = [inf] * arm.n
        self._rows = 0

    def update(self, q: Floats) -> None:
        """Update the ranges with one state (n,) or rows (rows, n)."""
        if not q.size:
            return
        if q.ndim == 1:
            low = high = q.tolist()
            distances = [abs(value) for value in low]
        else:
            distances = column_min(np.abs(q)).tolist()
            low, high = column_min(q).tolist(), column_max(q).tolist()
        # NaN, which is reported elsewhere, is neither below nor above
        self._lowest = [b if b < a else a for a, b in zip(self._lowest, low, strict=True)]
        self._highest = [b if b > a else a for a, b in zip(self._highest, high, strict=True)]
        self._nearest = [b if b < a else a for a, b in zip(self._nearest, distances, strict=True)]
        self._rows += 1 if q.ndim == 1 else len(q)

    def warnings(self) -> Iterator[str]:
        """Yield one warning per kind of implausible position."""
        spans = zip(self._joints, self._lowest, self._highest, strict=True)
        nearest = zip(spans, self._nearest, strict=True)
        # without any number, the lowest position is infinite
        known = [(each, near) for each, near in nearest if each[1] < inf]
        far = [each for each, _ in known if _is_far(*each)]
        in_degrees = [each for each in far if self._rows > 1 and _fits_in_degrees(*each)]
        if in_degrees:
            joint, low, high = in_degrees[0]
            yield (
                f"positions look like degrees, but are read as rad: {_names(in_degrees)}; "
                f"range of '{joint.name}': {low:.6g} to {high:.6g} rad, limits {_limits(joint)}; "
                "add --degrees if the positions are in degrees"
            )
        away = [each for each, near in known if self._rows > 1 and _is_away(*each, near)]
        if away:
            joint, low, high = away[0]
            yield (
                f"positions look like degrees, but are read as rad: {_names(away)}; range "
                f"of '{joint.name}': {low:.6g} to {high:.6g} rad, more than one revolution from 0; "
                "add --degrees if the positions are in degrees"
            )
        for joint, low, high in (each for each in far if each not in in_degrees):
            lower, upper = _range(joint)
            value = high if high - upper > lower - low else low
            unit = joint_unit("position", joint.turns)
            text = f"joint '{joint.name}' is at {value:.6g} {unit}, far outside its limits"
            as_angle = f"; {value:.6g}deg would be {radians(value):.4g} rad" * joint.turns
            yield f"{text} of {_limits(joint)}{as_angle}"


def noted_angles(context: QueryContext, flag: str, values: list[float]) -> list[float]:
    """Return the values of a flag; note those that look like degrees without a unit.

    An angle in rad beyond a revolution is rarely a whole or half number.
    """
    for joint, value in zip(context.arm.joints, values, strict=True):
        in_degrees = joint.turns and abs(value) > _REVOLUTION and (2.0 * value).is_integer()
        # the limits of --q have a warning of their own
        if in_degrees and flag != "qd" and not (flag == "q" and _is_far(joint, value, value)):
            angle = f"{value:.6g}deg would be {radians(value):.4g} rad"
            context.note(f"--{flag}: {value:.6g} rad at joint '{joint.name}'; {angle}")
    return values


def massless_warning(arm: Arm) -> str:
    """Return a warning if no moving body has inertia, else ''."""
    bodies = [link.inertia for link in arm.links]
    drives = any(link.joint.armature for link in arm.links)
    if drives or any(body.mass or any(body.rotary) for body in bodies):
        return ""
    return (
        f"{arm.name}: moving links have no mass; torques, mass matrix and energies are 0; add "
        "<inertial> (URDF) or mass (YAML)"
    )


def _is_far(joint: Joint, low: float, high: float) -> bool:
    limited = joint.kind != "continuous"
    return limited and joint.limits.far_outside(low, high, turns=joint.turns)


def _fits_in_degrees(joint: Joint, low: float, high: float) -> bool:
    """True if the angle exceeds its limits in rad but not in degrees."""
    lower, upper = _range(joint)
    return joint.turns and degrees(lower) <= low and high <= degrees(upper)


def _is_away(joint: Joint, low: float, high: float, nearest: float) -> bool:
    """True if an unlimited angle stays above one revolution in rad, but not in degrees."""
    unlimited = joint.turns and _range(joint) == (-inf, inf)
    return unlimited and nearest > _REVOLUTION and max(-low, high) <= degrees(_REVOLUTION)


def _range(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    lower, upper = limits.lower, limits.upper
    if joint.kind == "continuous" or lower is None or upper is None:
        return -inf, inf
    return lower, upper


def _limits(joint: Joint) -> str:
    lower, upper = _range(joint)
    return f"{lower:.6g} to {upper:.6g}"


def _names(spans: list[tuple[Joint, float, float]]) -> str:
    return quote_list([joint.name for joint, _, _ in spans])


def column_min(rows: Floats) -> Floats:
    """Minimum of each column (n,) of rows (rows, n); NaN only for columns without numbers."""
    return _reduced(np.minimum, np.fmin, rows)


def column_max(rows: Floats) -> Floats:
    """Maximum of each column (n,) of rows (rows, n)."""
    return _reduced(np.maximum, np.fmax, rows)


def _reduced(plain: np.ufunc, tolerant: np.ufunc, rows: Floats) -> Floats:
    reduced = _folded(plain, rows)
    # the NaN-ignoring functions are slower
    return _folded(tolerant, rows) if np.isnan(reduced).any() else reduced


def _folded(ufunc: np.ufunc, rows: Floats) -> Floats:
    multiple = len(rows) - len(rows) % _ROWS_PER_BLOCK
    folds = rows[:multiple].reshape(-1, _ROWS_PER_BLOCK * rows.shape[1])
    remainder: Floats = ufunc.reduce(rows[multiple:] if multiple < len(rows) else rows[:1], axis=0)
    if not multiple:
        return remainder
    first: Floats = ufunc.reduce(ufunc.reduce(folds, axis=0).reshape(_ROWS_PER_BLOCK, -1), axis=0)
    return np.asarray(ufunc(first, remainder))
