"""robolin count: what a verb costs, beside what the papers say it costs."""

from __future__ import annotations

import click

VERBS = (
    "inverse",
    "forward",
    "mass-matrix",
    "linearize-inverse",
    "linearize-forward",
    "diagonalize",
)


@click.command("count", short_help="Exact operation counts, beside the papers' formulas.")
@click.argument("verb", type=click.Choice(VERBS))
@click.argument("arm", required=False)
@click.option("--joints", "joints", type=click.IntRange(1, 200), help="A serial chain of N joints.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the counts.",
)
def command(verb: str, arm: str | None, joints: int | None, form: str) -> None:
    """Exact multiplications and additions of VERB.

    They are counted by running the algorithm itself on numbers that only count, for a generic
    serial chain of N revolute joints or for the structure of ARM.

    \b
    Example:
      robolin count linearize-forward --joints 7
      robolin count inverse panda
    """
    from robolin.analysis.operation_counts import operation_counts
    from robolin.cli.count_report import as_json, as_text
    from robolin.engine.generic import generic_chain
    from robolin.engine.parameters import parameters_of
    from robolin.errors import UsageError

    if (arm is None) == (joints is None):
        raise UsageError(
            "count needs an ARM or --joints N, and not both",
            hint="for example: robolin count linearize-forward --joints 7",
        )
    if arm is None:
        assert joints is not None
        parameters, whose = generic_chain(joints), f"a serial chain of {joints} revolute joints"
    else:
        from robolin.description.load import load

        loaded = load(arm)
        parameters, whose = parameters_of(loaded), f"'{loaded.name}', {loaded.n} joints"
    rows = list(operation_counts(verb, parameters))
    report = as_json if form == "json" else as_text
    click.echo(report(verb, whose, parameters, rows), nl=False)
