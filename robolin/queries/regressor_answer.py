"""The answers of `regressor`: the matrix, its rank, and the parameters it multiplies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robolin.analysis.identification import identifiable, public_columns
from robolin.analysis.link_geometry import geometry_names, public_geometry
from robolin.analysis.link_parameters import joint_slides, parameters
from robolin.core.arm import Arm
from robolin.core.results.result import Array, Result, ResultStream
from robolin.core.units import unit_of, units_along
from robolin.errors import UsageError
from robolin.queries.algorithm_answer import Algorithms, answer_by_algorithms
from robolin.queries.query_context import PosedQuestion
from robolin.queries.question import Question
from robolin.queries.sampled_states import sampled_states
from robolin.queries.state_parsing import require_none_drawn
from robolin.queries.states import States
from robolin.queries.values import Values


def answer_regressor(posed: PosedQuestion) -> Result | ResultStream:
    """The matrix, for one state or every row; its rank; or the parameters."""
    if posed.question.asked("rank"):
        return _rank(posed)
    if posed.question.asked("parameters"):
        return _parameters(posed)
    if posed.question.asked("geometry"):
        return answer_by_algorithms(posed, Algorithms(("geometry-derivative",), named=_geometry))
    if posed.arm.wrenches:
        posed.note("what wrenches take is no part of the regressor: it adds to the torques")
    springs = ("spring-regressor",) if posed.arm.has_springs else ()
    return answer_by_algorithms(posed, Algorithms(("regressor", *springs), named=_columns))


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse two answers at once, and states where none matter."""
    asked = [name for name in ("rank", "parameters", "geometry") if question.asked(name)]
    if len(asked) > 1:
        raise UsageError(f"cannot go together with --{asked[1]}", where=f"--{asked[0]}")
    if question.asked("rank"):
        return
    require_none_drawn(states, "--rank")
    if question.asked("parameters") and (states.values or states.trajectory):
        hint = "parameters are the same in every state"
        raise UsageError("goes without a state", where="--parameters", hint=hint)


def _rank(posed: PosedQuestion) -> Result:
    """How many parameters count, over all states together."""
    posed.tell_of_arm()
    states = sampled_states(posed, ("q", "qd", "qdd"))
    q, qd, qdd = (states.values[name] for name in ("q", "qd", "qdd"))
    found = identifiable(posed.arm, q, qd, qdd, jobs=posed.settings.jobs)
    lines = {
        "state": states.origin,
        "algorithm": "singular values of the stacked regressor, columns of length one",
        "identifiable": f"{found.rank} numbers of {len(found.names)} parameters",
        "condition": f"{found.condition:.3g}",
    }
    arrays = (
        Array("rank", np.array(float(found.rank)), (), unit_of("rank", ())),
        Array("share", found.share, (found.names,), unit_of("share", ())),
    )
    return posed.result(arrays, lines, states.inputs)


def _parameters(posed: PosedQuestion) -> Result:
    """What the arm's parameters are."""
    posed.tell_of_arm()
    listed = parameters(posed.arm)
    values = np.array([p.value for p in listed])
    labels = (tuple(p.label for p in listed),)
    unit = _unit(posed.arm, "parameters", labels)
    array = Array("parameters", values, labels, unit)
    return posed.result((array,), {})


def _columns(arm: Arm, found: Values) -> Iterator[Array]:
    names = tuple(p.label for p in parameters(arm))
    springs = found["spring_regressor"] if arm.has_springs else None
    matrix = public_columns(arm, found["regressor"], springs)
    labels = (arm.joint_names, names)
    yield Array("regressor", matrix, labels, _unit(arm, "regressor", labels))


def _geometry(arm: Arm, found: Values) -> Iterator[Array]:
    labels = (arm.joint_names, geometry_names(arm))
    unit = _unit(arm, "dtau_dgeometry", labels)
    yield Array("dtau_dgeometry", public_geometry(arm, found["dtau_dgeometry"]), labels, unit)


def _unit(arm: Arm, quantity: str, labels: Sequence[Sequence[str]]) -> str:
    kinds = [joint.kind for joint in arm.joints]
    return unit_of(quantity, kinds, units_along(quantity, labels, joint_slides(arm)))
