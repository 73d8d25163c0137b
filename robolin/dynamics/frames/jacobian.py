"""The Jacobian of a frame, J = B* φ* H*, with J̇q̇, pose and twist, O(n)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.vectors import ZERO6, add, scale
from robolin.dynamics.frames.tip_frame import at_point, classical, out_pose, out_spatial, tip_frame
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import forward_kinematics


def jacobian(chain: Chain) -> None:
    """J, J̇q̇, pose and twist of the frame from q and q̇: hinges referred to its point r.

    J(k)  = [h; H_lin + h x r]        for the hinges between the frame and the base
    [w; v] = J q̇
    J̇ q̇   = [ẇ; a_lin + ẇ x r + w x v],   [ẇ; a_lin] = Σ Ḣ* q̇
    """
    links, qd = forward_kinematics(chain, weighed=False), chain.input("qd")
    moving, tip = velocities(chain, links, qd), tip_frame(chain, links)

    # a column for every hinge that moves the frame, and the sum of their drift Ḣ* q̇
    bias = chain.accumulator(ZERO6)
    for k in chain.path_of(tip.link):
        column = at_point(links.H[k], tip.r)
        for i in range(6):
            chain.out("jacobian", (i, k), column[i])
        bias.value = add(bias.value, scale(moving.Hd[k], qd[k]))

    # the motion of the frame's own point
    V = at_point(moving.V[tip.link], tip.r)
    out_spatial(chain, "jacobian_rate_qd", classical(V, at_point(bias.value, tip.r)))
    out_spatial(chain, "twist", V)
    out_pose(chain, links, tip)
