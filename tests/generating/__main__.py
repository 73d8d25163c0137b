"""Every bundled arm, every verb it can answer, 200 states: generated C beside robolin's bits.

    python -m tests.generating [--arms A,B] [--layouts unrolled,loops] [--real float]

It takes many minutes; no test runs it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import robolin
from robolin.arm import Arm
from robolin.description.bundled import bundled_names
from robolin.errors import RobolinError
from robolin.generating.questions import QUESTIONS
from tests.generating.compilers import RUNNING

# n⁴ numbers, which no compiler likes one after the other
ONLY_WITH_LOOPS = ("mass-matrix-second-derivative",)


def asked_of(name: str) -> list[tuple[str, Arm]]:
    """The arm as it is, and with its loops open if it has any."""
    arm = robolin.load(name)
    return (
        [("", arm)]
        if not arm.loops
        else [("", arm), (" opened", robolin.load(name, open_loops=True))]
    )


def answered(arm: Arm, layout: str) -> list[str]:
    """The verbs that have an answer on the arm."""
    found = []
    for verb in QUESTIONS:
        if layout == "unrolled" and verb in ONLY_WITH_LOOPS and arm.n > 4:
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                frame = arm.links[-1].name
                robolin.generate(arm, [verb], f"{folder}/x", layout=layout, frame=frame, states=1)
            found.append(verb)
        except RobolinError:
            pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", default=",".join(bundled_names()))
    parser.add_argument("--layouts", default="unrolled,loops")
    parser.add_argument("--compilers", default=",".join(RUNNING))
    parser.add_argument("--real", default="double")
    parser.add_argument("--verbs", default="")
    parser.add_argument("--level", default="-O1")
    parser.add_argument("--states", type=int, default=200)
    given = parser.parse_args()
    for name in given.arms.split(","):
        for what, arm in asked_of(name):
            for layout in given.layouts.split(","):
                verbs = given.verbs.split(",") if given.verbs else answered(arm, layout)
                with tempfile.TemporaryDirectory() as place:
                    folder = Path(place) / "made"
                    robolin.generate(
                        arm,
                        verbs,
                        folder,
                        real=given.real,
                        layout=layout,
                        frame=arm.links[-1].name,
                        states=given.states,
                        prefix="arm",
                    )
                    for label in given.compilers.split(","):
                        said = RUNNING[label].checked(folder, "arm", [given.level])
                        print(
                            f"{name}{what}, {layout}, {label}, {len(verbs)} verbs: {said}",
                            flush=True,
                        )


if __name__ == "__main__":
    main()
