"""Which joints move as they are told, whatever torque that takes."""

from __future__ import annotations

from robolin.cli.flags.flag import STATE, flag
from robolin.files.formats import extensions, trajectory_formats

PRESCRIBE = flag(
    "--prescribe",
    section=STATE,
    by_name=True,
    metavar="JOINTS",
    help="These joints, such as 'base' with --floating-base, move as --qdd and --qd say, whatever "
    "torque that takes, which is answered; --tau is of the others.",
)

PRESCRIBED_QDD = flag(
    "--qdd",
    section=STATE,
    by_joint=True,
    metavar="VALUES",
    help="Accelerations at all times of the joints that --prescribe names.  [default: 0]",
)

PRESCRIBE_FROM = flag(
    "--prescribe-from",
    section=STATE,
    metavar="FILE",
    help="The same over time, from the columns time and JOINT/acceleration of a "
    f"{extensions(trajectory_formats())} file, on straight lines between its rows.  These joints "
    "start where the file has them, unless --q, --qd or --initial say otherwise.",
)
