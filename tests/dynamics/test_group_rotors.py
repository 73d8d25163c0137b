"""Armature of multi-DoF joints, against single-DoF joints and against MuJoCo.

Both sides round a few hundred products: 1e-12 of the largest entry.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.verification.bodies import coordinate_rates
from robolin.core.arm import GROUP_FREEDOMS, Arm
from robolin.core.configuration import matrix_of, quaternion_from_rpy
from robolin.description.building.build_arm import build
from robolin.description.building.keywords import ModelOptions
from robolin.description.model import Description, JointEntry, LinkEntry, SourceLocation
from tests.dynamics.running import STEP, gap
from tests.robots import arm_name, grouped_arm, random_body, random_pose, random_states

ROUNDING = 1e-12
HERE = SourceLocation("made here")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _pair(kind: str, seed: int, armature: dict[str, float]) -> tuple[Arm, Arm]:
    """An arm with a multi-DoF joint on a moving link, and one with single-DoF joints there.

    armature: of the translations of that joint
    """
    rng = np.random.default_rng(seed)
    swing, hand = (random_pose(rng) for _ in range(2))
    mount = random_pose(rng)
    bodies = {name: random_body(rng) for name in ("carrier", "body", "hand")}
    first = JointEntry("swing", "revolute", "ground", "carrier", HERE, swing, (0.0, 0.6, 0.8))
    last = JointEntry("wrist", "revolute", "body", "hand", HERE, hand, (0.6, 0.0, 0.8))
    several = JointEntry("joint", kind, "carrier", "body", HERE, mount, AXES["z"])
    options = ModelOptions(armature={f"joint:{part}": a for part, a in armature.items()})
    names = [f"joint:{part}" for part in GROUP_FREEDOMS[kind]]
    iter_models, parent = [], "carrier"
    for i, part in enumerate(GROUP_FREEDOMS[kind]):
        child = "body" if i == len(names) - 1 else f"stage{i}"
        entry = JointEntry(names[i], "continuous", parent, child, HERE, axis=AXES[part[-1]])
        if part in ("x", "y", "z"):
            entry = replace(entry, kind="prismatic", armature=armature.get(part, 0.0))
        iter_models.append(replace(entry, pose=mount) if i == 0 else entry)
        parent = child
    order = ("swing", *names, "wrist")

    def made(joints: list[JointEntry], options: ModelOptions) -> Arm:
        stages = [joint.child for joint in joints if joint.child.startswith("stage")]
        weighing = [LinkEntry(name, HERE, body) for name, body in bodies.items()]
        links = (LinkEntry("ground", HERE), *weighing, *(LinkEntry(x, HERE) for x in stages))
        description = Description("made", links, tuple(joints), "ground", "here", "0" * 64)
        return replace(build(description, options), joint_names=order)

    plain = made([first, *iter_models, last], ModelOptions())
    return made([first, several, last], options), plain


def _as_coordinates(arm: Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple:
    """Rates and second rates of the numbers in q, and J with rates = J q̇, state by state."""
    rates = coordinate_rates(arm, q, qd)
    moved = coordinate_rates(arm, q + 1j * STEP * rates, qd + 1j * STEP * qdd)
    J = np.swapaxes(coordinate_rates(arm, q[:, None, :], np.eye(arm.n)), 1, 2)
    return rates, np.imag(moved) / STEP, J


@pytest.mark.parametrize(
    ("kind", "armature"),
    [
        ("floating", {"x": 0.7, "y": 0.7, "z": 0.7}),
        ("planar", {"x": 1.3, "y": 1.3}),
    ],
)
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_translations_are_prismatic_joints(
    kind: str, armature: dict[str, float], engine: str
) -> None:
    """A rotor on every translation is equivalent to rotors on prismatic joints of the same axes.

    The link that carries the joint moves: armature follows the motion relative to it.
    """
    arm, plain = _pair(kind, 5, armature)
    s = random_states(arm, 4)
    rates, second, J = _as_coordinates(arm, s.q, s.qd, s.qdd)
    expected = robolin.inverse(plain, s.q, rates, second)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd, engine=engine)
    assert gap(tau, np.einsum("bji,bj->bi", J, expected)) <= ROUNDING
    M = robolin.mass_matrix(plain, s.q)
    assert (
        gap(robolin.mass_matrix(arm, s.q, engine=engine), np.swapaxes(J, 1, 2) @ M @ J) < ROUNDING
    )
    qdd = robolin.forward(arm, s.q, s.qd, tau, engine=engine)
    assert gap(qdd, s.qdd) <= 1e-10


def test_unequal_armature_keeps_the_energy() -> None:
    """With different armature along each axis, the power of torques is still the rate of energy."""
    arm, _ = _pair("floating", 6, {"x": 0.3, "y": 0.9, "z": 2.0})
    s = random_states(arm, 4)
    bare = replace(arm, gravity=(0.0, 0.0, 0.0))
    tau = robolin.inverse(bare, s.q, s.qd, s.qdd)

    def kinetic(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return 0.5 * np.einsum("bi,bij,bj->b", qd, robolin.mass_matrix(arm, q), qd)

    # central differences over 1e-5 s, right to about 1e-9
    h, rates = 1e-5, coordinate_rates(arm, s.q, s.qd)
    ahead = kinetic(s.q + h * rates, s.qd + h * s.qdd)
    behind = kinetic(s.q - h * rates, s.qd - h * s.qdd)
    assert gap((tau * s.qd).sum(-1), (ahead - behind) / (2.0 * h)) < 1e-7


ARMS = [
    _pair("floating", 7, {"x": 0.7, "y": 0.7, "z": 0.7})[0],
    _pair("floating", 8, {"x": 0.3, "z": 2.0})[0],
    _pair("planar", 9, {"x": 1.3, "y": 0.2})[0],
    grouped_arm(96, ["planar", "floating", "revolute"], tree=True, armature=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS[1:], ids=arm_name)
def test_everything_that_verify_checks(arm: Arm, request: pytest.FixtureRequest) -> None:
    """Complex steps, identities, 50 digits, engines and all algorithms agree with such rotors."""
    if arm is not ARMS[-1]:
        # the last one has all kinds of joints: its kernels are compared with plain Python
        request.getfixturevalue("without_kernels")
    verification = robolin.verify(arm, samples=1)
    assert verification.passed, verification.failed


@pytest.mark.parametrize("arm", ARMS[:3], ids=["equal", "unequal", "planar"])
def test_regressor_columns_of_such_rotors(arm: Arm) -> None:
    """More armature of one coordinate changes all torques by its column; Y π is τ."""
    s = random_states(arm, 3)
    Y = robolin.regressor(arm, s.q, s.qd, s.qdd)
    before = robolin.inverse(arm, s.q, s.qd, s.qdd)
    assert gap(Y.matrix @ Y.parameters, before) <= ROUNDING
    for k, link in enumerate(arm.links_tip_to_base):
        joint = replace(link.joint, armature=link.joint.armature + 1.0)
        links = list(arm.links_tip_to_base)
        links[k] = replace(link, joint=joint)
        tau = robolin.inverse(replace(arm, links_tip_to_base=tuple(links)), s.q, s.qd, s.qdd)
        column = Y.matrix[..., Y.names.index(f"{joint.name}/armature")]
        assert gap(column, tau - before, np.abs(tau).max()) <= ROUNDING, joint.name


FREE = """
<mujoco model="free">
  <worldbody>
    <body name="trunk" pos="0.1 0.2 0.3">
      <joint name="free" type="free" armature="0.7"/>
      <inertial pos="0.2 0.05 0.1" mass="1" diaginertia="0.03 0.02 0.04"/>
      <body name="thigh" pos="0.4 0 0">
        <joint name="hip" type="ball" armature="0.3"/>
        <inertial pos="0.15 0 0.02" mass="0.5" diaginertia="0.004 0.005 0.006"/>
        <body name="shank" pos="0.3 0 0">
          <joint name="knee" type="hinge" axis="0 1 0" armature="0.1"/>
          <inertial pos="0.05 0 0" mass="0.2" diaginertia="0.001 0.001 0.001"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_free_and_ball_joints_against_mujoco(tmp_path: Path) -> None:
    """𝓜, τ and q̈ with armature of a free and a ball joint are MuJoCo's.

    MuJoCo has the linear velocity of a free joint in the world's axes, all else in the body's.
    """
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "free.xml"
    path.write_text(FREE)
    arm, model = robolin.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, s = mujoco.MjData(model), random_states(arm, 5)
    names = list(arm.joint_names)
    lin, ang, hip = (
        [names.index(f"{joint}:{part}") for part in parts]
        for joint, parts in (
            ("free", "xyz"),
            ("free", ("rx", "ry", "rz")),
            ("hip", ("rx", "ry", "rz")),
        )
    )
    knee = names.index("knee")
    assert "0.7 on free:x" in arm.contract["armature"]
    for q, qd, qdd in zip(s.q, s.qd, s.qdd, strict=True):
        turns = [quaternion_from_rpy(q[places]) for places in (ang, hip)]
        R = matrix_of(turns[0])
        x, y, z, w = np.moveaxis(np.array(turns), -1, 0)
        quats = np.stack([w, x, y, z], axis=-1)
        # from robolin's velocities to MuJoCo's
        T = np.zeros((model.nv, arm.n))
        T[:3, lin] = R
        T[[3, 4, 5], ang] = T[[6, 7, 8], hip] = T[9, knee] = 1.0
        data.qpos[:] = [*(np.array([0.1, 0.2, 0.3]) + q[lin]), *quats[0], *quats[1], q[knee]]
        data.qvel[:], data.qacc[:] = T @ qd, T @ qdd
        data.qacc[:3] += R @ np.cross(qd[ang], qd[lin])
        mujoco.mj_inverse(model, data)
        tau, M = T.T @ data.qfrc_inverse, np.zeros((model.nv, model.nv))
        try:
            mujoco.mj_fullM(model, data, M)
        except TypeError:
            # before version 3.5 the sparse inertia was handed over instead of the data
            mujoco.mj_fullM(model, M, data.qM)
        assert gap(robolin.mass_matrix(arm, q), T.T @ M @ T) <= ROUNDING
        assert gap(robolin.inverse(arm, q, qd, qdd), tau) <= ROUNDING
        assert gap(robolin.forward(arm, q, qd, tau), qdd) <= 1e-11
