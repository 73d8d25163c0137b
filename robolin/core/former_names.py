"""Names in earlier versions and in other programs, and the current ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from robolin.core.text import did_you_mean, join_and, pluralize, quote_list
from robolin.errors import UsageError

# options without leading dashes
FORMER_OPTIONS = {
    "other-figures": "allow-model-mismatch",
    "cost-slopes": "cost-gradient",
    "max-speed": "max-velocity",
}

# names of options in other programs -> options of robolin, the first that the command has
FOREIGN_OPTIONS = {
    name: options.split()
    for names, options in (
        ("q0 pos position positions joint-positions configuration pose", "q"),
        ("qdot dq v vel velocity velocities joint-velocities", "qd"),
        ("qddot ddq a acc acceleration accelerations", "qdd"),
        ("torque torques effort efforts u force forces", "tau"),
        ("file input data csv-file recording motion log", "trajectory"),
        ("out outfile out-file output-file save", "output"),
        ("csv json npz parquet table", "format"),
        ("link body ee end-effector tcp", "frame tip"),
        ("mass load tool", "payload"),
        ("g", "gravity"),
        ("max-velocities velocity-limit max-speed", "max-velocity"),
        ("max-torque torque-limit effort-limit", "max-effort"),
        ("timestep time-step step-size", "dt"),
        ("sample-time", "sample-time dt"),
        ("time-span tspan t-end t tf time seconds", "duration"),
        ("steps samples-out", "rows"),
        ("Q state-weight", "weight"),
        ("R input-weight", "effort"),
        ("omega frequency w bode", "frequencies"),
        ("step", "dt"),
        ("deg units", "degrees"),
        ("threads workers cores", "jobs"),
        ("friction", "friction-velocity"),
        ("rotor-inertia motor-inertia", "armature"),
    )
    for name in names.split()
}

# phrases of model assumptions; some contain numbers or names
_PHRASES = {
    r"^(ignored|open) \(asked for\)": r"\1 as requested",
    r"^left out as requested": "ignored as requested",
    r"(joints off the chain|joints inboard of it) are rigid": r"\1 are locked",
    r"and what they carry moves along$": "and their links move with it",
    r"at its origin, turning with it": "at its origin, rotating with the link",
    r"borne by the base": "carried by the base",
    r"closed by joints that stand still": "closed by locked joints",
    r"the first joint, gone along with": "the first joint, moved with",
    r"^(joint '.*') follows ('.*' but is off the chain): it stands still$": (
        r"\1 mimics \2: it is locked"
    ),
    r"^the armature given for (joint '.*' has no effect): it stands still$": (
        r"the armature of \1: the joint does not move"
    ),
    r"^(the payload on link '.*') weighs nothing$": r"\1 has no mass",
    r"(the wrench on link '.*' has no effect: the base) bears it$": r"\1 carries it",
    r"torques answered$": "torques computed",
    r"joints that move as told rigid": "prescribed joints locked",
    r"joints that move as told taken out": "prescribed joints removed",
    r"^inverse model and elimination": "linearized inverse dynamics and elimination",
    r"^(motor currents times .*) N·m/A or N/A$": r"\1 N·m per A or N per A",
    r"^counted in (.*), passed through as it came$": r"in \1, values unchanged",
    r"torques cut off at the joints' limits": "torques are saturated at the joint limits",
    r"joints that move as told take more than their limits": (
        "prescribed joints exceed their effort limits"
    ),
    r"joints that move as told have none": "prescribed joints have none",
    r"^(.* J) at most, beside kinetic energies (up to .* J)$": (r"at most \1, kinetic energy \2"),
    r"^every step brought back onto them, positions and velocities$": (
        "positions and velocities projected onto the loop constraints in every step"
    ),
    r"^gaps drawn shut by Baumgarte's terms,": "Baumgarte stabilisation with",
    r"tree and closures in one system": "accelerations and constraint forces in one system",
    r"\bforces of the closures first": "constraint forces first",
    r"motions that the closures leave free first": (
        "motion in the null space of the constraints first"
    ),
    r"brought onto the closures": "projected onto the loop constraints",
    r"^q̇, by tree and closures$": "q̇, with loop constraints",
    r"what carries weight and loads": "compensation of gravity and loads",
    r"weight, loads and losses made up for$": "gravity, loads and dissipation compensated",
    r"^(singular values of the stacked regressor), columns of length one$": (
        r"\1 with normalized columns"
    ),
    r"^what holds the equilibrium$": "holding the equilibrium",
    r"^what the (derived|given) accelerations take \(": r"torques for the \1 accelerations (",
    r"\bchanged as little as can be$": "changed as little as possible",
    r"^it moves there: drift is not zero, and poles are not those of an equilibrium$": (
        "not an equilibrium: drift is not zero, and poles describe deviations from the motion"
    ),
    r"^(\d+ steps); (.*) moved most, by (\S+); (\S+) left at passive joints$": (
        r"\1; largest change \3 of \2; residual \4 at passive joints"
    ),
    r"^(.*), of which (.*) after its end": r"\1, including \2 after the end",
    r"\(follows ([^)]*)\)": r"(mimics \1)",
    r"^mechanicalReduction noted, not applied: ": "mechanicalReduction is ignored: ",
    r"^mechanicalReduction noted, ": "mechanicalReduction is ignored, ",
    r"^(.*) left beside its largest term$": r"residual \1 of its largest term",
    r"^flat in (.*) looked at; if so everywhere, coordinates make": (
        r"flat in \1 tested; if flat everywhere, coordinates exist that make"
    ),
    r"\b(coordinates (?:exist that )?make the mass matrix) diagonal(?: everywhere)?$": (
        r"\1 constant"
    ),
    r"states reached by the motors; nearest to being lost is the pole": (
        "states controllable; least controllable pole"
    ),
    r"states seen in the outputs; nearest to being lost is the pole": (
        "states observable; least observable pole"
    ),
    r"^of (\d+ poles) ": r"\1: ",
    r"\bbiases of velocities a little old\b": "bias terms of the previous velocities",
    r"^Tables 1 and 2 backwards\b": "inverse of Tables 1 and 2",
    r"^(elimination in the mass matrix) backwards\b": r"inverse transformation by \1",
    r"^braking by (elimination in the mass matrix)": r"rate control by \1",
    r"\belimination in the mass matrix": "factorization of the mass matrix",
    r"^one half by recursions outward": "one triangle by recursions outward",
    r"\b(with|without) roots\b": r"\1 square roots",
    r"\bedge\b(?=$|, )": "marginal",
    r"neither decays nor grows within (\S+/s)": r"rate below \1",
    r"gone after one sample": "vanishes after one sample",
    r"^all, by the gradient of the cost whose slopes are in\b": "all, by the cost gradient in",
    r"; efforts are without it$": "; not included in the efforts",
    r" on straight lines between its (\d+ rows)": r", interpolated linearly between its \1",
    r"; every joint is moved by itself, as in the tree$": (
        "; all joints are independent, as in the tree"
    ),
    r"^(\d+) numbers of (\d+ parameters)": r"\1 combinations of \2",
    r"^where the gains of (\S+) begin\b": r"start of the gains in \1",
    r"^(--offset from )where (\S+) begins\b": r"\1the start of \2",
    r"^where (\S+) begins\b": r"start of the motion in \1",
    r"^(gain \S+ 1/s), 1 % after\b": r"\1, error 1 % after",
    r"\bthe time (stamp )?of the row before\b": r"the time \1of the previous row",
    r"\bin the description\b": "in the robot file",
    r", linear between rows\b": ", interpolated linearly between rows",
    r"(\)), (\S+) beside the size of A$": r"\1, distance \2 relative to ‖A‖",
    # titles of algorithms, after the names of their arrays if there are several
    r"\b(bias torques|bias forces of the links) first\b": r"\1 computed first",
    r"\b(constraint forces|null space of the constraints) first\b": r"\1 computed first",
    r"\bwith (?:the links'|their) accelerations\b": "with link accelerations",
    r"\bbiases as polynomials of velocities\b": "bias terms as polynomials of the velocities",
    r"\ball bodies and the forces in their joints, sparse elimination\b": (
        "sparse elimination of the accelerations and joint forces of all bodies"
    ),
    r"\bthe forces in the joints alone, block-tridiagonal\b": (
        "block-tridiagonal system of the joint forces"
    ),
    r"\bone triangle by recursions outward( with branches)?": (
        r"outward recursions\1 for one triangle of the matrix"
    ),
    r"\bwith unit right-hand sides\b": "applied to unit vectors",
    r"\bunit parameters link by link\b": "torques for unit parameters of each link",
    r"\bunit springs joint by joint\b": "torques for a unit spring at each joint",
    r"\bthe linear model for virtual joints\b": "linearized inverse dynamics with virtual joints",
    r"\bψ\*H\*D⁻¹Hψ along the links\b": "recursion for ψ*H*D⁻¹Hψ",
    r" and a 6x6 elimination\b": ", then elimination of a 6x6 matrix",
    r"\bdifferences of two frames' motions\b": "differences between the motions of two frames",
    r"\bdifferences of two frames' derivatives\b": (
        "differences between the motion derivatives of two frames"
    ),
    r"\bleast step by Gram–Schmidt\b": "minimum-norm step by Gram–Schmidt",
    r"\bdifferentiated adjoint sweeps\b": "derivatives of the adjoint sweeps",
    r"\bC by ∂𝓜/∂q": "C from ∂𝓜/∂q",
}


def with_current_names(meta: dict[str, Any]) -> dict[str, Any]:
    """The provenance of a stored result with current option names and phrases."""
    options = with_current_options(meta["options"])
    return {**meta, "options": options, "contract": _current(meta["contract"])}


def with_current_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under their current names."""
    return {FORMER_OPTIONS.get(name, name): value for name, value in options.items()}


def _current(value: Any) -> Any:
    """Replace former phrases in all texts of a contract."""
    if isinstance(value, Mapping):
        return {key: _current(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_current(each) for each in value]
    if not isinstance(value, str):
        return value
    for former, current in _PHRASES.items():
        value = re.sub(former, current, value)
    return value


def with_argument_hints(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a `UsageError` for missing or unknown arguments."""

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except TypeError:
            if _fits(function, values, named):
                raise
        raise wrong_arguments(function, len(values), named)

    return call


def _fits(function: Callable[..., Any], values: Any, named: Mapping[str, Any]) -> bool:
    """True if the signature accepts the arguments: a `TypeError` has another reason."""
    from inspect import signature

    try:
        signature(function).bind(*values, **named)
    except TypeError:
        return False
    return True


def wrong_arguments(
    function: Callable[..., Any], count: int, named: Mapping[str, Any]
) -> UsageError:
    """Error for a call with `count` positional arguments that does not fit the signature."""
    from inspect import Parameter, signature

    known = {
        name: each
        for name, each in signature(function).parameters.items()
        if each.kind is not Parameter.VAR_KEYWORD
    }
    ordered = [name for name, each in known.items() if each.kind is not Parameter.KEYWORD_ONLY]
    where = f"robolin.{function.__name__}"
    for name in named:
        if name not in known:
            hint = _argument_hint(name, known)
            return UsageError(f"unknown argument '{name}'", where=where, hint=hint)
    if count > len(ordered):
        accepted = f"accepts {pluralize(len(ordered), 'positional argument')}, got {count}"
        hint = f"pass the others by name: {join_and([*known][len(ordered) :])}"
        return UsageError(accepted, where=where, hint=hint if len(known) > len(ordered) else "")
    for name in ordered[:count]:
        if name in named:
            return UsageError(f"argument '{name}' is given twice", where=where)
    missing = [
        name
        for name, each in known.items()
        if each.default is Parameter.empty and name not in named and name not in ordered[:count]
    ]
    required = [
        f"{name}=…" if each.kind is Parameter.KEYWORD_ONLY else name
        for name, each in known.items()
        if each.default is Parameter.empty
    ]
    return UsageError(
        f"missing argument{'s' * (len(missing) > 1)} {quote_list(missing)}",
        where=where,
        hint=f"call {where}({', '.join([*required, *['…'] * (len(known) > len(required))])})",
    )


class _Missing:
    """Default of a required argument: the first use of an attribute reports the call."""

    __slots__ = ("_error",)

    def __init__(self, error: Callable[[], UsageError]) -> None:
        object.__setattr__(self, "_error", error)

    def __getattr__(self, name: str) -> Any:
        raise self._error()


def report_missing_arguments(function: Any) -> None:
    """Give required arguments a default that raises a `UsageError`, without a further call."""
    from inspect import Parameter, signature

    visible = signature(function)
    parameters = list(visible.parameters.values())
    function.__signature__ = visible
    ordered = [each for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    required = [each for each in ordered if each.default is Parameter.empty]
    names = [each.name for each in required]
    # only the first missing one is known, and the others may have been passed by name
    missing = [
        _Missing(partial(wrong_arguments, function, count, dict.fromkeys(names[count + 1 :])))
        for count in range(len(required))
    ]
    # from the signature: a second call, for example of another thread, changes nothing
    function.__defaults__ = (*missing, *(each.default for each in ordered[len(required) :]))


def _argument_hint(name: str, known: Mapping[str, Any]) -> str:
    """Hint for an unknown argument: its current name, that of robolin, or a similar one."""
    label = name.replace("_", "-")
    others = [FORMER_OPTIONS.get(label, ""), *FOREIGN_OPTIONS.get(label, ())]
    for other in (each.replace("-", "_") for each in others):
        if other in known:
            return f"use '{other}'"
    if name in _MODEL_STATE and "model" in known:
        return "pass a linear model: robolin.state_space(arm, q)"
    return did_you_mean(name, known)


# arguments of the function that makes a linear model
_MODEL_STATE = ("arm", "q", "qd", "tau")
