"""Omitted arguments mean the same in Python and on the command line."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

import robolin
from robolin.cli.group import group
from tests.cases import for_each

# the verb of every public function that has one
VERB_OF = {
    **dict.fromkeys(
        ("inverse", "limits", "load", "residuals", "state_warnings", "external_torque"), "inverse"
    ),
    **dict.fromkeys(("forward", "link_accelerations", "loop_forces"), "forward"),
    "compile": "generate",
    "report": "report",
    **dict.fromkeys(
        (
            *("mass_matrix", "mass_matrix_inverse", "mass_matrix_factor", "coriolis_matrix"),
            *("mass_matrix_derivative", "mass_matrix_second_derivative"),
        ),
        "mass-matrix",
    ),
    **dict.fromkeys(
        (
            *("linearize_inverse", "perturb_inverse", "gradient_inverse"),
            *("hessian_inverse", "hessian_vector_inverse"),
        ),
        "linearize-inverse",
    ),
    **dict.fromkeys(
        (
            *("linearize_forward", "perturb_forward", "linearize_loops", "gradient_forward"),
            *("hessian_forward", "hessian_vector_forward"),
        ),
        "linearize-forward",
    ),
    **dict.fromkeys(
        ("jacobian", "operational_space", "frame_motion", "frame_derivatives"), "jacobian"
    ),
    "momentum": "momentum",
    **{verb: verb for verb in ("ik", "optimize", "excite", "retime")},
    **dict.fromkeys(
        (
            *("diagonalize", "diagonalize_unnormalized", "undiagonalize"),
            *("undiagonalize_unnormalized", "curvature"),
        ),
        "diagonalize",
    ),
    **dict.fromkeys(
        ("regressor", "slotine_li_regressor", "identifiable", "geometry_derivative"), "regressor"
    ),
    **dict.fromkeys(("sensitivity", "sensitivity_matrices", "cost_gradient"), "sensitivity"),
    **dict.fromkeys(("state_space", "trim"), "state-space"),
    **dict.fromkeys(("lqr", "tvlqr", "tvlqr_blocks"), "lqr"),
    **dict.fromkeys(
        ("simulate", "PDControl", "ComputedTorque", "RateControl", "PoseControl"), "simulate"
    ),
    **dict.fromkeys(("generate", "casadi_function"), "generate"),
    **{verb: verb for verb in ("verify", "record", "check", "identify")},
}
NO_VERB = {
    *("integrate", "difference", "kinematic_block", "operators", "geometry_names"),
    *("parameter_names", "read_result", "write", "answer", "answer_stream", "from_urdfpy"),
    *("native_kernel", "recording_paths"),
    # its flags are those of the swept verb
    "sweep",
    # a controller that runs in a loop
    "receding",
    *("close", "close_change", "loop_joint_torques", "loop_constraints", "kalman", "place_poles"),
}
# flags whose names differ from the argument
FLAG_OF = {
    "damping": "no-damping",
    "springs": "no-springs",
    "friction": "no-friction",
    "packages": "package",
    "xacro_args": "xacro-arg",
    ("state_space", "method"): "discretize",
    ("simulate", "limits"): "ignore-limits",
    **dict.fromkeys((("ik", "limits"), ("optimize", "limits")), "ignore-limits"),
    ("optimize", "initial"): "from",
    "disturbance": "disturb",
    "parameters": "parameter",
    ("sensitivity", "payload"): "payload-change",
    "inverse_only": "operational-space-inverse",
    "extras": "with",
    "Q": "weight",
    "R": "effort",
}
# arguments without an effect on results, or without a flag
ONLY_PYTHON = {
    *("engine", "N", "terminal", "accelerations", "project", "tolerance", "dcost_dq", "dcost_dqd"),
    # --perturb names them, and the joints of each that change
    *("dq", "dqd", "dqdd", "dtau"),
    # part of --tau, of --target, of --follow, or of a trajectory's columns
    *(("simulate", "hold"), ("PDControl", "hold"), ("limits", "tau"), ("limits", "time")),
    *(("residuals", "tau"), ("residuals", "time")),
    *(("sensitivity", "tau"), ("sensitivity", "qdd")),
    *(("sensitivity_matrices", "tau"), ("sensitivity_matrices", "qdd")),
    *(("cost_gradient", "tau"), ("cost_gradient", "qdd")),
    *((law, "time") for law in ("PDControl", "ComputedTorque")),
    *((law, "qd") for law in ("PDControl", "ComputedTorque")),
    *(("ComputedTorque", "qdd"), ("PoseControl", "rotation"), ("link_accelerations", "qdd")),
    *(("external_torque", "time"), ("external_torque", "tau")),
    # -q, --quiet has the same letter
    *(("ik", "q"), ("optimize", "q")),
    # trim has no choice of them on the command line
    ("trim", "limits"),
    ("identify", "progress"),
    # --with mpc, --goal, --horizon and --dt define it
    ("generate", "mpc"),
    # the second ARM, flags of states, -o and messages
    *(("report", name) for name in ("other", "states", "path", "notify")),
}
# meaning of the default None of an argument, as the flag states it
MEANT: dict[Any, str] = {
    "jobs": "one per processor",
    "loop_method": "null-space",
    "friction_velocity": "not applied",
    "gravity": "from the robot file, else 0,0,-9.81",
    "frame": "the tip, or the only end link",
    **dict.fromkeys(
        (("generate", "frame"), ("casadi_function", "frame"), ("compile", "frame")),
        "the tip, or the only end link",
    ),
    "actuated": "as in the robot file, else all",
    ("identify", "width"): "estimated",
    ("identify", "lag"): "estimated",
    "prefix": "the name of the robot",
    "Q": "1",
    "R": "1",
    **dict.fromkeys((("forward", "qdd"), ("simulate", "qdd")), "0"),
    ("record", "rtol"): "0",
    ("record", "atol"): "0",
    ("check", "rtol"): "the stored tolerance, else 0",
    ("check", "atol"): "the stored tolerance, else 0",
    ("check", "root"): "the folder of the stored result",
    ("identify", "payload_link"): "last link before the fingers",
    ("simulate", "dt"): "0.001",
    ("excite", "period"): "the duration",
    ("excite", "max_velocity"): "from the robot file",
    ("excite", "max_acceleration"): "none",
    **dict.fromkeys(
        (
            (verb, name)
            for verb in ("retime", "optimize")
            for name in ("max_velocity", "max_effort")
        ),
        "from the robot file",
    ),
    ("retime", "max_acceleration"): "none",
    ("retime", "dt"): "one row per path point",
    ("optimize", "dt"): "a hundredth of --duration",
    ("optimize", "Q"): "qd=1/limit^2",
    ("optimize", "R"): "1/limit^2, else 1",
    ("optimize", "final"): "reach the goal exactly",
    ("optimize", "starts"): "1; 4 for a pose, 24 with passive joints",
    ("optimize", "iterations"): "2000; 500 with passive joints",
    ("simulate", "atol"): "the value of --rtol",
    ("simulate", "integrator"): "rk4; dop853 with a tolerance",
    ("simulate", "rows"): "101, or one row per --dt",
    ("verify", "samples"): "20, fewer for large robots",
    "srdf": "the .srdf file next to ARM",
}
NOTHING = (None, (), False)


def _of(table: dict[Any, str], function: str, name: str) -> str | None:
    return table.get((function, name), table.get(name))


def _flags(verb: str) -> dict[str, click.Option]:
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    params = (each for each in command.params if isinstance(each, click.Option))
    return {param.opts[0].lstrip("-"): param for param in params}


def _flag_default(flag: click.Option) -> str:
    """The default of a flag, from its value or its help; '' if there is none."""
    if isinstance(flag.default, str | int | float) and not isinstance(flag.default, bool):
        return str(flag.default)
    return (re.findall(r"\(default:? ([^)]*)\)", flag.help or "") or [""])[0]


def _argument_default(function: str, name: str, default: Any) -> str:
    """The default of an argument, written as a flag would."""
    if isinstance(default, float | int) and not isinstance(default, bool):
        return f"{default:g}"
    if isinstance(default, tuple) and default:
        return ",".join(each if isinstance(each, str) else f"{each:g}" for each in default)
    if default in NOTHING or default is True:
        return _of(MEANT, function, name) or ""
    return str(default)


def _arguments() -> list[tuple[str, str, Any]]:
    arguments = []
    for function in VERB_OF:
        for name, argument in inspect.signature(getattr(robolin, function)).parameters.items():
            if argument.default is not inspect.Parameter.empty:
                arguments.append((function, name, argument.default))
    return arguments


def test_every_function_has_its_verb() -> None:
    """Every public function has a verb in this table, or is listed as having none."""
    public = {name for name in robolin.__all__ if inspect.isfunction(getattr(robolin, name))}
    assert public - VERB_OF.keys() - NO_VERB == set()
    assert (VERB_OF.keys() & NO_VERB) | (NO_VERB - public) == set()


@for_each("function,name,default", _arguments())
def test_defaults_are_the_same(function: str, name: str, default: Any) -> None:
    """The default of an argument is that of the flag; arguments without a flag are listed."""
    flags = _flags(VERB_OF[function])
    flag = flags.get(_of(FLAG_OF, function, name) or name.replace("_", "-"))
    if {name, (function, name)} & ONLY_PYTHON:
        return
    if flag is None:
        # one algorithm, and arms without loops: nothing can be chosen
        assert name in ("method", "loop_method"), f"no flag for {function}({name}=)"
        assert default in ("auto", None)
        return
    of_flag, of_argument = _flag_default(flag), _argument_default(function, name, default)
    text = f"{function}({name}={default!r}) means {of_argument!r}, {flag.opts[0]} says {of_flag!r}"
    assert of_flag == of_argument, text
