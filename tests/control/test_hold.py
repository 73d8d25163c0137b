"""One meaning of 'hold' wherever an arm is linearized."""

from __future__ import annotations

import numpy as np
import pytest

import robolin


@pytest.mark.parametrize("name", ["panda", "four-bar"])
def test_linearize_forward_holds_as_models_do(name: str) -> None:
    """tau='hold' linearizes about the same torques as state_space, on loops too."""
    arm = robolin.load(name)
    q = np.linspace(0.1, 0.4, arm.n)
    q = robolin.close(arm, q).q if arm.loops else q
    held = robolin.linearize_forward(arm, q, tau="hold")
    model = robolin.state_space(arm, q)
    given = robolin.linearize_forward(arm, q, tau=model.tau)
    assert np.array_equal(held.dqdd_dq, given.dqdd_dq)
    assert np.abs(held.qdd).max() < 1e-10
    with pytest.raises(robolin.UsageError, match="tau is 'rest'"):
        robolin.linearize_forward(arm, q, tau="rest")
