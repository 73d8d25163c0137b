"""The closures of loops, as a kernel reads them: their kinds are known, their numbers are data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from robolin.engine.compiled import layout

if TYPE_CHECKING:
    from robolin.engine.compiled.trace import TracedChain


def traced_closures(chain: TracedChain) -> list[Any]:
    """Every closure with its first row and its two frames."""
    found, row = [], 0
    for i, rigid in enumerate(chain.variant.rigid_closures):
        first, second = (_frame(chain, 2 * i + end) for end in (0, 1))
        found.append(SimpleNamespace(row=row, rigid=rigid, first=first, second=second))
        row += 6 if rigid else 3
    return found


def _frame(chain: TracedChain, i: int) -> Any:
    asm, loads = chain.asm, len(chain.variant.load_models)
    after = asm.whole("mul", asm.n, layout.LINK_DOUBLES)
    before = layout.HEAD_DOUBLES + loads * layout.LOAD_DOUBLES + i * layout.FRAME_DOUBLES
    numbers = chain.arm.numbers(asm.whole("add", after, before), layout.FRAME_DOUBLES)
    return SimpleNamespace(
        link=chain.arm.link_of_place(1 + loads + i), axes=numbers[0:9], point=numbers[9:12]
    )
