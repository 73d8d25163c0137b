"""robolin poles: poles, stability, controllability and observability about a state."""

from __future__ import annotations

from robolin.cli.flags.forward_flags import LINEAR_MODEL_FLAGS, POINT_HELP
from robolin.cli.flags.output_flags import Output
from robolin.cli.query_command import query_command, run_and_write
from robolin.queries.request import Request


@query_command("poles", LINEAR_MODEL_FLAGS, state_help=POINT_HELP)
def command(inquiry: Request, out: Output) -> None:
    """How an arm moves by itself: poles, stability, what motors reach.

    Answers with poles, the slowest first, frequency, damping, decay (the inverse of the time
    constant, 0 on the edge), stability (1 stable, 0 on the edge, -1 unstable), mode_shape, and how
    far every mode is from being out of the motors' reach or hidden from the outputs.

    \b
    Example:
      robolin poles acrobot --q 180deg,0
      robolin poles panda --outputs panda_hand
      robolin poles cart-pole --dt 0.01 -o poles.json
    """
    run_and_write(inquiry, out)
