"""A kernel called from ever deeper in the stack; run as a program, for a crash ends it."""

from __future__ import annotations

from robolin.dynamics.catalogue import ALGORITHMS
from tests.engine.on_lanes import plan_for
from tests.robots import random_arm, random_states

DEPTHS = 16
ROWS = 20


def main(widths: list[int]) -> None:
    """Print for every width whether the results are the same at every stack alignment."""
    for width in widths:
        print(f"{width}: {_same_everywhere(width)}", flush=True)


def _same_everywhere(width: int) -> bool:
    arm, algorithm = random_arm(54, 7, prismatic=False), ALGORITHMS["linearize-inverse"]
    states = random_states(arm, ROWS)
    state = [states.q, states.qd, states.qdd]
    plan = plan_for(arm, "linearize-inverse", algorithm, width)

    def at(depth: int) -> list[bytes]:
        # each map is a frame of C, and leaves the stack 16 bytes off where it was not before
        if depth:
            return next(map(at, [depth - 1]))
        ways = (plan.call_batch(state, (ROWS,), 1, chunk)[0] for chunk in (None, 7))
        return [values.tobytes() for results in ways for values in results.values()]

    by_depth = [at(depth) for depth in range(DEPTHS)]
    return all(each == by_depth[0] for each in by_depth)
