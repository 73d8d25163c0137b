"""Verify robolin's results for one robot without another model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

import numpy as np

from robolin.checking.verification.algorithms import algorithms, engines, single_precision
from robolin.checking.verification.check_context import (
    SUM,
    CheckContext,
    complex_step,
    complex_step_along,
)
from robolin.checking.verification.checks import (
    Bound,
    Check,
    compared,
    not_applicable,
    run_for_check,
    worst,
)
from robolin.checking.verification.digits import digits
from robolin.checking.verification.identities import closed_loops, identities
from robolin.checking.verification.peers import PeerComparison, compared_with, require_peer
from robolin.core.arm import Arm, Joint
from robolin.core.arrays import AnyArray, Floats, require_arm, require_integer_or_none
from robolin.core.notebook import DisplayMixin
from robolin.core.progress import track
from robolin.core.records import dataclass
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct import no_inertia
from robolin.errors import UsageError

FAMILY = "derivatives"

# result -> variable of the derivative
_TORQUE = {"dtau_dq": "q", "dtau_dqd": "qd", "mass_matrix": "qdd"}
_ACCELERATION = {"dqdd_dq": "q", "dqdd_dqd": "qd", "dqdd_dtau": "tau"}
_PRESCRIBED = {**_ACCELERATION, "dqdd_dprescribed": "qdd"}
_FORWARD_VERBS = ("forward", "linearize-forward")


def derivatives(on: CheckContext) -> Iterator[Check]:
    """Gradients and perturbations of torques, mass matrix and accelerations."""
    motion = on.inputs("inverse")
    for name, along in _TORQUE.items():
        true = complex_step(on.arm, "inverse", motion, along)["tau"]
        computed = on.result("linearize-inverse", name)
        terms = on.inertia_bound if along == "qdd" else on.motion_terms
        title = f"{name} = ∂tau/∂{along}"
        yield compared(FAMILY, title, computed, true, SUM, terms)

    along_all = {name: on.states[f"d{name}"] for name in motion}
    change = complex_step_along(on.arm, "inverse", motion, along_all)["tau"]
    computed = on.result("perturb-inverse", "dtau")
    yield compared(FAMILY, "dtau of perturb-inverse", computed, change, SUM, on.motion_terms)

    yield _of_gradient(on, "inverse", along_all, SUM, on.motion_terms)
    yield _of_results(on, "mass-matrix-derivative", "dmass_matrix_dq", "mass-matrix")
    twice = "mass-matrix-second-derivative", "d2mass_matrix_dq2", "mass-matrix-derivative"
    yield _of_results(on, *twice)
    yield from _of_accelerations(on)
    yield _of_prescribed_motion(on)


def _of_results(on: CheckContext, name: str, array: str, source: str) -> Check:
    """Gradient of another algorithm's single result."""
    (of,) = ALGORITHMS[source].gives
    title = f"{array} = ∂{of}/∂q"
    if reason := on.reason_unavailable(name):
        return not_applicable(FAMILY, title, reason)
    true = complex_step(on.arm, source, on.inputs(source), "q")[of]
    if array.startswith("d2"):
        # second derivatives of a multi-DoF joint depend on the order of steps: compare the mean
        true = 0.5 * (true + true.swapaxes(-1, -2))
    return compared(FAMILY, title, on.result(name, array), true, SUM, on.inertia_bound)


def _of_gradient(
    on: CheckContext, verb: str, along: Mapping[str, Floats], bound: Bound, terms: AnyArray
) -> Check:
    """A Hessian-vector product is the change of a gradient along q, q̇ and q̈."""
    gradient, hessian = (on.answering(f"{kind}-{verb}")[0] for kind in ("gradient", "hessian"))
    change = complex_step_along(on.arm, gradient, on.inputs(gradient), along)
    computed = np.stack([on.result(hessian, f"d{name}") for name in change], axis=1)
    title = f"hessian-{verb} = directional derivative of gradient-{verb}"
    return compared(FAMILY, title, computed, np.stack([*change.values()], axis=1), bound, terms)


def _of_accelerations(on: CheckContext) -> Iterator[Check]:
    titles = [f"{name} = ∂qdd/∂{along}" for name, along in _ACCELERATION.items()]
    titles += [
        "dqdd of perturb-forward",
        "hessian-forward = directional derivative of gradient-forward",
    ]
    if on.no_inertia:
        for title in titles:
            yield not_applicable(FAMILY, title, on.no_inertia)
        return
    source, model = (on.answering(verb)[0] for verb in _FORWARD_VERBS)
    inputs = on.inputs(source)
    for title, (name, along) in zip(titles, _ACCELERATION.items(), strict=False):
        true = complex_step(on.arm, source, inputs, along)["qdd"]
        terms = 0.0 if along == "tau" else on.forward_terms
        yield compared(FAMILY, title, on.result(model, name), true, on.divided, terms)

    changes = {name: on.states[f"d{name}"] for name in inputs}
    true = complex_step_along(on.arm, source, inputs, changes)["qdd"]
    computed = on.result(on.answering("perturb-forward")[0], "dqdd")
    yield compared(FAMILY, titles[-2], computed, true, on.accelerations, on.acceleration_terms)
    # the direction contains rounded accelerations
    motion = {"q": on.states["dq"], "qd": on.states["dqd"], "qdd": computed}
    yield _of_gradient(on, "forward", motion, on.accelerations, on.forward_terms)


def _of_prescribed_motion(on: CheckContext) -> Check:
    """Gradients of q̈ with some joints prescribed."""
    title = "gradients of linearize-forward-prescribed"
    source, model = (on.answering(f"{verb}-prescribed")[0] for verb in _FORWARD_VERBS)
    if reason := on.reason_unavailable(model):
        return not_applicable(FAMILY, title, reason)
    inputs, checks = on.inputs(source), []
    for name, along in _PRESCRIBED.items():
        true = complex_step(on.arm, source, inputs, along)["qdd"]
        terms = on.forward_terms if along in ("q", "qd") else 0.0
        checks.append(compared(FAMILY, title, on.result(model, name), true, on.divided, terms))
    return worst(checks)


@dataclass(frozen=True, eq=False, repr=False)
class Verification(DisplayMixin):
    """Result of verifying a robot.

    Fields:
        arm: name of the robot
        joints: names of its n joints
        seed: random seed of the states
        states: q, qd, qdd and the perturbations, each (samples, n), in SI units
        condition: condition number of the mass matrix (samples,), dimensionless
        checks: every comparison, or the reason why it was skipped
        defects: problems of the model itself, as text
        comparison: how the model was passed to another program, or None

    Example:
        >>> result = robolin.verify(robolin.load("two-link"), samples=2)
        >>> result.passed, result.joints, result.states["q"].shape
        (True, ('shoulder', 'elbow'), (2, 2))
    """

    arm: str
    joints: tuple[str, ...]
    seed: int
    states: Mapping[str, Floats] = field(repr=False)
    condition: Floats = field(repr=False)
    checks: tuple[Check, ...]
    defects: tuple[str, ...] = ()
    comparison: PeerComparison | None = None

    @property
    def passed(self) -> bool:
        """True if all errors are within bounds and the model has no defects."""
        return not self.failed and not self.defects

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks whose error exceeds its bound."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    @property
    def worst(self) -> Check:
        """The comparison that uses the largest fraction of its bound."""
        return max(self.checks, key=lambda check: check.share)

    def state(self, number: int) -> dict[str, list[float]]:
        """One of the checked states.

        Args:
            number: index of the state, counted from 0

        Returns:
            'q', 'qd' and 'qdd' -> (n,), in rad or m, rad/s or m/s, and rad/s² or m/s²

        Raises:
            UsageError: an index out of range

        Example:
            >>> result = robolin.verify(robolin.load("two-link"), samples=1)
            >>> result.state(0)["q"]
            [0.0, 0.0]
        """
        if not 0 <= number < len(self.states["q"]):
            hint = f"choose a state from 0 to {len(self.states['q']) - 1}"
            raise UsageError(f"unknown state {number}", hint=hint)
        return {name: self.states[name][number].tolist() for name in ("q", "qd", "qdd")}


def verify(
    arm: Arm, *, samples: int | None = None, seed: int = 0, against: str | None = None
) -> Verification:
    """Verify robolin's results for a robot at states inside its limits.

    The checks compare derivatives, identities, algorithms, engines and float32 results, and count
    correct digits.  Each check has an error bound.

    Args:
        arm: the arm, from `robolin.load`
        samples: number of states; None uses fewer for robots with many joints
        seed: random seed of the states, 0 or more
        against: "pinocchio" or "mujoco", if installed; None for neither

    Returns:
        a `Verification`; arrays in it have shape (samples, …)

    Raises:
        UsageError: `arm` is not an `Arm`, an unknown or missing program, or an invalid number
        RobolinError: the other program cannot read the model

    Example:
        >>> result = robolin.verify(robolin.load("two-link"), samples=2)
        >>> result.passed, result.failed, result.defects
        (True, (), ())
        >>> result.checks[0].name
        'dtau_dq = ∂tau/∂q'
    """
    require_arm(arm)
    require_integer_or_none(samples=samples, seed=seed)
    if samples is not None and samples < 1:
        raise UsageError(f"must be >= 1 or None, got {samples}", where="samples")
    if seed is None or seed < 0:
        raise UsageError(f"must be >= 0, got {seed}", where="seed")
    if against is not None:
        require_peer(against)
    drawn = CheckContext(arm, checked_states(arm, samples or default_samples(arm), seed))
    on, defects = _sound(drawn)
    families = track("verifying", _FAMILIES, len(_FAMILIES))
    checks = [check for family in families for check in family(on)]
    comparison = None
    if against is not None:
        comparison, computed = compared_with(against, on)
        checks += computed
    return Verification(
        arm.name, arm.joint_names, seed, on.states, on.condition, tuple(checks), defects, comparison
    )


_FAMILIES: tuple[Callable[[CheckContext], Iterator[Check]], ...] = (
    derivatives,
    identities,
    algorithms,
    engines,
    single_precision,
    digits,
    closed_loops,
)


def _sound(on: CheckContext) -> tuple[CheckContext, tuple[str, ...]]:
    """The states with an invertible mass matrix, and the defects in the others.

    If it is singular in all states, all states are kept.
    """
    count = len(on.q)
    bad = on.condition > ILL_CONDITIONED
    defects = []
    for short in on.shortfalls.values():
        bad[short.rows] = True
        error = no_inertia(short)
        where = _some(len(short.rows), count)
        defects.append(f"{error.message}{where}; {error.hint}")
    if not defects and bad.any():
        defects.append(_singular(on) + _some(int(bad.sum()), count))
    if bad.all() or not bad.any():
        return on, tuple(defects)
    return CheckContext(on.arm, {name: x[~bad] for name, x in on.states.items()}), tuple(defects)


def _some(bad: int, count: int) -> str:
    return f" (in {bad} of {count} states, excluded from the checks)" if bad < count else ""


def _singular(on: CheckContext) -> str:
    """States with a nearly singular mass matrix, and an explanation."""
    worst = int(np.argmax(on.condition))
    q = ", ".join(f"{x:.4g}" for x in on.q[worst])
    return (
        f"the mass matrix is nearly singular, cond(M) = {on.condition[worst]:.1e} at q = {q}: "
        "axes of massless links are aligned, or masses differ by orders of magnitude; "
        "results of forward dynamics have few correct digits"
    )


# range and speed of a joint whose limits are missing or larger
TURN, SLIDE, SPEED = float(np.pi), 1.0, 2.0

# limits above this many times the range count as none
WIDEST_LIMITS = 4.0

# distance of the far state, for robots that can slide or float
FAR_PLACED = 100.0

# largest pitch of a free body: at 90 degrees its angles have no derivatives
STEEPEST = 1.2

# number of poses from which the worst conditioned one is used
POSES = 200

# condition number above which forward results have too few correct digits to rely on
ILL_CONDITIONED = 1e12

SAMPLED_CHANGES = ("dq", "dqd", "dqdd", "dtau")


def default_samples(arm: Arm) -> int:
    """Number of states with which any robot is verified in a few seconds."""
    return 20 if len(arm.links) <= 12 else 12 if len(arm.links) <= 30 else 6


def checked_states(arm: Arm, samples: int, seed: int) -> Mapping[str, Floats]:
    """q, q̇, q̈, perturbations of them and of τ, and a mask of prescribed q̈, all (samples, n).

    The first states are the middle of the limits, a badly conditioned one, a distant one if the
    robot
    can move there, and both ends of the limits; the others are uniformly random.  Velocities stay
    inside their limits, accelerations are about 2.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    for at in map(arm.coordinate_indices, arm.groups):
        if {"rx", "ry", "rz"} <= at.keys():
            pitch = at["ry"]
            low[pitch], high[pitch] = max(low[pitch], -STEEPEST), min(high[pitch], STEEPEST)
    # sampled state by state: more samples add states and change none
    drawn = rng.random((samples, 2, arm.n))
    q = low + (high - low) * drawn[:, 0]
    chosen = [(low + high) / 2.0, _badly_conditioned(arm, low, high, seed)]
    far = np.array([_far(joint) for joint in arm.joints])
    if np.isfinite(far).any():
        chosen.append(np.where(np.isfinite(far), far, q[0]))
    chosen += [low, high]
    q[: len(chosen)] = chosen[:samples]
    speed = np.array([_speed(joint) for joint in arm.joints])
    normal = np.random.default_rng([seed, 1]).normal(
        size=(samples, 1 + len(SAMPLED_CHANGES), arm.n)
    )
    weights = np.random.default_rng([seed, 3]).normal(size=(samples, 2, arm.n))
    return {
        "q": q,
        "qd": speed * (2.0 * drawn[:, 1] - 1.0),
        "qdd": 2.0 * normal[:, 0],
        # every second joint is prescribed, alternating between states
        "prescribed": 1.0 * ((np.arange(arm.n) + np.arange(samples)[:, None]) % 2 == 0),
        **{name: normal[:, i] for i, name in enumerate(SAMPLED_CHANGES, start=1)},
        "tau_weights": weights[:, 0],
        "qdd_weights": weights[:, 1],
        "gain": 0.5 + np.random.default_rng([seed, 2]).random((samples, arm.n)),
    }


def _range(joint: Joint) -> tuple[float, float]:
    """Position range: the limits, or the default range on a side without one."""
    reach, limits = TURN if joint.turns else SLIDE, joint.limits
    lower = -reach if limits.lower is None else max(limits.lower, -WIDEST_LIMITS * reach)
    upper = reach if limits.upper is None else min(limits.upper, WIDEST_LIMITS * reach)
    if joint.kind == "continuous" or lower > upper:
        return -reach, reach
    return lower, upper


def _badly_conditioned(arm: Arm, low: Floats, high: Floats, seed: int) -> Floats:
    """The pose with the worst conditioned mass matrix among random poses inside the limits."""
    shares = np.random.default_rng([seed, 3]).random((POSES, arm.n))
    poses = low + (high - low) * shares
    condition = np.linalg.cond(
        run_for_check(arm, "mass-matrix", {"q": poses}).arrays["mass_matrix"]
    )
    # a singular mass matrix leaves no digits to count
    worst: Floats = poses[int(np.argmax(np.where(condition <= ILL_CONDITIONED, condition, 0.0)))]
    return worst


def _far(joint: Joint) -> float:
    """A distant position of a prismatic joint; NaN for revolute joints or tight limits."""
    upper = np.inf if joint.limits.upper is None else joint.limits.upper
    return np.nan if joint.turns or upper <= WIDEST_LIMITS * SLIDE else min(upper, FAR_PLACED)


def _speed(joint: Joint) -> float:
    """Speed range below the limit; a limit of 0 counts as unknown."""
    limit = joint.limits.velocity
    return min(limit, SPEED) if limit else SPEED
