"""States for questions about an arm as a whole: given, in a file, or drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robolin.analysis.sampling import random_motions
from robolin.core.arrays import Floats
from robolin.core.text import counted
from robolin.errors import UsageError
from robolin.io.trajectories.read import read_trajectory
from robolin.queries.query_context import PosedQuestion, file_label
from robolin.queries.row_source import ArrayRows
from robolin.queries.values import one_state


@dataclass(frozen=True)
class SampledStates:
    """States, each array of shape (n,) or (rows, n), and where they come from.

    origin: where they come from, in words
    inputs: the file they were read from, and its digest
    """

    values: Mapping[str, Floats]
    origin: str
    inputs: dict[str, str] = field(default_factory=dict)
    time: Floats | None = None


def sampled_states(posed: PosedQuestion, needs: Sequence[str]) -> SampledStates:
    """The states to look at; what neither flags nor columns give is zero."""
    arm, states = posed.arm, posed.states
    if states.samples is not None:
        return _drawn(posed, needs)
    if states.seed is not None:
        raise UsageError("needs --samples", where="--seed")
    if states.trajectory is not None:
        return _read(posed, states.trajectory, needs)
    if states.arrays:
        return _of_arrays(posed, needs)
    motion, given = one_state(arm, posed.question, states, needs, "zero")
    values = motion.values(arm, given, lambda verb, values: {})
    lines = motion.contract_lines()
    return SampledStates({name: values[name] for name in needs}, lines["state"])


def _drawn(posed: PosedQuestion, needs: Sequence[str]) -> SampledStates:
    states = posed.states
    if states.values or states.trajectory:
        other = "--trajectory" if states.trajectory else f"--{next(iter(states.values))}"
        hint = "states are either drawn or given"
        raise UsageError(f"cannot go together with {other}", where="--samples", hint=hint)
    count, seed = states.samples or 1, states.seed or 0
    drawn = dict(zip(("q", "qd", "qdd"), random_motions(posed.arm, count, seed), strict=True))
    origin = f"{counted(count, 'random state')}, seed {seed}"
    return SampledStates({name: drawn[name] for name in needs}, origin)


def _read(posed: PosedQuestion, path: str, needs: Sequence[str]) -> SampledStates:
    arm = posed.arm
    if path == "-" and arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")
    if posed.states.carry:
        hint = "columns go along where every row is answered by itself"
        raise UsageError("has no effect here", where="--carry", hint=hint)
    how = (posed.rules, posed.states.row_choice, posed.settings.known)
    rows = read_trajectory(path, arm.joint_names, ("q",), tuple(needs[1:]), *how)
    file = file_label(path)
    posed.note(*(f"{file}: {note}" for note in rows.notes))
    zero = np.zeros((rows.rows, arm.n))
    columns = {name: getattr(rows, name) for name in needs}
    values = {name: zero if column is None else column for name, column in columns.items()}
    origin = f"{rows.rows} rows of {file}"
    if derived := rows.lines.get("differentiated"):
        origin += f", {derived}"
    return SampledStates(values, origin, {file: rows.digest}, rows.time)


def _of_arrays(posed: PosedQuestion, needs: Sequence[str]) -> SampledStates:
    arrays = posed.states.arrays
    source = ArrayRows(posed.arm, arrays)
    (chunk,) = source.chunks(source.size, gaps=False)
    zero = np.zeros((source.size, posed.arm.n))
    values = {name: chunk.columns.get(name, zero) for name in needs}
    return SampledStates(values, f"{source.size} rows of {source.name}")
