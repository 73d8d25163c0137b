"""Torques and motions by geometric parameters, against arms with changed parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Pose
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import LinkRow, Parameters, parameters_of
from tests.analysis.motions import swing
from tests.description.test_dh import Row, table
from tests.dynamics.running import STEP, gap, run_on
from tests.robots import (
    arm_name,
    for_each_arm,
    grouped_arm,
    random_arm,
    random_states,
    with_follower,
    with_wrench,
)

ARMS = (
    random_arm(31, 4, tree=True, armature=True, damping=True),
    with_follower(random_arm(32, 4)),
    *(with_wrench(random_arm(33, 3), model) for model in ("follower", "dead", "world")),
)
GROUPED = grouped_arm(34, ("revolute", "planar", "revolute", "floating"))
MODIFIED = (Row("revolute", 0.1, 0.4, 0.3, 0.2), Row("prismatic", 0.2, -1.1, 0.5, 0.7))
STANDARD = (*MODIFIED, Row("revolute", 0.0, 0.8, -0.2, 0.1))


def skew(w: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), w)


def turned(w: np.ndarray) -> np.ndarray:
    """The rotation by a small vector, to third order: so much is left of central differences."""
    W = skew(w)
    return np.eye(3) + W + W @ W / 2.0 + W @ W @ W / 6.0


def torques(parameters: Parameters, inputs: dict[str, np.ndarray]) -> np.ndarray:
    entry = ALGORITHMS["inverse"]
    return run.run_on(parameters, entry.run, entry.gives, inputs, complex).arrays["tau"]


def moved_joint(row: LinkRow, i: int) -> LinkRow:
    """The joint turned or slid, in its own axes, by a step along i."""
    R, e = np.reshape(row.rotation, (3, 3)), 1j * STEP * np.eye(3)[i % 3]
    if i < 3:
        return replace(row, rotation=tuple((R + R @ skew(e)).ravel()))
    return replace(row, offset=tuple(np.array(row.offset) + R @ e))


@for_each_arm(ARMS)
def test_placements_of_joints_by_complex_step(arm: Arm) -> None:
    """Columns of a joint's placement equal complex steps of that placement, to 1e-13.

    Torques are sums of some hundred terms of their own size, each rounded to 1e-16.
    """
    states = random_states(arm, 3)
    inputs = {name: getattr(states, name) for name in ("q", "qd", "qdd")}
    dtau_dgeometry = run_on(arm, "geometry-derivative", inputs)["dtau_dgeometry"]
    parameters = parameters_of(arm)
    stepped = {name: values.astype(complex) for name, values in inputs.items()}
    for k in range(parameters.n):
        for i in range(6):
            rows = list(parameters.links)
            rows[k] = moved_joint(rows[k], i)
            true = torques(replace(parameters, links=tuple(rows)), stepped).imag / STEP
            column = dtau_dgeometry[..., parameters.n - 1 - k, i]
            assert gap(column, true, beside=dtau_dgeometry) < 1e-13


def with_parameter(arm: Arm, name: str, change: float) -> Arm:
    """The arm with a joint's origin, rotation or axis changed."""
    owner, _, word = name.rpartition("/")
    inner = {group.links[0]: group.name for group in arm.groups}
    e = change * np.eye(3)["xyz".index(word[-1])]

    def changed(k: int) -> object:
        joint, pose = arm.link(k).joint, arm.link(k).joint.pose
        if inner.get(k, joint.name) != owner:
            return joint
        if word.startswith("axis"):
            axis = np.array(joint.axis) + e
            return replace(joint, axis=tuple(axis / np.linalg.norm(axis)))
        if word.startswith("origin"):
            position = tuple(np.array(pose.translation) + e)
            return replace(joint, pose=Pose(pose.rotation, position))
        turn = tuple((np.reshape(pose.rotation, (3, 3)) @ turned(e)).ravel())
        return replace(joint, pose=Pose(turn, pose.translation))

    links = [replace(arm.link(k), joint=changed(k)) for k in range(1, arm.base)]
    return replace(arm, links_tip_to_base=tuple(links))


@pytest.mark.parametrize(
    "arm",
    [ARMS[0], *(pytest.param(arm, marks=pytest.mark.slow) for arm in (GROUPED, *ARMS[1:]))],
    ids=arm_name,
)
def test_parameters_by_differences(arm: Arm) -> None:
    """Every parameter changes the torques as the arm with that parameter changed, to 1e-9.

    Central differences with steps of 1e-4 leave 1e-8 of a third derivative / 6 and 1e-16 / 1e-4.
    """
    states = random_states(arm, 2)
    state = (states.q, states.qd, states.qdd)
    derivative = robolin.geometry_derivative(arm, *state, engine="python")
    for column, name in enumerate(derivative.names):
        more, less = (
            robolin.inverse(with_parameter(arm, name, s), *state, engine="python")
            for s in (1e-4, -1e-4)
        )
        difference = (more - less) / 2e-4
        assert gap(derivative.matrix[..., column], difference, beside=derivative.matrix) < 1e-8


@lru_cache
def from_table(rows: tuple[Row, ...], convention: str) -> Arm:
    return robolin.load(table(rows, convention).encode())


def changed_table(
    rows: tuple[Row, ...], convention: str, i: int, figure: str, change: float
) -> Arm:
    row = rows[i]._replace(**{figure: getattr(rows[i], figure) + change})
    return from_table((*rows[:i], row, *rows[i + 1 :]), convention)


@pytest.mark.parametrize("convention, rows", [("standard", STANDARD), ("modified", MODIFIED)])
def test_parameters_of_a_dh_table(convention: str, rows: tuple[Row, ...]) -> None:
    """So does every parameter of a Denavit–Hartenberg table, when the changed table is read."""
    arm = from_table(rows, convention)
    states = random_states(arm, 2)
    state = (states.q, states.qd, states.qdd)
    derivative = robolin.geometry_derivative(arm, *state, engine="python")
    for i, row in enumerate(rows):
        for figure in ("a", "alpha", "d", "theta"):
            # a that is zero has a form of its own
            if figure == "a" and row.a == 0.0:
                continue
            more, less = (
                robolin.inverse(changed_table(rows, convention, i, figure, s), *state)
                for s in (1e-4, -1e-4)
            )
            column = derivative.matrix[..., derivative.names.index(f"j{i}/dh_{figure}")]
            assert gap(column, (more - less) / 2e-4, beside=derivative.matrix) < 1e-8


def test_a_floating_base_has_no_placement() -> None:
    """A multi-DoF joint on the base has no placement parameters, one further out has."""
    assert robolin.geometry_names(grouped_arm(2, ("floating",))) == ()
    names = robolin.geometry_names(GROUPED)
    assert "joint1/origin_x" in names
    assert "joint1/axis_x" not in names


@pytest.mark.slow
def test_motions_of_arms_with_other_parameters() -> None:
    """A motion changes with geometric parameters as simulating the changed arm does."""
    start = swing(robolin.load("two-link"), seed=1, duration=0.1)
    motion = start.motion()
    rows = motion.time, motion.q, motion.qd, motion.tau
    every = robolin.sensitivity_matrices(start.arm, *rows, geometry=True)
    for name in ("elbow/origin_x", "elbow/turn_z"):
        sensitivity = robolin.sensitivity(start.arm, *rows, parameters={name: 1.0})
        x = np.concatenate([sensitivity.dq, sensitivity.dqd], axis=-1)
        more, less = (
            replace(start, arm=with_parameter(start.arm, name, s)).motion() for s in (1e-4, -1e-4)
        )
        true = np.concatenate([more.q - less.q, more.qd - less.qd], axis=-1) / 2e-4
        size = np.abs(every.parameter).max()
        assert np.abs(x - true).max() < 1e-6 * size
        column = every.parameter[..., every.names.index(name)]
        np.testing.assert_allclose(column, x, rtol=0, atol=1e-12 * size)


def test_bundled_table_names_its_rows() -> None:
    """Joints written in a table have its parameters; others have none of them."""
    names = robolin.geometry_names(robolin.load("puma560"))
    assert "joint1/dh_alpha" in names
    assert not any("/dh_" in name for name in robolin.geometry_names(robolin.load("ur5")))
