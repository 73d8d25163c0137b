"""Trajectory optimization: a locally optimal motion to a goal within the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.operating_point import JointNames
from robolin.control.optimization.acceleration_form import AccelerationForm, IterationLog
from robolin.control.optimization.augmented_lagrangian import (
    PATIENT_ITERATIONS,
    satisfy,
    violation,
)
from robolin.control.optimization.inverse_kinematics import PoseGoal, ik
from robolin.control.optimization.optimal_motion import (
    OptimalMotion,
    cost_parts,
    goal_error,
    guesses,
    independent_defect,
    polish_accelerations,
    polish_torques,
    replayed,
    shortfall,
    torque_guesses,
)
from robolin.control.optimization.problem import (
    Problem,
    TimedMotion,
    Weight,
    motion_problem,
    require_motion,
    require_start,
)
from robolin.control.optimization.torque_form import RK4Knots, TorqueForm, satisfy_all
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, require_real
from robolin.core.choices import OPTIMIZE_METHODS, SOLVERS, OptimizeMethod, Solver
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.engine.compiled.kernels import require_compiler
from robolin.errors import RobolinError, UsageError

# starts with passive joints
TORQUE_STARTS = 24
# largest number of iterations: of fully actuated arms, and of all starts with passive joints
ITERATIONS, TORQUE_ITERATIONS = 2000, 500
# penalty of the goal in a search that hardly leaves the goal, relative to the first one
STIFF_GOAL = 1e4
# difference of torques that is round-off of the dynamics, relative to the largest torque
EFFORT_ROUNDING = 1e-12
# factors of the duration that are tried after a failure, and steps of the bisection
LONGER, BISECTIONS = (1.3, 1.7, 2.5, 4.0, 8.0), 6
# violation in tolerances that counts as none in that search
NEARLY_INSIDE = 100.0


def optimize(
    arm: Arm,
    goal: JointValues | PoseGoal | str | None = None,
    *,
    q: JointValues | None = None,
    qd: JointValues = 0.0,
    duration: float | None = None,
    dt: float | None = None,
    follow: TimedMotion | None = None,
    Q: Weight | None = None,
    R: Weight | None = None,
    final: float | None = None,
    actuated: JointNames = None,
    passive: JointNames = None,
    limits: bool = True,
    limit_scale: float = 1.0,
    max_effort: JointValues | None = None,
    max_velocity: JointValues | None = None,
    method: OptimizeMethod = "auto",
    starts: int | None = None,
    seed: int = 0,
    iterations: int | None = None,
    tolerance: float = 1e-9,
    solver: Solver = "own",
    initial: TimedMotion | None = None,
) -> OptimalMotion:
    """Find a motion to a goal with the least weighted effort, within the limits of the arm.

    The motion is a local optimum.  Obstacles and contacts are not considered.

    Args:
        arm: the arm, from `robolin.load`
        goal: positions at the end (n,) in rad or m, a `PoseGoal`, or "hold" for the start; None
            to follow a motion
        q: initial positions (n,) in rad or m; None for 0, or for the start of the followed motion
        qd: initial velocities (n,) in rad/s or m/s
        duration: time to the goal in s; None for the duration of the followed motion
        dt: time between knots in s; None for a hundredth of the duration
        follow: motion with `time` (rows,), `q` and optionally `qd` (rows, n) to follow
        Q: weights of states per second, such as {"q": 1, "qd": 0.1, "elbow/q": 5}; None for
            velocities 1/limit², and positions 0, or 1e4 to follow a motion or hold
        R: weights of torques per second; None for 1/limit², or 1 without a limit
        final: weight of the final position and velocity errors; None to reach the goal exactly
        actuated: names of the actuated joints, or "all"; None for the robot file's
        passive: names of the passive joints, instead of `actuated`
        limits: respect the position, velocity and effort limits in the robot file
        limit_scale: factor of the velocity and effort limits
        max_effort: effort limits (n,) instead of the limits in the file, in N·m or N
        max_velocity: velocity limits (n,) instead of the limits in the file, in rad/s or m/s
        method: "acceleration" for fully actuated arms, "torque" for other arms; "auto" selects one
        starts: number of starts; None for 1, for 4 with a pose, and for 24 with passive joints
        seed: random seed of the other starts
        iterations: maximum number of iterations; None for 2000, and for 500 with passive joints
        tolerance: relative decrease of the cost at which the iterations end
        solver: "own", or "ipopt" through CasADi
        initial: motion with `time` and `q`, and `tau` with passive joints, as the first start

    Returns:
        an `OptimalMotion` with gains; `.feedback()` is its control law for `simulate`

    Raises:
        RobolinError: no motion within the limits, a goal out of reach or that the arm cannot
            hold, a start outside the limits, closed loops or multi-DoF joints
        UsageError: `arm` is not an `Arm`, options that cannot be combined, or an option with an
            invalid value

    Example:
        >>> arm = robolin.load("panda")
        >>> goal = robolin.PoseGoal("panda_hand_tcp", [0.5, 0.2, 0.4])
        >>> result = robolin.optimize(arm, goal, q=arm.poses["home"], duration=1.0)
        >>> robolin.jacobian(arm, result.q[-1], frame="panda_hand_tcp").position.round(5)
        array([0.5, 0.2, 0.4])
    """
    require_compiler("optimize")
    problem = motion_problem(
        arm, goal, q=q, qd=qd, duration=duration, dt=dt, follow=follow, Q=Q, R=R, final=final,
        actuated=actuated, passive=passive, limits=limits, limit_scale=limit_scale,
        max_effort=max_effort, max_velocity=max_velocity,
    )  # fmt: skip
    most = ITERATIONS if len(problem.actuated) == problem.n else TORQUE_ITERATIONS
    search = Search(starts, seed, most if iterations is None else iterations, tolerance, initial)
    _require_choices(method, solver, search)
    form = _method(problem, method)
    require_start(problem)
    if isinstance(goal, PoseGoal) and limits:
        # a goal out of reach is reported before any motion is tried
        ik(arm, goal, q=problem.start[0], seed=seed, tolerance=1e-7)
    if solver == "ipopt":
        from robolin.control.optimization.ipopt import solve_with_ipopt

        return finished(problem, form, *solve_with_ipopt(problem, form, search.iterations, initial))
    solve = _solve_accelerations if form == "acceleration" else _solve_torques
    return solve(problem, search)


@dataclass(frozen=True, eq=False)
class Search:
    """How a motion is searched; the arguments of `optimize`."""

    starts: int | None
    seed: int
    iterations: int
    tolerance: float
    initial: TimedMotion | None


def _require_choices(method: str, solver: str, search: Search) -> None:
    for name, value, known in (
        ("method", method, OPTIMIZE_METHODS),
        ("solver", solver, SOLVERS),
    ):
        if value not in known:
            raise UsageError(f"must be one of {', '.join(known)}, got {value!r}", where=name)
    counts = (
        *(("starts", search.starts, 1), ("seed", search.seed, 0)),
        ("iterations", search.iterations, 1),
    )
    for name, count, least in counts:
        if count is None and name == "starts":
            continue
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise UsageError(f"must be an integer ≥ {least}, got {count!r}", where=name)
    require_motion("initial", search.initial)
    require_real(tolerance=search.tolerance)
    if not search.tolerance > 0.0:
        raise UsageError(f"must be > 0, got {search.tolerance!r}", where="tolerance")


def _method(problem: Problem, method: str) -> str:
    full = len(problem.actuated) == problem.n
    if method == "acceleration" and not full:
        names = [problem.arm.joint_names[i] for i in range(problem.n) if i not in problem.actuated]
        raise UsageError(
            "'acceleration' requires a motor at every joint, but these joints are passive: "
            f"{', '.join(names)}",
            where="method",
            hint="use --method torque",
        )
    return method if method != "auto" else "acceleration" if full else "torque"


# fully actuated arms


def _solve_accelerations(problem: Problem, search: Search) -> OptimalMotion:
    """Solve from every guess; the best motion within the limits."""
    best: tuple[float, AccelerationForm, bool] | None = None
    closest: tuple[float, AccelerationForm] | None = None
    tolerances = problem.tolerances()
    tried = guesses(problem, search.starts, search.seed, search.initial)
    for a in tried:
        form = _form(problem, a)
        end = form.x[-1, : problem.n].copy()
        converged, inside = satisfy(form, tolerances, search.tolerance, search.iterations)
        if not converged and form.iterations < search.iterations:
            pose = problem.residual is not None
            longer = _continued(problem, form, search) if inside or not pose else None
            if longer is None and not inside:
                longer = _held_at_goal(problem, a, end, search)
            if longer is not None:
                converged, inside, form = longer
        if inside:
            polish_accelerations(problem, form, tolerances)
        total = sum(cost_parts(problem, form.y()).values())
        if inside and (best is None or total < best[0]):
            best = total, form, converged
        worst = violation(form, tolerances).worst
        if closest is None or worst < closest[0]:
            closest = worst, form
    if best is None:
        assert closest is not None, "the search has at least one initial guess"
        if closest[1].iterations >= search.iterations:
            raise _unfinished(problem, closest[1], search)
        raise _infeasible(problem, closest[1].y(), search)
    _, form, converged = best
    return replace(finished_accelerations(problem, form, converged), starts=len(tried))


def _form(problem: Problem, a: Floats) -> AccelerationForm:
    """The motion with these accelerations."""
    cost, end = problem.stage_cost(), problem.terminal()
    return AccelerationForm(problem.arm, problem.dt, problem.start, a, cost, end)


def _continued(
    problem: Problem, form: AccelerationForm, search: Search
) -> tuple[bool, bool, AccelerationForm] | None:
    """Continue from a motion with the first penalties, which grow less often; None if it fails."""
    again = _form(problem, form.a)
    again.progress = IterationLog([*form.progress.costs], [*form.progress.fractions])
    stop = search.tolerance, search.iterations
    converged, inside = satisfy(again, problem.tolerances(), *stop, PATIENT_ITERATIONS)
    return (converged, inside, again) if inside else None


def _held_at_goal(
    problem: Problem, a: Floats, end: Floats, search: Search
) -> tuple[bool, bool, AccelerationForm] | None:
    """Search from a guess that ends at the goal, and hardly leaves the goal; None if it fails.

    A pose is first reached with the positions of the guess; others may have a lower cost.
    """
    if problem.final is not None or problem.reference is not None:
        return None
    pose, tolerances = problem.terminal(), problem.tolerances()
    fixed = problem if pose is None else replace(problem, goal=end, residual=None)
    form = _form(fixed, a)
    form.cost_terms.penalty[-1] *= STIFF_GOAL
    most = search.iterations
    converged, inside = satisfy(form, tolerances, search.tolerance, most, PATIENT_ITERATIONS)
    if not inside or pose is None:
        return (converged, inside, form) if inside else None
    if np.abs(pose.error(form.last())).max() > tolerances.goal:
        return None
    freed = _continued(problem, form, search)
    if freed is not None and violation(freed[2], tolerances).worst <= 1.0:
        return freed
    form.progress.reason = "no change of the final positions reduces the cost"
    return False, True, form


def finished_accelerations(
    problem: Problem, form: AccelerationForm, converged: bool
) -> OptimalMotion:
    """The motion of a solved form, with torque gains."""
    form.backward()
    gains = form.gains()
    n = problem.n
    q, qd = form.x[:, :n].copy(), form.x[:, n:].copy()
    qdd = np.concatenate([form.a, np.zeros((1, n))])
    K, P = form.torque_gains(), 0.5 * gains.P
    K = np.concatenate([K, K[-1:]])
    tau = inverse(problem.arm, q, qd, qdd, jobs=1)
    inside = np.clip(tau[:-1], problem.ranges.tau_lower, problem.ranges.tau_upper)
    if np.abs(inside - tau[:-1]).max() <= EFFORT_ROUNDING * np.abs(tau).max():
        tau[:-1] = inside
    return finished(
        problem, "acceleration", q, qd, qdd, tau, K, P,
        np.array(form.progress.costs), converged, form.progress.reason,
    )  # fmt: skip


# arms with passive joints


def _solve_torques(problem: Problem, search: Search) -> OptimalMotion:
    """Solve all starts in one batch; the best motion within the limits."""
    knots = RK4Knots(problem.arm, list(problem.actuated), problem.dt)
    u = torque_guesses(problem, search.starts or TORQUE_STARTS, search.seed, search.initial)
    x0 = np.concatenate(problem.start)
    form = TorqueForm(knots, x0, u, problem.stage_cost(), problem.terminal())
    worst = satisfy_all(form, problem.tolerances(), max(search.tolerance, 1e-8), search.iterations)
    inside = worst <= 1.0
    if not inside.any():
        at = int(np.argmin(np.where(np.isfinite(worst), worst, np.inf)))
        raise _infeasible(problem, form.y()[at], None)
    y = form.y()
    totals = {int(i): sum(cost_parts(problem, y[i]).values()) for i in np.flatnonzero(inside)}
    best = min(totals, key=totals.__getitem__)
    polish_torques(problem, form, best, max(search.tolerance, 1e-8))
    n = problem.n
    x, u = form.x[best], form.u[best]
    form.done[:] = True
    form.done[best] = False
    form._backward(np.array([best]))
    tau = np.concatenate([knots.torque(u), knots.torque(u[-1:])])
    qdd = knots.rate(x, tau)[:, n:]
    K = np.concatenate([form.K[best], form.K[best, -1:]])
    costs = np.array([each[best] for each in form.costs[: form.iterations[best] + 1]])
    motion = finished(
        problem, "torque", x[:, :n], x[:, n:], qdd, tau, K, 0.5 * form.P[best],
        costs, True, "converged",
    )  # fmt: skip
    return replace(motion, starts=len(form.x), diverged=int(form.diverged.sum()))


# results and failures


def finished(
    problem: Problem,
    method: str,
    q: Floats,
    qd: Floats,
    qdd: Floats,
    tau: Floats | None,
    K: Floats,
    P: Floats,
    costs: Floats,
    converged: bool,
    reason: str,
) -> OptimalMotion:
    """The motion with its costs, defect and replays; without tau, inverse dynamics gives them."""
    arm = problem.arm
    tau = inverse(arm, q, qd, qdd, jobs=1) if tau is None else tau
    y = np.stack([q, qd, tau], axis=1)
    y[-1, 2] = 0.0
    parts = cost_parts(problem, y)
    names = tuple(arm.joint_names[i] for i in problem.actuated)
    motion = OptimalMotion(
        problem.time, q, qd, qdd, tau, K, P, names, method, sum(parts.values()), parts, costs,
        converged, reason, goal_error(problem, q[-1]),
        independent_defect(arm, q, qd, qdd, tau), ({}, {}), arm,
    )  # fmt: skip
    errors = replayed(motion, problem, False), replayed(motion, problem, True)
    return replace(motion, replay_errors=errors)


def _infeasible(problem: Problem, y: Floats, search: Search | None) -> RobolinError:
    """The error for a motion beyond the limits: the worst joint and time, and what to do.

    search: None for motions that are not solved again with other limits and durations
    """
    end = "within the limits" if problem.limited else "to the goal"
    within = f"found no motion of {problem.duration:g} s {end}"
    quantity, missed = shortfall(problem, y)
    why = f"the best motion {missed}" if missed else "the search did not converge"
    text = f"{within}: {(search and _reason(problem, search)) or why}"
    ways = ["a longer --duration", "more --starts", "more --iterations"]
    if quantity in ("velocity", "effort"):
        ways.append(f"a larger --max-{quantity}")
    hint = f"use {', '.join(ways[:-1])}, or {ways[-1]}"
    if search is not None and problem.reference is None:
        shortest = _shortest(problem, search)
        if shortest is not None:
            hint = f"use --duration {shortest:.3g} or more"
    return RobolinError(text, where=problem.arm.source, hint=hint)


def _unfinished(problem: Problem, form: AccelerationForm, search: Search) -> RobolinError:
    """The error for a motion that the iterations did not bring to the goal or into the limits."""
    _, missed = shortfall(problem, form.y())
    count = pluralize(search.iterations, "iteration")
    return RobolinError(
        f"the search did not converge in {count}: the motion {missed}",
        where=problem.arm.source,
        hint=f"use --iterations {10 * search.iterations}, or a longer --duration",
    )


def _reason(problem: Problem, search: Search) -> str:
    """Largest excess of the motion without velocity and effort limits: joint, time and limit."""
    arm, none = problem.arm, np.full(problem.n, np.inf)
    free = replace(
        problem, ranges=replace(problem.ranges, qd_upper=none, tau_lower=-none, tau_upper=none)
    )
    form = _form(free, guesses(free, 1, search.seed, None)[0])
    satisfy(form, free.tolerances(), 1e-3, search.iterations)
    y, cost = form.y(), problem.stage_cost()
    limit = np.where(y > 0.0, cost.upper, -cost.lower)[:-1, 1:]
    share = np.divide(np.abs(y[:-1, 1:]), limit, out=np.zeros_like(limit), where=limit > 0.0)
    knot, quantity, i = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[knot, quantity, i] <= 1.0:
        return ""
    word = ("velocity", "effort")[quantity]
    unit = joint_unit(word, arm.joints[i].turns)
    return (
        f"joint '{arm.joint_names[i]}' needs {y[knot, quantity + 1, i]:.4g} {unit} at "
        f"{knot * problem.dt:.3g} s, but its {word} limit is {limit[knot, quantity, i]:.4g} {unit}"
    )


def _shortest(problem: Problem, search: Search) -> float | None:
    """About the shortest duration with a motion within the limits, by bisection; None if > 8 ×."""

    def works(duration: float) -> bool:
        longer = replace(problem, dt=duration / problem.N)
        form = _form(longer, guesses(longer, 1, search.seed, None)[0])
        tolerances = longer.tolerances()
        satisfy(form, tolerances, max(search.tolerance, 1e-4), search.iterations)
        return violation(form, tolerances).worst <= NEARLY_INSIDE

    low = problem.duration
    high = next((low * factor for factor in LONGER if works(low * factor)), None)
    if high is None:
        return None
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if works(middle) else (middle, high)
    # round up, so that the printed duration works
    return float(np.ceil(1000.0 * high)) / 1000.0
