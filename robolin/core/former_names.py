"""Names and phrases in results of earlier versions, and the current ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# options without leading dashes
FORMER_OPTIONS = {
    "other-figures": "allow-model-mismatch",
    "cost-slopes": "cost-gradient",
    "max-speed": "max-velocity",
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
    r"(\)), (\S+) beside the size of A$": r"\1, distance \2 relative to ‖A‖",
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
