"""A verb on an arm as one function of arrays, for control loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from robolin.core.arm import ORIGIN, Arm
from robolin.core.array_checks import require_arm, require_regressor_kernel
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import PRESCRIBED_VARIANT, JointsNamed, prescribed_joints
from robolin.evaluation.state_call import compiled_call, kernel_verb
from robolin.evaluation.verb_names import reject_unused_options


def compile(  # noqa: A001 (always said as robolin.compile)
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> Callable[..., Any]:
    """A function that answers a verb for one state in about a microsecond.

    `call(q, qd, qdd, out=None)` takes arrays as `numpy.empty(arm.n)` makes them and converts
    nothing: every array must be float64, contiguous and of shape (n,).  What it takes, and in
    which order, is in `help(call)`.  With `out` results are written there, and no memory is asked
    for.  Any thread may call it; it keeps what it needs of the arm, and pickles by compiling again.
    What functions of many states can be told besides has no place in it: there is one state and
    one kernel, so no `engine` or `jobs`, and vectors are in world axes, so no `reference`.

    Args:
        arm: the arm, from `robolin.load`
        verb: what is to be answered, as on the command line or as the function is called:
            "inverse", "linearize-forward", "linearize_forward", …
        method: "auto", "operator", "conventional", …: which algorithm
        frame: the link that kinematic verbs are about; None for the tip, or the only end
        point: a place in that frame, three numbers in m
        prescribe: joints that move as told, such as "base", for "forward" and "linearize-forward":
            `call(q, qd, tau, qdd)` takes their accelerations and gives `qdd` and `tau` of all;
            as their `tau`, and as `qdd` of the others, any finite number will do

    Returns:
        a function of the arrays (n,) of one state, whose result is an array or, of several, a
        named tuple of arrays; `out` is the same, to be filled and given back

    Raises:
        UsageError: no arm, a verb, method or link that does not exist, or a frame or joints that
            move as told where the verb asks for none
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
    verb = kernel_verb(verb)
    reject_unused_options([verb], method, frame, point, prescribe)
    if verb == "regressor":
        require_regressor_kernel(arm)
    if verb in ABOUT_A_FRAME:
        arm = at_frame(arm, frame, point)
    if prescribe is None:
        return compiled_call(arm, verb, method)
    return compiled_call(arm, PRESCRIBED_VARIANT[verb], fixed=prescribed_joints(arm, prescribe))
