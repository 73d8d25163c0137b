"""Functions compiled for one arm, for control loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from robolin.core.arm import ORIGIN, Arm
from robolin.core.array_checks import require_arm, require_regressor_kernel
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import PRESCRIBED_VARIANT, JointsNamed, prescribed_joints
from robolin.evaluation.state_call import compiled_call, kernel_verb, reject_unused_options


def compile(  # noqa: A001 (always called as robolin.compile)
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> Callable[..., Any]:
    """Compile a function that evaluates one state in about a microsecond.

    `call(q, qd, qdd, out=None)` takes arrays as `numpy.empty(arm.n)` makes them and converts
    nothing: every array must be float64, contiguous and of shape (n,).  `help(call)` lists the
    arguments in order.  With `out`, results are written there without allocating memory.  The call
    is thread-safe, holds its own copy of the arm's data, and pickles by compiling again.
    `engine` and `jobs` do not apply, because there is one state and one kernel; `reference` does
    not apply, because vectors are in world axes.

    Args:
        arm: the arm, from `robolin.load`
        verb: name of the computation, as on the command line or in Python: "inverse",
            "linearize-forward", "linearize_forward", …
        method: algorithm: "auto", "operator", "conventional", …
        frame: name of the link for kinematic computations; None for the tip, or the only end
        point: coordinates of a point in that frame (3,) in m
        prescribe: joints with prescribed acceleration, such as "base", for "forward" and
            "linearize-forward": `call(q, qd, tau, qdd)` takes their accelerations and returns `qdd`
            and `tau` of all joints; their `tau`, and `qdd` of the others, may be any finite number

    Returns:
        a function of the arrays (n,) of one state; it returns an array or a named tuple of arrays,
        written into `out` if that is passed

    Raises:
        UsageError: not an arm, an unknown verb, method or link, or a frame or prescribed joints
            that the verb does not support
        RobolinError: a verb without a kernel for this arm.  The function raises it for states
            without a result, TypeError for an argument that is not such an array, and ValueError
            for arrays of another shape, not contiguous, or overlapping `out`

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
