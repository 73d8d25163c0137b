"""robolin: dynamics and linearized dynamics of robot arms.

    arm = robolin.load("panda")
    tau = robolin.inverse(arm, q, qd, qdd)

Arrays have batch axes first and joints last, in SI units and in the order of `arm.joint_names`.
`help(robolin.inverse)` explains the arguments; docs/reference/python.md lists all functions.
Names are imported on first use, so that commands without arrays start faster.
"""

from __future__ import annotations

__version__ = "0.1.0"

# type checkers assume True; importing it from `typing` would dominate the import time
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from robolin.analysis.cost_gradient import CostGradient as CostGradient
    from robolin.analysis.cost_gradient import cost_gradient as cost_gradient
    from robolin.analysis.curvature import Curvature as Curvature
    from robolin.analysis.curvature import curvature as curvature
    from robolin.analysis.excitation import Excitation as Excitation
    from robolin.analysis.excitation import excite as excite
    from robolin.analysis.external_torque import MomentumObserver as MomentumObserver
    from robolin.analysis.external_torque import external_torque as external_torque
    from robolin.analysis.identification import Identifiable as Identifiable
    from robolin.analysis.identification import Regressor as Regressor
    from robolin.analysis.identification import identifiable as identifiable
    from robolin.analysis.identification import regressor as regressor
    from robolin.analysis.identification import slotine_li_regressor as slotine_li_regressor
    from robolin.analysis.identify.identification_result import Identification as Identification
    from robolin.analysis.identify.identify import identify as identify
    from robolin.analysis.identify.recording import Recording as Recording
    from robolin.analysis.limits import JointLimits as JointLimits
    from robolin.analysis.limits import limits as limits
    from robolin.analysis.link_parameters import GeometryDerivative as GeometryDerivative
    from robolin.analysis.link_parameters import geometry_derivative as geometry_derivative
    from robolin.analysis.link_parameters import geometry_names as geometry_names
    from robolin.analysis.residuals import Residuals as Residuals
    from robolin.analysis.residuals import residuals as residuals
    from robolin.analysis.sensitivity import Sensitivity as Sensitivity
    from robolin.analysis.sensitivity import SensitivityMatrices as SensitivityMatrices
    from robolin.analysis.sensitivity import parameter_names as parameter_names
    from robolin.analysis.sensitivity import sensitivity as sensitivity
    from robolin.analysis.sensitivity import sensitivity_matrices as sensitivity_matrices
    from robolin.api.closed_loops import close as close
    from robolin.api.closed_loops import close_change as close_change
    from robolin.api.closed_loops import linearize_loops as linearize_loops
    from robolin.api.closed_loops import loop_constraints as loop_constraints
    from robolin.api.closed_loops import loop_forces as loop_forces
    from robolin.api.compiled_calls import compile as compile  # noqa: A004
    from robolin.api.compiled_calls import native_kernel as native_kernel
    from robolin.api.diagonal_coordinates import Diagonalized as Diagonalized
    from robolin.api.diagonal_coordinates import (
        DiagonalizedUnnormalized as DiagonalizedUnnormalized,
    )
    from robolin.api.diagonal_coordinates import diagonalize as diagonalize
    from robolin.api.diagonal_coordinates import (
        diagonalize_unnormalized as diagonalize_unnormalized,
    )
    from robolin.api.diagonal_coordinates import undiagonalize as undiagonalize
    from robolin.api.diagonal_coordinates import (
        undiagonalize_unnormalized as undiagonalize_unnormalized,
    )
    from robolin.api.frame_kinematics import Momentum as Momentum
    from robolin.api.frame_kinematics import frame_derivatives as frame_derivatives
    from robolin.api.frame_kinematics import frame_motion as frame_motion
    from robolin.api.frame_kinematics import jacobian as jacobian
    from robolin.api.frame_kinematics import link_accelerations as link_accelerations
    from robolin.api.frame_kinematics import momentum as momentum
    from robolin.api.frame_kinematics import operational_space as operational_space
    from robolin.api.gradients import ForwardGradient as ForwardGradient
    from robolin.api.gradients import InverseGradient as InverseGradient
    from robolin.api.gradients import gradient_forward as gradient_forward
    from robolin.api.gradients import gradient_inverse as gradient_inverse
    from robolin.api.gradients import hessian_forward as hessian_forward
    from robolin.api.gradients import hessian_inverse as hessian_inverse
    from robolin.api.gradients import hessian_vector_forward as hessian_vector_forward
    from robolin.api.gradients import hessian_vector_inverse as hessian_vector_inverse
    from robolin.api.inverse_and_forward import forward as forward
    from robolin.api.inverse_and_forward import inverse as inverse
    from robolin.api.linear_models import LinearizedForward as LinearizedForward
    from robolin.api.linear_models import LinearizedInverse as LinearizedInverse
    from robolin.api.linear_models import linearize_forward as linearize_forward
    from robolin.api.linear_models import linearize_inverse as linearize_inverse
    from robolin.api.linear_models import perturb_forward as perturb_forward
    from robolin.api.linear_models import perturb_inverse as perturb_inverse
    from robolin.api.mass_matrices import Factors as Factors
    from robolin.api.mass_matrices import coriolis_matrix as coriolis_matrix
    from robolin.api.mass_matrices import mass_matrix as mass_matrix
    from robolin.api.mass_matrices import mass_matrix_derivative as mass_matrix_derivative
    from robolin.api.mass_matrices import mass_matrix_factor as mass_matrix_factor
    from robolin.api.mass_matrices import mass_matrix_inverse as mass_matrix_inverse
    from robolin.api.mass_matrices import (
        mass_matrix_second_derivative as mass_matrix_second_derivative,
    )
    from robolin.api.result_types import Closed as Closed
    from robolin.api.result_types import ClosedChange as ClosedChange
    from robolin.api.result_types import FrameDerivatives as FrameDerivatives
    from robolin.api.result_types import FrameJacobian as FrameJacobian
    from robolin.api.result_types import FrameMotion as FrameMotion
    from robolin.api.result_types import LinearizedLoops as LinearizedLoops
    from robolin.api.result_types import LinkAccelerations as LinkAccelerations
    from robolin.api.result_types import LoopConstraints as LoopConstraints
    from robolin.api.result_types import LoopForces as LoopForces
    from robolin.api.result_types import OperationalSpace as OperationalSpace
    from robolin.api.result_types import loop_joint_torques as loop_joint_torques
    from robolin.batch.batch_plan import recording_paths as recording_paths
    from robolin.checking.outcome import CheckOutcome as CheckOutcome
    from robolin.checking.result_files import check as check
    from robolin.checking.result_files import record as record
    from robolin.checking.result_files import write as write
    from robolin.checking.verification.verify import Verification as Verification
    from robolin.checking.verification.verify import verify as verify
    from robolin.codegen.casadi_functions import casadi_function as casadi_function
    from robolin.codegen.generate import generate as generate
    from robolin.control.controllability import Estimator as Estimator
    from robolin.control.controllability import Reachability as Reachability
    from robolin.control.controllability import kalman as kalman
    from robolin.control.linear_model import state_space as state_space
    from robolin.control.optimization.inverse_kinematics import (
        InverseKinematics as InverseKinematics,
    )
    from robolin.control.optimization.inverse_kinematics import PoseGoal as PoseGoal
    from robolin.control.optimization.inverse_kinematics import ik as ik
    from robolin.control.optimization.optimal_motion import OptimalMotion as OptimalMotion
    from robolin.control.optimization.optimize import optimize as optimize
    from robolin.control.optimization.receding import receding as receding
    from robolin.control.poles import Poles as Poles
    from robolin.control.regulator import PlacedPoles as PlacedPoles
    from robolin.control.regulator import Regulator as Regulator
    from robolin.control.regulator import lqr as lqr
    from robolin.control.regulator import place_poles as place_poles
    from robolin.control.responses import TimeResponse as TimeResponse
    from robolin.control.retiming import RetimedMotion as RetimedMotion
    from robolin.control.retiming import retime as retime
    from robolin.control.simulation.controllers import PoseControl as PoseControl
    from robolin.control.simulation.controllers import RateControl as RateControl
    from robolin.control.simulation.feedback_control import ComputedTorque as ComputedTorque
    from robolin.control.simulation.feedback_control import FeedbackControl as FeedbackControl
    from robolin.control.simulation.feedback_control import PDControl as PDControl
    from robolin.control.simulation.simulate import simulate as simulate
    from robolin.control.simulation.simulated_motion import FeedbackCost as FeedbackCost
    from robolin.control.simulation.simulated_motion import Simulation as Simulation
    from robolin.control.simulation.torques import Push as Push
    from robolin.control.simulation.torques import TorqueTable as TorqueTable
    from robolin.control.state_space import StateSpace as StateSpace
    from robolin.control.time_varying import TimeVaryingRegulator as TimeVaryingRegulator
    from robolin.control.time_varying import tvlqr as tvlqr
    from robolin.control.time_varying import tvlqr_blocks as tvlqr_blocks
    from robolin.control.trim import Trim as Trim
    from robolin.control.trim import trim as trim
    from robolin.core.arm import Arm as Arm
    from robolin.core.arm_parts import Joint as Joint
    from robolin.core.arm_parts import Link as Link
    from robolin.core.configuration import difference as difference
    from robolin.core.configuration import integrate as integrate
    from robolin.core.configuration import kinematic_block as kinematic_block
    from robolin.core.result import Array as Array
    from robolin.core.result import Result as Result
    from robolin.core.result import ResultStream as ResultStream
    from robolin.description.load import from_urdfpy as from_urdfpy
    from robolin.description.load import load as load
    from robolin.display.report.write_report import report as report
    from robolin.errors import FileError as FileError
    from robolin.errors import RobolinError as RobolinError
    from robolin.errors import RobolinWarning as RobolinWarning
    from robolin.errors import UsageError as UsageError
    from robolin.io.stored import StoredResult as StoredResult
    from robolin.io.stored import read_result as read_result
    from robolin.operator_algebra.robot import Operators as Operators
    from robolin.operator_algebra.robot import operators as operators
    from robolin.queries.answer import answer as answer
    from robolin.queries.answer import answer_stream as answer_stream
    from robolin.queries.question import Question as Question
    from robolin.queries.state_monitor import state_warnings as state_warnings
    from robolin.queries.states import States as States
    from robolin.queries.sweep import sweep as sweep

# module of each public name; for type checkers, the imports above state the same
_PUBLIC = {
    "robolin.analysis.cost_gradient": "CostGradient cost_gradient",
    "robolin.analysis.curvature": "Curvature curvature",
    "robolin.analysis.excitation": "Excitation excite",
    "robolin.analysis.external_torque": "MomentumObserver external_torque",
    "robolin.analysis.identification": (
        "Identifiable Regressor identifiable regressor slotine_li_regressor"
    ),
    "robolin.analysis.identify.identification_result": "Identification",
    "robolin.analysis.identify.identify": "identify",
    "robolin.analysis.identify.recording": "Recording",
    "robolin.analysis.limits": "JointLimits limits",
    "robolin.analysis.residuals": "Residuals residuals",
    "robolin.analysis.link_parameters": "GeometryDerivative geometry_derivative geometry_names",
    "robolin.analysis.sensitivity": (
        "Sensitivity SensitivityMatrices parameter_names sensitivity sensitivity_matrices"
    ),
    "robolin.queries.answer": "answer answer_stream",
    "robolin.batch.batch_plan": "recording_paths",
    "robolin.queries.states": "States",
    "robolin.queries.question": "Question",
    "robolin.queries.state_monitor": "state_warnings",
    "robolin.queries.sweep": "sweep",
    "robolin.api.closed_loops": "close close_change linearize_loops loop_constraints loop_forces",
    "robolin.api.compiled_calls": "compile native_kernel",
    "robolin.api.diagonal_coordinates": (
        "Diagonalized DiagonalizedUnnormalized diagonalize diagonalize_unnormalized "
        "undiagonalize undiagonalize_unnormalized"
    ),
    "robolin.api.frame_kinematics": (
        "Momentum frame_derivatives frame_motion jacobian link_accelerations momentum "
        "operational_space"
    ),
    "robolin.api.result_types": (
        "Closed ClosedChange FrameDerivatives FrameJacobian FrameMotion LinearizedLoops "
        "LinkAccelerations LoopConstraints LoopForces OperationalSpace loop_joint_torques"
    ),
    "robolin.api.gradients": (
        "ForwardGradient InverseGradient gradient_forward gradient_inverse "
        "hessian_forward hessian_inverse hessian_vector_forward hessian_vector_inverse"
    ),
    "robolin.api.inverse_and_forward": "forward inverse",
    "robolin.api.linear_models": (
        "LinearizedForward LinearizedInverse linearize_forward linearize_inverse "
        "perturb_forward perturb_inverse"
    ),
    "robolin.api.mass_matrices": (
        "Factors coriolis_matrix mass_matrix mass_matrix_derivative mass_matrix_factor "
        "mass_matrix_inverse mass_matrix_second_derivative"
    ),
    "robolin.checking.outcome": "CheckOutcome",
    "robolin.checking.result_files": "check record write",
    "robolin.core.arm": "Arm",
    "robolin.core.arm_parts": "Joint Link",
    "robolin.control.linear_model": "state_space",
    "robolin.control.optimization.inverse_kinematics": "InverseKinematics PoseGoal ik",
    "robolin.control.optimization.optimal_motion": "OptimalMotion",
    "robolin.control.optimization.optimize": "optimize",
    "robolin.control.optimization.receding": "receding",
    "robolin.control.poles": "Poles",
    "robolin.control.controllability": "Estimator Reachability kalman",
    "robolin.control.regulator": "PlacedPoles Regulator lqr place_poles",
    "robolin.control.retiming": "RetimedMotion retime",
    "robolin.control.state_space": "StateSpace",
    "robolin.control.responses": "TimeResponse",
    "robolin.control.time_varying": "TimeVaryingRegulator tvlqr tvlqr_blocks",
    "robolin.control.trim": "Trim trim",
    "robolin.description.load": "from_urdfpy load",
    "robolin.display.report.write_report": "report",
    "robolin.errors": "FileError RobolinError RobolinWarning UsageError",
    "robolin.io.stored": "StoredResult read_result",
    "robolin.codegen.casadi_functions": "casadi_function",
    "robolin.codegen.generate": "generate",
    "robolin.core.configuration": "difference integrate kinematic_block",
    "robolin.operator_algebra.robot": "Operators operators",
    "robolin.core.result": "Array Result ResultStream",
    "robolin.control.simulation.controllers": "PoseControl RateControl",
    "robolin.control.simulation.feedback_control": "ComputedTorque FeedbackControl PDControl",
    "robolin.control.simulation.simulate": "simulate",
    "robolin.control.simulation.simulated_motion": "FeedbackCost Simulation",
    "robolin.control.simulation.torques": "Push TorqueTable",
    "robolin.checking.verification.verify": "Verification verify",
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}

# public modules
_MODULES = {
    "cluster": "robolin.batch.cluster",
    "tables": "robolin.queries.tables",
    "torch": "robolin.torch",
}

__all__ = sorted([*_HOME, "__version__"])


# functions of about a microsecond, which reject wrong arguments themselves
_QUICK = frozenset(("inverse", "forward", "mass_matrix", "linearize_inverse", "linearize_forward"))

# commands that are methods of a model in Python
_OF_MODELS = {
    "validate": "; use `robolin validate FILE`, or robolin.report(FILE), which lists its findings",
    "poles": "; use robolin.state_space(arm, q).poles()",
    "response": "; use .frequency_response(…) or .step_response(…) of robolin.state_space(arm, q)",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        longer = [each for each in __all__ if name[0] != "_" and each.startswith(f"{name}_")]
        hint = f"; use {', '.join(longer)}" if longer else _OF_MODELS.get(name, "")
        if not hint and name[0] != "_":
            from difflib import get_close_matches

            near = get_close_matches(name, __all__, n=1, cutoff=0.8)
            hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"module 'robolin' has no attribute {name!r}{hint}")
    module = import_module(_HOME[name])
    value = getattr(module, name)
    if type(value) is type(__getattr__):
        from robolin.core.former_names import report_missing_arguments, with_argument_hints

        if name in _QUICK:
            report_missing_arguments(value)
        else:
            # threads that read a name at the same time get the same function; it is also in its
            # module, because pickle compares the two
            value = globals().setdefault(name, with_argument_hints(value))
            setattr(module, name, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
