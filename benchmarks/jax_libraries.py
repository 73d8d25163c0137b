"""Dynamics on JAX: robolin.jax, frax, MJX and adam on the same states, on one core.

Every program is compiled with `jit`, maps over states with `vmap` and computes with 64 bits.
Jacobians of the other libraries are from `jacfwd`; robolin has its own.  XLA gets one core, like
all single-core programs here.  A library that is not installed is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from benchmarks.agreement import Disagreement, gap
from benchmarks.compiled_loops import BUILT
from benchmarks.subjects import VERBS, States, Subject, panda
from benchmarks.timing import Contestant, Effort, compared, interleaved, progress
from benchmarks.verbs import robolin_answer
from robolin.description.robot_source import bundled_path

STATES = 1024
TASKS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")
JACOBIANS = {
    "linearize-inverse": ("dtau_dq", "dtau_dqd", "mass_matrix"),
    "linearize-forward": ("dqdd_dq", "dqdd_dqd", "dqdd_dtau"),
}
# environment that frax recommends; JAX reads it when it is imported
SETTINGS = {
    "JAX_ENABLE_X64": "1",
    "JAX_COMPILATION_CACHE_DIR": str(BUILT / "jax"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false "
    "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
}
# largest difference of an entry, divided by the largest entry of the state
TOLERANCE = 1e-9

# inverse, forward and mass matrix of one state
Functions = dict[str, Callable[..., Any]]


def measured(effort: Effort) -> dict[str, Any]:
    """Times, ratios and differences of each task; empty without JAX."""
    if find_spec("jax") is None:
        progress("JAX is not installed: its libraries are left out")
        return {"arm": "", "states": 0, "verbs": {}}
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    with _one_core():
        return _measured(panda(), effort)


def _measured(subject: Subject, effort: Effort) -> dict[str, Any]:
    states = subject.states(STATES)
    libraries = dict(_libraries(subject))
    report = {}
    for verb in TASKS:
        progress(f"{subject.title} on JAX: {verb}")
        ours = robolin_answer(subject.arm, verb, states, jobs=1)
        expected, gaps = ours(STATES), {}
        contestants = {"robolin": Contestant(ours, STATES, process_time)}
        for name, functions in libraries.items():
            answer = _compiled(functions, verb, states)
            gaps[name] = _checked(name, verb, expected, answer(STATES))
            contestants[name] = Contestant(answer, STATES, process_time)
        report[verb] = compared(interleaved(contestants, effort.rounds))
        for name, difference in gaps.items():
            report[verb][name]["gap"] = difference
    return {"arm": subject.title, "states": STATES, "verbs": report}


def _compiled(functions: Functions, verb: str, states: States) -> Callable[[int], Any]:
    """The function for all states, with arrays that JAX has already."""
    import jax

    if verb in functions:
        run = functions[verb]
    else:
        source = verb.removeprefix("linearize-")
        jacobians = jax.vmap(jax.jacfwd(functions[source], argnums=(0, 1, 2)))
        run = lambda *state: dict(zip(JACOBIANS[verb], jacobians(*state), strict=True))  # noqa: E731
    mapped = jax.jit(run if verb not in TASKS[:3] or "batched" in functions else jax.vmap(run))
    inputs = [jax.numpy.asarray(states[name]) for name in VERBS[verb][0]]
    return lambda _rows: jax.block_until_ready(mapped(*inputs))


def _checked(name: str, verb: str, expected: dict[str, np.ndarray], answer: Any) -> float:
    """Largest relative difference; an error above the tolerance."""
    named = answer if isinstance(answer, dict) else {VERBS[verb][1]: answer}
    if hasattr(answer, "_asdict"):
        named = answer._asdict()
    worst = max(float(gap(expected[key], np.asarray(each)).max()) for key, each in named.items())
    if not worst <= TOLERANCE:
        raise Disagreement(f"{verb}: {name} is {worst:.1e} off, {TOLERANCE:.0e} would be fine")
    return worst


def _libraries(subject: Subject) -> Iterator[tuple[str, Functions]]:
    """Each installed library with its functions of the subject."""
    import robolin.jax

    own = {verb: robolin.jax.function(subject.arm, verb) for verb in TASKS}
    yield "robolin.jax", {**own, "batched": own["inverse"]}
    for name, package, make in (
        ("frax", "frax", _frax),
        ("MJX", "mujoco.mjx", _mjx),
        ("adam", "adam", _adam),
    ):
        if not _is_installed(package):
            progress(f"{name} is not installed and left out")
            continue
        yield name, make(subject)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        # the package that contains it is missing
        return False


def _frax(subject: Subject) -> Functions:
    import jax.numpy as jnp
    from frax import Robot

    robot = Robot(str(bundled_path(subject.urdf)))
    gravity = jnp.array([*(-g for g in subject.arm.gravity), 0.0, 0.0, 0.0])
    return {
        "inverse": lambda q, qd, qdd: robot.rnea(q, qd, qdd, gravity, None),
        "forward": lambda q, qd, tau: robot.forward_dynamics(q, qd, tau, None),
        "mass-matrix": robot.crba,
    }


def _mjx(subject: Subject) -> Functions:
    """Only the steps that the result needs: no sensors, contacts or constraints."""
    from mujoco import mjx
    from mujoco.mjx._src.smooth import solve_m

    from benchmarks.mujoco_peer import MuJoCo

    model = mjx.put_model(MuJoCo(subject).model)
    start = mjx.make_data(model)

    def placed(q: Any) -> Any:
        return mjx.crb(model, mjx.com_pos(model, mjx.kinematics(model, start.replace(qpos=q))))

    def with_bias(q: Any, qd: Any) -> Any:
        return mjx.rne(model, mjx.com_vel(model, placed(q).replace(qvel=qd)))

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        data = with_bias(q, qd)
        return mjx.mul_m(model, data, qdd) + data.qfrc_bias

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        data = mjx.factor_m(model, with_bias(q, qd))
        return solve_m(model, data, tau - data.qfrc_bias)

    return {
        "inverse": inverse,
        "forward": forward,
        "mass-matrix": lambda q: mjx.full_m(model, placed(q)),
    }


def _adam(subject: Subject) -> Functions:
    """adam has a floating base, which is held here."""
    import jax.numpy as jnp
    from adam.jax import KinDynComputations

    arm = subject.arm
    gravity = jnp.array([*arm.gravity, 0.0, 0.0, 0.0])
    path, joints = str(bundled_path(subject.urdf)), list(arm.joint_names)
    robot = KinDynComputations(path, joints, gravity=gravity)
    # adam 0.5 names a device inside `vmap`, which JAX 0.10 rejects
    robot.rbdalgos.math.factory._device = None
    base, still = jnp.eye(4), jnp.zeros(6)

    def mass_matrix(q: Any) -> Any:
        return robot.mass_matrix(base, q)[6:, 6:]

    def bias(q: Any, qd: Any) -> Any:
        return robot.bias_force(base, q, still, qd)[6:]

    return {
        "inverse": lambda q, qd, qdd: mass_matrix(q) @ qdd + bias(q, qd),
        "forward": lambda q, qd, tau: jnp.linalg.solve(mass_matrix(q), tau - bias(q, qd)),
        "mass-matrix": mass_matrix,
    }


@contextmanager
def _one_core() -> Iterator[None]:
    """XLA's threads start on one core and stay there."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    restore = partial(os.sched_setaffinity, 0, cores)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        restore()
