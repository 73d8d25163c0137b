"""What the operators of one arm share: its layout, and how block diagonal ones are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError
from robolin.operator_algebra.primitives import (
    COLUMN_BLOCK,
    MATRIX_BLOCK,
    NUMBER_BLOCK,
    Block,
    BlockKind,
)
from robolin.operator_algebra.spaces import Layout, Space, numbers_of


class Foundation:
    """An arm in one state; its numbers are those of `chain`, a `DirectChain` of any kind."""

    def __init__(self, parameters: Parameters, chain: Any, arm: Arm | None = None) -> None:
        if parameters.mimics:
            raise _not_with_mimic(parameters, arm)
        self._parameters, self._chain, self._arm = parameters, chain, arm
        parents = (0, *(row.parent for row in parameters.links))
        self.layout = Layout(parents, parameters.order)

    def __repr__(self) -> str:
        of = f"'{self._arm.name}'" if self._arm else "a chain"
        return f"<spatial operators of {of}, {self.n} joints>"

    @property
    def n(self) -> int:
        return self.layout.n

    @property
    def paper_order(self) -> AnyArray:
        """Where the joints of links 1, 2, … stand in public order: v[paper_order] is the papers' v.

        Vectors of joints are in public order, base to tip; those of links, six numbers each, are
        in the papers' order, tip to base.  H turns one into the other.
        """
        return np.array(self.layout.places)

    def diagonal(self, blocks: ArrayLike, symbol: str = "X") -> Block:
        """A block diagonal operator of one's own, from an array with link 1, a tip, first.

        (n, 6, 6)  links to links       X(k) x(k)
        (n, 6)     joints to links      columns, as those of G and H*
        (n,)       joints to joints     numbers, as those of D
        """
        array = numbers_of("diagonal", blocks)
        n, joints, links = self.n, self.layout.joints, self.layout.links
        kinds: dict[tuple[int, ...], tuple[BlockKind, tuple[Space, Space]]] = {
            (n, 6, 6): (MATRIX_BLOCK, (links, links)),
            (n, 6): (COLUMN_BLOCK, (links, joints)),
            (n,): (NUMBER_BLOCK, (joints, joints)),
        }
        if array.shape not in kinds:
            raise RobolinError(
                f"blocks of shape {array.shape} make no block diagonal operator of {n} links",
                hint=f"({n}, 6, 6), ({n}, 6) or ({n},)",
            )
        kind, shape = kinds[array.shape]
        return self._made(symbol, map(tuple, array.reshape(n, -1).tolist()), kind, "", shape)

    # the kinds of block diagonal operators an arm has

    def _on_links(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        links = self.layout.links
        return self._made(symbol, self._each(slots), kind, meaning, (links, links))

    def _from_joints(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        shape = (self.layout.links, self.layout.joints)
        return self._made(symbol, self._each(slots), kind, meaning, shape)

    def _to_joints(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        shape = (self.layout.joints, self.layout.links)
        return self._made(symbol, self._each(slots), kind, meaning, shape)

    def _on_joints(self, symbol: str, at: Callable[[int], Scalar], meaning: str) -> Block:
        joints = self.layout.joints
        values = ((at(k),) for k in range(1, self.n + 1))
        return self._made(symbol, values, NUMBER_BLOCK, meaning, (joints, joints))

    def _each(self, slots: Any) -> Iterable[Vector]:
        return (slots[k] for k in range(1, self.n + 1))

    def _made(
        self,
        symbol: str,
        values: Iterable[Vector],
        kind: BlockKind,
        meaning: str,
        shape: tuple[Space, Space],
    ) -> Block:
        # links are counted from 1
        return Block(symbol, self, shape=shape, kind=kind, values=((), *values), meaning=meaning)


def _not_with_mimic(parameters: Parameters, arm: Arm | None) -> RobolinError:
    follower = next(row for row in parameters.links if row.follows)
    leader = next(
        row.name
        for row in parameters.links
        if row.coordinate == follower.coordinate and not row.follows
    )
    return RobolinError(
        f"spatial operators need independent joints, but '{follower.name}' follows '{leader}'",
        where=arm.source if arm else "",
        hint=f"load the arm with the joint that is followed locked: lock={{'{leader}': 0.0}}",
    )
