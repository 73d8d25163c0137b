"""robolin count: what a verb costs, beside what the papers say it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from robolin.errors import RobolinError, UsageError
from robolin.number_texts import FlagText, named

if TYPE_CHECKING:
    from robolin.arm import Arm

VERBS = (
    "inverse",
    "forward",
    "mass-matrix",
    "linearize-inverse",
    "linearize-forward",
    "jacobian",
    "diagonalize",
)


@click.command("count", short_help="Exact operation counts, beside the papers' formulas.")
@click.argument("verb", metavar="VERB")
@click.argument("arm", required=False, metavar="[ARM]")
@click.option("--joints", "joints", type=click.IntRange(1, 200), help="A serial chain of N joints.")
@click.option(
    "--lock",
    multiple=True,
    metavar="JOINT=VALUE",
    help="Hold a joint of ARM at a position; repeatable, or with commas.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the counts.",
)
def command(verb: str, arm: str | None, joints: int | None, lock: Sequence[str], form: str) -> None:
    """Exact multiplications and additions of VERB.

    They are counted by running the algorithm itself on numbers that only count, for a generic
    serial chain of N revolute joints or for the structure of ARM.  VERB is one of inverse,
    forward, mass-matrix, linearize-inverse, linearize-forward, jacobian and diagonalize.

    \b
    Example:
      robolin count linearize-forward --joints 7
      robolin count inverse panda
    """
    from robolin.analysis.operation_counts import operation_counts
    from robolin.cli.reports.count_report import as_json, as_text, counted
    from robolin.engine.generic_chain import generic_chain
    from robolin.engine.parameters import parameters_of

    _require_sense(verb, arm, joints, lock)
    if arm is None:
        assert joints is not None
        parameters = generic_chain(joints)
        whose = f"a serial chain of {counted(joints, 'revolute joint')}"
        rows = list(operation_counts(verb, parameters))
    else:
        loaded = _loaded(arm, lock)
        parameters = parameters_of(loaded)
        tree = ", its loops left open" if loaded.loops else ""
        whose = f"'{loaded.name}', {counted(loaded.n, 'joint')}{tree}"
        rows = list(operation_counts(verb, parameters))
        if not rows:
            raise _not_with_mimic(verb, loaded)
    report = as_json if form == "json" else as_text
    click.echo(report(verb, whose, parameters, rows), nl=False)


def _require_sense(verb: str, arm: str | None, joints: int | None, lock: Sequence[str]) -> None:
    if verb not in VERBS:
        from robolin.description.structure import did_you_mean

        hint = did_you_mean(verb.lower().replace("_", "-"), VERBS)
        raise UsageError(f"there is no verb '{verb}' to count", where="robolin count", hint=hint)
    if (arm is None) == (joints is None):
        raise UsageError(
            "count needs an ARM or --joints N, and not both",
            hint="for example: robolin count linearize-forward --joints 7",
        )
    if joints is not None and lock:
        hint = "--joints N takes as many joints as should move"
        raise UsageError("--lock is for an ARM", where="robolin count", hint=hint)


def _loaded(arm: str, lock: Sequence[str]) -> Arm:
    from robolin.description.load import load

    locked: dict[str, float] = {}
    for text in lock:
        locked |= {name: value for name, (value, _) in named(FlagText("--lock", text)).items()}
    return load(arm, lock=locked)


def _not_with_mimic(verb: str, arm: Arm) -> RobolinError:
    """Joints that follow others are the one thing that can leave no algorithm."""
    rules = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    follower, rule = next(iter(rules.items()))
    return RobolinError(
        f"no algorithm for {verb} takes joints that follow others, "
        f"and '{follower}' follows '{rule.leader}'",
        where=arm.source,
        hint=f"lock the joint that is followed: --lock {rule.leader}=0",
    )
