"""Riemann symbols of a mass matrix from its derivatives along velocities.

Velocities of joints with one freedom are rates of coordinates.  Those of a body with several are
not: moving it by a small turn about x and then about y is not the same as y before x.  By how much
the two orders E_i, E_j differ is a motion again, [E_i, E_j] = c(i,j,l) E_l, with numbers c that are
the same everywhere.  Curvature needs no coordinates: it is as well defined along such velocities.
"""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.configuration import has_groups, kinematic_block


def brackets(arm: Arm) -> Floats | None:
    """c (n, n, n), or None where all of them are 0: a twist X carries Y along by X x Y."""
    if not has_groups(arm):
        return None
    c: Floats = -np.einsum("ilj->ijl", kinematic_block(arm, np.eye(arm.n)))
    return c


def riemann_symbols(
    M: Floats, inverse: Floats, first: Floats, second: Floats, c: Floats | None
) -> Floats:
    """R (rows, n, n, n, n), with a comma before the velocities along which a derivative is taken.

    [ij,k]    = ½ (𝓜(i,k),j + 𝓜(j,k),i - 𝓜(i,j),k)
    R(h,i,j,k) = ½ (𝓜(h,k),ij + 𝓜(i,j),hk - 𝓜(h,j),ik - 𝓜(i,k),hj)
               + [ij,l] 𝓜⁻¹(l,m) [hk,m] - [ik,l] 𝓜⁻¹(l,m) [hj,m]

    Where c is not 0, [ij,k] = ⟨∇_j E_i, E_k⟩ and R have more terms.
    """
    carried = 0.5 * (np.einsum("rikj->rijk", first) + np.einsum("rjki->rijk", first) - first)
    curved = np.einsum("rhkij->rhijk", second) + np.einsum("rijhk->rhijk", second)
    curved -= np.einsum("rhjik->rhijk", second) + np.einsum("rikhj->rhijk", second)
    if c is not None:
        carried += _turning(c, M)
    raised = np.einsum("rijl,rlm->rijm", carried, inverse)
    product = np.einsum("rijm,rhkm->rhijk", raised, carried, optimize=True)
    R: Floats = 0.5 * curved + product - np.einsum("rhikj->rhijk", product)
    return R if c is None else R + _by_brackets(c, carried, first)


def _turning(c: Floats, M: Floats) -> Floats:
    """What Koszul's formula adds to [ij,k]; linear in 𝓜, so its derivatives are those of 𝓜.

    ½ (c(j,i,l) 𝓜(l,k) - c(j,k,l) 𝓜(l,i) - c(i,k,l) 𝓜(l,j))
    """
    lowered = np.einsum("ijl,rlk->rijk", c, M)
    turned = np.einsum("rjik->rijk", lowered) - np.einsum("rjki->rijk", lowered)
    half: Floats = 0.5 * (turned - np.einsum("rikj->rijk", lowered))
    return half


def _by_brackets(c: Floats, carried: Floats, first: Floats) -> Floats:
    """What is left of R: [ik,h],j - [ij,h],k - c(j,k,l) [il,h], less the ½ (…) above.

    Second derivatives are the means of both orders: 𝓜,ij is less than E_j E_i 𝓜 by ½ c(j,i,l) 𝓜,l.
    """
    # how the order of two derivatives matters, axes i, h, j, k
    crossed = np.einsum("jkl,rihl->rihjk", c, first)
    order = np.einsum("rihjk->rhijk", crossed) + 0.5 * (
        np.einsum("rkhji->rhijk", crossed)
        - np.einsum("rkijh->rhijk", crossed)
        - np.einsum("rjhki->rhijk", crossed)
        + np.einsum("rjikh->rhijk", crossed)
    )
    # how the terms of c change, axes i, k, h and the derivative's
    turning = np.stack([_turning(c, first[..., j]) for j in range(len(c))], axis=-1)
    change = np.einsum("rikhj->rhijk", turning) - np.einsum("rijhk->rhijk", turning)
    left: Floats = 0.5 * order + change - np.einsum("jkl,rilh->rhijk", c, carried)
    return left
