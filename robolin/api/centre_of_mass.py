"""Centre of mass and momentum of an arm."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.arrays import Floats
from robolin.core.choices import LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.methods import Method


@dataclass(frozen=True)
class Momentum(DisplayMixin):
    """com_velocity = com_jacobian q̇, and momentum = momentum_matrix q̇, about the centre of mass.

    Rates: d/dt(com_velocity) = com_jacobian q̈ + com_jacobian_rate_qd; momentum has the same form.
    All quantities are of the moving links, in world axes; links fixed to the base and rotors do not
    contribute.

    Fields:
        mass: total mass of the moving links (...) in kg
        com: their centre of mass in the root frame (..., 3) in m
        com_velocity: (..., 3) in m/s
        com_jacobian: (..., 3, n) in m/s per rad/s or m/s
        com_jacobian_rate_qd: (..., 3) in m/s²
        momentum: angular about the centre of mass, then linear (..., 6) in N·m·s and N·s
        momentum_matrix: (..., 6, n), the centroidal momentum matrix
        momentum_matrix_rate_qd: (..., 6) in N·m and N

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.momentum(arm, [0.3, -0.7]).com.round(4)
        array([0.9468, 0.1243, 0.    ])
    """

    mass: Floats
    com: Floats
    com_velocity: Floats
    com_jacobian: Floats
    com_jacobian_rate_qd: Floats
    momentum: Floats
    momentum_matrix: Floats
    momentum_matrix_rate_qd: Floats


def momentum(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Momentum:
    """Centre of mass, its Jacobian, and the momentum about it.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        method: "auto"; no effect, because there is one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: threads for batches of states; None for one per processor
        loop_method: no effect on kinematics

    Returns:
        a `Momentum`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or an arm
            whose moving links have no mass
        UsageError: not an arm, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> found = robolin.momentum(arm, [0.3, -0.7], [0.5, -1.2])
        >>> found.momentum.round(4)
        array([ 0.    ,  0.    , -0.0608, -0.3579,  0.3941,  0.    ])
        >>> (found.com_jacobian @ [0.5, -1.2] * found.mass).round(4)
        array([-0.3579,  0.3941,  0.    ])
    """
    options = run_options(method, engine, jobs, loop_method)
    require_arm(arm)
    require_mass(arm)
    return Momentum(**evaluate(arm, "momentum", {"q": q, "qd": qd}, **options))


def require_mass(arm: Arm) -> None:
    """Raise if the moving links have no mass."""
    if float_sum(link.inertia.mass for link in arm.links) <= 0.0:
        raise RobolinError(
            "nothing that moves has a mass, so there is no centre of mass",
            where=arm.source,
            hint="give the links their <inertial> (URDF) or mass (YAML)",
        )
