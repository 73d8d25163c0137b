"""What is asked about closed loops: how they are solved, and how a state is brought onto them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from robolin.errors import UsageError
from robolin.number_texts import FlagText, numbers

if TYPE_CHECKING:
    from robolin.answering.question import Question
    from robolin.arm import Arm
    from robolin.choices import LoopMethod

LEAST = "least"


@dataclass(frozen=True)
class LoopOptions:
    """What a question asks about closed loops."""

    method: LoopMethod | None = None
    close: str | None = None
    baumgarte: tuple[float, float] | None = None

    def require_useful(self, arm: Arm) -> None:
        """Refuse what says nothing about this arm."""
        asked = {
            "--loop-method": self.method,
            "--close": self.close,
            "--baumgarte": self.baumgarte,
        }
        for name, value in asked.items():
            if value is not None and not arm.loops:
                hint = "the closures are left out by --open-loops, or the file has none"
                raise UsageError("the arm has no closed loops", where=name, hint=hint)
        self.held(arm)

    @property
    def contract_lines(self) -> dict[str, str]:
        """What the contract tells about a state that was moved."""
        if self.close is None:
            return {}
        how = "changed as little as can be" if self.close == LEAST else f"{self.close} held"
        return {"closed first": f"positions and velocities brought onto the closures, {how}"}

    def held(self, arm: Arm) -> list[str]:
        """The joints that stay where they are while the others close the loops."""
        if self.close is None or self.close == LEAST:
            return []
        names = [name.strip() for name in self.close.split(",")]
        for name in names:
            if name not in arm.joint_names:
                from robolin.wording import did_you_mean

                hint = did_you_mean(name, (*arm.joint_names, LEAST))
                raise UsageError(f"there is no joint '{name}'", where="--close", hint=hint)
        return names


NO_LOOPS = LoopOptions()


def loop_options(question: Question) -> LoopOptions:
    """What this question asks about closed loops."""
    method = cast("LoopMethod | None", question.text("loop-method"))
    text = question.text("baumgarte")
    if text is None:
        return LoopOptions(method, question.text("close"))
    alpha, beta = numbers(FlagText("--baumgarte", text), text, 2, "ALPHA,BETA")
    return LoopOptions(method, question.text("close"), (alpha, beta))
