"""The equivalent functions of docs/explain/comparison.md return the same numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import robolin
from tools.markdown import DOCS, ROOT

Floats = npt.NDArray[np.float64]

PAGE = (DOCS / "explain/comparison.md").read_text("utf-8")
URDF = str(ROOT / "models" / "panda.urdf")
FRAME = "panda_hand_tcp"
Q, QD, QDD, TAU = np.random.default_rng(0).uniform(-1, 1, (4, 7))
# round-off of divisions by the mass matrix of this arm, whose condition number is below 2e4
TOLERANCE = 1e-12
# error of MuJoCo's finite differences
DIFFERENCES = 1e-5


def rows(program: str) -> dict[str, str]:
    """First column -> second column of the table below the heading of a program."""
    section = PAGE.partition(f"## {program}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| `([\w.]+)[^|]*\| (.+?) \|", section, re.MULTILINE)
    return {name.rpartition(".")[2]: there for name, there in cells}


def compare(one: Any, other: Any, tolerance: float = TOLERANCE) -> None:
    one, other = np.asarray(one), np.asarray(other)
    assert np.abs(one - other).max() <= tolerance * np.abs(other).max()


def angular_first(rows_of_frame: Floats) -> Floats:
    """The order of robolin from linear rows above angular rows."""
    return np.concatenate([rows_of_frame[3:], rows_of_frame[:3]])


def test_functions_exist() -> None:
    """Every name after `robolin.` on the page is public."""
    names = set(re.findall(r"\brobolin\.(\w+)", PAGE))
    assert len(names) > 10
    assert names <= set(robolin.__all__) | {"load"}


def _pinocchio(pin: Any) -> dict[str, Callable[[], None]]:
    model = pin.buildModelFromUrdf(URDF)
    data = model.createData()
    arm = robolin.load("panda", damping=False)
    tcp = model.getFrameId(FRAME)
    mass_inverse = robolin.mass_matrix_inverse(arm, Q)
    at = robolin.momentum(arm, Q, QD)

    def derivatives_of_rnea() -> None:
        pin.computeRNEADerivatives(model, data, Q, QD, QDD)
        linear = robolin.linearize_inverse(arm, Q, QD, QDD)
        compare(data.dtau_dq, linear.dtau_dq)
        compare(data.dtau_dv, linear.dtau_dqd)

    def derivatives_of_aba() -> None:
        pin.computeABADerivatives(model, data, Q, QD, TAU)
        linear = robolin.linearize_forward(arm, Q, QD, TAU)
        compare(data.ddq_dq, linear.dqdd_dq)
        compare(data.ddq_dv, linear.dqdd_dqd)
        compare(np.triu(data.Minv), np.triu(linear.dqdd_dtau))

    def jacobians() -> None:
        for frame, reference in ((pin.LOCAL_WORLD_ALIGNED, "world"), (pin.LOCAL, "frame")):
            theirs = pin.computeFrameJacobian(model, data, Q, tcp, frame)
            ours = robolin.jacobian(arm, Q, frame=FRAME, reference=reference)  # type: ignore[arg-type]
            compare(angular_first(theirs), ours.jacobian)

    def regressor() -> None:
        ours = robolin.regressor(arm, Q, QD, QDD)
        theirs = pin.computeJointTorqueRegressor(model, data, Q, QD, QDD)
        order = ("mass", "mx", "my", "mz", "ixx", "ixy", "iyy", "ixz", "iyz", "izz")
        links = [name.removesuffix("/mass") for name in ours.names if name.endswith("/mass")]
        columns = [list(ours.names).index(f"{link}/{name}") for link in links for name in order]
        compare(theirs, ours.matrix[:, columns])

    def centroidal() -> None:
        pin.ccrba(model, data, Q, QD)
        compare(angular_first(data.Ag), at.momentum_matrix)

    def mass_matrix() -> None:
        compare(np.triu(pin.crba(model, data, Q)), np.triu(robolin.mass_matrix(arm, Q)))

    def inverse_mass_matrix() -> None:
        compare(np.triu(pin.computeMinverse(model, data, Q)), np.triu(mass_inverse))

    return {
        "rnea": lambda: compare(
            pin.rnea(model, data, Q, QD, QDD), robolin.inverse(arm, Q, QD, QDD)
        ),
        "nonLinearEffects": lambda: compare(
            pin.nonLinearEffects(model, data, Q, QD), robolin.inverse(arm, Q, QD)
        ),
        "computeGeneralizedGravity": lambda: compare(
            pin.computeGeneralizedGravity(model, data, Q), robolin.inverse(arm, Q)
        ),
        "aba": lambda: compare(pin.aba(model, data, Q, QD, TAU), robolin.forward(arm, Q, QD, TAU)),
        "crba": mass_matrix,
        "computeMinverse": inverse_mass_matrix,
        "computeCoriolisMatrix": lambda: compare(
            pin.computeCoriolisMatrix(model, data, Q, QD), robolin.coriolis_matrix(arm, Q, QD)
        ),
        "computeRNEADerivatives": derivatives_of_rnea,
        "computeABADerivatives": derivatives_of_aba,
        "computeFrameJacobian": jacobians,
        "computeJointTorqueRegressor": regressor,
        "ccrba": centroidal,
        "centerOfMass": lambda: compare(pin.centerOfMass(model, data, Q), at.com),
        "jacobianCenterOfMass": lambda: compare(
            pin.jacobianCenterOfMass(model, data, Q), at.com_jacobian
        ),
    }


def test_pinocchio() -> None:
    """Every row of the table returns the same numbers, without damping."""
    functions = _pinocchio(pytest.importorskip("pinocchio"))
    assert functions.keys() == rows("Pinocchio").keys()
    for function in functions.values():
        function()


def test_pinocchio_has_another_order_of_a_floating_base() -> None:
    """A free-flyer has linear components first; robolin has angular components first."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(URDF, pin.JointModelFreeFlyer())
    arm = robolin.load("panda", floating_base=True, damping=False)
    order = [3, 4, 5, 0, 1, 2, *range(6, 13)]
    theirs = pin.crba(model, model.createData(), pin.integrate(model, pin.neutral(model), _base(Q)))
    compare(np.triu(theirs)[:6, 6:][order[:6]], robolin.mass_matrix(arm, _base(Q))[:6, 6:])


def _base(q: Floats) -> Floats:
    """Positions with the base at the origin."""
    return np.concatenate([np.zeros(6), q])


def test_mujoco() -> None:
    """Every row of the table returns the same numbers, with damping and without constraints."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(URDF)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = Q, QD, QDD
    arm = robolin.load("panda")
    free = robolin.load("panda", damping=False)

    mujoco.mj_inverse(model, data)
    compare(data.qfrc_inverse, robolin.inverse(arm, Q, QD, QDD))

    derivatives = np.zeros((2, 7, 7))
    mass = np.zeros((7, 7))
    mujoco.mjd_inverseFD(
        model, data, 1e-6, 0, derivatives[0], derivatives[1], mass, None, None, None, None
    )
    linear = robolin.linearize_inverse(arm, Q, QD, QDD)
    compare(derivatives[0].T, linear.dtau_dq, DIFFERENCES)
    compare(derivatives[1].T, linear.dtau_dqd, DIFFERENCES)
    compare(mass, linear.mass_matrix, DIFFERENCES)

    data.qfrc_applied[:] = TAU
    mujoco.mj_forward(model, data)
    compare(data.qacc, robolin.forward(arm, Q, QD, TAU))
    compare(data.qfrc_bias, robolin.inverse(free, Q, QD))
    try:
        mujoco.mj_fullM(model, data, mass)
    except TypeError:
        # before version 3.5 the argument is the sparse inertia instead of the data
        mujoco.mj_fullM(model, mass, data.qM)
    compare(mass, robolin.mass_matrix(arm, Q))
    linear_rows, angular_rows = np.zeros((2, 3, 7))
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "panda_link7")
    mujoco.mj_jacBody(model, data, linear_rows, angular_rows, body)
    ours = robolin.jacobian(arm, Q, frame="panda_link7").jacobian
    compare(np.concatenate([angular_rows, linear_rows]), ours)

    assert rows("MuJoCo").keys() == {
        "mj_inverse", "mjd_inverseFD", "mj_forward", "qfrc_bias", "mj_jacBody", "mj_fullM"
    }  # fmt: skip


def test_python_control() -> None:
    """python-control has the same model, poles and gains."""
    control = pytest.importorskip("control")
    model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
    theirs = model.to_control()
    compare(np.sort_complex(theirs.poles()), np.sort_complex(model.poles().values))
    gain, _, _ = control.lqr(model.A, model.B, np.eye(4), np.eye(2))
    compare(gain, robolin.lqr(model, np.eye(4), np.eye(2)).K, 1e-10)
    assert rows("python-control").keys() == {"ss", "poles", "lqr"}
