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
_WHERE = "robolin bench counts"

VERB = click.Argument(["verb"], metavar="COMMAND")
JOINTS_FLAG = flag(
    "--joints",
    section=METHOD,
    type=click.IntRange(1, 200),
    metavar="N",
    excludes={"arm": "name either ARM or --joints N"},
    help="Count for a serial chain of N joints instead of ARM",
)


FOLD = flag(
    "--fold",
    section=METHOD,
    is_flag=True,
    modifies={"arm": "name an ARM: its parameters are the constants"},
    help="Also count with the parameters of ARM as constants\n"
    "Constants are folded and common subexpressions computed once, as in generated C "
    "code.",
)


@click.command(
    "count",
    cls=VerbCommand,
    params=[VERB, JOINTS_FLAG, FOLD],
)
@structure_options
@report_options
def command(
    verb: str, model: ArmSource | None, report: Report, joints: int | None, fold: bool
) -> None:
    """Count the operations of an algorithm.

    Counts multiplications and additions of COMMAND by running the algorithm on counting
    numbers, for a serial chain of N revolute joints or for the structure of ARM, and compares
    them with the formulas of the papers. COMMAND is one of COUNTED_VERBS.

    \b
    Examples:
      robolin bench counts linearize-forward --joints 7
      robolin bench counts inverse panda --fold
    """
    from robolin.analysis.operation_counts import operation_counts
    from robolin.cli.output.count_report import count_document, count_sections
    from robolin.engine.direct_storage import generic_chain
    from robolin.engine.parameters import parameters_of

    _require_sense(verb, model, joints)
    if model is None:
        assert joints is not None, "ARM or --joints is set"
        parameters = generic_chain(joints)
        whose = f"a serial chain of {pluralize(joints, 'revolute joint')}"
        rows = list(operation_counts(verb, parameters))
    else:
        arm = model.arm()
        parameters = parameters_of(arm)
        tree = ", without loop closures" if arm.loops else ""
        whose = f"'{arm.name}', {pluralize(arm.n, 'joint')}{tree}"
        rows = list(operation_counts(verb, parameters, fold))
    report.write(
        count_sections(verb, whose, parameters, rows), count_document(verb, whose, parameters, rows)
    )


command.help = (command.help or "").replace("COUNTED_VERBS", join_and(COUNTED_VERBS))


def _require_sense(verb: str, model: ArmSource | None, joints: int | None) -> None:
    if verb not in COUNTED_VERBS:
        hint = did_you_mean(verb.lower().replace("_", "-"), COUNTED_VERBS)
        raise UsageError(f"unknown command '{verb}'", where=_WHERE, hint=hint)
    if model is None and joints is None:
        hint = f"run `{_WHERE} linearize-forward --joints 7`"
        raise conflict(_WHERE, REQUIRES, ["arm", "joints"], hint)
