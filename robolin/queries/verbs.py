"""Table of commands: name, help text, options, and the function that evaluates each.

The command line, suites, `check` and the reference pages are generated from this table.
It imports nothing heavy, because `robolin --help` needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.core.choices import (
    CONTROL_LAWS,
    FIXED_STEPS,
    INTEGRATORS,
    REFERENCES,
    STATE_FORMS,
    TORQUES,
)
from robolin.core.text import suggest
from robolin.errors import UsageError
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS
from robolin.queries.option_specs import (
    ANY_QUANTITY,
    DIAGONALIZE_OPTIONS,
    DTYPE_OPTION,
    EXCITE_OPTIONS,
    EXTERNAL_OPTIONS,
    FILE,
    FORWARD_OPTIONS,
    IK_OPTIONS,
    LINEAR_MODEL_OPTIONS,
    MANY_STATES,
    METHOD_OPTION,
    ONE_SOURCE,
    OPTIMIZE_OPTIONS,
    OPTIMIZE_REQUIRED,
    READ_OPTIONS,
    RETIME_OPTIONS,
    SLOTINE_LI,
    SWITCH,
    TEXT,
    TEXTS,
    TRAJECTORY,
    OptionSpec,
    Verb,
    read_options,
    samples_with,
)


def _adapts_steps(options: Mapping[str, Any]) -> bool:
    adaptive = options.get("integrator", "rk4") not in FIXED_STEPS
    return adaptive or bool({"rtol", "atol"} & set(options))


_ONE_OF_THEM = "run the command once with each option"
_CHANGES = "perturb perturb-torque parameter payload-change"
_ALL_CHANGES = "this option already includes all perturbations; remove the other options"

_ROBOT_FILES, _CONTROLLED = "Robot files", "Control and simulation"
_RESULTS = "Results and deployment"

_DYNAMICS = (
    Verb(
        "inverse",
        "Dynamics",
        "Compute the torques of a motion (RNEA).",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
        own_options={
            "residual": OptionSpec(
                "switch", requires={"trajectory": "add --trajectory FILE with measured efforts"}
            ),
            **EXTERNAL_OPTIONS,
            "dtype": DTYPE_OPTION,
        },
        answers="robolin.queries.algorithm_answer:answer_inverse",
        needs_all_rows=("external",),
    ),
    Verb(
        "forward",
        "Dynamics",
        "Compute the accelerations from the torques (ABA).",
        states=("q", "qd", "tau", "qdd"),
        states_from=TRAJECTORY,
        own_options={
            **FORWARD_OPTIONS,
            "method": METHOD_OPTION._replace(choices=COMMON_METHODS + FORWARD_METHODS),
            "dtype": DTYPE_OPTION,
            "links": SWITCH,
            "tip-acceleration": OptionSpec(optional_value=True, frame=True),
        },
        answers="robolin.queries.algorithm_answer:answer_forward",
    ),
    Verb(
        "mass-matrix",
        "Dynamics",
        "Compute the mass matrix, its inverse and factors (CRBA).",
        states=("q", "qd"),
        states_from=TRAJECTORY,
        own_options={
            **dict.fromkeys(("inverse", "factor", "derivative", "coriolis"), SWITCH),
            "dtype": DTYPE_OPTION,
        },
        answers="robolin.queries.algorithm_answer:answer_mass_matrix",
    ),
    Verb(
        "linearize-inverse",
        "Dynamics",
        "Linearize the inverse dynamics (derivatives of tau).",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
        perturb=("dq", "dqd", "dqdd"),
        own_options={"perturb": TEXTS, "weights": TEXT, "dtype": DTYPE_OPTION},
        answers="robolin.queries.algorithm_answer:answer_linearize_inverse",
        linear=True,
    ),
    Verb(
        "linearize-forward",
        "Dynamics",
        "Linearize the forward dynamics (derivatives of qdd).",
        states=("q", "qd", "tau", "qdd"),
        states_from=TRAJECTORY,
        perturb=("dq", "dqd", "dtau"),
        own_options={
            **FORWARD_OPTIONS,
            "perturb": OptionSpec(
                multiple=True, excludes={"prescribe": "multiply the matrices by the perturbation"}
            ),
            "weights": OptionSpec(excludes={"prescribe": "multiply the matrices by the weights"}),
            "method": METHOD_OPTION,
            "dtype": DTYPE_OPTION,
        },
        answers="robolin.queries.algorithm_answer:answer_linearize_forward",
        linear=True,
    ),
    Verb(
        "jacobian",
        "Dynamics",
        "Compute the pose, twist and Jacobian of a frame.",
        states=("q", "qd", "qdd", "tau"),
        states_from=TRAJECTORY,
        own_options={
            "frame": OptionSpec(frame=True),
            "point": TEXT,
            "reference": OptionSpec("choice", REFERENCES),
            "derivatives": OptionSpec(
                "switch", excludes={"reference=frame": "use --reference world"}
            ),
            **dict.fromkeys(("operational-space", "operational-space-inverse"), SWITCH),
            "dtype": DTYPE_OPTION,
        },
        answers="robolin.queries.matrix_answers:answer_jacobian",
    ),
    Verb(
        "ik",
        "Dynamics",
        "Find joint positions that reach a pose.",
        states=("q",),
        own_options=IK_OPTIONS,
        answers="robolin.queries.planning_answers:answer_ik",
    ),
    Verb(
        "momentum",
        "Dynamics",
        "Compute the centre of mass, momentum and their Jacobians.",
        states=("q", "qd"),
        states_from=TRAJECTORY,
        own_options={"dtype": DTYPE_OPTION},
        answers="robolin.queries.matrix_answers:answer_momentum",
    ),
    Verb(
        "diagonalize",
        "Dynamics",
        "Transform states to diagonalizing quasi-velocities.",
        states=("q", "qd", "tau", "nu", "epsilon", "xi", "kappa"),
        states_from={**TRAJECTORY, **samples_with("curvature")},
        own_options={**DIAGONALIZE_OPTIONS, "dtype": DTYPE_OPTION},
        answers="robolin.queries.algorithm_answer:answer_diagonalize",
        needs_all_rows=("curvature",),
        uses_lapack=lambda options: "curvature" in options,
    ),
    Verb(
        "regressor",
        "Dynamics",
        "Compute the regressor of the dynamic parameters.",
        states=("q", "qd", "qdd", "qdr", "qddr"),
        states_from={**TRAJECTORY, **samples_with("rank")},
        own_options={
            "rank": OptionSpec("switch", excludes={"parameters geometry": _ONE_OF_THEM}),
            "offsets": OptionSpec(
                "switch",
                excludes={"rank parameters geometry": "offsets are columns of the regressor"},
            ),
            "parameters": OptionSpec(
                "switch",
                excludes={
                    "geometry": _ONE_OF_THEM,
                    f"{ANY_QUANTITY} trajectory": "parameters do not depend on the state",
                },
            ),
            "geometry": SWITCH,
            **dict.fromkeys(
                ("qdr", "qddr"), OptionSpec(modifies={"slotine-li": "add --slotine-li"})
            ),
            "slotine-li": SLOTINE_LI,
        },
        answers="robolin.queries.matrix_answers:answer_regressor",
        needs_all_rows=("rank", "parameters"),
        uses_lapack=lambda options: "rank" in options,
    ),
    Verb(
        "excite",
        "Dynamics",
        "Find a motion for parameter identification.",
        own_options=EXCITE_OPTIONS,
        answers="robolin.queries.planning_answers:answer_excite",
        uses_lapack=lambda _: True,
    ),
    Verb(
        "sensitivity",
        "Dynamics",
        "Propagate perturbations along a trajectory.",
        states_from={"trajectory": OptionSpec("file", required=True), **READ_OPTIONS},
        perturb=("dq", "dqd", "dtau"),
        own_options={
            "torques": OptionSpec("choice", TORQUES),
            **dict.fromkeys(("perturb", "parameter", "payload-change"), TEXTS),
            "perturb-torque": FILE,
            "matrices": OptionSpec("switch", excludes={f"{_CHANGES} cost-gradient": _ALL_CHANGES}),
            "geometry": OptionSpec(
                "switch",
                modifies={
                    "matrices": "add --matrices, or perturb with --parameter JOINT/origin_x=CHANGE"
                },
            ),
            "cost-gradient": OptionSpec("file", excludes={_CHANGES: _ALL_CHANGES}),
        },
        one_of={f"{_CHANGES} matrices cost-gradient": "add, for example, --perturb dq=elbow=0.01"},
        answers="robolin.queries.sensitivity_answer:answer_sensitivity",
        linear=True,
        uses_lapack=lambda _: True,
    ),
)

_POINT = ("q", "qd", "tau", "qdd")
_OVER_TIME = {"duration": "add a duration in s, for example --duration 2"}

_ONE_STATE_HAS_THEM = "remove --distances: the result of one state always contains the distances"

_CONTROL = (
    Verb(
        "state-space",
        _CONTROLLED,
        "Compute A, B, C and D at an operating point.",
        states=_POINT,
        states_from=TRAJECTORY,
        own_options={**LINEAR_MODEL_OPTIONS, "only": TEXT},
        answers="robolin.queries.state_space_answer:answer_state_space",
        default_plot_arrays=("A", "B"),
        linear=True,
        uses_lapack=lambda options: bool({"dt", "outputs", "trim"} & set(options)),
    ),
    Verb(
        "poles",
        _CONTROLLED,
        "Compute poles, stability and controllability.",
        states=_POINT,
        states_from=TRAJECTORY,
        own_options={
            **LINEAR_MODEL_OPTIONS,
            "distances": OptionSpec("switch", modifies={MANY_STATES: _ONE_STATE_HAS_THEM}),
        },
        answers="robolin.queries.state_space_answer:answer_poles",
        default_plot_arrays=("poles", "mode_shape"),
        linear=True,
        uses_lapack=lambda _: True,
    ),
    Verb(
        "lqr",
        _CONTROLLED,
        "Design LQR gains at a state or along a trajectory.",
        states=_POINT,
        states_from=TRAJECTORY,
        own_options={
            **LINEAR_MODEL_OPTIONS,
            **dict.fromkeys(("weight", "effort"), TEXTS),
            "bryson": SWITCH,
            "time-varying": OptionSpec(
                "switch",
                requires={
                    MANY_STATES: "add --trajectory FILE",
                    "dt": "add the time step of the rows in s, for example --dt 0.01",
                },
                excludes={
                    "integral": "remove --integral, or compute gains for each row separately",
                    "on-bad-row=nan": "gains depend on all later rows; correct the invalid rows",
                },
            ),
            "integral": TEXT,
        },
        answers="robolin.queries.lqr_answer:answer_lqr",
        needs_all_rows=("time-varying",),
        default_plot_arrays=("K", "poles"),
        linear=True,
        uses_lapack=lambda _: True,
    ),
    Verb(
        "response",
        _CONTROLLED,
        "Compute frequency, step and impulse responses.",
        states=_POINT,
        own_options={
            **LINEAR_MODEL_OPTIONS,
            "frequencies": OptionSpec(excludes={"duration": _ONE_OF_THEM}),
            "duration": TEXT,
            "rows": OptionSpec("count", minimum=2, modifies=_OVER_TIME),
            "impulse": OptionSpec("switch", modifies=_OVER_TIME),
        },
        one_of={"frequencies duration": "add --frequencies 0.1:100:200, or --duration 2"},
        answers="robolin.queries.state_space_answer:answer_response",
        default_plot_arrays=("frequency_response", "step_response", "impulse_response"),
        linear=True,
        uses_lapack=lambda _: True,
    ),
)

_ONE_TORQUE = "keep only one source of torques"
_TRACKING = {"control=pd|computed-torque": "add --control pd or --control computed-torque"}
_PRESCRIBED = {"prescribe": "name the joints with --prescribe"}

_MOTION = (
    Verb(
        "simulate",
        _CONTROLLED,
        "Simulate the motion under torques or a controller.",
        states=("q", "qd"),
        own_options={
            **read_options("trajectory initial follow prescribe-from"),
            "initial": OptionSpec("file", excludes={"q qd": ONE_SOURCE}),
            "state": OptionSpec("choice", STATE_FORMS),
            "tau": OptionSpec(excludes={"trajectory control feedback": _ONE_TORQUE}),
            "trajectory": OptionSpec("file", excludes={"control feedback": _ONE_TORQUE}),
            "control": OptionSpec(
                "choice",
                CONTROL_LAWS,
                requires={
                    "target if control=pose": "add, for example, --target tool0=0.4,0,0.5,0,90deg,0"
                },
                excludes={"feedback": _ONE_TORQUE},
            ),
            "feedback": FILE,
            "follow": OptionSpec("file", modifies=_TRACKING),
            "offset": OptionSpec(
                modifies={"feedback follow": "add --feedback FILE or --follow FILE"},
                excludes={
                    "q qd initial": "set the initial state, or the offset from the reference"
                },
            ),
            "goal": OptionSpec(
                modifies=_TRACKING, excludes={"follow": "keep only one of these options"}
            ),
            **dict.fromkeys(("kp", "kd"), OptionSpec(modifies=_TRACKING)),
            **dict.fromkeys(("disturb", "prescribe"), TEXT),
            "qdd": OptionSpec(
                modifies=_PRESCRIBED, excludes={"prescribe-from": "keep only one of these options"}
            ),
            "prescribe-from": OptionSpec("file", modifies=_PRESCRIBED),
            "gain": OptionSpec(
                modifies={"control=rate|pose": "use --kp and --kd with the other control laws"}
            ),
            **dict.fromkeys(
                ("target", "position-gain", "orientation-gain"),
                OptionSpec(modifies={"control=pose": "add --control pose"}),
            ),
            "ignore-limits": SWITCH,
            "allow-model-mismatch": OptionSpec(
                "switch", modifies={"feedback": "add --feedback FILE"}
            ),
            "duration": OptionSpec(required=True, unless="follow"),
            **dict.fromkeys(("dt", "rtol", "atol", "close", "baumgarte"), TEXT),
            "integrator": OptionSpec("choice", INTEGRATORS),
            "every": OptionSpec("count"),
            "rows": OptionSpec("count", minimum=2),
        },
        answers="robolin.queries.simulate_answer:answer_simulate",
        default_plot_arrays=("q", "qd", "tau"),
        uses_lapack=_adapts_steps,
    ),
)

_OPTIMAL = (
    Verb(
        "optimize",
        _CONTROLLED,
        "Find an optimal motion to a goal, with feedback gains.",
        states=("q", "qd"),
        own_options=OPTIMIZE_OPTIONS,
        one_of=OPTIMIZE_REQUIRED,
        answers="robolin.queries.planning_answers:answer_optimize",
        default_plot_arrays=("q", "qd", "tau"),
        uses_lapack=lambda options: options.get("solver") == "ipopt",
    ),
    Verb(
        "retime",
        _CONTROLLED,
        "Find the fastest motion along a path within the limits.",
        states_from={"trajectory": OptionSpec("file", required=True), **READ_OPTIONS},
        own_options=RETIME_OPTIONS,
        answers="robolin.queries.planning_answers:answer_retime",
        default_plot_arrays=("q", "qd", "tau"),
    ),
)

_FILES = (
    Verb("models", _ROBOT_FILES, "List, show, copy or create robot files."),
    Verb("new", "", "Create a template of a YAML robot file.", path="models new"),
    Verb("inspect", _ROBOT_FILES, "Show the kinematic tree, masses and model assumptions."),
    Verb("validate", _ROBOT_FILES, "Report errors and suspicious values in robot files."),
    Verb("verify", _ROBOT_FILES, "Verify robolin's results for a robot."),
    Verb("diff", _ROBOT_FILES, "Compare two robot models."),
    Verb("identify", _ROBOT_FILES, "Correct a robot file to match recordings."),
)

_OTHERS = (
    Verb("sweep", _CONTROLLED, "Repeat a command for several values of an option."),
    Verb("plot", _RESULTS, "Plot stored results or a robot."),
    Verb(
        "report",
        _RESULTS,
        "Write an HTML report about a robot and a trajectory.",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
    ),
    Verb("record", _RESULTS, "Store a result as a reference."),
    Verb("check", _RESULTS, "Recompute stored results and compare them."),
    Verb("batch", _RESULTS, "Plan, monitor and merge runs over many recordings."),
    Verb("plan", "", "Plan how to run a command on many recordings.", path="batch plan"),
    Verb("status", "", "Show which parts of a batch are complete.", path="batch status"),
    Verb("merge", "", "Merge the parts of a batch into one result.", path="batch merge"),
    Verb("generate", _RESULTS, "Generate C or WebAssembly code for a robot."),
    Verb("bench", _RESULTS, "Measure the speed of commands; count operations."),
    Verb("count", "", "Count the operations of an algorithm.", path="bench counts"),
    Verb("completion", "", "Print a script for shell completion."),
    Verb("help", "", "Show the help page of a topic or a command."),
)

VERBS: dict[str, Verb] = {
    verb.name: verb for verb in (*_FILES, *_DYNAMICS, *_CONTROL, *_OPTIMAL, *_MOTION, *_OTHERS)
}


# pages of `robolin help TOPIC`
TOPICS = ("model", "input", "output", "loops", "batch")

# words on the command line -> command, for commands of two words
TWO_WORDS = {verb.path: verb.name for verb in VERBS.values() if verb.path}


def sections() -> dict[str, dict[str, str]]:
    """Summaries of the listed commands by section of the help page, in order."""
    by_section: dict[str, dict[str, str]] = {}
    for verb in VERBS.values():
        if verb.section:
            by_section.setdefault(verb.section, {})[verb.name] = verb.summary
    return by_section


def commands_with(option: str) -> list[str]:
    """Names of the listed commands that take an option."""
    return [verb.name for verb in VERBS.values() if verb.section and option in verb.options]


def unknown_verb(name: str, where: str, otherwise: str) -> UsageError:
    """Return the error for an unknown command, with suggestions."""
    near = [f"'{verb}'" for verb in suggest(name.replace("_", "-").lower(), VERBS)]
    hint = f"did you mean {' or '.join(near)}?" if near else otherwise
    return UsageError(f"unknown command '{name}'", where=where, hint=hint)
