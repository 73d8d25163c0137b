"""What the catalogue says about an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from robolin.dynamics.algebra.comparison import Shape

if TYPE_CHECKING:
    from robolin.dynamics.algebra.chain import Chain

_HERE = "robolin.dynamics"

ArmNeed = Literal["any", "independent", "serial", "spanning", "reaching", "closed"]

# the papers by the tags they have on all pages
PAPERS: Mapping[str, str] = {
    "[L]": "Jain and Rodriguez, linearization of manipulator dynamics using spatial operators",
    "[F]": "Rodriguez and Kreutz-Delgado, Spatial Operator Factorization and Inversion of the "
    "Manipulator Mass Matrix",
    "[O]": "Featherstone and Orin, Robot Dynamics: Equations and Algorithms",
    "[D]": "Jain and Rodriguez, Diagonalized Lagrangian Robot Dynamics",
}


@dataclass(frozen=True, eq=False)
class Algorithm:
    """An algorithm with the names of its inputs and the axes of each result.

    function: 'chapter.module:function' among the algorithms, or the function itself
    title:  what results say they were computed by; stored with them, so it stays as it is: what
            paper is meant stands beside it
    kind:   where it holds: on every arm ('any'), on every arm whose joints are independent
            ('independent'), only on a serial chain of such joints ('serial'), where six
            independent joints or more move the tip in all directions ('spanning'), which singular
            poses are not, the same with joints that may follow others ('reaching'), or where
            loops are closed ('closed')
    paper:  the paper that has it and its name there, as in docs/papers.md; '' if none has
    verb:   the question that it answers; '' for the one of its own name
    method: how; of several with one verb and method, the first that holds on the arm is taken
    inverts_bodies: whether it divides by every body's own inertia about the base, of which bodies
            that are flat, light or far away leave few digits or none, and of which links that
            stand for some of a joint's freedoms have none
    independent: whether joints may not follow others, where `kind` does not say so already
    kinematic: whether its answer follows from q, q̇ and q̈ alone, whether or not loops are closed
    of_frame: whether it is about a frame of the arm, which has to be named
    of_springs: whether it is about joint springs, which some arms do not have
    counted: the verb whose cost it tells, and what `count` calls it there; None if none
    """

    function: str | Callable[[Chain], None]
    needs: tuple[str, ...]
    gives: Mapping[str, Shape]
    title: str
    kind: ArmNeed = "any"
    paper: str = ""
    verb: str = ""
    method: str = "operator"
    independent: bool = False
    inverts_bodies: bool = False
    kinematic: bool = False
    of_frame: bool = False
    of_springs: bool = False
    counted: tuple[str, str] | None = None

    @cached_property
    def run(self) -> Callable[[Chain], None]:
        """The algorithm itself, imported when it is first asked for."""
        if callable(self.function):
            return self.function
        module, _, name = self.function.partition(":")
        found: Callable[[Chain], None] = getattr(import_module(f"{_HERE}.{module}"), name)
        return found
