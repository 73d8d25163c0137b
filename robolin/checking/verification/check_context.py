"""A robot and the states of its checks; results needed by several checks are cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np

from robolin.checking.verification.bodies import (
    coordinate_rates,
    dissipation_and_load_torques,
    spring_bound,
    weight_torque,
)
from robolin.checking.verification.checks import (
    OF_ACCELERATIONS,
    PER_CONDITION,
    STEP,
    SUM_TOLERANCE,
    Bound,
    run_for_check,
)
from robolin.core.arm import FAR_SLID, Arm, Inertia
from robolin.core.arrays import AnyArray, Floats
from robolin.dynamics.algebra.scalar import float_sum
from robolin.dynamics.algorithm import Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct import SingularPivot
from robolin.engine.parameters import parameters_of
from robolin.engine.run import AlgorithmRun
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import algorithm_for, arm_cache
from robolin.evaluation.methods import why_not_with_groups

# inputs that are not sampled: computed by the first algorithm that returns them
_COMPUTED_BY = {array: name for name in reversed([*ALGORITHMS]) for array in ALGORITHMS[name].gives}

# number of results per state above which an algorithm is skipped: second derivatives of 13 joints
MOST_RESULT_NUMBERS = 100_000

_OF_MASSES = ("mass_matrix", "dmass_matrix_dq")
_OF_TORQUES = ("tau", "dtau", "dtau_dq", "dtau_dqd", "coriolis_matrix", "kappa", "coriolis")
_OF_TASKS = ("operational_inertia", "bias_wrench")
_OF_FACTORS = ("factor", "factor_inverse", "D", "m", "nu", "xi", "qd")
_OF_INVERSES = ("mass_matrix_inverse", "dqdd_dtau", "operational_inertia_inverse")
_DIVIDED_ONCE = (*_OF_FACTORS, *_OF_INVERSES)

# results that also divide by the loop-closure constraints
_OF_CLOSURES = ("forward-closed", "closing-step")

SUM = Bound(SUM_TOLERANCE, "sum")


class CheckContext:
    """One robot, its states, and the cached results of the algorithms there."""

    q: Floats
    qd: Floats
    qdd: Floats
    arm: Arm
    states: Mapping[str, AnyArray]

    def __init__(self, arm: Arm, states: Mapping[str, AnyArray], closed: bool = False) -> None:
        # closed: the states satisfy the loop-closure constraints
        self.arm, self.states, self._closed = arm, states, closed
        self.q, self.qd, self.qdd = states["q"], states["qd"], states["qdd"]
        self._runs: dict[str, AlgorithmRun] = {}

    # results of algorithms

    def run(self, name: str) -> AlgorithmRun:
        if name not in self._runs:
            self._runs[name] = run_for_check(self.arm, name, self.inputs(name))
        return self._runs[name]

    def result(self, algorithm: str, array: str) -> AnyArray:
        return self.run(algorithm).arrays[array]

    def has_result(self, algorithm: str, array: str) -> AnyArray:
        """Mask of the states with a finite result (states,)."""
        values = self.result(algorithm, array)
        finite: AnyArray = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        return finite

    def inputs(self, name: str) -> dict[str, AnyArray]:
        """Inputs of an algorithm, each of shape (states, n)."""
        return {need: self.value(need) for need in ALGORITHMS[name].needs}

    def value(self, need: str) -> AnyArray:
        if need in self.states:
            return self.states[need]
        maker, _ = self.answering(_COMPUTED_BY[need])
        return self.result(maker, need)

    def reason_unavailable(self, name: str) -> str:
        """Reason why an algorithm does not apply to this robot, '' if it does."""
        algorithm = ALGORITHMS[name]
        if algorithm.kind == "closed" and not self._closed:
            return "applies to closed loops only"
        if algorithm.of_springs and not self.arm.has_springs:
            return "no joint has a spring"
        if unknown := [need for need in algorithm.needs if not self._can_make(need)]:
            return f"{' and '.join(unknown)} cannot be computed in any state"
        numbers = max(self._entries(shape) for shape in algorithm.gives.values())
        if numbers > MOST_RESULT_NUMBERS:
            return f"a result has {numbers} numbers, more than the limit of {MOST_RESULT_NUMBERS}"
        if self.arm.groups and algorithm.inverts_bodies:
            return f"it {why_not_with_groups(self.arm)}"
        if algorithm.kind not in ("any", "reaching") and self.followers:
            return self.followers
        if algorithm.kind == "serial" and not self.arm.serial:
            return "the robot has branches"
        if algorithm.inverts_bodies and (body := flat_body(self.arm)):
            return f"the inertia of body '{body}' is not invertible"
        if self.no_inertia and self.run(name).divides:
            return self.no_inertia
        return ""

    def answering(self, verb: str) -> tuple[str, str]:
        """The algorithm of a verb for this robot, and the reason if it does not apply."""
        try:
            name = algorithm_for(self.arm, verb)
        except RobolinError:
            # a reason that blocks all algorithms also blocks the default one
            name = verb
        return name, self.reason_unavailable(name)

    def _entries(self, shape: Shape) -> int:
        return prod(arm_cache(self.arm).parameters.sizes(shape))

    def _can_make(self, need: str) -> bool:
        return need in self.states or (
            need in _COMPUTED_BY and not self.answering(_COMPUTED_BY[need])[1]
        )

    # reasons why an algorithm does not apply

    @cached_property
    def followers(self) -> str:
        """Reason why recursions with independent joints do not apply, '' if they do."""
        pairs = ((x.joint.name, x.joint.mimic) for x in self.arm.links_tip_to_base)
        for follower, mimic in pairs:
            if mimic is not None:
                return f"joint '{follower}' mimics '{mimic.leader}'"
        return ""

    @cached_property
    def shortfalls(self) -> dict[str, SingularPivot]:
        """Joints without inertia, by name; joints inboard that they mask are omitted."""
        route = "mass-matrix-inverse-conventional" if self.followers else "mass-matrix-factor"
        pivots: dict[str, SingularPivot] = {}
        for short in self.run(route).shortfalls:
            if np.isfinite(short.value):
                pivots.setdefault(short.joint, short)
        return pivots

    @cached_property
    def no_inertia(self) -> str:
        """Reason why the mass matrix is not invertible, '' if it is."""
        names = [f"'{name}'" for name in self.shortfalls]
        if not names:
            return ""
        if len(names) == 1:
            return f"joint {names[0]} moves no inertia"
        more = f" and {len(names) - 1} others" if len(names) > 2 else f" and {names[1]}"
        return f"joints {names[0]}{more} move no inertia"

    # bounds

    @cached_property
    def condition(self) -> AnyArray:
        """Condition number of the mass matrix in every state."""
        return np.linalg.cond(self.result("mass-matrix", "mass_matrix"))

    @cached_property
    def divided(self) -> Bound:
        distance = distance_factor(self.arm, self.q)
        return Bound(SUM_TOLERANCE + PER_CONDITION * self.condition * distance, "division")

    @cached_property
    def accelerations(self) -> Bound:
        return Bound(OF_ACCELERATIONS * self.divided.value, "acceleration")

    @cached_property
    def bodies_bound(self) -> Bound:
        """Bound for a division by the mass matrix and by each body's inertia about the base."""
        bodies = PER_CONDITION * condition_of_bodies(self.arm, self._reaches)
        return Bound(OF_ACCELERATIONS * (self.divided.value + bodies), "bodies")

    @cached_property
    def closed_bound(self) -> Bound:
        """Bound for solving with the mass matrix and the active unit-size constraints."""
        inertias = self.result("mass-matrix", "mass_matrix")
        closures = self.result("closures", "closure_jacobian")
        active = self.result("forward-closed", "kept") > 0.5
        conditions = []
        for M, rows, mask in zip(inertias, closures, active, strict=True):
            M, L = M / np.linalg.norm(M, 2), rows[mask] / np.linalg.norm(rows, 2)
            system = np.block([[M, L.T], [L, np.zeros((len(L), len(L)))]])
            conditions.append(np.linalg.cond(system))
        divided = SUM_TOLERANCE + PER_CONDITION * np.array(conditions)
        return Bound(OF_ACCELERATIONS * divided, "loops")

    def bound(self, algorithm: str, array: str) -> Bound:
        """Error bound of a result of an algorithm."""
        if algorithm in _OF_CLOSURES:
            return self.closed_bound
        if ALGORITHMS[algorithm].inverts_bodies:
            return self.bodies_bound
        if not self.run(algorithm).divides:
            return SUM
        if array in _OF_TASKS:
            # divided once more, by a matrix with its own condition number
            once_more = np.linalg.cond(self.result(algorithm, "operational_inertia_inverse"))
            return Bound(self.divided.value * once_more, "task")
        once = (*_DIVIDED_ONCE, *_OF_TORQUES, "epsilon", "dqdd_dqd", "dqdd_dq")
        return self.divided if array in once else self.accelerations

    # magnitudes of the summed terms

    @cached_property
    def without_extras(self) -> Arm:
        """The robot without damping, friction and wrenches: bodies, gravity and springs."""
        return replace(self.arm, damping=False, friction_velocity=None, wrenches=())

    @cached_property
    def speed(self) -> AnyArray:
        return np.abs(self.qd).max(axis=1)

    @cached_property
    def inertia_bound(self) -> AnyArray:
        """Upper bound of any moment of inertia about the base, per state."""
        return lever_scaled_mass(self.arm, self._reaches, 2) + max(
            link.joint.armature for link in self.arm.links
        )

    @cached_property
    def weight(self) -> AnyArray:
        """Upper bound of any torque of gravity and springs, per state."""
        gravity = lever_scaled_mass(self.arm, self._reaches, 1) * float(
            np.linalg.norm(self.arm.gravity)
        )
        return gravity + spring_bound(self.arm, self.q)

    @cached_property
    def motion_terms(self) -> AnyArray:
        """Magnitude of the terms in torques and their gradients, per state."""
        acceleration = np.abs(self.qdd).max(axis=1)
        inertial = self.inertia_bound * (self.speed + self.speed**2 + acceleration)
        return inertial + self.weight + np.abs(self._extra).max(axis=1)

    @cached_property
    def forward_terms(self) -> AnyArray:
        """Magnitude of the terms in gradients of q̈, per state."""
        return self._lightness * self.motion_terms

    @cached_property
    def acceleration_terms(self) -> AnyArray:
        """|𝓜⁻¹| (|τ| + |gravity| + |dissipation and loads|): terms in q̈, per state."""
        parts = self.value("tau"), weight_torque(self.arm, self.q), self._extra
        torques = sum(np.abs(part) for part in parts)
        return (np.abs(self._inverse) @ torques[..., None]).max(axis=(1, 2))

    def terms(self, algorithm: str, array: str) -> AnyArray:
        """Magnitude of the terms of a result that may cancel."""
        if array in _OF_MASSES:
            return self.inertia_bound
        if array in ("nud", "xid"):
            # from ν or ξ: the velocities were divided by the factor m, cond(m) = √cond(M)
            light = self._lightness if array == "xid" else np.sqrt(self._lightness)
            return OF_ACCELERATIONS * self.motion_terms * light * np.sqrt(self.condition)
        with_roots = algorithm in ("diagonalize", "diagonalize-conventional")
        if array == "epsilon" or (array == "coriolis" and with_roots):
            return self.motion_terms * np.sqrt(self._lightness)
        if array in _OF_TORQUES:
            return self.motion_terms
        if array.startswith("dqdd_dq"):
            return self.forward_terms
        if array in _DIVIDED_ONCE or array in _OF_TASKS:
            return 0.0
        if self.run(algorithm).divides:
            # q̈, and accelerations of links and frames
            return self.acceleration_terms * (1.0 + self._reach)
        # positions, and their velocities and accelerations
        return (1.0 + self._reach) * (1.0 + self.speed + self.speed**2)

    @cached_property
    def _extra(self) -> AnyArray:
        return dissipation_and_load_torques(self.arm, self.q, self.qd)

    @cached_property
    def _inverse(self) -> AnyArray:
        return self.result("mass-matrix-inverse-conventional", "mass_matrix_inverse")

    @cached_property
    def _lightness(self) -> AnyArray:
        """Largest entry of the inverse mass matrix, per state."""
        return np.abs(self._inverse).max(axis=(1, 2))

    @cached_property
    def _reaches(self) -> dict[int, AnyArray]:
        return reaches(self.arm, self.q, slides_of(self.arm, self.q))

    @cached_property
    def _reach(self) -> AnyArray:
        return np.max(list(self._reaches.values()), axis=0)


# ratio of principal inertias above which a body counts as flat, a rod or a point
FLAT = 1e8


def flat_body(arm: Arm) -> str:
    """First link, base to tip, with a singular inertia; '' if there is none."""
    for link in arm.links:
        least, most = _extremes(link.inertia)
        if least * FLAT <= most:
            return link.name
    return ""


def condition_of_bodies(arm: Arm, reach: Mapping[int, Floats]) -> Floats:
    """Upper bound for the condition number of any body's inertia about the base, per state.

    About a point at distance r, an inertia is X M X* with |X| and |X⁻¹| at most 1 + r.
    """
    worst = np.ones_like(reach[arm.base])
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        least, most = _extremes(link.inertia)
        away = reach[k] + float(np.linalg.norm(link.inertia.com))
        worst = np.maximum(worst, most / least * (1.0 + away) ** 4)
    return worst


def _extremes(body: Inertia) -> tuple[float, float]:
    """Smallest and largest of a body's mass and principal moments of inertia about its centre."""
    xx, xy, xz, yy, yz, zz = body.rotary
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    every = [*principal, body.mass]
    return min(every), max(every)


def slides_of(arm: Arm, q: Floats) -> dict[int, Floats]:
    """Displacement of each prismatic link, per state."""
    sliding = (k for k, link in enumerate(arm.links_tip_to_base, start=1) if not link.joint.turns)
    return {k: np.abs(q[:, arm.coordinates[k - 1]]) for k in sliding}


def reaches(arm: Arm, q: Floats, slides: Mapping[int, Floats]) -> dict[int, Floats]:
    """Upper bound of each link's joint distance from the first joint, per state."""
    reach: dict[int, Floats] = {arm.base: np.zeros(len(q))}
    for k in range(len(arm.links), 0, -1):
        link = arm.link(k)
        own = float(np.linalg.norm(link.joint.pose.translation))
        reach[k] = reach[link.parent] + own + slides.get(k, 0.0)
    return reach


def lever_scaled_mass(arm: Arm, reach: Mapping[int, Floats], power: int) -> Floats:
    """Σ mass · reach^power per state; mimic joints scale the share of their links."""
    total, slides = np.zeros_like(reach[arm.base]), not all(x.joint.turns for x in arm.links)
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body = link.inertia
        lever = reach[k] + float(np.linalg.norm(body.com))
        # a prismatic joint has no lever arm
        lever = np.maximum(lever, 1.0) if slides else lever
        own = float_sum(abs(x) for x in body.rotary) if power == 2 else 0.0
        total = total + abs(body.mass) * lever**power + own
    ratios = [abs(link.joint.mimic.ratio) for link in arm.links if link.joint.mimic]
    total_weight: Floats = total * max([1.0, *ratios]) ** power
    return total_weight


def distance_factor(arm: Arm, q: Floats) -> Floats:
    """Growth of round-off if links are far from the inertial frame, at least 1.

    Round-off of an inertia grows with the square of its distance from the inertial frame.
    """
    slides, rows = slides_of(arm, q), parameters_of(arm).links
    near = {k: np.where(slide <= FAR_SLID, slide, 0.0) for k, slide in slides.items()}
    along = {k for k in slides if rows[k - 1].frame_travels or rows[k - 1].origin_fixed}
    felt = {k: near[k] if k in along else slide for k, slide in slides.items()}
    here, at_home = (lever_scaled_mass(arm, reaches(arm, q, each), 2) for each in (felt, near))
    factor: Floats = np.where(at_home > 0.0, here / np.where(at_home > 0.0, at_home, 1.0), 1.0)
    return factor


def complex_step(
    arm: Arm, name: str, inputs: Mapping[str, Floats], along: str
) -> Mapping[str, Floats]:
    """∂result/∂along, exact to round-off: the last axis is that of `along`."""
    steps = {need: values[:, None, :] for need, values in inputs.items()}
    ways = np.eye(arm.n)
    if along == "q":
        ways = coordinate_rates(arm, steps["q"], ways)
    steps[along] = steps[along] + 1j * STEP * ways
    moved = run_for_check(arm, name, steps).arrays
    return {result: np.moveaxis(values.imag / STEP, 1, -1) for result, values in moved.items()}


def complex_step_along(
    arm: Arm, name: str, inputs: Mapping[str, Floats], directions: Mapping[str, Floats]
) -> Mapping[str, Floats]:
    """Directional derivative of every result along `directions` of the inputs."""
    moved = dict(inputs)
    for need, way in directions.items():
        direction = coordinate_rates(arm, inputs["q"], way) if need == "q" else way
        moved[need] = inputs[need] + 1j * STEP * direction
    return {result: x.imag / STEP for result, x in run_for_check(arm, name, moved).arrays.items()}
