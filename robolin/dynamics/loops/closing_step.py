"""Projection onto the loop-closure constraints: the minimum-norm first-order step, O(n)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.vectors import dot
from robolin.dynamics.links.link_motion import bias_motion
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.loops.closures import (
    by_coordinates,
    closure_columns,
    closure_ends,
    closure_velocity,
    gaps,
    out_gaps,
    row_count,
)
from robolin.dynamics.loops.independent_rows import independent_rows, least_solution


def closing_step(chain: Chain) -> None:
    """The shortest δq with L δq = φ and δq̇ with L δq̇ = L q̇; subtracting them closes the loops."""
    # constraint violation and its rate
    links, qd, count = forward_kinematics(chain, weighed=False), chain.input("qd"), row_count(chain)
    ends, moving = closure_ends(chain, links), bias_motion(chain, links, qd)
    out_gaps(chain, ends)

    # the independent equations, and the shortest steps that satisfy them
    L = by_coordinates(chain, closure_columns(chain, links, ends), count)
    basis = independent_rows(chain, L, count)
    dq = least_solution(basis, gaps(ends)[0])
    dqd = least_solution(basis, closure_velocity(chain, ends, moving))

    # coordinate by coordinate
    out_dq, out_dqd = chain.result("dq"), chain.result("dqd")
    for j in chain.coordinates():
        out_dq[j] = dot(dq, basis.Q[j])
        out_dqd[j] = dot(dqd, basis.Q[j])
