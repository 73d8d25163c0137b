"""robolin simulate: the motion of an arm."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import Verb
from robolin.cli.flags.loop_flags import Loops, moving_loop_options
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.simulate_flags import (
    Clock,
    Drive,
    Start,
    clock_options,
    drive_options,
    start_options,
)


@click.command("simulate", cls=Verb)
@model_options
@start_options
@drive_options
@clock_options
@moving_loop_options
@output_options
def command(
    model: Model, start: Start, drive: Drive, clock: Clock, loops: Loops, out: Output
) -> None:
    """The motion of an arm under torques or a controller, with its energies.

    Answers with a trajectory that every other verb reads: time, positions, velocities,
    accelerations, efforts, and beside them kinetic and potential energy, and the energy that
    the integrator has gained or lost.  Joints do not stop at their limits.
    Closed loops stay closed.

    \b
    Example:
      robolin simulate two-link --q 1,0 --duration 2 --every 10 -o fall.csv
      robolin simulate panda --qd 1,0,0,0,0,0,0 --control rate --gain 2 --duration 1
      robolin simulate ur5 --initial states.csv --tau hold --duration 1 -o ends.npz
    """
    from robolin.cli.simulate_run import run

    run(model, start, drive, clock, loops, out)
