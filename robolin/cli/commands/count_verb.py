"""robolin count: operation counts of a command, compared with the papers' formulas."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.cli.flags.model_flags import structure_options
from robolin.cli.output.report import Report, report_options
from robolin.core.text import did_you_mean, join_and, pluralize
from robolin.dynamics.catalogue import counted_verbs
from robolin.errors import UsageError
from robolin.queries.option_specs import REQUIRES, conflict
from robolin.queries.request import ArmSource

COUNTED_VERBS = counted_verbs()

VERB = click.Argument(["verb"], metavar="VERB")
JOINTS_FLAG = flag(
    "--joints",
    section=METHOD,
    type=click.IntRange(1, 200),
    metavar="N",
    excludes={"arm": "count for a chain of N joints, or for the structure of ARM"},
    help="A serial chain of N joints in place of ARM.",
)


FOLD = flag(
    "--fold",
    section=METHOD,
    is_flag=True,
    modifies={"arm": "N joints stand for any arm; name one whose numbers are known"},
    help="Show beside it what is left for ARM with its numbers known: constants folded, common "
    "parts computed once, as in a generated program.",
)


@click.command(
    "count",
    cls=VerbCommand,
    params=[VERB, JOINTS_FLAG, FOLD],
    short_help="Exact operation counts, beside the papers' formulas.",
)
@structure_options
@report_options
def command(
    verb: str, model: ArmSource | None, report: Report, joints: int | None, fold: bool
) -> None:
    """Exact operation counts, beside the papers' formulas.

    Multiplications and additions of VERB are counted by running the algorithm itself on numbers
    that only count, for a generic serial chain of N revolute joints or for the structure of ARM.
    VERB is one of COUNTED_VERBS.

    \b
    Example:
      robolin count linearize-forward --joints 7
      robolin count inverse panda --fold
    """
    from robolin.analysis.operation_counts import operation_counts
    from robolin.cli.output.count_report import count_document, count_sections
    from robolin.engine.direct_storage import generic_chain
    from robolin.engine.parameters import parameters_of

    _require_sense(verb, model, joints)
    if model is None:
        assert joints is not None, "there is an ARM or a number of joints"
        parameters = generic_chain(joints)
        whose = f"a serial chain of {pluralize(joints, 'revolute joint')}"
        rows = list(operation_counts(verb, parameters))
    else:
        arm = model.arm()
        parameters = parameters_of(arm)
        tree = ", its loops left open" if arm.loops else ""
        whose = f"'{arm.name}', {pluralize(arm.n, 'joint')}{tree}"
        rows = list(operation_counts(verb, parameters, fold))
    report.write(
        count_sections(verb, whose, parameters, rows), count_document(verb, whose, parameters, rows)
    )


command.help = (command.help or "").replace("COUNTED_VERBS", join_and(COUNTED_VERBS))


def _require_sense(verb: str, model: ArmSource | None, joints: int | None) -> None:
    if verb not in COUNTED_VERBS:
        hint = did_you_mean(verb.lower().replace("_", "-"), COUNTED_VERBS)
        raise UsageError(f"there is no verb '{verb}' to count", where="robolin count", hint=hint)
    if model is None and joints is None:
        hint = "for example: robolin count linearize-forward --joints 7"
        raise conflict("robolin count", REQUIRES, ["arm", "joints"], hint)
