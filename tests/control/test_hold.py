"""'hold' means the same torques wherever an arm is linearized."""

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
    explicit = robolin.linearize_forward(arm, q, tau=model.tau)
    assert np.array_equal(held.dqdd_dq, explicit.dqdd_dq)
    assert np.abs(held.qdd).max() < 1e-10
    with pytest.raises(robolin.UsageError, match="tau: must be torques or 'hold', got 'rest'"):
        robolin.linearize_forward(arm, q, tau="rest")


def test_python_and_the_command_line_use_the_same_point() -> None:
    """Equal inputs give linear models about equal torques, which are reported."""
    arm, q, qd = robolin.load("two-link"), [0.3, -0.7], [0.5, -1.2]
    result = robolin.answer(arm, "linearize-forward", robolin.States(q=q, qd=qd))
    model = robolin.linearize_forward(arm, q, qd)
    for name in ("qdd", "dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        assert np.array_equal(result[name], getattr(model, name)), name
    point = result.contract["operating point"]
    assert (point["q"], point["qd"]) == (q, qd)
    assert point["tau"] == robolin.inverse(arm, q, qd).tolist()
    assert point["qdd"] == result["qdd"].tolist()

    turned = robolin.answer(arm, "linearize-inverse", robolin.States(q=q, qdd=[1.0, 2.0]))
    point = turned.contract["operating point"]
    assert point["qdd"] == [1.0, 2.0]
    assert point["tau"] == robolin.inverse(arm, q, qdd=[1.0, 2.0]).tolist()


def test_a_small_change_is_that_of_the_model() -> None:
    """perturb_forward is the product with linearize_forward's matrices, about the same torque."""
    arm, q, qd, dq = robolin.load("ur5"), np.full(6, 0.3), np.full(6, 0.2), np.full(6, 1e-3)
    model = robolin.linearize_forward(arm, q, qd)
    change = robolin.perturb_forward(arm, q, qd, dq=dq)
    assert change == pytest.approx(model.dqdd_dq @ dq, rel=1e-10)
