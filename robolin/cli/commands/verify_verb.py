"""robolin verify: verify results for one robot."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import METHOD, OUTPUT, VerbCommand, flag
from robolin.cli.flags.model_flags import model_option_flags
from robolin.cli.output.report import Report, report_options
from robolin.errors import FOUND_SOMETHING
from robolin.queries.request import ArmSource

PEERS = ("pinocchio", "mujoco")

_FLAGS = [
    flag(
        "--samples N",
        METHOD,
        "Number of random states (default 20, fewer for large robots)",
        type=click.IntRange(1),
    ),
    flag("--seed N", METHOD, "Random seed", type=click.IntRange(0), default=0),
    flag("--against", METHOD, "Also compare with another program, if installed", choices=PEERS),
    flag("-v --verbose", OUTPUT, "List all checks with error, bound and worst state"),
]


@click.command("verify", cls=VerbCommand, params=_FLAGS)
@model_option_flags
@report_options
def command(
    model: ArmSource,
    report: Report,
    samples: int | None,
    seed: int,
    against: str | None,
    verbose: bool,
) -> None:
    """Check robolin's results for a robot.

    At random states within the joint limits: compares derivatives with complex steps, results
    with identities of mechanics, algorithms with each other, kernels with plain Python, and
    all results with 50-digit arithmetic. Exits with 1 if an error exceeds its bound, or if
    ARM has a defect, such as a joint that moves no mass.

    \b
    Examples:
      robolin verify panda
      robolin verify ur5 --seed 1 -v
      robolin verify arm.urdf --samples 100 --against pinocchio
      robolin verify arm.urdf --format json
    """
    from robolin.checking.verification.verify import verify
    from robolin.cli.output.verify_report import verify_document, verify_sections

    found = verify(model.arm(), samples=samples, seed=seed, against=against)
    report.write(verify_sections(found, verbose), verify_document(found))
    if not found.passed:
        click.get_current_context().exit(FOUND_SOMETHING)
