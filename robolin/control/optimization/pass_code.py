"""LLVM code of the backward pass, the step and the cost, line by line as in `backward_pass`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from robolin.control.optimization.compiled_pass import PassLayout
from robolin.control.optimization.matrix_code import (
    REAL_POINTER,
    REAL_TYPE,
    SIMD,
    VECTOR_TYPE,
    WHOLE,
    Code,
    float_constant,
    integer,
)

# largest number of joints with one piece of code per tile
UNROLLED = 8


def pass_module(n: int) -> Any:
    """The module with the functions for n joints."""
    module = ir.Module(f"pass_{n}")
    BackwardCode(module, n).build()
    build_step(module, n)
    build_cost(module, n)
    return module


def stage_term(
    code: Code, y: Any, cost: Any, size: Any, at: Any
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Weight, residual, penalty, e, gradient and Hessian of one number of y.

    cost: pointer to the first array of the cost; the next ones follow after `size` doubles
    """
    b = code.b
    arrays = []
    for i in range(6):
        arrays.append(code.load(code.at(cost, b.mul(size, integer(i)), at)))
    weight, reference, lower, upper, multiplier, penalty = arrays
    shifted = b.fadd(y, multiplier)
    raised = b.select(b.fcmp_ordered(">", shifted, lower), shifted, lower)
    clamped = b.select(b.fcmp_ordered("<", raised, upper), raised, upper)
    e, r = b.fsub(shifted, clamped), b.fsub(y, reference)
    gradient = b.fadd(b.fmul(weight, r), b.fmul(penalty, e))
    outside = b.fcmp_unordered("!=", e, float_constant(0.0))
    acts = b.or_(outside, b.fcmp_ordered("==", lower, upper))
    stiffness = b.select(acts, penalty, float_constant(0.0))
    return weight, r, penalty, e, gradient, b.fadd(weight, stiffness)


class BackwardCode:
    """Code of `backward`."""

    layout: PassLayout
    unrolled: bool
    code: Code
    N: Any
    dt: Any
    damping: Any
    parameters: dict[str, Any]
    part: dict[str, Any]
    cost_size: Any
    fail: Any

    def __init__(self, module: Any, n: int) -> None:
        self.layout, self.unrolled = PassLayout(n), n <= UNROLLED
        names = ["x", "tau", "M", "Jq", "Jv", "cost", "work", "P"]
        arguments = [("N", WHOLE), ("dt", REAL_TYPE), ("damping", REAL_TYPE)]
        arguments += [(name, REAL_POINTER) for name in names]
        arguments += [("P_stride", WHOLE), ("KT", REAL_POINTER)]
        self.code = Code(module, "backward", arguments, REAL_TYPE)
        parameters = self.code.arguments
        self.N, self.dt, self.damping = parameters["N"], parameters["dt"], parameters["damping"]
        self.parameters = parameters
        parts = self.layout.parts
        self.part = {name: self.code.at(parameters["work"], at) for name, at in parts.items()}
        self.cost_size = self.code.b.mul(
            self.code.b.add(self.N, integer(1)), integer(3 * self.layout.n)
        )
        self.fail = self.code.b.append_basic_block("fail")

    def build(self) -> None:
        code, b, layout = self.code, self.code.b, self.layout
        self._terminal()
        carried = [float_constant(0.0)]
        with code.loop(0, self.N, carried, down=True) as (knot, values):
            after = b.mul(b.add(knot, integer(1)), self.parameters["P_stride"])
            next_P = code.at(self.parameters["P"], after)
            P = code.at(self.parameters["P"], b.mul(knot, self.parameters["P_stride"]))
            KT = code.at(self.parameters["KT"], b.mul(knot, integer(layout.K_size)))
            self._propagate(next_P)
            self._scale(knot)
            self._accumulate_inputs()
            self._factorize()
            self._accumulate_states(P)
            code.mirror(P, layout.P_columns, 2 * layout.np)
            self._substitute()
            values[0] = self._store_gains(KT, values[0])
        b.ret(carried[0])
        b.position_at_end(self.fail)
        b.ret(float_constant(float("nan")))

    def _terminal(self) -> None:
        """Add the stage terms of the last knot to its cost-to-go."""
        code, b, layout = self.code, self.code.b, self.layout
        last = code.at(self.parameters["P"], b.mul(self.N, self.parameters["P_stride"]))
        for group in (0, 1):
            with code.loop(0, layout.n, []) as (i, _):
                in_x = b.add(
                    b.mul(self.N, integer(2 * layout.n)), b.add(i, integer(group * layout.n))
                )
                y = code.load(code.at(self.parameters["x"], in_x))
                at = b.add(
                    b.mul(self.N, integer(3 * layout.n)), b.add(i, integer(group * layout.n))
                )
                *_, gradient, hessian = stage_term(
                    code, y, self.parameters["cost"], self.cost_size, at
                )
                row = b.add(i, integer(group * layout.np))
                start = b.mul(row, integer(layout.P_columns))
                self._add(code.at(last, start, row), hessian)
                target = code.at(last, start, 2 * layout.np)
                code.store(b.fadd(code.load(target), gradient), target)

    def _add(self, target: Any, value: Any) -> None:
        self.code.store(self.code.b.fadd(self.code.load(target), value), target)

    def _propagate(self, P: Any) -> None:
        """W from the cost-to-go of the next knot; `propagated` in NumPy."""
        code, b, layout = self.code, self.code.b, self.layout
        n4, C, PC = layout.np, layout.columns, layout.P_columns
        dt = code.spread(self.dt)
        dt2 = code.spread(b.fmul(self.dt, self.dt))
        W = self.part["W"]
        with code.loop(0, n4, []) as (i, _):
            q_row, v_row = (
                code.at(P, b.mul(i, integer(PC))),
                code.at(P, b.mul(b.add(i, integer(n4)), integer(PC))),
            )
            rows = [code.at(W, b.mul(b.add(i, integer(g * n4)), integer(C))) for g in range(3)]
            for c in range(0, n4, SIMD):
                Pqq, Pqv = (code.load_vector(code.at(q_row, g * n4 + c)) for g in (0, 1))
                Pvq, Pvv = (code.load_vector(code.at(v_row, g * n4 + c)) for g in (0, 1))
                Svq = b.fadd(b.fmul(dt, Pqq), Pvq)
                Sqv = b.fadd(b.fmul(dt, Pqq), Pqv)
                Svv = b.fadd(b.fmul(dt, Sqv), b.fadd(b.fmul(dt, Pvq), Pvv))
                for row, group, value in (
                    (0, 0, b.fmul(dt2, Svv)),
                    (0, 1, b.fmul(dt, Svq)),
                    (0, 2, b.fmul(dt, Svv)),
                    (1, 1, Pqq),
                    (1, 2, Sqv),
                    (2, 2, Svv),
                ):
                    code.store_vector(value, code.at(rows[row], group * n4 + c))
            pq, pv = code.load(code.at(q_row, 2 * n4)), code.load(code.at(v_row, 2 * n4))
            sv = b.fadd(b.fmul(self.dt, pq), pv)
            for row, value in ((0, b.fmul(self.dt, sv)), (1, pq), (2, sv)):
                code.store(value, code.at(rows[row], 3 * n4))

    def _scale(self, knot: Any) -> None:
        """Add the diagonal terms to W; copy J, and J with the Hessian and gradient of τ."""
        code, b, layout = self.code, self.code.b, self.layout
        n, n4, C = layout.n, layout.np, layout.columns
        W = self.part["W"]
        first = b.mul(knot, integer(3 * n))
        with code.loop(0, n, []) as (i, _):
            self._add(code.at(W, b.mul(i, integer(C + 1))), self.damping)
            for group in (0, 1):
                y = code.load(
                    code.at(self.parameters["x"], b.mul(knot, integer(2 * n)), i, group * n)
                )
                at = b.add(first, b.add(i, integer(group * n)))
                *_, gradient, hessian = stage_term(
                    code, y, self.parameters["cost"], self.cost_size, at
                )
                row = b.add(i, integer((group + 1) * n4))
                start = b.mul(row, integer(C))
                self._add(code.at(W, start, row), hessian)
                self._add(code.at(W, start, 3 * n4), gradient)
            tau = code.load(code.at(self.parameters["tau"], b.mul(knot, integer(n)), i))
            at = b.add(first, b.add(i, integer(2 * n)))
            *_, gradient, hessian = stage_term(
                code, tau, self.parameters["cost"], self.cost_size, at
            )
            row = b.mul(i, integer(C))
            J, scaled = (code.at(self.part[name], row) for name in ("J", "scaled"))
            source = b.add(b.mul(knot, integer(n * n)), b.mul(i, integer(n)))
            h = code.spread(hessian)
            for group, name in enumerate(("M", "Jq", "Jv")):
                for c in range(0, n4, SIMD):
                    vector = code.load_vector(code.at(self.parameters[name], source, c))
                    if c + SIMD > n:
                        lanes = [k if c + k < n else SIMD + k for k in range(SIMD)]
                        vector = code.pick(vector, ir.Constant(VECTOR_TYPE, [0.0] * SIMD), lanes)
                    code.store_vector(vector, code.at(J, group * n4 + c))
                    code.store_vector(b.fmul(h, vector), code.at(scaled, group * n4 + c))
            code.store(gradient, code.at(scaled, 3 * n4))

    def _accumulate_inputs(self) -> None:
        """Rows of δa: W += Jᵀ h [J, gradient]; keep their gradient."""
        code, layout = self.code, self.layout
        C, W = layout.columns, self.part["W"]
        terms = [(self.part["J"], C, self.part["scaled"], C, layout.n, False)]
        code.multiply((W, C), terms, (0, layout.np), C, (W, C), self.unrolled)
        with code.loop(0, layout.n, []) as (i, _):
            gradient = code.load(code.at(W, code.b.mul(i, integer(C)), 3 * layout.np))
            code.store(gradient, code.at(self.part["saved"], i))

    def _factorize(self) -> None:
        """Eliminate the rows of δa among themselves; Z = D⁻¹ W of these rows."""
        code, b, layout = self.code, self.code.b, self.layout
        n, C, W, Z = layout.n, layout.columns, self.part["W"], self.part["Z"]
        for block in range(0, n, SIMD):
            columns = range(block, C, SIMD)
            with code.loop(block, min(block + SIMD, n), []) as (i, _):
                own = code.at(W, b.mul(i, integer(C)))
                pivot = code.load(code.at(own, i))
                positive = b.append_basic_block("positive")
                b.cbranch(b.fcmp_ordered(">", pivot, float_constant(0.0)), positive, self.fail)
                b.position_at_end(positive)
                inverse = b.fdiv(float_constant(1.0), pivot)
                code.store(inverse, code.at(self.part["inverse"], i))
                vectors = [code.load_vector(code.at(own, c)) for c in columns]
                for c, vector in zip(columns, vectors, strict=True):
                    ratio = b.fmul(vector, code.spread(inverse))
                    code.store_vector(ratio, code.at(Z, b.mul(i, integer(C)), c))
                with code.loop(b.add(i, integer(1)), n, []) as (j, _):
                    ratio = code.spread(b.fmul(code.load(code.at(own, j)), inverse))
                    other = code.at(W, b.mul(j, integer(C)))
                    for c, vector in zip(columns, vectors, strict=True):
                        target = code.at(other, c)
                        less = b.fsub(code.load_vector(target), b.fmul(ratio, vector))
                        code.store_vector(less, target)

    def _accumulate_states(self, P: Any) -> None:
        """Rows of δq and δv: W + Jᵀ h J - Zᵀ W of the rows of δa, into P."""
        code, layout = self.code, self.layout
        n, n4, C, PC = layout.n, layout.np, layout.columns, layout.P_columns
        W, Z = self.part["W"], self.part["Z"]
        terms = [
            (self.part["J"], C, self.part["scaled"], C, n, False),
            (Z, C, W, C, n, True),
        ]
        if self.unrolled:
            # row n4, column n4 of W is row 0, column 0 of P
            corner = code.at(P, -n4 * PC - n4)
            code.multiply((W, C), terms, (n4, 3 * n4), C, (corner, PC), True)
            return
        code.multiply((W, C), terms, (n4, 3 * n4), C, (W, C), False)
        with code.loop(0, 2 * n4, []) as (i, _):
            row = code.at(W, code.b.mul(code.b.add(i, integer(n4)), integer(C)), n4)
            for c in range(0, PC, SIMD):
                target = code.at(P, code.b.mul(i, integer(PC)), c)
                code.store_vector(code.load_vector(code.at(row, c)), target)

    def _substitute(self) -> None:
        """X = [K, k] by back substitution in the rows of δa."""
        code, b, layout = self.code, self.code.b, self.layout
        n, n4, C, PC = layout.n, layout.np, layout.columns, layout.P_columns
        W, X = self.part["W"], self.part["X"]
        columns = range(0, PC, SIMD)
        with code.loop(0, n, [], down=True) as (i, _):
            own = code.at(W, b.mul(i, integer(C)))
            rows = [code.load_vector(code.at(own, n4 + c)) for c in columns]
            with code.loop(b.add(i, integer(1)), n, rows) as (j, values):
                ratio = code.spread(code.load(code.at(own, j)))
                for k, c in enumerate(columns):
                    vector = code.load_vector(code.at(X, b.mul(j, integer(PC)), c))
                    values[k] = b.fsub(values[k], b.fmul(ratio, vector))
            inverse = code.spread(code.load(code.at(self.part["inverse"], i)))
            for c, vector in zip(columns, rows, strict=True):
                target = code.at(X, b.mul(i, integer(PC)), c)
                code.store_vector(b.fmul(vector, inverse), target)

    def _store_gains(self, KT: Any, decrease: Any) -> Any:
        """Store K transposed and k; add the decrease of this knot."""
        code, b, layout = self.code, self.code.b, self.layout
        n4, PC, X = layout.np, layout.P_columns, self.part["X"]
        for row in range(0, n4, SIMD):
            for c in range(0, 2 * n4, SIMD):
                block = [code.load_vector(code.at(X, (row + r) * PC + c)) for r in range(SIMD)]
                for r, vector in enumerate(code.transposed(block)):
                    code.store_vector(vector, code.at(KT, (c + r) * n4 + row))
        carried = [decrease]
        with code.loop(0, layout.n, carried) as (i, values):
            k = code.load(code.at(X, b.mul(i, integer(PC)), 2 * n4))
            code.store(k, code.at(KT, 2 * n4 * n4, i))
            saved = code.load(code.at(self.part["saved"], i))
            values[0] = b.fadd(values[0], b.fmul(k, saved))
        return carried[0]


def build_step(module: Any, n: int) -> None:
    """Code of `step`: δa = -(k + K δx) and the double integrator."""
    layout = PassLayout(n)
    arguments = [("N", WHOLE), ("dt", REAL_TYPE)]
    arguments += [(name, REAL_POINTER) for name in ("KT", "work", "dx", "da")]
    code = Code(module, "step", arguments, ir.VoidType())
    b, parameters, n4 = code.b, code.arguments, layout.np
    groups = range(0, n4, SIMD)
    dt, zero = code.spread(parameters["dt"]), ir.Constant(VECTOR_TYPE, [0.0] * SIMD)
    # q, then v; the vectors of a row are stored in order, so that padding is overwritten
    state = [zero for _ in range(2) for _ in groups]
    count = len(groups)

    def store_row(pointer: Any, vectors: list[Any]) -> None:
        for c, vector in zip(groups, vectors, strict=True):
            code.store_vector(vector, code.at(pointer, c))

    for group in (0, 1):
        store_row(code.at(parameters["dx"], group * n), state[:count])
    with code.loop(0, parameters["N"], state) as (knot, values):
        KT = code.at(parameters["KT"], b.mul(knot, integer(layout.K_size)))
        for group in (0, 1):
            part = values[group * count : (group + 1) * count]
            store_row(code.at(parameters["work"], group * n4), part)
        da = [b.fneg(code.load_vector(code.at(KT, 2 * n4 * n4 + c))) for c in groups]
        for group in (0, 1):
            with code.loop(0, n, da) as (j, sums):
                x = code.spread(code.load(code.at(parameters["work"], group * n4, j)))
                row = code.at(KT, b.mul(b.add(j, integer(group * n4)), integer(n4)))
                for k, c in enumerate(groups):
                    term = b.fmul(code.load_vector(code.at(row, c)), x)
                    sums[k] = b.fsub(sums[k], term)
        store_row(code.at(parameters["da"], b.mul(knot, integer(n))), da)
        for k in range(count):
            values[count + k] = b.fadd(values[count + k], b.fmul(dt, da[k]))
            values[k] = b.fadd(values[k], b.fmul(dt, values[count + k]))
        after = b.mul(b.add(knot, integer(1)), integer(2 * n))
        for group in (0, 1):
            part = values[group * count : (group + 1) * count]
            store_row(code.at(parameters["dx"], after, group * n), part)
    b.ret_void()


def build_cost(module: Any, n: int) -> None:
    """Code of `cost`: one sum per quantity and joint over the knots, then their sum."""
    arguments = [("N", WHOLE)] + [(name, REAL_POINTER) for name in ("x", "tau", "cost", "work")]
    code = Code(module, "cost", arguments, REAL_TYPE)
    b, parameters = code.b, code.arguments
    knots = b.add(parameters["N"], integer(1))
    size = b.mul(knots, integer(3 * n))
    with code.loop(0, 3 * n, []) as (i, _):
        code.store(float_constant(0.0), code.at(parameters["work"], i))
    with code.loop(0, knots, []) as (knot, _):
        for name, first, count in (("x", 0, 2 * n), ("tau", 2 * n, n)):
            with code.loop(0, count, []) as (i, _):
                y = code.load(code.at(parameters[name], b.mul(knot, integer(count)), i))
                at = b.add(b.mul(knot, integer(3 * n)), b.add(i, integer(first)))
                weight, r, penalty, e, _, _ = stage_term(code, y, parameters["cost"], size, at)
                term = b.fadd(b.fmul(weight, b.fmul(r, r)), b.fmul(penalty, b.fmul(e, e)))
                target = code.at(parameters["work"], i, first)
                code.store(b.fadd(code.load(target), term), target)
    total = [float_constant(0.0)]
    with code.loop(0, 3 * n, total) as (i, values):
        values[0] = b.fadd(values[0], code.load(code.at(parameters["work"], i)))
    b.ret(b.fmul(float_constant(0.5), total[0]))
