"""Crocoddyl in its own interpreter: build optimal-motion problems, then solve them on request.

usage: python crocoddyl_script.py < requests

The first line of the input is JSON: the robot, states to check, and the problems.  The answer has
the largest difference between Crocoddyl's accelerations, `pin.aba` and those in the request, or
a reason why this installation is of no use.  Every further line names a problem; the answer has
the seconds, the iterations and the cost of one solve.
"""

import json
import sys
import time

import crocoddyl
import numpy as np
import pinocchio as pin

# with another version of Pinocchio, Crocoddyl computes without gravity and reports nothing
AGREE_WITHIN = 1e-9


def robot(request):
    model = pin.buildModelFromUrdf(request["urdf"])
    frame, mass = request["payload"]
    at = model.frames[model.getFrameId(frame)]
    load = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
    model.inertias[at.parentJoint] += at.placement.act(load)
    return model


def cost(state, residual, weights):
    activation = crocoddyl.ActivationModelWeightedQuad(np.asarray(weights, dtype=float))
    return crocoddyl.CostModelResidual(state, activation, residual)


def knot(state, actuation, costs, dt):
    dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
    return crocoddyl.IntegratedActionModelEuler(dynamics, dt)


def problem_of(model, request):
    """The sums of squares of the request; Crocoddyl minimizes half of them."""
    n = model.nv
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    start = np.concatenate([request["q"], np.zeros(n)])
    goal = np.concatenate([request.get("goal", np.zeros(n)), np.zeros(n)])
    velocity = np.concatenate([np.zeros(n), np.full(n, 2.0 * request["Q"])])
    running, terminal = (crocoddyl.CostModelSum(state, n) for _ in range(2))
    moving = crocoddyl.ResidualModelState(state, goal, n)
    running.addCost("velocity", cost(state, moving, velocity), 1.0)
    effort = crocoddyl.ResidualModelControl(state, n)
    running.addCost("effort", cost(state, effort, np.full(n, 2.0 * request["R"])), 1.0)
    final = 2.0 * request["final"]
    if "goal" in request:
        terminal.addCost("state", cost(state, moving, np.full(2 * n, final)), 1.0)
    else:
        frame = model.getFrameId(request["frame"])
        position = crocoddyl.ResidualModelFrameTranslation(
            state, frame, np.array(request["place"]), n
        )
        turn = crocoddyl.ResidualModelFrameRotation(state, frame, np.array(request["turn"]), n)
        stop = np.concatenate([np.zeros(n), np.full(n, final)])
        terminal.addCost("place", cost(state, position, np.full(3, final)), 1.0)
        terminal.addCost("turn", cost(state, turn, np.full(3, final)), 1.0)
        terminal.addCost("stop", cost(state, moving, stop), 1.0)
    knots = [knot(state, actuation, running, request["dt"])] * request["knots"]
    problem = crocoddyl.ShootingProblem(start, knots, knot(state, actuation, terminal, 0.0))
    problem.nthreads = 1
    return problem


def difference(model, states):
    """Largest relative difference of accelerations, of Crocoddyl and of `pin.aba`."""
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    free = crocoddyl.CostModelSum(state, model.nv)
    dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, free)
    data, own, worst = dynamics.createData(), model.createData(), 0.0
    rows = np.stack([states[name] for name in ("q", "qd", "tau", "qdd")], axis=1)
    for q, qd, tau, qdd in rows:
        dynamics.calc(data, np.concatenate([q, qd]), tau)
        for computed in (data.xout, pin.aba(model, own, q, qd, tau)):
            worst = max(worst, np.abs(computed - qdd).max() / np.abs(qdd).max())
    return worst


def solve(problem):
    """One solve from rest at the start with the torques that hold it."""
    start, knots = problem.x0, problem.T
    xs = [start] * (knots + 1)
    us = problem.quasiStatic([start] * knots)
    solver = crocoddyl.SolverFDDP(problem)
    began = time.perf_counter()
    converged = solver.solve(xs, us, 500, False)
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "iterations": solver.iter + 1,
        "cost": solver.cost,
        "converged": bool(converged),
    }


def main():
    request = json.loads(sys.stdin.readline())
    model = robot(request)
    gap = difference(model, request["states"])
    versions = f"Crocoddyl {crocoddyl.__version__} with Pinocchio {pin.__version__}"
    reason = "" if gap <= AGREE_WITHIN else f"{versions}: accelerations differ by {gap:.1e}"
    print(json.dumps({"versions": versions, "gap": gap, "reason": reason}), flush=True)
    problems = {name: problem_of(model, each) for name, each in request["problems"].items()}
    for line in sys.stdin:
        print(json.dumps(solve(problems[line.strip()])), flush=True)


if __name__ == "__main__":
    main()
