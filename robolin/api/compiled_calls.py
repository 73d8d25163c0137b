"""A verb on an arm as one function of arrays, for control loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robolin.arm import Arm
from robolin.errors import UsageError
from robolin.evaluation.methods import METHODS, Method
from robolin.evaluation.state_call import compiled_call
from robolin.input_checks import require_arm
from robolin.wording import listed


def compile(  # noqa: A001 (always said as robolin.compile)
    arm: Arm, verb: str, *, method: Method = "auto"
) -> Callable[..., Any]:
    """A function that answers a verb for one state in about a microsecond.

    `call(q, qd, qdd, out=None)` takes arrays as `numpy.empty(arm.n)` makes them and converts
    nothing: every array must be float64, contiguous and of shape (n,).  What it takes, and in
    which order, is in `help(call)`.  With `out` results are written there, and no memory is asked
    for.  Any thread may call it; it keeps what it needs of the arm, and pickles by compiling again.

    Args:
        arm: the arm, from `robolin.load`
        verb: what is to be answered, as on the command line: "inverse", "linearize-forward", …
        method: "auto", "operator", "conventional", …: which algorithm

    Returns:
        a function of the arrays (n,) of one state, whose result is an array or, of several, a
        named tuple of arrays; `out` is the same, to be filled and given back

    Raises:
        UsageError: no arm, or a verb or method that does not exist
        RobolinError: a verb that no kernel of this arm answers by itself.  The function raises it
            for states without an answer, TypeError for what is no such array, and ValueError for
            arrays of another shape, broken into pieces, or overlapping `out`

    Example:
        >>> arm = robolin.load("two-link")
        >>> call = robolin.compile(arm, "inverse")
        >>> q, qd, qdd = np.array([[0.3, -0.7], [0.5, -1.2], [0.8, 0.4]])
        >>> call(q, qd, qdd).round(4)
        array([20.8844,  5.1432])
        >>> tau = np.empty(2)
        >>> call(q, qd, qdd, tau) is tau
        True
    """
    require_arm(arm)
    if method not in METHODS:
        raise UsageError(f"there is no method '{method}'", hint=f"methods are {listed(METHODS)}")
    return compiled_call(arm, verb, method)
