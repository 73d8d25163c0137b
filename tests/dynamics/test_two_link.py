"""The planar two-link arm: stored digits, and the closed form anyone can derive on one page."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from tests.robots import random_states

Q, QD, QDD = (0.3, -0.7), (0.5, -1.2), (0.8, 0.4)
G = 9.81

# two uniform rods of 1 kg and 1 m; computed once with an independent program, ten decimals
MASS = [[2.4315088540, 0.7157544270], [0.7157544270, 0.3333333333]]
CORIOLIS = [0.0773061225, -0.0805272109]
WEIGHT = [18.5755806131, 4.5178041756]
TAU = [20.8843955895, 5.1432138396]
A_D = [[-0.7730612247, -0.4509523811], [-0.3221088436, 0.0]]
B_D = [[-2.4384828720, 2.4625335938], [1.9100969690, 2.2633893173]]
MINV = [[1.1178234487, -2.4002612460], [-2.4002612460, 8.1539928382]]
A_C = [[-0.0910005899, -0.5040851458], [-0.7709243056, 1.0824035241]]
B_C = [[-7.3105250645, -2.6800478686], [21.4279129423, 12.5449363313]]
D = [0.8945956547, 0.3333333333]
NU = [0.4729153346, -0.0729588064]
C_NU = [0.0301249021, 0.1952681090]
EPSILON = [10.4041470493, 8.9083076844]


@pytest.fixture(scope="module")
def arm() -> Arm:
    return robolin.load("two-link")


def assert_printed(computed: np.ndarray, printed: list) -> None:
    """Equal to the last printed digit: half a unit of the tenth decimal."""
    np.testing.assert_allclose(computed, printed, rtol=0.0, atol=0.5000001e-10)


def test_inverse_dynamics_has_the_printed_digits(arm: Arm) -> None:
    """τ, its gravity part and its Coriolis part are those of the worked example."""
    weight = robolin.inverse(arm, Q)
    assert_printed(robolin.inverse(arm, Q, QD, QDD), TAU)
    assert_printed(weight, WEIGHT)
    assert_printed(robolin.inverse(arm, Q, QD) - weight, CORIOLIS)


def test_inverse_model_has_the_printed_digits(arm: Arm) -> None:
    """𝓜, A_D and B_D are those of the worked example."""
    model = robolin.linearize_inverse(arm, Q, QD, QDD)
    assert_printed(model.mass_matrix, MASS)
    assert_printed(model.dtau_dqd, A_D)
    assert_printed(model.dtau_dq, B_D)


@pytest.mark.parametrize("method", ["operator", "conventional"])
def test_forward_model_has_the_printed_digits(arm: Arm, method: str) -> None:
    """q̈ is the one we started from; 𝓜⁻¹, -A_C and -B_C are those of the worked example."""
    tau = robolin.inverse(arm, Q, QD, QDD)
    model = robolin.linearize_forward(arm, Q, QD, tau, method=method)
    np.testing.assert_allclose(model.qdd, QDD, rtol=1e-13)
    assert_printed(model.dqdd_dtau, MINV)
    assert_printed(-model.dqdd_dqd, A_C)
    assert_printed(-model.dqdd_dq, B_C)


def test_diagonalized_dynamics_has_the_printed_digits(arm: Arm) -> None:
    """D, ν, C(q, ν) and ε are those of the worked example; ε excludes gravity."""
    tau = robolin.inverse(arm, Q, QD, QDD)
    diagonalized = robolin.diagonalize(arm, Q, QD, tau)
    free = robolin.diagonalize(robolin.load("two-link", gravity=0.0), Q, QD, tau)
    assert_printed(diagonalized.D, D)
    assert_printed(diagonalized.nu, NU)
    assert_printed(diagonalized.coriolis, C_NU)
    assert_printed(free.epsilon, EPSILON)
    assert_printed(robolin.mass_matrix_factor(arm, Q).D, D)


def closed_form(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
    """The textbook formulas with m = l = 1, c = ½ and 1/12 about the middle."""
    (q1, q2), (w1, w2), (a1, a2) = q, qd, qdd
    h, hp = 0.5 * np.sin(q2), 0.5 * np.cos(q2)
    fall, fall12 = 1.5 * G, 0.5 * G
    s12 = fall12 * np.sin(q1 + q2)
    mass = np.array([[5.0 / 3.0 + 2.0 * hp, 1.0 / 3.0 + hp], [1.0 / 3.0 + hp, 1.0 / 3.0]])
    coriolis = np.array([-h * (2.0 * w1 * w2 + w2**2), h * w1**2])
    weight = np.array([fall * np.cos(q1) + fall12 * np.cos(q1 + q2), fall12 * np.cos(q1 + q2)])
    A = np.array([[-2.0 * h * w2, -2.0 * h * (w1 + w2)], [2.0 * h * w1, 0.0]])
    bend = -2.0 * h * a1 - h * a2 - hp * (2.0 * w1 * w2 + w2**2)
    B = np.array([[-fall * np.sin(q1) - s12, bend - s12], [-s12, -h * a1 + hp * w1**2 - s12]])
    tau = mass @ qdd + coriolis + weight
    return {"mass_matrix": mass, "dtau_dqd": A, "dtau_dq": B, "tau": tau}


def test_inverse_model_is_the_closed_form(arm: Arm) -> None:
    """At random states τ, 𝓜, A_D and B_D equal the textbook formulas to rounding."""
    states = random_states(arm, 20)
    for q, qd, qdd in zip(states.q, states.qd, states.qdd, strict=True):
        true = closed_form(q, qd, qdd)
        model = robolin.linearize_inverse(arm, q, qd, qdd)
        arrays = {**vars(model), "tau": robolin.inverse(arm, q, qd, qdd)}
        for name, expected in true.items():
            # 1e-14 of the torques and inertias at play, all of order 10
            np.testing.assert_allclose(arrays[name], expected, rtol=0.0, atol=1e-13, err_msg=name)
