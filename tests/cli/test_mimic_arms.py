"""Arms with grippers, whose fingers mimic each other: every verb works or is rejected with a hint.

Recursions through articulated bodies need independent joints, so elimination in the reduced mass
matrix is used, and the contract states it.  A request for the recursions is an error with a hint.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

ARM = "panda-fingers"
STATE = ("--q", "0,-0.8,0,-2.4,0,1.6,0.8,0.02", "--qd", "1,-0.5,0.3,0.2,-0.1,0.4,0.6,0.01")

ANSWERED = [
    ("mass-matrix --factor", "factor, D, factor_inverse: factorization of the mass matrix"),
    ("mass-matrix --inverse", "mass_matrix_inverse: elimination"),
    ("forward", "mass matrix and elimination"),
    ("linearize-forward", "Algorithm 4"),
    ("diagonalize", "factorization of the mass matrix"),
    ("diagonalize --unnormalized", "factorization of the mass matrix without square roots"),
    ("jacobian --frame panda_hand --operational-space", "J 𝓜⁻¹ J* by elimination"),
]


@pytest.mark.parametrize(("words", "method"), ANSWERED)
def test_elimination_is_used_and_in_the_contract(words: str, method: str) -> None:
    """The method is not specified."""
    verb, *flags = words.split()
    state = STATE[:2] if verb == "mass-matrix" else STATE
    document = json.loads(run_ok(verb, ARM, *state, *flags, "--format", "json").out)
    assert method in document["meta"]["contract"]["algorithm"]


RECURSIONS = [("linearize-forward", "operator")]
RECURSIONS += [("forward", each) for each in ("operator", "a", "b", "c", "d", "three-sweeps")]


@pytest.mark.parametrize(("verb", "method"), RECURSIONS)
def test_recursions_are_rejected_with_an_alternative(verb: str, method: str) -> None:
    """No method is called by a name that is not its own."""
    ran = robolin(verb, ARM, *STATE, "--method", method)
    assert ran.code == 3
    assert "'panda_finger_joint2' mimics 'panda_finger_joint1'" in ran.err
    assert "use the method 'auto' or 'conventional'" in ran.err
    assert "--lock panda_finger_joint1=0" in ran.err


@pytest.mark.parametrize("form", ["nu", "xi"])
def test_motions_in_diagonalizing_velocities_are_those_of_the_joints(form: str) -> None:
    """The integrator's own error apart, which falls with the fourth power of the step."""
    q, qd = (np.array([float(x) for x in text.split(",")]) for text in (STATE[1], STATE[3]))
    arm = library.load(ARM)
    motions = [
        library.simulate(arm, q, qd, duration=0.02, dt=2.5e-3, state=name, engine="python")
        for name in ("rates", form)
    ]
    np.testing.assert_allclose(motions[1].q, motions[0].q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motions[1].qd, motions[0].qd, rtol=0, atol=1e-6)


@pytest.mark.parametrize("form", ["rates", "nu", "xi"])
def test_the_contract_of_a_simulation_names_the_method(form: str) -> None:
    """Articulated bodies had no part in it."""
    flags = ("--state", form, "--duration", "0.01", "--dt", "0.01", "--format", "json")
    document = json.loads(run_ok("simulate", ARM, *STATE, *flags).out)
    assert document["meta"]["contract"]["velocities"].endswith(
        "by factorization of the mass matrix"
    )


@pytest.mark.parametrize("verb", ["diagonalize", "mass-matrix", "jacobian", "forward"])
def test_operations_of_elimination_are_counted(verb: str) -> None:
    """`count` lists the algorithm that is used on such an arm."""
    assert "elimination" in run_ok("count", verb, ARM).out


def test_operators_are_rejected_with_the_joint_to_lock() -> None:
    """The hint is what has to be typed."""
    with pytest.raises(library.RobolinError) as caught:
        library.operators(library.load(ARM), np.zeros(8))
    assert caught.value.hint.endswith("lock={'panda_finger_joint1': 0.0}")
