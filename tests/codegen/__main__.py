"""Every bundled arm, every verb it can answer, 200 states: generated C beside robolin's bits.

    python -m tests.codegen [--arms A,B] [--layouts unrolled,loops] [--real float]

It takes some ten minutes; no test runs it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import robolin
from robolin.codegen.functions import QUESTIONS
from robolin.codegen.generate import Real
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names
from robolin.errors import RobolinError
from robolin.evaluation.frames import ABOUT_A_FRAME
from robolin.evaluation.prescribed_joints import PRESCRIBED_VARIANT
from tests.codegen.compilers import RUNNING


def query_dict(name: str) -> list[tuple[str, Arm]]:
    """The arm as it is, and with its loops open if it has any."""
    arm = robolin.load(name)
    opened = [(f"{name} opened", robolin.load(name, open_loops=True))] if arm.loops else []
    return [(name, arm), *opened]


def answered(arm: Arm, real: Real) -> list[str]:
    """The verbs that have an answer on the arm, and at the states that are drawn for it."""
    found = []
    for verb in QUESTIONS:
        with tempfile.TemporaryDirectory() as place, suppress(RobolinError):
            folder, frame = f"{place}/made", arm.links[-1].name if verb in ABOUT_A_FRAME else None
            robolin.generate(arm, [verb], folder, real=real, layout="loops", frame=frame, states=1)
            found.append(verb)
    return found


def compared(
    arm: Arm, verbs: Sequence[str], layout: str, given: argparse.Namespace, told: str | None = None
) -> Iterator[tuple[str, str]]:
    """Of every compiler its name and what the program says that it made, if nothing differs."""
    with tempfile.TemporaryDirectory() as place:
        framed = not ABOUT_A_FRAME.isdisjoint(verbs)
        folder, frame = Path(place) / "made", arm.links[-1].name if framed else None
        as_asked = {"real": given.real, "layout": layout, "states": given.states}
        as_asked |= {"frame": frame, "prescribe": told}
        robolin.generate(arm, verbs, folder, prefix="arm", **as_asked)
        for label in given.compilers.split(","):
            yield label, RUNNING[label].checked(folder, "arm", [given.level])


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.codegen", description=__doc__)
    parser.add_argument("--arms", default=",".join(bundled_names()))
    parser.add_argument("--layouts", default="unrolled,loops")
    parser.add_argument("--compilers", default=",".join(RUNNING))
    parser.add_argument("--real", default="double")
    parser.add_argument("--verbs", default="")
    parser.add_argument("--level", default="-O1")
    parser.add_argument("--states", type=int, default=200)
    given = parser.parse_args()
    for name in given.arms.split(","):
        for what, arm in query_dict(name):
            verbs = given.verbs.split(",") if given.verbs else answered(arm, given.real)
            for layout in given.layouts.split(","):
                for label, said in compared(arm, verbs, layout, given):
                    print(f"{what}, {layout}, {label}, {len(verbs)} verbs: {said}", flush=True)
                if arm.loops:
                    continue
                for label, said in compared(
                    arm, [*PRESCRIBED_VARIANT], layout, given, arm.joint_names[0]
                ):
                    print(f"{what}, {layout}, {label}, a joint told: {said}", flush=True)


if __name__ == "__main__":
    main()
