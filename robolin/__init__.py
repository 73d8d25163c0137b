"""robolin: dynamics and linearized dynamics of robot arms.

Names are imported when they are first used, so that a command that needs no arrays loads none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robolin.errors import FileError, RobolinError, UsageError
from robolin.version import __version__

if TYPE_CHECKING:
    from robolin.analysis.curvature import Curvature, curvature
    from robolin.analysis.identification import Identifiable, Regressor, identifiable, regressor
    from robolin.analysis.limits import JointLimits, limits
    from robolin.analysis.sensitivity import (
        Sensitivity,
        SensitivityMatrices,
        parameter_names,
        sensitivity,
        sensitivity_matrices,
    )
    from robolin.api.arm_dynamics import (
        Diagonalized,
        DiagonalizedUnnormalized,
        Factors,
        LinearizedForward,
        LinearizedInverse,
        coriolis_matrix,
        diagonalize,
        diagonalize_unnormalized,
        forward,
        inverse,
        linearize_forward,
        linearize_inverse,
        mass_matrix,
        mass_matrix_derivative,
        mass_matrix_factor,
        mass_matrix_inverse,
        mass_matrix_second_derivative,
        perturb_forward,
        perturb_inverse,
        undiagonalize,
        undiagonalize_unnormalized,
    )
    from robolin.api.closed_loops import (
        Closed,
        ClosedChange,
        LinearizedLoops,
        LoopConstraints,
        LoopForces,
        close,
        close_change,
        linearize_loops,
        loop_constraints,
        loop_forces,
    )
    from robolin.api.frame_kinematics import (
        FrameDerivatives,
        FrameJacobian,
        FrameMotion,
        LinkAccelerations,
        OperationalSpace,
        frame_derivatives,
        frame_motion,
        jacobian,
        link_accelerations,
        operational_space,
    )
    from robolin.arm import Arm, Joint, Link
    from robolin.control.closed_loop import FeedbackCost
    from robolin.control.linear_model import state_space
    from robolin.control.pole_placement import PlacedPoles, place_poles
    from robolin.control.poles import Poles
    from robolin.control.reachability import Reachability
    from robolin.control.regulator import Estimator, Regulator, kalman, lqr
    from robolin.control.state_space import StateSpace
    from robolin.control.time_response import TimeResponse
    from robolin.control.time_varying import TimeVaryingRegulator, tvlqr, tvlqr_blocks
    from robolin.control.trim import Trim, trim
    from robolin.description.load import from_urdfpy, load
    from robolin.files.stored import read_result
    from robolin.geometry.configuration import advanced, difference, kinematic_block
    from robolin.operator_algebra.robot import Operators, operators
    from robolin.simulation.controllers import PoseControl, RateControl
    from robolin.simulation.feedback_control import ComputedTorque, FeedbackControl, PDControl
    from robolin.simulation.simulate import simulate
    from robolin.simulation.simulated_motion import Simulation
    from robolin.simulation.torques import TorqueTable
    from robolin.verification.verify import Verification, verify

_HOME = {
    **dict.fromkeys(("Curvature", "curvature"), "robolin.analysis.curvature"),
    **dict.fromkeys(
        ("Identifiable", "Regressor", "identifiable", "regressor"),
        "robolin.analysis.identification",
    ),
    **dict.fromkeys(
        (
            "Sensitivity",
            "SensitivityMatrices",
            "parameter_names",
            "sensitivity",
            "sensitivity_matrices",
        ),
        "robolin.analysis.sensitivity",
    ),
    **dict.fromkeys(("Arm", "Joint", "Link"), "robolin.arm"),
    **dict.fromkeys(
        ("advanced", "difference", "kinematic_block"), "robolin.geometry.configuration"
    ),
    **dict.fromkeys(("load", "from_urdfpy"), "robolin.description.load"),
    "FeedbackCost": "robolin.control.closed_loop",
    "Poles": "robolin.control.poles",
    "Reachability": "robolin.control.reachability",
    "StateSpace": "robolin.control.state_space",
    "TimeResponse": "robolin.control.time_response",
    "state_space": "robolin.control.linear_model",
    **dict.fromkeys(("PlacedPoles", "place_poles"), "robolin.control.pole_placement"),
    **dict.fromkeys(("Estimator", "Regulator", "kalman", "lqr"), "robolin.control.regulator"),
    **dict.fromkeys(
        ("TimeVaryingRegulator", "tvlqr", "tvlqr_blocks"), "robolin.control.time_varying"
    ),
    **dict.fromkeys(("Trim", "trim"), "robolin.control.trim"),
    **dict.fromkeys(
        ("ComputedTorque", "FeedbackControl", "PDControl"), "robolin.simulation.feedback_control"
    ),
    "read_result": "robolin.files.stored",
    **dict.fromkeys(("Operators", "operators"), "robolin.operator_algebra.robot"),
    **dict.fromkeys(("PoseControl", "RateControl"), "robolin.simulation.controllers"),
    **dict.fromkeys(
        (
            "Closed",
            "ClosedChange",
            "LinearizedLoops",
            "LoopConstraints",
            "LoopForces",
            "close",
            "close_change",
            "linearize_loops",
            "loop_constraints",
            "loop_forces",
        ),
        "robolin.api.closed_loops",
    ),
    **dict.fromkeys(
        (
            "FrameDerivatives",
            "FrameJacobian",
            "FrameMotion",
            "LinkAccelerations",
            "OperationalSpace",
            "frame_derivatives",
            "frame_motion",
            "jacobian",
            "link_accelerations",
            "operational_space",
        ),
        "robolin.api.frame_kinematics",
    ),
    "Simulation": "robolin.simulation.simulated_motion",
    "TorqueTable": "robolin.simulation.torques",
    "simulate": "robolin.simulation.simulate",
    **dict.fromkeys(("JointLimits", "limits"), "robolin.analysis.limits"),
    **dict.fromkeys(("Verification", "verify"), "robolin.verification.verify"),
}

__all__ = [
    "Arm",
    "Closed",
    "ClosedChange",
    "ComputedTorque",
    "Curvature",
    "Diagonalized",
    "DiagonalizedUnnormalized",
    "Estimator",
    "Factors",
    "FeedbackControl",
    "FeedbackCost",
    "FileError",
    "FrameDerivatives",
    "FrameJacobian",
    "FrameMotion",
    "Identifiable",
    "Joint",
    "JointLimits",
    "LinearizedForward",
    "LinearizedInverse",
    "LinearizedLoops",
    "Link",
    "LinkAccelerations",
    "LoopConstraints",
    "LoopForces",
    "OperationalSpace",
    "Operators",
    "PDControl",
    "PlacedPoles",
    "Poles",
    "PoseControl",
    "RateControl",
    "Reachability",
    "Regressor",
    "Regulator",
    "RobolinError",
    "Sensitivity",
    "SensitivityMatrices",
    "Simulation",
    "StateSpace",
    "TimeResponse",
    "TimeVaryingRegulator",
    "TorqueTable",
    "Trim",
    "UsageError",
    "Verification",
    "__version__",
    "advanced",
    "close",
    "close_change",
    "coriolis_matrix",
    "curvature",
    "diagonalize",
    "diagonalize_unnormalized",
    "difference",
    "forward",
    "frame_derivatives",
    "frame_motion",
    "from_urdfpy",
    "identifiable",
    "inverse",
    "jacobian",
    "kalman",
    "kinematic_block",
    "limits",
    "linearize_forward",
    "linearize_inverse",
    "linearize_loops",
    "link_accelerations",
    "load",
    "loop_constraints",
    "loop_forces",
    "lqr",
    "mass_matrix",
    "mass_matrix_derivative",
    "mass_matrix_factor",
    "mass_matrix_inverse",
    "mass_matrix_second_derivative",
    "operational_space",
    "operators",
    "parameter_names",
    "perturb_forward",
    "perturb_inverse",
    "place_poles",
    "read_result",
    "regressor",
    "sensitivity",
    "sensitivity_matrices",
    "simulate",
    "state_space",
    "trim",
    "tvlqr",
    "tvlqr_blocks",
    "undiagonalize",
    "undiagonalize_unnormalized",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'robolin' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "robolin.api.arm_dynamics")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
