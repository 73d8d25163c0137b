"""Compare generated C with robolin bit by bit: every bundled arm, every verb, 200 states.

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
from robolin.evaluation.constant_inputs import PRESCRIBED_VARIANT
from robolin.evaluation.frames import ABOUT_A_FRAME
from tests.codegen.compilers import RUNNING


def query_dict(name: str) -> list[tuple[str, Arm]]:
    """The arm as it is, and with its loops open if it has any."""
    arm = robolin.load(name)
    opened = [(f"{name} opened", robolin.load(name, open_loops=True))] if arm.loops else []
    return [(name, arm), *opened]


def supported_verbs(arm: Arm, real: Real) -> list[str]:
    """The verbs that have a result on the arm, at its random states."""
    supported = []
    for verb in QUESTIONS:
        with tempfile.TemporaryDirectory() as temporary, suppress(RobolinError):
            frame = arm.links[-1].name if verb in ABOUT_A_FRAME else None
            options = {"real": real, "layout": "loops", "frame": frame, "states": 1}
            robolin.generate(arm, [verb], f"{temporary}/made", **options)
            supported.append(verb)
    return supported


def compare(
    arm: Arm,
    verbs: Sequence[str],
    layout: str,
    flags: argparse.Namespace,
    prescribed: str | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the name of each compiler and the summary that the program prints."""
    with tempfile.TemporaryDirectory() as temporary:
        framed = not ABOUT_A_FRAME.isdisjoint(verbs)
        folder, frame = Path(temporary) / "made", arm.links[-1].name if framed else None
        options = {"real": flags.real, "layout": layout, "states": flags.states}
        options |= {"frame": frame, "prescribe": prescribed}
        robolin.generate(arm, verbs, folder, prefix="arm", **options)
        for label in flags.compilers.split(","):
            yield label, RUNNING[label].checked(folder, "arm", [flags.level])


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.codegen", description=__doc__)
    parser.add_argument("--arms", default=",".join(bundled_names()))
    parser.add_argument("--layouts", default="unrolled,loops")
    parser.add_argument("--compilers", default=",".join(RUNNING))
    parser.add_argument("--real", default="double")
    parser.add_argument("--verbs", default="")
    parser.add_argument("--level", default="-O1")
    parser.add_argument("--states", type=int, default=200)
    flags = parser.parse_args()
    for name in flags.arms.split(","):
        for title, arm in query_dict(name):
            verbs = flags.verbs.split(",") if flags.verbs else supported_verbs(arm, flags.real)
            for layout in flags.layouts.split(","):
                for label, summary in compare(arm, verbs, layout, flags):
                    print(f"{title}, {layout}, {label}, {len(verbs)} verbs: {summary}", flush=True)
                if arm.loops:
                    continue
                for label, summary in compare(
                    arm, [*PRESCRIBED_VARIANT], layout, flags, arm.joint_names[0]
                ):
                    print(f"{title}, {layout}, {label}, a prescribed joint: {summary}", flush=True)


if __name__ == "__main__":
    main()
