"""Whether gains were found for the arm that they are to drive, and if not, what differs."""

from __future__ import annotations

from robolin.core.arm import Arm
from robolin.core.results.result import Result
from robolin.description.arm_differences import DescribedArm, in_words
from robolin.description.arm_differences import differences as figure_differences
from robolin.errors import RobolinError
from robolin.io.provenance_writer import plain


def require_joints(arm: Arm, found: Result, name: str) -> None:
    """Refuse gains for other joints."""
    if found.joints != arm.joint_names:
        hint = f"'{arm.name}' has {', '.join(arm.joint_names)}"
        joints = ", ".join(found.joints)
        message = f"the gains are for another arm{_named(arm, found)}, with the joints {joints}"
        raise RobolinError(message, where=name, hint=hint)


def differences_from(arm: Arm, found: Result) -> list[str]:
    """What differs between the arm and the one that a result is about, in words."""
    here = DescribedArm(plain(arm.contract), plain(arm.figures))
    return figure_differences(here, DescribedArm(plain(found.contract), plain(found.model)))


def another_arm(arm: Arm, found: Result, differ: list[str], name: str) -> RobolinError:
    """The complaint about gains that were found for other figures."""
    return RobolinError(
        f"the gains are for another arm{_named(arm, found)}: {in_words(differ)}",
        where=name,
        hint="find them anew, or run them as they are with --other-figures",
    )


def _named(arm: Arm, found: Result) -> str:
    """What the other arm is called, where that is not the same."""
    name = str((found.model or {}).get("arm", {}).get("name", ""))
    return f", '{name}'" if name and name != arm.name else ""
