"""The same problems solved by IPOPT through CasADi, for hard problems and as a referee."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.control.optimization.acceleration_form import AccelerationForm
from robolin.control.optimization.problem import Problem
from robolin.control.optimization.torque_form import RK4Knots, TorqueForm
from robolin.core.arrays import Floats
from robolin.errors import RobolinError


class Program:
    """Variables, constraints and cost of a nonlinear program, collected piece by piece."""

    def __init__(self, casadi: Any) -> None:
        self.casadi = casadi
        self.variables: list[Any] = []
        self.constraints: list[Any] = []
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self.bounds: list[tuple[Floats, Floats]] = []
        self.guess: list[Floats] = []
        self.cost: Any = 0.0

    def variable(self, name: str, guess: Floats, lower: Floats, upper: Floats) -> Any:
        """New variables (n, columns), from arrays (columns, n)."""
        symbol = self.casadi.MX.sym(name, guess.shape[1], guess.shape[0])
        self.variables.append(self.casadi.vec(symbol))
        self.guess.append(guess.ravel())
        self.bounds.append((lower.ravel(), upper.ravel()))
        return symbol

    def require(self, value: Any, lower: Any = 0.0, upper: Any = 0.0) -> None:
        """Constrain an expression."""
        flat = self.casadi.vec(value)
        self.constraints.append(flat)
        for ends, end in ((self.lower, lower), (self.upper, upper)):
            ends.append(np.broadcast_to(np.asarray(end, dtype=float).ravel(), (flat.shape[0],)))

    def solve(self, iterations: int) -> tuple[Floats, dict[str, Any]]:
        """Variables at the solution, and IPOPT's statistics."""
        cs = self.casadi
        program = {
            "x": cs.vertcat(*self.variables), "f": self.cost, "g": cs.vertcat(*self.constraints)
        }  # fmt: skip
        quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
        options = {**quiet, "ipopt.max_iter": iterations, "ipopt.tol": 1e-9, "error_on_fail": False}
        solver = cs.nlpsol("solver", "ipopt", program, options)
        solution = solver(
            x0=np.concatenate(self.guess),
            lbx=np.concatenate([low for low, _ in self.bounds]),
            ubx=np.concatenate([high for _, high in self.bounds]),
            lbg=np.concatenate(self.lower),
            ubg=np.concatenate(self.upper),
        )
        return np.asarray(solution["x"]).ravel(), solver.stats()


def solve_with_ipopt(
    problem: Problem, method: str, iterations: int, initial: Any
) -> tuple[Any, ...]:
    """q, qd, qdd, tau, K, P, costs, convergence and its reason, for `finished`."""
    try:
        import casadi
    except ImportError as error:
        raise RobolinError(
            "solver 'ipopt' needs CasADi, which is not installed", hint="pip install casadi"
        ) from error
    solve = _accelerations if method == "acceleration" else _torques
    return solve(problem, casadi, iterations, initial)


def _states(problem: Problem, program: Program, guess: Floats, cost: Any) -> tuple[Any, Any]:
    """Variables q and v of knots 1 to N within their limits, with the start in front."""
    n, columns = problem.n, []
    for i, name in enumerate(("q", "v")):
        own = guess[1:, i * n : (i + 1) * n]
        after = program.variable(name, own, cost.lower[1:, i], cost.upper[1:, i])
        columns.append(program.casadi.horzcat(problem.start[i], after))
    return columns[0], columns[1]


def _add_cost(problem: Problem, program: Program, y: tuple[Any, Any, Any], cost: Any) -> None:
    cs, N = program.casadi, problem.N
    for i, (value, count) in enumerate(zip(y, (N + 1, N + 1, N), strict=True)):
        away = value - cost.reference[:count, i].T
        program.cost += 0.5 * cs.sum1(cs.sum2(cost.weight[:count, i].T * away * away))


def _pose(problem: Problem, program: Program, q: Any) -> None:
    """Constraint or cost of the goal pose at the last knot."""
    residual = problem.residual
    if residual is None:
        return
    from robolin.codegen.casadi_functions import casadi_function

    cs = program.casadi
    at = casadi_function(residual.arm, "jacobian", frame=residual.frame)
    outputs = dict(zip(at.name_out(), at.call([q, cs.MX.zeros(problem.n)]), strict=True))
    parts = [outputs["position"] - residual.position]
    if residual.rotation is not None:
        # R*ᵀ R is the identity: its skew part vanishes
        turn = cs.mtimes(residual.rotation.T, cs.reshape(outputs["rotation"], 3, 3))
        parts.append(
            0.5
            * cs.vertcat(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
        )
    error = cs.vertcat(*parts)
    if problem.final is None:
        program.require(error)
    else:
        program.cost += problem.final * cs.sumsqr(error)


def _accelerations(problem: Problem, cs: Any, iterations: int, initial: Any) -> tuple[Any, ...]:
    from robolin.codegen.casadi_functions import casadi_function
    from robolin.control.optimization.optimal_motion import guesses

    n, N, dt, cost = problem.n, problem.N, problem.dt, problem.stage_cost()
    a0 = guesses(problem, 1, 0, initial)[0]
    form = AccelerationForm(problem.arm, dt, problem.start, a0, cost, problem.terminal())
    program = Program(cs)
    q, v = _states(problem, program, form.x, cost)
    free = np.full((N, n), np.inf)
    a = program.variable("a", a0, -free, free)
    program.require(v[:, 1:] - v[:, :-1] - dt * a)
    program.require(q[:, 1:] - q[:, :-1] - dt * v[:, 1:])
    tau = casadi_function(problem.arm, "inverse").map(N)(q[:, :N], v[:, :N], a)
    limited = np.isfinite(cost.lower[:N, 2]) | np.isfinite(cost.upper[:N, 2])
    if limited.any():
        program.require(tau, cost.lower[:N, 2], cost.upper[:N, 2])
    _add_cost(problem, program, (q, v, tau), cost)
    _pose(problem, program, q[:, N])
    solution, stats = program.solve(iterations)
    solved = AccelerationForm(
        problem.arm, dt, problem.start, solution[-N * n :].reshape(N, n), cost, problem.terminal()
    )
    solved.backward()
    K = solved.torque_gains()
    accelerations = np.concatenate([solved.a, np.zeros((1, n))])
    motion = solved.x[:, :n].copy(), solved.x[:, n:].copy(), accelerations, None
    return (*motion, np.concatenate([K, K[-1:]]), 0.5 * solved.gains().P, *_ending(stats))


def _torques(problem: Problem, cs: Any, iterations: int, initial: Any) -> tuple[Any, ...]:
    from robolin.codegen.casadi_functions import casadi_function
    from robolin.control.optimization.optimal_motion import torque_guesses

    n, N, dt, cost = problem.n, problem.N, problem.dt, problem.stage_cost()
    act = list(problem.actuated)
    u0 = torque_guesses(problem, 1 if initial is not None else 2, 0, initial)[-1:]
    knots, x0 = RK4Knots(problem.arm, act, dt), np.concatenate(problem.start)
    guess = TorqueForm(knots, x0, u0, cost, None)
    program = Program(cs)
    q, v = _states(problem, program, guess.x[0], cost)
    u = program.variable("u", u0[0], cost.lower[:N, 2][:, act], cost.upper[:N, 2][:, act])
    select = np.zeros((n, len(act)))
    select[act, range(len(act))] = 1.0
    dynamics = casadi_function(problem.arm, "forward")
    x_, u_ = cs.SX.sym("x", 2 * n), cs.SX.sym("u", len(act))

    def rate(x: Any) -> Any:
        return cs.vertcat(x[n:], dynamics(x[:n], x[n:], cs.mtimes(select, u_)))

    k1 = rate(x_)
    k2 = rate(x_ + 0.5 * dt * k1)
    k3 = rate(x_ + 0.5 * dt * k2)
    k4 = rate(x_ + dt * k3)
    step = cs.Function("step", [x_, u_], [x_ + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)])
    x = cs.vertcat(q, v)
    program.require(x[:, 1:] - step.map(N)(x[:, :N], u))
    _add_cost(problem, program, (q, v, cs.mtimes(select, u)), cost)
    _pose(problem, program, q[:, N])
    solution, stats = program.solve(iterations)
    solved = TorqueForm(
        knots, x0, solution[-N * len(act) :].reshape(1, N, len(act)), cost, problem.terminal()
    )
    _, K, _, _ = solved._backward(np.array([0]))
    tau = knots.torque(np.concatenate([solved.u[0], solved.u[0, -1:]]))
    states = solved.x[0]
    motion = states[:, :n], states[:, n:], knots.rate(states, tau)[:, n:], tau
    return (*motion, np.concatenate([K[0], K[0, -1:]]), 0.5 * solved.P[0], *_ending(stats))


def _ending(stats: dict[str, Any]) -> tuple[Floats, bool, str]:
    costs = stats.get("iterations", {}).get("obj") or [0.0]
    return np.array(costs, dtype=float), bool(stats["success"]), f"IPOPT: {stats['return_status']}"
