"""States for questions about an arm as a whole: given by flags, by a file, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import STATE, Function, bundled, flag
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import State
from robolin.errors import UsageError
from robolin.wording import counted

if TYPE_CHECKING:
    from robolin.arm import Arm


@dataclass(frozen=True)
class Samples:
    """How many random states, and from which seed."""

    count: int | None
    seed: int | None

    def require_none(self, flag_needed: str) -> None:
        """Refuse the flags where they would have no effect."""
        if self.count is not None or self.seed is not None:
            name = "--samples" if self.count is not None else "--seed"
            raise UsageError("has no effect here", where=name, hint=f"it goes with {flag_needed}")


def sample_options(needed: str) -> Callable[[Function], Function]:
    """--samples and --seed, for a verb where they belong to the flag `needed`."""
    flags = [
        flag(
            "--samples",
            section=STATE,
            type=click.IntRange(min=1),
            metavar="N",
            help=f"With {needed}: look at N random states between the joints' limits.",
        ),
        flag(
            "--seed",
            section=STATE,
            type=click.IntRange(min=0),
            metavar="S",
            help="Another seed draws other states.  [default: 0]",
        ),
    ]
    return bundled("samples", flags, lambda samples, seed: Samples(samples, seed))


@dataclass(frozen=True)
class Looked:
    """States, each array of shape (n,) or (rows, n), and where they come from."""

    values: Mapping[str, Any]
    said: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    time: Any = None


def looked_at(
    arm: Arm, state: State, samples: Samples, needs: Sequence[str], out: Output
) -> Looked:
    """The states to look at; what neither flags nor columns give is zero."""
    if samples.count is not None:
        return _drawn(arm, state, samples, needs)
    if samples.seed is not None:
        raise UsageError("needs --samples", where="--seed")
    if state.trajectory is not None:
        return _read(arm, state.trajectory, needs, out)
    from robolin.cli.motion import typed_motion

    motion, given = typed_motion(arm, state, needs, "zero")
    values = motion.values(arm, given, lambda verb, values: {})
    return Looked({name: values[name] for name in needs}, motion.said()["state"])


def _drawn(arm: Arm, state: State, samples: Samples, needs: Sequence[str]) -> Looked:
    from robolin.analysis.sampling import random_motions

    if state.typed or state.trajectory:
        other = "--trajectory" if state.trajectory else f"--{next(iter(state.typed))}"
        hint = "states are either drawn or given"
        raise UsageError(f"cannot go together with {other}", where="--samples", hint=hint)
    count, seed = samples.count or 1, samples.seed or 0
    drawn = dict(zip(("q", "qd", "qdd"), random_motions(arm, count, seed), strict=True))
    states = counted(count, "random state")
    return Looked({name: drawn[name] for name in needs}, f"{states}, seed {seed}")


def _read(arm: Arm, path: str, needs: Sequence[str], out: Output) -> Looked:
    import numpy as np

    from robolin.trajectory.read import read_trajectory

    if path == "-" and arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")
    rows = read_trajectory(path, arm.joint_names, ("q",), tuple(needs[1:]))
    file = "stdin" if path == "-" else PurePath(path).name
    out.note(*(f"{file}: {note}" for note in rows.notes))
    zero = np.zeros((rows.rows, arm.n))
    columns = {name: getattr(rows, name) for name in needs}
    values = {name: zero if column is None else column for name, column in columns.items()}
    return Looked(values, f"{rows.rows} rows of {file}", {file: rows.digest}, rows.time)
