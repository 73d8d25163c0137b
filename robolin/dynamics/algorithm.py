"""Catalogue entry of an algorithm, and axes of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from robolin.dynamics.algebra.chain import Chain

_HERE = "robolin.dynamics"

Axis = Literal["joint", "link", "closure"] | int
Shape = tuple[Axis, ...]

NUMBER: Shape = ()
VECTOR: Shape = ("joint",)
MATRIX: Shape = ("joint", "joint")

# ten inertial parameters of a link, and the damping, armature and friction of its joint
REGRESSOR_COLUMNS = 13
# stiffness and stiffness · rest of the spring of its joint
SPRING_COLUMNS = 2
# rotations and translations of a joint on the link inboard of it, and of the link on its joint
GEOMETRY_COLUMNS = 12

ArmNeed = Literal["any", "independent", "serial", "spanning", "reaching", "closed"]

# the papers by the tags that the documentation uses
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
    title:  name of the algorithm in results; a new one needs `core/former_names.py`
    kind:   supported arms: every arm ('any'), arms without mimic joints ('independent'), serial
            chains of such joints ('serial'), six or more independent joints that move the tip in
            all directions, except in singular poses ('spanning'), the same with mimic joints
            ('reaching'), or closed loops ('closed')
    paper:  the paper with the algorithm and its name there, as in docs/dev/papers.md; '' if none
    verb:   the quantity that it computes; '' for the quantity of its own name
    method: name of the method; for equal verb and method, the first that supports the arm is used
    inverts_bodies: whether it divides by every body's own inertia about the base; bodies that are
            flat, light or far away lose digits, and virtual links of a multi-DoF joint have none
    independent: whether it excludes mimic joints, unless `kind` already does
    kinematic: whether its result depends on q, q̇ and q̈ alone, with or without closed loops
    of_frame: whether it requires the name of a frame of the arm
    of_springs: whether it requires joint springs, which some arms do not have
    counted: the verb whose cost it reports, and its name in `count`; None if none
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
        """The algorithm's function, imported on first use."""
        if callable(self.function):
            return self.function
        module, _, name = self.function.partition(":")
        recursion: Callable[[Chain], None] = getattr(import_module(f"{_HERE}.{module}"), name)
        return recursion
