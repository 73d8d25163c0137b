"""Table of commands: name, help text, options, and the function that evaluates each.

The command line, suites, `check` and the reference pages are generated from this table.
It imports nothing heavy, because `robolin --help` needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.core.choices import CONTROL_LAWS, INTEGRATORS, REFERENCES, STATE_FORMS, TORQUES
from robolin.core.results.swept_verbs import base_verb
from robolin.core.text import suggest
from robolin.errors import UsageError
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS
from robolin.queries.option_specs import (
    ANY_QUANTITY,
    FILE,
    FORWARD_OPTIONS,
    LINEAR_MODEL_OPTIONS,
    MANY_STATES,
    METHOD_OPTION,
    ONE_SOURCE,
    READ_OPTIONS,
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
    adaptive = options.get("integrator", "rk4") != "rk4"
    return adaptive or bool({"rtol", "atol"} & set(options))


_ONE_OF_THEM = "ask for one of them, then for the other"
_CHANGES = "perturb perturb-torque parameter payload-change"
_ALL_CHANGES = "it contains the effect of every change"

_DYNAMICS = (
    Verb(
        "inverse",
        "Dynamics",
        "Torques for a motion.",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
        answers="robolin.queries.algorithm_answer:answer_inverse",
    ),
    Verb(
        "forward",
        "Dynamics",
        "Accelerations for torques.",
        states=("q", "qd", "tau", "qdd"),
        states_from=TRAJECTORY,
        asks={
            **FORWARD_OPTIONS,
            "method": METHOD_OPTION._replace(choices=COMMON_METHODS + FORWARD_METHODS),
            "links": SWITCH,
            "tip-acceleration": OptionSpec(optional_value=True, frame=True),
        },
        answers="robolin.queries.algorithm_answer:answer_forward",
    ),
    Verb(
        "mass-matrix",
        "Dynamics",
        "Mass matrix, its inverse, factors, derivative and Coriolis matrix.",
        states=("q", "qd"),
        states_from=TRAJECTORY,
        asks=dict.fromkeys(("inverse", "factor", "derivative", "coriolis"), SWITCH),
        answers="robolin.queries.algorithm_answer:answer_mass_matrix",
    ),
    Verb(
        "linearize-inverse",
        "Dynamics",
        "How torques change with a small change of the motion.",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
        perturb=("dq", "dqd", "dqdd"),
        asks={"perturb": TEXTS},
        answers="robolin.queries.algorithm_answer:answer_linearize_inverse",
        linear=True,
    ),
    Verb(
        "linearize-forward",
        "Dynamics",
        "How accelerations change with a small change of state and torques.",
        states=("q", "qd", "tau", "qdd"),
        states_from=TRAJECTORY,
        perturb=("dq", "dqd", "dtau"),
        asks={
            **FORWARD_OPTIONS,
            "perturb": OptionSpec(
                multiple=True, excludes={"prescribe": "multiply the matrices by the change"}
            ),
            "method": METHOD_OPTION,
        },
        answers="robolin.queries.algorithm_answer:answer_linearize_forward",
        linear=True,
    ),
    Verb(
        "jacobian",
        "Dynamics",
        "Jacobian of a frame, with its pose, twist and felt inertia.",
        states=("q", "qd", "qdd", "tau"),
        states_from=TRAJECTORY,
        asks={
            "frame": OptionSpec(frame=True),
            "point": TEXT,
            "reference": OptionSpec("choice", REFERENCES),
            "derivatives": OptionSpec(
                "switch", excludes={"reference=frame": "derivatives are in world axes"}
            ),
            **dict.fromkeys(("operational-space", "operational-space-inverse"), SWITCH),
        },
        answers="robolin.queries.jacobian_answer:answer_jacobian",
    ),
    Verb(
        "momentum",
        "Dynamics",
        "Centre of mass, its Jacobian, and the momentum of the arm.",
        states=("q", "qd"),
        states_from=TRAJECTORY,
        answers="robolin.queries.jacobian_answer:answer_momentum",
    ),
    Verb(
        "diagonalize",
        "Dynamics",
        "State and torques in coordinates that make the mass matrix diagonal.",
        states=("q", "qd", "tau", "nu", "epsilon", "xi", "kappa"),
        states_from={**TRAJECTORY, **samples_with("curvature")},
        asks={
            "unnormalized": SWITCH,
            "inverse-transform": OptionSpec(
                "switch",
                requires={
                    "xi if unnormalized": "for example --xi 0.1,0.2 for two joints",
                    "nu if !unnormalized": "for example --nu 0.1,0.2 for two joints",
                },
            ),
            "curvature": OptionSpec(
                "switch",
                excludes={"unnormalized inverse-transform": "curvature has no coordinates"},
            ),
            "symbols": OptionSpec("switch", modifies={"curvature": "they are parts of it"}),
        },
        answers="robolin.queries.diagonalize_answer:answer_diagonalize",
        needs_all_rows=("curvature",),
        uses_lapack=lambda options: "curvature" in options,
    ),
    Verb(
        "regressor",
        "Dynamics",
        "Torques as a linear function of masses, inertias and losses.",
        states=("q", "qd", "qdd"),
        states_from={**TRAJECTORY, **samples_with("rank")},
        asks={
            "rank": OptionSpec("switch", excludes={"parameters geometry": _ONE_OF_THEM}),
            "parameters": OptionSpec(
                "switch",
                excludes={
                    "geometry": _ONE_OF_THEM,
                    f"{ANY_QUANTITY} trajectory": "parameters are the same in every state",
                },
            ),
            "geometry": SWITCH,
        },
        answers="robolin.queries.regressor_answer:answer_regressor",
        needs_all_rows=("rank", "parameters"),
        uses_lapack=lambda options: "rank" in options,
    ),
    Verb(
        "sensitivity",
        "Dynamics",
        "How a motion changes with its beginning, its torques and the arm.",
        states_from={"trajectory": OptionSpec("file", required=True), **READ_OPTIONS},
        perturb=("dq", "dqd", "dtau"),
        asks={
            "torques": OptionSpec("choice", TORQUES),
            **dict.fromkeys(("perturb", "parameter", "payload-change"), TEXTS),
            "perturb-torque": FILE,
            "matrices": OptionSpec("switch", excludes={f"{_CHANGES} cost-slopes": _ALL_CHANGES}),
            "geometry": OptionSpec(
                "switch",
                modifies={"matrices": "--parameter JOINT/origin_x=CHANGE changes the geometry"},
            ),
            "cost-slopes": OptionSpec("file", excludes={_CHANGES: _ALL_CHANGES}),
        },
        one_of={f"{_CHANGES} matrices cost-slopes": "for example --perturb dq=elbow=0.01"},
        answers="robolin.queries.sensitivity_answer:answer_sensitivity",
        linear=True,
        uses_lapack=lambda _: True,
    ),
)

_POINT = ("q", "qd", "tau", "qdd")
_OVER_TIME = {"duration": "for example --duration 2, in s"}

_CONTROL = (
    Verb(
        "state-space",
        "Control",
        "An arm as a linear system about a state: A, B, C, D and drift.",
        states=_POINT,
        states_from=TRAJECTORY,
        asks={**LINEAR_MODEL_OPTIONS, "only": TEXT},
        answers="robolin.queries.state_space_answer:answer_state_space",
        default_plot_arrays=("A", "B"),
        linear=True,
        uses_lapack=lambda options: bool({"dt", "outputs", "trim"} & set(options)),
    ),
    Verb(
        "poles",
        "Control",
        "How an arm moves by itself: poles, stability, what motors reach.",
        states=_POINT,
        states_from=TRAJECTORY,
        asks=LINEAR_MODEL_OPTIONS,
        answers="robolin.queries.poles_answer:answer_poles",
        default_plot_arrays=("poles", "frequency", "mode_shape"),
        linear=True,
        uses_lapack=lambda _: True,
    ),
    Verb(
        "lqr",
        "Control",
        "Gains that bring an arm back to a state, or along a motion.",
        states=_POINT,
        states_from=TRAJECTORY,
        asks={
            **LINEAR_MODEL_OPTIONS,
            **dict.fromkeys(("weight", "effort"), TEXTS),
            "bryson": SWITCH,
            "time-varying": OptionSpec(
                "switch",
                requires={
                    MANY_STATES: "without it, the regulator is for one state that stays",
                    "dt": "the time between rows: for example --dt 0.01, in s",
                },
                excludes={
                    "integral": "integrals are for gains of each row by itself",
                    "on-bad-row=nan": "gains at a row follow from all rows after it",
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
        "Control",
        "How outputs answer to torques: by frequency, or after a step.",
        states=_POINT,
        asks={
            **LINEAR_MODEL_OPTIONS,
            "frequencies": OptionSpec(excludes={"duration": _ONE_OF_THEM}),
            "duration": TEXT,
            "rows": OptionSpec("count", minimum=2, modifies=_OVER_TIME),
            "impulse": OptionSpec("switch", modifies=_OVER_TIME),
        },
        one_of={"frequencies duration": "--frequencies 0.1:100:200, or --duration 2 for a step"},
        answers="robolin.queries.response_answer:answer_response",
        default_plot_arrays=("frequency_response", "step_response", "impulse_response"),
        linear=True,
        uses_lapack=lambda _: True,
    ),
)

_ONE_TORQUE = "the torque comes from one of them"
_TRACKING = {"control=pd|computed-torque": "other laws do not track a motion"}
_PRESCRIBED = {"prescribe": "--prescribe names the joints with these accelerations"}

_MOTION = (
    Verb(
        "simulate",
        "Motion",
        "The motion of an arm under torques or a controller, with its energies.",
        states=("q", "qd"),
        asks={
            **read_options("trajectory initial follow prescribe-from"),
            "initial": OptionSpec("file", excludes={"q qd": ONE_SOURCE}),
            "state": OptionSpec("choice", STATE_FORMS),
            "tau": OptionSpec(excludes={"trajectory control feedback": _ONE_TORQUE}),
            "trajectory": OptionSpec("file", excludes={"control feedback": _ONE_TORQUE}),
            "control": OptionSpec(
                "choice",
                CONTROL_LAWS,
                requires={"target if control=pose": "--target tool0=0.4,0,0.5,0,90deg,0"},
                excludes={"feedback": _ONE_TORQUE},
            ),
            "feedback": FILE,
            "follow": OptionSpec("file", modifies=_TRACKING),
            "offset": OptionSpec(
                modifies={"feedback follow": "it is a distance from their motion"},
                excludes={"q qd initial": "the motion starts there, or so far from the reference"},
            ),
            "goal": OptionSpec(
                modifies=_TRACKING, excludes={"follow": "one pose, or the poses of a motion"}
            ),
            **dict.fromkeys(("kp", "kd"), OptionSpec(modifies=_TRACKING)),
            **dict.fromkeys(("disturb", "prescribe"), TEXT),
            "qdd": OptionSpec(
                modifies=_PRESCRIBED, excludes={"prescribe-from": "constant, or those of a file"}
            ),
            "prescribe-from": OptionSpec("file", modifies=_PRESCRIBED),
            "gain": OptionSpec(modifies={"control=rate|pose": "other laws take --kp and --kd"}),
            **dict.fromkeys(
                ("target", "position-gain", "orientation-gain"),
                OptionSpec(modifies={"control=pose": "other laws do not control a pose"}),
            ),
            "ignore-limits": SWITCH,
            "other-figures": OptionSpec(
                "switch", modifies={"feedback": "it accepts gains of another arm"}
            ),
            "duration": OptionSpec(required=True),
            **dict.fromkeys(("dt", "rtol", "atol", "close", "baumgarte"), TEXT),
            "integrator": OptionSpec("choice", INTEGRATORS),
            "every": OptionSpec("count"),
            "rows": OptionSpec("count", minimum=2),
        },
        answers="robolin.queries.simulate_answer:answer_simulate",
        uses_lapack=_adapts_steps,
    ),
)

_OTHERS = (
    Verb("sweep", "Motion", "One question for several values of an option of the model."),
    Verb("inspect", "Arms", "An arm laid open: tree, joints, masses, inertias and the contract."),
    Verb("validate", "Arms", "What is wrong or doubtful in robot files."),
    Verb("verify", "Arms", "Whether robolin is right about an arm."),
    Verb(
        "report",
        "Arms",
        "A page about arms and a motion that opens in any browser.",
        states=("q", "qd", "qdd"),
        states_from=TRAJECTORY,
    ),
    Verb("models", "Arms", "The bundled arms, and where each one's figures come from."),
    Verb("new", "Arms", "The beginning of a YAML arm, to be filled in."),
    Verb(
        "check",
        "Stored results",
        "Stored results beside what their questions are answered with now.",
    ),
    Verb("record", "Stored results", "A result stored for others to be checked against."),
    Verb("diff", "Stored results", "What differs between two models."),
    Verb("plot", "Stored results", "A picture of a stored result, or of what holds an arm."),
    Verb("status", "Stored results", "What there is of a folder of parts, and what is left."),
    Verb("merge", "Stored results", "A folder of parts as one result."),
    Verb("plan", "Stored results", "What a command over many recordings will do."),
    Verb("generate", "Programs", "A program in C that computes what verbs answer."),
    Verb("count", "Cost", "Exact operation counts, beside the papers' formulas."),
    Verb("bench", "Cost", "States per second of every verb, on this machine."),
    Verb("completion", "Shell", "What a shell needs to complete command lines."),
)

VERBS: dict[str, Verb] = {verb.name: verb for verb in (*_DYNAMICS, *_CONTROL, *_MOTION, *_OTHERS)}


def sections() -> dict[str, dict[str, str]]:
    """Summaries of all commands by section of the help page, in order."""
    by_section: dict[str, dict[str, str]] = {}
    for verb in VERBS.values():
        by_section.setdefault(verb.section, {})[verb.name] = verb.summary
    return by_section


def answering_verb(name: str) -> Verb | None:
    """Return the command if its result can be stored, else None; accepts `sweep COMMAND`."""
    verb = VERBS.get(name) or VERBS.get(base_verb(name))
    return verb._replace(name=name) if verb is not None and verb.answers else None


def unknown_verb(name: str, where: str, otherwise: str) -> UsageError:
    """Return the error for an unknown command, with suggestions."""
    near = [f"'{verb}'" for verb in suggest(name.replace("_", "-").lower(), VERBS)]
    hint = f"did you mean {' or '.join(near)}?" if near else otherwise
    return UsageError(f"there is no verb '{name}'", where=where, hint=hint)
