"""Identifiable parameters: known ranks, and the meaning of identifiability."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.analysis.identification import RANK_BELOW, _rank_and_shares, random_motions
from tests.robots import random_arm


def known(arm_name: str) -> robolin.Identifiable:
    arm = robolin.load(arm_name)
    return robolin.identifiable(arm, *random_motions(arm, 40))


def test_two_link() -> None:
    """A planar two-link arm has 6 base parameters, 2 of damping, and 2 rotors of which 1 counts.

    They are mx, my and izz of both links, others added to those of the first.  The first rotor
    adds to izz as well; the second concerns one joint, while izz of the second link concerns both.
    """
    identifiable = known("two-link")

    assert identifiable.rank == 6 + 2 + 1
    share = dict(zip(identifiable.names, identifiable.share, strict=True))
    assert share["elbow/armature"] == pytest.approx(1.0)
    assert share["shoulder/damping"] == pytest.approx(1.0)
    assert 0.0 < share["shoulder/armature"] < 0.999
    assert share["upper/ixx"] == 0.0
    assert share["upper/mz"] == 0.0


@pytest.mark.parametrize(
    "name, inertial",
    [("panda", 43), ("iiwa14", 43), ("ur5", 36), ("ur10", 36), ("puma560", 36)],
)
def test_published_numbers_of_base_parameters(name: str, inertial: int) -> None:
    """36 inertial base parameters of six-axis arms and 43 of seven-axis ones, as published."""
    arm = robolin.load(name)
    Y = robolin.regressor(arm, *random_motions(arm, 40))
    body = [i for i, label in enumerate(Y.names) if label.rpartition("/")[2] not in OF_JOINTS]
    stacked = Y.matrix[..., body].reshape(-1, len(body))
    singular = np.linalg.svd(stacked, compute_uv=False)

    assert int(np.sum(singular > 1e-8 * singular[0])) == inertial


OF_JOINTS = ("damping", "armature", "friction")


def test_round_off_is_not_an_effect() -> None:
    """A parameter that changes torques by round-off alone is not identifiable."""
    rng = np.random.default_rng(3)
    stacked = rng.normal(size=(20, 3)) * [1.0, 1e-15, 1.0]
    identifiable = _rank_and_shares(stacked, ("one", "rounding", "other"), RANK_BELOW)

    assert (identifiable.rank, identifiable.share[1]) == (2, 0.0)


def test_shares_add_up_to_the_rank() -> None:
    """The fractions are the diagonal of a projector on the identifiable space."""
    arm = random_arm(9, 6, tree=True)
    identifiable = robolin.identifiable(arm, *random_motions(arm, 40))

    assert identifiable.share.sum() == pytest.approx(identifiable.rank, abs=1e-9)
    assert ((identifiable.share >= 0.0) & (identifiable.share <= 1.0 + 1e-12)).all()


def test_parameters_of_share_one_follow_from_torques() -> None:
    """Least squares on torques recovers parameters of share 1; others need not be right."""
    arm = robolin.load("ur5")
    motions = random_motions(arm, 60)
    Y, identifiable = robolin.regressor(arm, *motions), robolin.identifiable(arm, *motions)
    tau = robolin.inverse(arm, *motions)
    stacked, target = Y.matrix.reshape(-1, len(Y.names)), tau.ravel()
    fitted = np.linalg.lstsq(stacked, target, rcond=1e-8)[0]

    sure = identifiable.share > 1.0 - 1e-9
    assert 10 < sure.sum() < len(sure)
    np.testing.assert_allclose(fitted[sure], Y.parameters[sure], atol=1e-9)
    assert np.abs(fitted - Y.parameters)[~sure].max() > 0.01


def test_the_chunk_size_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long motion is processed in parts; the result does not depend on their size."""
    import robolin.analysis.identification as module

    arm = robolin.load("panda")
    motions = random_motions(arm, 40)
    full = robolin.identifiable(arm, *motions)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 7)
    parts = robolin.identifiable(arm, *motions)

    assert parts.rank == full.rank
    np.testing.assert_allclose(parts.share, full.share, atol=1e-9)
    assert parts.condition == pytest.approx(full.condition, rel=1e-6)


def test_a_poor_motion_identifies_less() -> None:
    """At rest only gravity terms are identifiable, and a single pose gives only its torques."""
    arm = robolin.load("ur5")
    q = random_motions(arm, 40)[0]

    assert robolin.identifiable(arm, q[0]).rank <= arm.n
    assert (
        robolin.identifiable(arm, q).rank < robolin.identifiable(arm, *random_motions(arm, 40)).rank
    )


@pytest.mark.parametrize("slower", [1.0, 0.1, 0.02])
def test_slow_motions_identify_inertias_too(slower: float) -> None:
    """A slower motion excites inertias less than gravity, by the square, with the same rank."""
    arm = robolin.load("two-link", damping=False)
    q, qd, qdd = random_motions(arm, 40)
    identifiable = robolin.identifiable(arm, q, slower * qd, slower**2 * qdd)
    everything = robolin.identifiable(arm, q, qd, qdd)

    assert identifiable.rank == everything.rank
    assert identifiable.condition * slower**2 < 10.0 * everything.condition


def test_offset_columns_are_constant_torques() -> None:
    """A column per joint adds 1 to the torque of this joint, and all others stay."""
    arm = robolin.load("two-link")
    motions = random_motions(arm, 3)
    plain, extended = (robolin.regressor(arm, *motions, offsets=each) for each in (False, True))

    assert extended.names == (*plain.names, "shoulder/offset", "elbow/offset")
    np.testing.assert_array_equal(extended.matrix[..., :-2], plain.matrix)
    np.testing.assert_array_equal(extended.matrix[..., -2:], np.broadcast_to(np.eye(2), (3, 2, 2)))
    np.testing.assert_array_equal(extended.parameters, [*plain.parameters, 0.0, 0.0])
    states = robolin.States(q=motions[0], qd=motions[1], qdd=motions[2])
    result = robolin.answer(arm, robolin.Question("regressor", offsets=True), states)
    np.testing.assert_array_equal(result.arrays[0].values, extended.matrix)
    assert result.arrays[0].labels[1] == extended.names
