"""What the catalogue says about an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from robolin.algebra.axes import Shape
from robolin.algebra.chain import Chain

Kind = Literal["any", "independent", "serial", "spanning", "reaching", "closed"]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with the names of its inputs and the axes of each result.

    title:  what results say they were computed by; stored with them, so it stays as it is
    kind:   where it holds: on every arm ('any'), on every arm whose joints are independent
            ('independent'), only on a serial chain of such joints ('serial'), where six
            independent joints or more move the tip in all directions ('spanning'), which singular
            poses are not, the same with joints that may follow others ('reaching'), or where
            loops are closed ('closed')
    paper:  the paper that has it and its name there, as in docs/papers.md; '' if none has
    verb:   the question that it answers; '' for the one of its own name
    method: how; of several with one verb and method, the first that holds on the arm is taken
    one_freedom: whether it is shown only for joints with one freedom each: Coriolis terms that fit
            ∂𝓜/∂q, and all that is made of them; where velocities are not rates of positions,
            other terms come in
    independent: whether joints may not follow others, where `kind` does not say so already
    """

    run: Callable[[Chain], None]
    needs: tuple[str, ...]
    gives: Mapping[str, Shape]
    title: str
    kind: Kind = "any"
    paper: str = ""
    verb: str = ""
    method: str = "operator"
    one_freedom: bool = False
    independent: bool = False
