"""Running an algorithm directly: single states, batches, the order of links, and idle joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Frame, Inertia, Joint, Link, Mimic, Pose
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import parameters_of
from robolin.engine.run import MAX_SCALAR_STATES, run_on
from robolin.evaluation.evaluate import evaluate_rows
from robolin.evaluation.methods import Method
from tests.cases import in_groups
from tests.robots import (
    arm_name,
    bundled_arms,
    has_full_inertia,
    random_arm,
    random_states,
    sample_arms,
)

TREES = [arm for arm in sample_arms() if not arm.serial]

FORWARD_VERBS = (
    "forward",
    "mass_matrix_inverse",
    "mass_matrix_factor",
    "linearize_forward",
    "perturb_forward",
    "diagonalize",
    "diagonalize_unnormalized",
)
INVERSE_VERBS = (
    "inverse",
    "mass_matrix",
    "mass_matrix_derivative",
    "linearize_inverse",
    "perturb_inverse",
)


def arrays(result: object) -> list[np.ndarray]:
    fields = [result] if isinstance(result, np.ndarray) else vars(result).values()
    return [each for each in fields if isinstance(each, np.ndarray)]


# single states and batches


def is_applicable(name: str, arm: Arm) -> bool:
    kind = ALGORITHMS[name].kind
    if name == "forward-constraint-forces" and not has_full_inertia(arm):
        return False
    if kind == "closed":
        return bool(arm.loops)
    if kind in ("spanning", "reaching"):
        return not arm.has_mimic and arm.n >= 6 and arm.serial
    return kind == "any" or (not arm.has_mimic and (kind == "independent" or arm.serial))


def _batched() -> Iterator[tuple[str, Arm]]:
    """Every algorithm with a random arm and with two or three of the bundled ones, in turn."""
    plain = (random_arm(1, 5), random_arm(2, 6, tree=True))
    for turn, name in enumerate(ALGORITHMS):
        bundled = [arm for arm in bundled_arms() if is_applicable(name, arm)]
        own = [arm for arm in plain if is_applicable(name, arm)]
        every = max(1, len(bundled) // 2)
        for arm in [*own[turn % max(1, len(own)) :][:1], *bundled[turn % every :: every]]:
            yield name, arm


@in_groups("name,arm", _batched())
def test_a_batch_is_its_states_one_by_one(name: str, arm: Arm) -> None:
    """Arrays, and floats of one or of few states, take the same steps and give the same bits."""
    algorithm, numbers = ALGORITHMS[name], parameters_of(arm)
    rng, count = np.random.default_rng(0), MAX_SCALAR_STATES + 1
    inputs = {need: rng.uniform(-1.0, 1.0, (count, arm.n)) for need in algorithm.needs}
    if "prescribed" in inputs:
        inputs["prescribed"] = np.where(inputs["prescribed"] > 0.0, 1.0, 0.0)
    batch = run_on(numbers, algorithm.run, algorithm.gives, inputs)[0]

    for rows in (0, slice(1, count)):
        state = {need: values[rows] for need, values in inputs.items()}
        apart = run_on(numbers, algorithm.run, algorithm.gives, state)[0]
        for result, values in apart.items():
            assert np.array_equal(batch[result][rows], values), result


@pytest.mark.parametrize("count", [1, MAX_SCALAR_STATES, MAX_SCALAR_STATES + 1])
def test_division_by_zero_affects_one_state_of_a_batch(count: int) -> None:
    """For any number of states, only those with a zero divisor are infinite."""

    def quotient(chain: Chain) -> None:
        chain.out("tau", (1,), 1.0 / chain.input("q")[1])

    q = np.arange(float(count))[:, None]
    results = run_on(parameters_of(random_arm(1, 1)), quotient, {"tau": ("joint",)}, {"q": q})
    assert results.arrays["tau"][:, 0].tolist() == [np.inf, 1.0, 0.5, 1.0 / 3.0][:count]


def test_dividing_by_zero_spoils_a_state_by_itself() -> None:
    """One state that cannot be divided is infinite, too, and not an error of Python's."""

    def quotient(chain: Chain) -> None:
        chain.out("tau", (1,), 1.0 / chain.input("q")[1])

    q = np.zeros(1)
    results = run_on(parameters_of(random_arm(1, 1)), quotient, {"tau": ("joint",)}, {"q": q})
    assert results.arrays["tau"].tolist() == [np.inf]


@pytest.mark.parametrize("count", [MAX_SCALAR_STATES, MAX_SCALAR_STATES + 1])
def test_a_singular_pivot_names_its_states(count: int) -> None:
    """For any number of states, one message names those without a result."""

    def checked(chain: Chain) -> None:
        chain.out("tau", (1,), chain.guard_rank("tau", chain.input("q")[1], 0.0))

    q = np.where(np.arange(count) > 0, -1.0, 1.0)[:, None]
    results = run_on(parameters_of(random_arm(1, 1)), checked, {"tau": ("joint",)}, {"q": q})
    assert np.flatnonzero(np.isnan(results.arrays["tau"][:, 0])).tolist() == [*range(1, count)]
    assert [each.rows.tolist() for each in results.shortfalls] == [[*range(1, count)]]


def test_leading_axes_broadcast() -> None:
    """(2, 1, n) and (3, n) make (2, 3, n, n); a number applies to all joints; no state, no row."""
    arm = random_arm(3, 4)
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 1, 4)), rng.normal(size=(3, 4))
    A = robolin.linearize_inverse(arm, q, qd).dtau_dqd

    assert A.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(A[1, 2], robolin.linearize_inverse(arm, q[1, 0], qd[2]).dtau_dqd)
    assert np.array_equal(robolin.inverse(arm, 0.5), robolin.inverse(arm, [0.5] * 4))
    assert robolin.forward(arm, np.zeros((0, 4))).shape == (0, 4)


def test_public_order_only_renames_rows_and_columns() -> None:
    """Listing the joints in another order permutes every result and changes no bit of it."""
    arm = random_arm(4, 6, tree=True)
    order = np.random.default_rng(0).permutation(6)
    other = replace(arm, joint_names=tuple(arm.joint_names[i] for i in order))
    s = random_states(arm, 2)
    one = robolin.linearize_forward(arm, s.q, s.qd, s.qdd)
    two = robolin.linearize_forward(other, s.q[:, order], s.qd[:, order], s.qdd[:, order])

    assert np.array_equal(two.qdd, one.qdd[:, order])
    for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        assert np.array_equal(getattr(two, name), getattr(one, name)[:, order][:, :, order])


# the order of the links


@pytest.mark.parametrize("arm", TREES, ids=arm_name)
def test_links_know_their_parents_and_children(arm: Arm) -> None:
    """inboard_of follows parents to the base; outboard_of lists children in decreasing order."""
    chain = DirectChain(parameters_of(arm), {})
    parents = {k: arm.link(k).parent for k in range(1, arm.base)}
    inboard = {k: list(chain.inboard_of(k)) for k in parents}

    assert list(chain.base_to_tip()) == sorted(parents, reverse=True)
    assert list(chain.tip_to_base()) == sorted(parents)
    for k, path in inboard.items():
        assert chain.inboard(k) == parents[k] > k
        assert [k, *path, arm.base] == _up(parents, k)
        carried = sorted((c for c in parents if k in inboard[c]), reverse=True)
        assert list(chain.outboard_of(k)) == carried
    assert sorted(chain.inboard_pairs()) == [(k, j) for k in sorted(parents) for j in inboard[k]]


def _up(parents: dict[int, int], k: int) -> list[int]:
    path = [k]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path


def test_sums_collect_the_values_of_children() -> None:
    """A sum holds the values that a link's children added, and nothing else."""
    arm = random_arm(5, 8, tree=True)
    chain = DirectChain(parameters_of(arm), {})
    count = chain.child_sums(1)
    for k in chain.tip_to_base():
        count.add_to_parent(k, (count[k][0] + 1.0,))

    for k in chain.tip_to_base():
        assert count[k][0] == len(list(chain.outboard_of(k)))


# joints that move no mass


def with_body(arm: Arm, k: int, inertia: Inertia) -> Arm:
    links = list(arm.links_tip_to_base)
    links[k - 1] = replace(links[k - 1], inertia=inertia)
    return replace(arm, links_tip_to_base=tuple(links))


@pytest.mark.parametrize("verb", FORWARD_VERBS)
@pytest.mark.parametrize("tree", [False, True])
def test_forward_verbs_name_a_joint_that_moves_nothing(verb: str, tree: bool) -> None:
    """A massless tip is rejected by name, for one state and for a batch, with a hint."""
    arm = with_body(random_arm(6, 5, tree), 1, Inertia())
    joint, call = arm.link(1).joint.name, getattr(robolin, verb)

    for q, where in ((np.zeros(5), ""), (np.zeros((3, 5)), "state 0: ")):
        with pytest.raises(robolin.RobolinError) as caught:
            call(arm, q)
        assert str(caught.value).startswith(f"{where}joint '{joint}' moves no inertia")
        assert f"--armature {joint}=" in caught.value.hint


@pytest.mark.parametrize("method", ["operator", "conventional"])
@pytest.mark.parametrize("verb", ["forward", "linearize_forward", "perturb_forward"])
def test_both_methods_refuse_a_joint_that_moves_nothing(verb: str, method: str) -> None:
    """Elimination names the same joint as the articulated bodies do."""
    arm = with_body(random_arm(6, 5), 1, Inertia())
    with pytest.raises(robolin.RobolinError, match=f"joint '{arm.link(1).joint.name}' moves"):
        getattr(robolin, verb)(arm, np.zeros(5), method=method)


@pytest.mark.parametrize("verb", INVERSE_VERBS)
def test_inverse_verbs_do_not_mind_a_joint_that_moves_nothing(verb: str) -> None:
    """Torques and gradients of a massless tip are finite, and zero at its joint."""
    arm = with_body(random_arm(6, 5), 1, Inertia())
    s = random_states(arm, 3)
    index = arm.joint_names.index(arm.link(1).joint.name)

    result = getattr(robolin, verb)(arm, s.q)
    # the operating point is part of a linear model
    chosen = getattr(result, "q", None)
    for values in arrays(result):
        assert np.isfinite(values).all()
        assert values is chosen or not values[:, index].any()


@pytest.mark.parametrize("verb", ["undiagonalize", "undiagonalize_unnormalized"])
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_inverse_maps_name_a_joint_that_moves_nothing(verb: str, shape: tuple[int, ...]) -> None:
    """Tables 1 and 2 inverted divide by D as well."""
    arm = with_body(random_arm(6, 5), 1, Inertia())
    with pytest.raises(robolin.RobolinError, match=f"joint '{arm.link(1).joint.name}' moves"):
        getattr(robolin, verb)(arm, np.zeros(shape), np.ones(shape), np.ones(shape))


def test_armature_makes_a_massless_joint_solvable() -> None:
    """With a rotor the rejected joint has q̈ = τ / armature."""
    arm = with_body(random_arm(6, 5), 1, Inertia())
    links = list(arm.links_tip_to_base)
    links[0] = replace(links[0], joint=replace(links[0].joint, armature=0.2))
    arm, index = (
        replace(arm, links_tip_to_base=tuple(links)),
        arm.joint_names.index(links[0].joint.name),
    )
    s = random_states(arm, 3)

    qdd = robolin.forward(arm, s.q, s.qd, s.dtau)
    np.testing.assert_allclose(qdd[:, index], s.dtau[:, index] / 0.2, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_point_mass_on_its_own_axis_is_refused(seed: int) -> None:
    """D is then round-off, for any direction of the axis and of either sign."""
    arm = random_arm(seed, 3, prismatic=False)
    axis = arm.link(1).joint.axis
    point = Inertia(2.0, tuple(0.3 * x for x in axis))
    arm = with_body(arm, 1, point)
    name, s = arm.link(1).joint.name, random_states(arm, 4)

    for verb in ("forward", "linearize_forward", "diagonalize"):
        with pytest.raises(robolin.RobolinError, match=f"joint '{name}' moves no inertia"):
            getattr(robolin, verb)(arm, s.q)
        with pytest.raises(robolin.RobolinError, match=f"joint '{name}' moves no inertia"):
            getattr(robolin, verb)(arm, s.q[0])


def test_a_negative_inertia_is_refused() -> None:
    """D below zero is not a valid inertia."""
    arm = with_body(random_arm(0, 1, prismatic=False), 1, Inertia(-1.0, (0.3, 0.2, 0.1)))
    with pytest.raises(robolin.RobolinError, match=r"D = -0\.\d+"):
        robolin.forward(arm, [0.4])


def polar_arm() -> Arm:
    """A point mass on a rail that rotates about the vertical, on the axis if the rail is at 0."""
    turn = Joint("turn", "revolute", Pose(), (0.0, 0.0, 1.0))
    rail = Joint("rail", "prismatic", Pose(), (1.0, 0.0, 0.0))
    links = (Link("bead", rail, 2, Inertia(1.0)), Link("arm", turn, 3, Inertia()))
    frames = {"bead": Frame("bead", 1), "arm": Frame("arm", 2)}
    return Arm("polar", links, frames, ("turn", "rail"))


def test_the_state_that_is_refused_is_named() -> None:
    """The first state of a batch in which the joint moves no mass; the others alone succeed."""
    q = np.array([[0.1, 0.5], [0.2, 0.4], [0.3, 0.0], [0.4, 0.2]])
    arm = polar_arm()
    with pytest.raises(robolin.RobolinError, match="state 2: joint 'turn' moves no inertia"):
        robolin.forward(arm, q)
    with pytest.raises(robolin.RobolinError, match=r"^joint 'turn' moves no inertia"):
        robolin.forward(arm, q[2])

    assert np.isfinite(robolin.forward(arm, q[[0, 1, 3]])).all()
    assert np.isfinite(robolin.linearize_inverse(arm, q).dtau_dq).all()


def test_the_joint_that_moves_nothing_is_named_with_mimic_joints() -> None:
    """The error names the joint of the coordinate, not its mimic joint."""
    base = Joint("base", "revolute", Pose(), (0.0, 0.0, 1.0))
    idle = Joint("idle", "revolute", Pose(), (0.0, 1.0, 0.0))
    follower = Joint("follower", "revolute", Pose(), (1.0, 0.0, 0.0), mimic=Mimic("base", 0.5))
    body = Inertia(1.0, (0.1, 0.2, 0.3), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    links = (
        Link("c", follower, 3, body),
        Link("b", idle, 3, Inertia()),
        Link("a", base, 4, body),
    )
    arm = Arm("gripper", links, {}, ("base", "idle"))

    for verb in ("forward", "linearize_forward", "perturb_forward", "mass_matrix_inverse"):
        with pytest.raises(robolin.RobolinError, match="joint 'idle' moves no inertia"):
            getattr(robolin, verb)(arm, [0.1, 0.2])


# the kind of number


def test_results_are_numbers_of_the_kind_given() -> None:
    """Floats make floats and complex numbers make complex ones, with floats' real part."""
    arm = random_arm(7, 4, armature=True)
    q = [0.3, -0.2, 0.5, 0.1]
    for name in ("forward", "diagonalize", "linearize-forward"):
        entry = ALGORITHMS[name]
        plain, turned = (
            DirectChain(parameters_of(arm), {need: [kind(x) for x in q] for need in entry.needs})
            for kind in (float, complex)
        )
        entry.run(plain)
        entry.run(turned)
        for result, entries in plain.results.items():
            for index, value in entries.items():
                other = turned.results[result][index]
                assert isinstance(value, float)
                assert complex(other).real == pytest.approx(value, rel=1e-12, abs=1e-12)


def gimbal_on_a_pole() -> Arm:
    """Two hinges on one skew axis, nothing between them, and a heavy body beyond."""
    axis = (0.36, 0.48, 0.8)
    inner = Joint("inner", "revolute", Pose(translation=(0.3, -0.2, 0.7)), axis)
    outer = Joint("outer", "revolute", Pose(), axis)
    body = Inertia(40.0, (1.3, -0.4, 0.9), (3.0, 0.2, -0.4, 5.0, 0.3, 4.0))
    links = (Link("body", outer, 2, body), Link("nothing", inner, 3, Inertia()))
    frames = {"body": Frame("body", 1), "nothing": Frame("nothing", 2)}
    return Arm("gimbal", links, frames, ("inner", "outer"))


@pytest.mark.parametrize("method", ["operator", "conventional"])
def test_round_off_of_an_outboard_body_is_not_inertia(method: Method) -> None:
    """The remainder of a heavy body beyond a free hinge on the same axis counts as zero.

    The link between is massless, so that only the body it carries determines the expected
    round-off.
    """
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (200, 2))
    inputs = {"q": q, "qd": 0.0, "tau": 0.0}
    _, status = evaluate_rows(gimbal_on_a_pole(), "forward", inputs, method=method)
    assert status.all()
    with pytest.raises(robolin.RobolinError, match="joint 'inner' moves no inertia"):
        robolin.forward(gimbal_on_a_pole(), q[0], method=method)
