"""The curvature of the mass matrix: closed forms, symmetries, and the definition it shortens."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import robolin
from robolin.analysis.curvature import FLAT_BELOW, independent_symbols
from robolin.analysis.identification import random_configurations
from robolin.checking.verification.bodies import coordinate_rates
from robolin.core.arm import Arm, Inertia, Joint, Limits, Link, Pose
from robolin.description.robot_source import bundled_names
from tests.dynamics.running import STEP, run_on
from tests.robots import arm_name, grouped_arm, random_arm, random_states, with_follower

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ROD = Inertia(1.0, (0.5, 0.0, 0.0), (0.0, 0.0, 0.0, 1 / 12, 0.0, 1 / 12))
POINT = Inertia(2.0, (0.3, 0.0, 0.0))


def chain(name: str, *joints: tuple[str, tuple[float, ...], Inertia, float]) -> Arm:
    """Kind, axis, body and offset along x of every joint, base to tip."""
    links = [
        Link(
            f"link{i}",
            Joint(f"joint{i}", kind, Pose(translation=(offset, 0.0, 0.0)), axis),
            len(joints) - i + 2,
            body,
        )
        for i, (kind, axis, body, offset) in enumerate(joints, start=1)
    ]
    names = tuple(link.joint.name for link in links)
    return Arm(name, tuple(reversed(links)), {}, names)


CART_POLE = chain("cart-pole", ("prismatic", X, POINT, 0.0), ("revolute", Z, ROD, 0.0))
CARTESIAN = chain(
    "cartesian",
    ("prismatic", X, POINT, 0.0),
    ("prismatic", Y, ROD, 0.2),
    ("prismatic", Z, ROD, 0.1),
)
# a point mass in polar coordinates: 𝓜 = diag(m r², m) is not constant, and flat all the same
POLAR = chain("polar", ("revolute", Z, Inertia(), 0.0), ("prismatic", X, POINT, 0.0))
THREE = chain("three-link", *(("revolute", Z, ROD, float(i > 0)) for i in range(3)))


# its centre translates and it rotates: three coordinates in which 𝓜 = diag(m, m, J), none of them
# in q̇
PLATE = grouped_arm(1, ["planar"])


@pytest.mark.parametrize("arm", [CART_POLE, CARTESIAN, POLAR, PLATE], ids=arm_name)
def test_flat_arms(arm: Arm) -> None:
    """Arms whose mass matrix is flat in other coordinates have no curvature, to 1e-14 of 𝓜."""
    q = random_states(arm, 20).q
    if arm is POLAR:
        # at the pole itself these coordinates end
        q[:, 1] = np.abs(q[:, 1]) + 0.5
    curvature = robolin.curvature(arm, q)

    assert curvature.flat
    assert curvature.relative.max() <= 1e-14


BUNDLED = [robolin.load(name, open_loops=True) for name in bundled_names()]


@pytest.mark.parametrize(
    "arm",
    [THREE, *(arm for arm in BUNDLED if sum(joint.turns for joint in arm.joints) > 1)],
    ids=arm_name,
)
def test_curved_arms(arm: Arm) -> None:
    """Arms of several revolute joints are curved, far beyond round-off."""
    curvature = robolin.curvature(arm, random_configurations(arm, 5))

    assert not curvature.flat
    assert curvature.relative.max() > 1e5 * FLAT_BELOW


def test_two_link_closed_form() -> None:
    """R₁₂₁₂ = b cos q₂ (a c - c² - b²) / det 𝓜 with 𝓜 = [[a + 2b cos q₂, c + b cos q₂], [·, c]]."""
    arm = robolin.load("two-link")
    q = random_states(arm, 50).q
    a, b, c = 5 / 3, 1 / 2, 1 / 3
    cos = np.cos(q[:, 1])
    det = (a + 2 * b * cos) * c - (c + b * cos) ** 2
    true = b * cos * (a * c - c * c - b * b) / det

    computed = robolin.curvature(arm, q).symbols[:, 0, 1, 0, 1]
    np.testing.assert_allclose(computed, true, rtol=0, atol=1e-14 * np.abs(true).max())


def test_golden_symbol() -> None:
    """The textbook arm at its textbook pose, to the digits that are printed."""
    curvature = robolin.curvature(robolin.load("two-link"), [0.3, -0.7])

    assert round(float(curvature.symbols[0, 1, 0, 1]), 5) == 0.24936
    assert curvature.largest == ("shoulder", "elbow", "shoulder", "elbow")
    assert (curvature.at, curvature.independent, curvature.flat) == ((), 1, False)


CURVED = [random_arm(61, 3), random_arm(62, 5, tree=True), with_follower(random_arm(63, 4))]


def christoffel(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Γ(l,i,j) of the second kind, for any number type of q."""
    M = run_on(arm, "mass-matrix", {"q": q})["mass_matrix"]
    d = run_on(arm, "mass-matrix-derivative", {"q": q})["dmass_matrix_dq"]
    first = 0.5 * (np.einsum("...mij->...mij", d) + np.einsum("...mji->...mij", d))
    first = first - 0.5 * np.einsum("...ijm->...mij", d)
    return np.linalg.solve(M, first.reshape(*M.shape[:-1], -1)).reshape(first.shape)


@pytest.mark.parametrize("arm", CURVED, ids=arm_name)
def test_symbols_are_the_riemann_tensor(arm: Arm) -> None:
    """𝓜 (∂Γ - ∂Γ + ΓΓ - ΓΓ) by complex steps gives the same symbols up to the sign, to 1e-12.

    Both divide by 𝓜 once more than 𝓜 itself, with condition numbers up to 1e3 here.
    """
    for q in random_states(arm, 3).q:
        G = christoffel(arm, q)
        moved = christoffel(arm, q + 1j * STEP * np.eye(arm.n))
        d = np.moveaxis(moved.imag / STEP, 0, -1)
        tensor = np.einsum("likj->lijk", d) - np.einsum("lijk->lijk", d)
        tensor += np.einsum("ljm,mik->lijk", G, G) - np.einsum("lkm,mij->lijk", G, G)
        true = np.einsum("hl,lijk->hijk", robolin.mass_matrix(arm, q), tensor)

        symbols = robolin.curvature(arm, q).symbols
        size = np.abs(true).max()
        assert min(np.abs(symbols - true).max(), np.abs(symbols + true).max()) <= 1e-12 * size


@pytest.mark.parametrize("arm", CURVED, ids=arm_name)
def test_independent_symbols_give_all_others(arm: Arm) -> None:
    """n²(n²-1)/12 symbols, and the symmetries, determine all n⁴ of them."""
    curvature = robolin.curvature(arm, random_states(arm, 1).q[0])
    indices = independent_symbols(arm.n)
    rebuilt = _rebuilt({index: curvature.symbols[index] for index in indices}, arm.n)

    assert len(set(indices)) == curvature.independent == arm.n**2 * (arm.n**2 - 1) // 12
    np.testing.assert_allclose(
        rebuilt, curvature.symbols, rtol=0, atol=1e-13 * np.abs(curvature.symbols).max()
    )


def _rebuilt(known: dict[tuple[int, ...], float], n: int) -> np.ndarray:
    full = np.full((n,) * 4, np.nan)
    for index in np.ndindex(*full.shape):
        h, i, j, k = index
        if h == i or j == k:
            full[index] = 0.0
    for (h, i, j, k), value in known.items():
        _put(full, (h, i, j, k), value)
    # the others follow from the cyclic sum
    for h, i, j, k in permutations(range(n), 4):
        if np.isnan(full[h, i, j, k]) and not np.isnan(full[h, j, k, i] + full[h, k, i, j]):
            _put(full, (h, i, j, k), -full[h, j, k, i] - full[h, k, i, j])
    assert not np.isnan(full).any()
    return full


def _put(full: np.ndarray, index: tuple[int, int, int, int], value: float) -> None:
    h, i, j, k = index
    for a, b, c, d in ((h, i, j, k), (j, k, h, i)):
        full[a, b, c, d] = full[b, a, d, c] = value
        full[b, a, c, d] = full[a, b, d, c] = -value


def test_batches_say_where() -> None:
    """The largest symbol is found among all configurations, which may have any batch axes."""
    arm = robolin.load("two-link")
    q = np.zeros((3, 4, 2))
    q[..., 1] = np.pi / 2
    q[1, 2, 1] = 0.1
    curvature = robolin.curvature(arm, q)

    assert curvature.symbols.shape == (3, 4, 2, 2, 2, 2)
    assert curvature.at == (1, 2)
    assert curvature.relative[1, 2] == curvature.relative.max()


def test_one_joint_is_always_flat() -> None:
    """A single joint has no symbol that could be different from zero."""
    arm = random_arm(1, 1)
    curvature = robolin.curvature(arm, 0.3)

    assert curvature.flat
    assert curvature.independent == 0


GROUPED = [
    grouped_arm(6, ["spherical", "revolute", "spherical", "prismatic"], True),
    grouped_arm(8, ["floating", "revolute"]),
    with_follower(grouped_arm(7, ["revolute", "spherical", "planar", "revolute"])),
]


@pytest.mark.parametrize("arm", GROUPED, ids=arm_name)
def test_symbols_along_twists_are_those_of_coordinates(arm: Arm) -> None:
    """R of a body's twists is R of its x, y, z, roll, pitch and yaw, four times along their rates.

    The same arm with one joint for each of these has coordinates.  They end where the pitch is a
    right angle, so half of a random configuration; both divide by 𝓜, cond up to 1e3: 1e-11.
    """
    q = 0.5 * random_states(arm, 2).q
    plain = robolin.curvature(replace(arm, groups=()), q, engine="python").symbols
    rates = coordinate_rates(arm, q[:, None, :], np.eye(arm.n))
    true = np.einsum("rabcd,rha,rib,rjc,rkd->rhijk", plain, *[rates] * 4, optimize=True)

    symbols = robolin.curvature(arm, q, engine="python").symbols
    assert np.abs(symbols - true).max() <= 1e-11 * np.abs(true).max()


def test_a_body_that_turns_about_a_point() -> None:
    """Milnor: R₁₂₁₂ = A B (λ₃ μ₃ - μ₁ μ₂) for principal inertias A, B, C.

    λ₁ = A/√(ABC) and 2 μᵢ = Σλ - 2 λᵢ.  Only three of them are not 0; 1e-14 of inertias near 1.
    """
    inertias = np.array([0.7, 1.1, 1.3])
    text = """
robolin: 1
name: ball
joints: [{name: hip, type: spherical, parent: base, child: body}]
links: [{name: body, mass: 1, com: [0, 0, 0], inertia: {ixx: 0.7, iyy: 1.1, izz: 1.3}}]
"""
    symbols = robolin.curvature(robolin.load(text), random_states(robolin.load(text), 3).q).symbols
    lam = inertias / np.sqrt(inertias.prod())
    mu = 0.5 * lam.sum() - lam
    true = np.zeros((3,) * 4)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        size = inertias[i] * inertias[j] * (lam[k] * mu[k] - mu[i] * mu[j])
        true[i, j, i, j] = true[j, i, j, i] = size
        true[i, j, j, i] = true[j, i, i, j] = -size
    assert np.abs(symbols - true).max() <= 1e-14


def test_samples_keep_to_the_limits() -> None:
    """Random configurations are within the limits, reproducible, and differ by seed."""
    arm = robolin.load("panda")
    drawn = random_configurations(arm, 200, seed=3)
    low, high = np.array([(joint.limits.lower, joint.limits.upper) for joint in arm.joints]).T

    assert ((drawn >= low) & (drawn <= high)).all()
    assert (np.ptp(drawn, axis=0) > 0.9 * (high - low)).all()
    np.testing.assert_array_equal(drawn, random_configurations(arm, 200, seed=3))
    assert not np.array_equal(drawn, random_configurations(arm, 200, seed=4))


LIMITS = [
    ("revolute", Limits(), -np.pi, np.pi),
    ("revolute", Limits(-1e16, 1e16), -np.pi, np.pi),
    ("revolute", Limits(4.0, 6.0), 4.0, 6.0),
    ("revolute", Limits(upper=-5.0), -5.0 - 2 * np.pi, -5.0),
    ("prismatic", Limits(), -0.5, 0.5),
    ("prismatic", Limits(lower=2.0), 2.0, 3.0),
]


@pytest.mark.parametrize("kind, limits, low, high", LIMITS)
def test_samples_where_limits_say_little(
    kind: str, limits: Limits, low: float, high: float
) -> None:
    """Without limits, or with remote ones, a joint is sampled where it has an effect."""
    arm = chain("one", (kind, Z, ROD, 0.0))
    joint = replace(arm.links_tip_to_base[0].joint, limits=limits)
    arm = replace(arm, links_tip_to_base=(replace(arm.links_tip_to_base[0], joint=joint),))
    drawn = random_configurations(arm, 300)

    assert low <= drawn.min() < low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) < drawn.max() <= high
