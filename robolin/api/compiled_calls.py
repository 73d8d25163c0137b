"""Functions compiled for one arm, for control loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import require_arm
from robolin.errors import UsageError
from robolin.evaluation.constant_inputs import PRESCRIBED_VARIANT, JointsNamed, prescribed_joints
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method, require_regressor_kernel
from robolin.evaluation.state_call import (
    compiled_call,
    kernel_of,
    kernel_verb,
    reject_unused_options,
)

if TYPE_CHECKING:
    from robolin.engine.compiled.native import NativeKernel


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

    `call(q, qd, qdd, out=None)` does not convert its arguments: every array must be float64,
    contiguous and of shape (n,), such as `numpy.empty(arm.n)`.  `help(call)` lists the arguments in
    order.  With `out`, the results are written into `out` without allocating memory.  The call is
    thread-safe and contains a copy of the arm's data; unpickling it compiles it again. `engine` and
    `jobs` do not apply, because there is one state and one kernel; `reference` does not apply,
    because vectors are in world axes.

    Args:
        arm: the arm, from `robolin.load`
        verb: name of the computation, as on the command line or in Python: "inverse",
            "linearize-forward", "linearize_forward", …
        method: algorithm: "auto", "operator", "conventional", …
        frame: name of the link for kinematic computations; None for the tip, or the only end link
        point: coordinates of a point in that frame (3,) in m
        prescribe: joints with prescribed acceleration, such as "base", for "forward" and
            "linearize-forward": `call(q, qd, tau, qdd)` takes their accelerations and returns `qdd`
            and `tau` of all joints; their `tau`, and `qdd` of the other joints, have no effect, but
            must be finite

    Returns:
        a function of the arrays (n,) of one state; it returns an array or a named tuple of arrays,
        written into `out` if that is passed

    Raises:
        UsageError: `arm` is not an `Arm`, an unknown verb, method or link, or a frame or prescribed
            joints that the verb does not support
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
    arm, verb = _compilable(arm, verb, method, frame, point, prescribe)
    if prescribe is None:
        return compiled_call(arm, verb, method)
    return compiled_call(arm, PRESCRIBED_VARIANT[verb], fixed=prescribed_joints(arm, prescribe))


def native_kernel(
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    width: int | None = None,
) -> NativeKernel:
    """Return a kernel by address, for compiled code such as C, ctypes or LLVM functions.

    `native_kernel(arm, verb).table()` contains the address of the function and all its arguments
    except the state; docs/dev/engine.md describes these arguments.  Results are bit-identical to
    those of the function with the same name.

    Args:
        arm: the arm, from `robolin.load`
        verb: name of the computation, as in `compile`
        method: algorithm: "auto", "operator", "conventional", …
        frame: name of the link for kinematic computations; None for the tip, or the only end link
        point: coordinates of a point in that frame (3,) in m
        width: states that are computed at the same time: 2, 4 or 8; None for the vector
            registers of this machine.  2 is the fastest for one state

    Returns:
        the `NativeKernel`: `inputs`, `outputs`, `width`, `memory`, `address` and `table()`

    Raises:
        UsageError: `arm` is not an `Arm`, an unknown verb, method, link or width, or a frame that
            the verb does not support
        RobolinError: a verb without a kernel for this arm

    Example:
        >>> arm = robolin.load("two-link")
        >>> kernel = robolin.native_kernel(arm, "forward", width=2)
        >>> kernel.inputs, dict(kernel.outputs)
        (('q', 'qd', 'tau'), {'qdd': (2,)})
        >>> results, status = kernel(kernel.table(), np.zeros(2), np.zeros(2), np.zeros(2))
        >>> bool((results[0][0] == robolin.forward(arm, np.zeros(2))).all()), status
        (True, array([0.]))
    """
    if width not in (None, 2, 4, 8):
        raise UsageError(f"must be 2, 4, 8 or None, got {width!r}", where="width")
    return kernel_of(*_compilable(arm, verb, method, frame, point, None), method, width)


def _compilable(
    arm: Arm,
    verb: str,
    method: Method,
    frame: str | None,
    point: Sequence[float],
    prescribe: JointsNamed | None,
) -> tuple[Arm, str]:
    """The arm at this frame and the name of the verb, after checks of all arguments."""
    require_arm(arm)
    verb = kernel_verb(verb)
    reject_unused_options([verb], method, frame, point, prescribe)
    if verb in ("regressor", "slotine-li-regressor"):
        require_regressor_kernel(arm)
    return at_frame(arm, frame, point) if verb in ABOUT_A_FRAME else arm, verb
