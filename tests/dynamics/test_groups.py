"""Multi-DoF joints anywhere in the tree: floating and planar ones among the others.

The references are Pinocchio, and the definition: differences along q ⊕ δq.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import complex_step, complex_step_along
from robolin.core.arm import HERE, Arm
from robolin.core.configuration import integrate, kinematic_block
from robolin.description.model import JointEntry, SourceLocation
from robolin.description.multi_dof_joints import joints_of_group
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.compiled.kernels import host_width
from robolin.engine.parameters import parameters_of
from robolin.evaluation.frames import drop_virtual_links
from tests.dynamics.running import gap, gap_by_state, run_on
from tests.engine.on_lanes import on_lanes
from tests.robots import TOOL, WRENCH_MODELS, arm_name, grouped_arm, random_states, with_wrench

ARMS = (
    grouped_arm(0, ["floating"]),
    grouped_arm(1, ["planar", "revolute"]),
    grouped_arm(2, ["revolute", "planar", "prismatic", "floating", "revolute"]),
    grouped_arm(3, ["floating", "revolute", "planar", "revolute", "prismatic", "revolute"], True),
    grouped_arm(
        4, ["planar", "floating", "revolute", "floating", "prismatic"], True, armature=True
    ),
    grouped_arm(5, ["revolute", "revolute", "planar", "planar", "floating"], True),
    grouped_arm(6, ["spherical", "revolute", "spherical", "prismatic"], True, armature=True),
)
STATES = 2
FORWARD = [
    name
    for name, algorithm in ALGORITHMS.items()
    if name.startswith("forward") and not algorithm.inverts_bodies and "qdd" in algorithm.gives
    if algorithm.kind != "closed" and not {"dqd", "prescribed"} & {*algorithm.needs}
]


def _pairs(*matrices_and_vectors: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return sum(np.einsum("bij,bj->bi", A, x) for A, x in matrices_and_vectors)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_pinocchio_agrees(arm: Arm) -> None:
    """Inverse and forward dynamics and both linearizations are Pinocchio's.

    Inverse side 1e-12 (1e-15 seen); what divides by 𝓜 is allowed 1e-15 cond(𝓜) more, q̈ ten times.
    """
    pytest.importorskip("pinocchio")
    from tests.dynamics.grouped_reference import grouped_model, grouped_reference

    states = random_states(arm, STATES)
    true = grouped_reference(grouped_model(arm), arm, states)
    motion = (states.q, states.qd, states.qdd)
    assert gap_by_state(robolin.inverse(arm, *motion), true.tau).max() <= 1e-12
    model = robolin.linearize_inverse(arm, *motion)
    for name in ("mass_matrix", "dtau_dqd", "dtau_dq"):
        assert gap_by_state(getattr(model, name), getattr(true, name)).max() <= 1e-12, name

    tolerance = 1e-12 + 1e-15 * np.linalg.cond(true.mass_matrix)
    inputs = {"q": states.q, "qd": states.qd, "tau": true.tau}
    for algorithm in FORWARD:
        computed = run_on(arm, algorithm, inputs)["qdd"]
        assert (gap_by_state(computed, true.qdd) <= 10.0 * tolerance).all(), algorithm
    for algorithm in _linearizations(arm):
        computed = run_on(arm, algorithm, inputs)
        for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
            error = gap_by_state(computed[name], getattr(true, name))
            assert (error <= tolerance).all(), (algorithm, name)


def _linearizations(arm: Arm) -> list[str]:
    every = [f"linearize-forward{end}" for end in ("", "-tree", "-columns", "-conventional")]
    return every if arm.serial else every[1:]


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_vectors_are_matrices_times_changes(arm: Arm) -> None:
    """Algorithms 1, 3, 5 and 5b equal Algorithms 2 and 4 for the same changes.

    The same sums in another order: 1e-13 on the inverse side, 1e-11 where 𝓜 (cond up to 1e3) is
    divided by.
    """
    s = random_states(arm, STATES, seed=1)
    inverse = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    expected = _pairs(
        (inverse.mass_matrix, s.dqdd), (inverse.dtau_dqd, s.dqd), (inverse.dtau_dq, s.dq)
    )
    change = robolin.perturb_inverse(arm, s.q, s.qd, s.qdd, s.dq, s.dqd, s.dqdd)
    assert gap(change, expected) <= 1e-13

    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    forward = robolin.linearize_forward(arm, s.q, s.qd, tau)
    expected = _pairs(
        (forward.dqdd_dtau, s.dtau), (forward.dqdd_dqd, s.dqd), (forward.dqdd_dq, s.dq)
    )
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd, "dq": s.dq, "dqd": s.dqd, "dtau": s.dtau}
    for end in ("", "-articulated", "-conventional"):
        change = run_on(arm, f"perturb-forward{end}", inputs)["dqdd"]
        assert gap(change, expected) <= 1e-11, end


@pytest.mark.parametrize("model", WRENCH_MODELS)
@pytest.mark.parametrize("arm", ARMS[1:4], ids=arm_name)
def test_gradients_are_differences_along_the_tangent(arm: Arm, model: str) -> None:
    """∂τ/∂q, with a load of any kind, is the limit of τ(q ⊕ δ) - τ(q).

    Central differences with h = 1e-4 err by h² and rounding/h: 1e-7 of the largest entry.
    """
    arm, h = with_wrench(arm, model), 1e-4
    s = random_states(arm, 2, seed=2)
    dtau_dq = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd).dtau_dq
    steps = h * np.eye(arm.n)
    q, qd, qdd = (x[:, None, :] for x in (s.q, s.qd, s.qdd))
    ahead, behind = (
        robolin.inverse(arm, integrate(arm, q, sign * steps), qd, qdd) for sign in (1.0, -1.0)
    )
    expected = np.swapaxes(ahead - behind, -1, -2) / (2.0 * h)
    assert gap(dtau_dq, expected) <= 1e-7


@pytest.mark.parametrize("model", WRENCH_MODELS)
@pytest.mark.parametrize("arm", ARMS[2:4], ids=arm_name)
def test_forward_gradients_follow_loads(arm: Arm, model: str) -> None:
    """-𝓜⁻¹ ∂τ/∂q is ∂q̈/∂q by every algorithm, with a load of any kind (1e-11: cond up to 1e3)."""
    arm = with_wrench(arm, model)
    s = random_states(arm, 2, seed=3)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    inverse = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    expected = -np.linalg.solve(inverse.mass_matrix, inverse.dtau_dq)
    for algorithm in _linearizations(arm):
        dqdd_dq = run_on(arm, algorithm, {"q": s.q, "qd": s.qd, "tau": tau})["dqdd_dq"]
        assert gap(dqdd_dq, expected) <= 1e-11, algorithm


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_factors_rebuild_the_mass_matrix(arm: Arm) -> None:
    """(I + HφK) D (I + HφK)* is 𝓜 and the inverse factors 𝓜⁻¹, one scalar per coordinate."""
    q = random_states(arm, STATES).q
    M = robolin.mass_matrix(arm, q)
    parts = run_on(arm, "mass-matrix-factor", {"q": q})
    rebuilt = np.einsum("bij,bj,bkj->bik", parts["factor"], parts["D"], parts["factor"])
    assert gap(rebuilt, M) <= 1e-13
    for name in ("mass-matrix-inverse-tree", "mass-matrix-inverse-columns"):
        inverse = run_on(arm, name, {"q": q})["mass_matrix_inverse"]
        assert gap(inverse @ M, np.eye(arm.n)) <= 1e-11, name


@pytest.mark.parametrize("arm", ARMS[:3], ids=arm_name)
def test_the_tangent_of_a_moving_arm_turns(arm: Arm) -> None:
    """Two motions that start δ apart are (I + h block) δ + h δq̇ apart after h.

    By differences of q ⊕ h q̇ with a small δ: 1e-6 of the largest entry.
    """
    from robolin.core.configuration import difference

    s = random_states(arm, 1, seed=4)
    q, qd, delta, h = s.q[0], s.qd[0], 1e-5 * s.dq[0], 1e-5
    near = integrate(arm, q, delta)
    apart = difference(arm, integrate(arm, q, h * qd), integrate(arm, near, h * qd))
    expected = kinematic_block(arm, qd) @ delta
    assert gap((apart - delta) / h / 1e-5, expected / 1e-5) <= 1e-4


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_a_frame_moves_as_its_derivatives_say(arm: Arm) -> None:
    """Jacobian, ∂twist/∂q and ∂a/∂q of the tool are differences along q ⊕ δ, to 1e-8."""
    arm, h = replace(arm, tip=arm.frames[TOOL]), 1e-5
    s = random_states(arm, 1, seed=5)
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    steps = h * np.eye(arm.n)
    ahead, behind = (
        run_on(arm, "frame-motion", inputs | {"q": integrate(arm, s.q, sign * steps)})
        for sign in (1.0, -1.0)
    )
    results = run_on(arm, "frame-derivatives", inputs)
    columns = run_on(arm, "jacobian", {"q": s.q, "qd": s.qd})["jacobian"]
    for name, derivative in (
        ("position", columns[0, 3:]),
        ("twist", results["dtwist_dq"][0]),
        ("classical_acceleration", results["dclassical_acceleration_dq"][0]),
    ):
        difference = (ahead[name] - behind[name]).T / (2.0 * h)
        assert gap(difference, derivative, made_of=1.0) <= 1e-8, name


@pytest.mark.parametrize(
    "axis",
    [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -2, 0), (3, -4, 5), (1e-9, 0, -1), (1e-200, 1e-200, -1)],
)
def test_a_plane_has_right_handed_axes(axis: tuple[float, float, float]) -> None:
    """x and y of a planar joint span the plane across its axis, and x rotates to y about it."""
    joint = JointEntry("cart", "planar", "ground", "wagon", SourceLocation(""), axis=axis)
    x, y, normal = (np.array(part.axis) for part in joints_of_group(joint, "planar", HERE, {}, {}))
    assert np.abs(np.cross(x, y) - normal).max() <= 1e-15
    assert np.abs(np.cross(y, normal) - x).max() <= 1e-15
    assert gap(normal, np.array(axis) / np.linalg.norm(axis)) <= 1e-15


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_every_body_accelerates_as_its_frame(arm: Arm) -> None:
    """Links are listed once each, with the accelerations that the frame of that name has."""
    s = random_states(arm, 2)
    accelerations = robolin.link_accelerations(arm, s.q, s.qd, s.qdd)
    assert (
        len(arm.link_names) == len(arm.links) - len(arm.virtual_links) == len(set(arm.link_names))
    )
    for i, name in enumerate(arm.link_names):
        moving = robolin.frame_motion(arm, s.q, s.qd, s.qdd, frame=name)
        assert gap(accelerations.link_acceleration[:, i], moving.spatial_acceleration) <= 1e-13
        assert (
            gap(accelerations.link_classical_acceleration[:, i], moving.classical_acceleration)
            <= 1e-13
        )


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_b_gives_the_bodies_accelerations_too(arm: Arm) -> None:
    """λ + ζ of the four-sweep recursion equal the kinematics (1e-11: cond up to 1e3)."""
    s = random_states(arm, 2)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    ways = run_on(arm, "forward-bias-free-links", {"q": s.q, "qd": s.qd, "tau": tau})
    computed = drop_virtual_links(arm, ("link", 6), ways["link_acceleration"])
    true = robolin.link_accelerations(arm, s.q, s.qd, s.qdd).link_acceleration
    assert gap(computed, true) <= 1e-11


def test_operators_that_hold_for_single_dof_joints_only() -> None:
    """Ḧ and λ̇ are rejected on arms with groups, Ḣ and functions of q alone are not."""
    arm = ARMS[2]
    s = random_states(arm, 1)
    op = robolin.operators(arm, s.q[0], s.qd[0], s.qdd[0])
    J = robolin.jacobian(arm, s.q[0], s.qd[0], frame=TOOL)
    B = op.pick_off(TOOL)
    assert gap((B.T @ op.phi.T @ op.H.T).dense(), J.jacobian) <= 1e-13
    twist, bias = J.twist, (B.T @ op.phi.T @ op.Hd.T) @ s.qd[0]
    bias[3:] += np.cross(twist[:3], twist[3:])
    assert gap(bias, J.jacobian_rate_qd) <= 1e-13
    for name in ("Hdd", "lambda_dot"):
        with pytest.raises(
            robolin.RobolinError, match="is available only for joints with one degree of freedom"
        ):
            getattr(op, name)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_gradient_of_the_mass_matrix(arm: Arm) -> None:
    """∂𝓜/∂q is the complex step of 𝓜 along the twists of the joints' bodies; sums: 1e-12."""
    s = random_states(arm, STATES, seed=5)
    dM = robolin.mass_matrix_derivative(arm, s.q)
    true = complex_step(arm, "mass-matrix", {"q": s.q}, "q")["mass_matrix"]
    assert gap(dM, true, made_of=np.abs(robolin.mass_matrix(arm, s.q)).max()) <= 1e-12


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_coriolis_matrix_fits_the_rate_of_the_mass_matrix(arm: Arm) -> None:
    """C q̇ are the Coriolis torques, and 𝓜̇ - 2 C is skew with 𝓜̇ by complex step; sums: 1e-12."""
    s = random_states(arm, STATES, seed=6)
    arm, still = replace(arm, damping=False), np.zeros_like(s.q)
    C = robolin.coriolis_matrix(arm, s.q, s.qd)
    bias = robolin.inverse(arm, s.q, s.qd) - robolin.inverse(arm, s.q, still)
    assert gap(_pairs((C, s.qd)), bias) <= 1e-12
    rate = complex_step_along(arm, "mass-matrix", {"q": s.q}, {"q": s.qd})["mass_matrix"]
    skew = rate - 2.0 * C
    assert gap(skew, -skew.swapaxes(-1, -2), made_of=np.abs(C).max()) <= 1e-12


COMPILED = (
    "inverse",
    "forward",
    "forward-conventional",
    "mass-matrix",
    "mass-matrix-inverse",
    "mass-matrix-inverse-tree",
    "mass-matrix-inverse-columns",
    "mass-matrix-factor",
    "mass-matrix-derivative",
    "mass-matrix-second-derivative",
    "coriolis-matrix",
    "linearize-inverse",
    "perturb-inverse",
    "linearize-forward",
    "linearize-forward-tree",
    "linearize-forward-columns",
    "linearize-forward-conventional",
    "perturb-forward",
    "perturb-forward-articulated",
    "perturb-forward-conventional",
    "forward-bias-free-links",
    "forward-three-sweeps",
    "forward-two-sweeps",
    "link-accelerations",
    "jacobian",
    "frame-motion",
    "frame-derivatives",
    "operational-space-inverse",
)
CHAIN, TREE = ARMS[2], with_wrench(ARMS[3], "world")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_lanes_have_the_same_bits(name: str) -> None:
    """Floats, NumPy and lanes agree to the bit on arms with groups."""
    algorithm, rows = ALGORITHMS[name], 33
    arm = CHAIN if algorithm.kind == "serial" else TREE
    rng = np.random.default_rng(7)
    inputs = {each: rng.uniform(-2.0, 2.0, (rows, arm.n)) for each in algorithm.needs}
    expected = run.run_on(parameters_of(arm), algorithm.run, algorithm.gives, inputs)[0]
    lanes, status = on_lanes(arm, name, algorithm, inputs, width=host_width())
    assert not status.any()
    one = {each: values[5] for each, values in inputs.items()}
    on_floats = run.run_on(parameters_of(arm), algorithm.run, algorithm.gives, one)[0]
    for each, values in expected.items():
        assert np.isfinite(values).all()
        assert values.tobytes() == np.ascontiguousarray(lanes[each]).tobytes()
        assert values[5].tobytes() == on_floats[each].tobytes()


@pytest.mark.parametrize(
    "name", sorted(name for name, each in ALGORITHMS.items() if each.inverts_bodies)
)
def test_algorithms_that_invert_bodies_reject_groups(name: str) -> None:
    """Virtual links of a group have no inertia: the error names the joint and a hint."""
    from robolin.evaluation.evaluate import algorithm_for

    with pytest.raises(robolin.RobolinError) as caught:
        algorithm_for(ARMS[2], name)
    assert "'joint1' is planar" in caught.value.message
    assert "--base link1" in caught.value.hint
