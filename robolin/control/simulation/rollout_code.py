"""LLVM code of rollouts: all steps of an integrator, torques and costs in one function.

The function works on tiles of arms, all steps of a tile at a time.  Every sum and product is that
of the step-by-step integrator, in the same order, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from robolin.control.simulation.rollout import RolloutCode, TorqueTableKind
from robolin.engine.compiled.function_builder import (
    FLOAT64,
    INT64,
    POINTER,
    FunctionBuilder,
    int_constant,
    real_constant,
)
from robolin.engine.compiled.native import NativeModule, call_kernel, compile_module

# addresses and integers that the function reads, each 8 bytes
FIELDS = (
    *("y", "before", "kept_y", "kept_command", "kept_qdd", "workspace", "zeros"),
    *("forward", "power", "inverse", "least", "most"),
    *("command", "command_stride", "command_time", "command_rows"),
    *("push", "push_stride", "push_time", "push_rows"),
    *("time", "rows", "q", "qd", "qdd", "tau", "K", "integrals", "weights"),
    *("kp", "kd", "motors", "motor_count", "memory"),
    *("n", "count", "every", "steps", "counting", "tile"),
)
# doubles that the function reads
NUMBERS = ("dt", "duration", "command_start", "command_stop", "push_start", "push_stop")

# memory of one arm, in doubles: states of y, of a stage, of its rate, of their sum, and before
STATE_COPIES = 5


@cache
def rollout_module(code: RolloutCode) -> NativeModule:
    """Compile the rollout; its function `roll` returns the first step that failed.

    roll(fields, numbers, first arm, last arm, first step, last step) returns the last step if
    all steps succeeded.
    """
    return compile_module(_Rollout(code).module, vectorize=False)


class _Rollout(FunctionBuilder):
    """Builder of the LLVM functions of a rollout."""

    def __init__(self, code: RolloutCode) -> None:
        super().__init__("rollout")
        self.code = code
        arguments = [INT64.as_pointer(), POINTER, *[INT64] * 4]
        self.fields, self.numbers, first, last, begin, stop = self.begin("roll", INT64, arguments)
        self.end = self.variable(stop)
        tables = ("command", "push", "reference")
        self.cursor_of = {name: self.variable(int_constant(0)) for name in tables}
        self.reference_time = self.variable(real_constant(float("nan")))
        self.n, self.count = self.field("n"), self.field("count")
        self.memory = self.field("memory") if code.integrals else int_constant(0)
        self.width = self.add_up(self.times(2, self.n), int_constant(1), self.memory)
        if code.cost:
            self.width = self.add_up(self.width, int_constant(1))
        self._tiles(first, last, begin)
        self.b.ret(self.b.load(self.end))

    def field(self, name: str) -> Any:
        return self.b.load(self.b.gep(self.fields, [int_constant(FIELDS.index(name))]))

    def pointer(self, name: str) -> Any:
        return self.b.inttoptr(self.field(name), POINTER)

    def number(self, name: str) -> Any:
        return self.b.load(self.b.gep(self.numbers, [int_constant(NUMBERS.index(name))]))

    def _tiles(self, first: Any, last: Any, begin: Any) -> None:
        b, tile = self.b, self.field("tile")
        with self.loop(last, first, tile) as arm:
            left = b.sub(last, arm)
            self.arm = arm
            self.rows = b.select(b.icmp_signed("<", left, tile), left, tile)
            self._place_memory()
            self._move(self.local, "y", True)
            if self.code.constant:
                # the same in all steps
                self._set_torque(begin, self.local)
            with self.loop(lambda: b.load(self.end), begin) as step:
                self._step(step)
            self._move(self.local, "y", False)
            self._move(self.before, "before", False)

    def _place_memory(self) -> None:
        """Divide the workspace: copies of the state, torques of all joints, and one row each."""
        b = self.b
        self.size = b.mul(self.rows, self.width)
        joints = self.joints = b.mul(self.rows, self.n)
        position = self.pointer("workspace")
        states = b.mul(self.field("tile"), self.width)
        torques = b.mul(self.field("tile"), self.n)
        places = []
        for size in (*[states] * STATE_COPIES, *[torques] * 3, self.field("tile"), self.n, self.n):
            places.append(position)
            position = self.at(position, size)
        self.local, self.stage, self.k, self.total, self.before = places[:STATE_COPIES]
        self.command, self.torque, self.other = places[STATE_COPIES : STATE_COPIES + 3]
        self.status, self.command_row, self.push_row = places[STATE_COPIES + 3 :]
        self.rest = position
        # offsets of velocities, work, integrals and cost in a state of the tile
        self.v_at, self.work_at = joints, self.times(2, joints)
        self.memory_at = self.add_up(self.work_at, self.rows)
        self.cost_at = self.add_up(self.memory_at, b.mul(self.rows, self.memory))

    def _blocks(self) -> Sequence[tuple[Any, Any]]:
        """Numbers per arm and offset in the tile of each part of the state."""
        parts = [(self.n, int_constant(0)), (self.n, self.v_at), (int_constant(1), self.work_at)]
        if self.code.integrals:
            parts.append((self.memory, self.memory_at))
        if self.code.cost:
            parts.append((int_constant(1), self.cost_at))
        return parts

    def _move(self, local: Any, name: str, load: bool, offset: Any = None) -> None:
        """Copy the states of the tile from or to an array in which each part is one block."""
        b, array = self.b, self.pointer(name)
        block = int_constant(0) if offset is None else offset
        for size, at in self._blocks():
            here, there = self.at(local, at), self.at(array, block, b.mul(self.arm, size))
            source, target = (there, here) if load else (here, there)
            self.copy(target, source, b.mul(self.rows, size))
            block = self.add_up(block, b.mul(self.count, size))

    def _step(self, step: Any) -> None:
        b = self.b
        dt = self.number("dt")
        self.t = b.fmul(b.sitofp(step, FLOAT64), dt)
        is_last = b.icmp_signed("==", step, b.sub(self.field("steps"), int_constant(1)))
        h = b.select(is_last, b.fsub(self.number("duration"), self.t), dt)
        self.step_number = step
        self._keep(step, self._keep_state)
        if self.code.scheme == "euler":
            self._rate(self.t, self.local)
            self._keep(step, self._keep_rates)
            self._euler(h)
        else:
            self._runge_kutta(step, h)

    def _runge_kutta(self, step: Any, h: Any) -> None:
        """Four stages in a loop, so that the code of the rates exists once."""
        b, size = self.b, self.size
        with self.loop(int_constant(4)) as number:
            is_first = b.icmp_signed("==", number, int_constant(0))
            is_last = b.icmp_signed("==", number, int_constant(3))
            share = b.select(is_last, real_constant(1.0), real_constant(0.5))
            part = b.fmul(share, h)
            with b.if_else(is_first) as (first, later):
                with first:
                    self.copy(self.stage, self.local, size)
                with later:
                    b.call(self.stage_function, [self.stage, self.local, self.k, part, size])
            self._rate(b.select(is_first, self.t, b.fadd(self.t, part)), self.stage)
            weight = b.select(is_last, real_constant(1.0), real_constant(2.0))
            with b.if_else(is_first) as (first, later):
                with first:
                    self._keep(step, self._keep_rates)
                    self.copy(self.total, self.k, size)
                with later:
                    b.call(self.add_function, [self.total, self.k, weight, size])
        sixth = b.fdiv(h, real_constant(6.0))
        b.call(self.advance_function, [self.local, self.before, self.total, sixth, size])

    def _euler(self, h: Any) -> None:
        """Velocities, work, integrals and cost first, then positions with the new velocities."""
        b = self.b
        rest = b.sub(self.size, self.v_at)
        own = (self.at(each, self.v_at) for each in (self.local, self.before, self.k))
        b.call(self.advance_function, [*own, h, rest])
        self.copy(self.k, self.at(self.local, self.v_at), self.joints)
        b.call(self.advance_function, [self.local, self.before, self.k, h, self.joints])

    def _keep(self, step: Any, store: Any) -> None:
        """Store something in the row of this step, if it has one."""
        b, every = self.b, self.field("every")
        sparse = b.icmp_signed("==", every, int_constant(0))
        divisor = b.select(sparse, int_constant(1), every)
        divides = b.icmp_signed("==", b.srem(step, divisor), int_constant(0))
        is_kept = b.select(sparse, b.icmp_signed("==", step, int_constant(0)), divides)
        with b.if_then(is_kept):
            store(b.sdiv(step, divisor))

    def _keep_state(self, row: Any) -> None:
        size = self.b.mul(self.count, self.width)
        self._move(self.local, "kept_y", False, self.b.mul(row, size))

    def _keep_rates(self, row: Any) -> None:
        b = self.b
        start = b.mul(self.add_up(b.mul(row, self.count), self.arm), self.n)
        for name, source in (("kept_command", self.command), ("kept_qdd", self._dv())):
            target = self.at(self.pointer(name), start)
            self.copy(target, source, self.joints)

    def _dv(self) -> Any:
        return self.at(self.k, self.v_at)

    def _rate(self, t: Any, y: Any) -> None:
        """Write the rates of the state y into k; the torque is in `command` before its limits."""
        q, qd = y, self.at(y, self.v_at)
        if not self.code.constant:
            self._set_torque(t, y)
        driven = self._rows_of(q, qd, self.torque)
        self._kernel("forward", driven, [self._dv()])
        self.copy(self.k, qd, self.joints)
        self._kernel("power", driven, [self.at(self.k, self.work_at)])
        if self.code.cost:
            self._cost(q, qd)

    def _set_torque(self, t: Any, y: Any) -> None:
        self._compute_command(t, y, y, self.at(y, self.v_at))
        self._limit(t)

    def _kernel(self, name: str, inputs: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> None:
        """Call a kernel for the tile; a nonzero status ends the steps of the tile."""
        b = self.b
        table = self.pointer(name)
        call_kernel(b, table, inputs, outputs, self.status, int_constant(0), self.rows)
        with self.loop(self.rows) as i:
            bad = b.fcmp_unordered("!=", self.get(self.status, i), real_constant(0.0))
            with b.if_then(bad, likely=False):
                # the rest of this step is computed in vain
                earlier = b.icmp_signed("<", self.step_number, b.load(self.end))
                with b.if_then(earlier):
                    b.store(self.step_number, self.end)

    def _compute_command(self, t: Any, y: Any, q: Any, qd: Any) -> None:
        kind = self.code.command
        if kind == "table":
            source, stride = self._table("command", self.code.table, t, self.command_row)

            def own(i: Any, j: Any) -> Any:
                return self.get(source, self._on(i, j, stride))

            if self.code.hold:
                self._static(q)
                self._each(lambda i, j: self.b.fadd(self.get(self.other, i), own(i, j)))
            else:
                self._each(own)
        elif kind == "rate-control":
            gain = (self.pointer("kp"), int_constant(0))
            self._kernel("inverse", [*self._rows_of(q, qd), gain], [self.command, self.other])
        elif kind == "braking":
            self._braking(q, qd)
        elif kind == "feedback":
            self._feedback(t, y, q, qd)
        else:
            self._tracking(t, q, qd)

    def _static(self, q: Any) -> None:
        zeros = (self.pointer("zeros"), int_constant(0))
        self._kernel("inverse", [(q, self.n), zeros, zeros], [self.other])

    def _braking(self, q: Any, qd: Any) -> None:
        """The damping torques of control law 8.1 with one gain, which is negative."""
        gain = self.pointer("kp")
        self._each(lambda i, j: self.b.fmul(self.get(gain, j), self.get(qd, i)), self.other)
        self._kernel("inverse", self._rows_of(q, qd, self.other), [self.command])

    def _rows_of(self, *arrays: Any) -> list[tuple[Any, Any]]:
        return [(each, self.n) for each in arrays]

    def _tracking(self, t: Any, q: Any, qd: Any) -> None:
        b = self.b
        names = ("q", "qd", "qdd") if self.code.command == "computed" else ("q", "qd")
        at = self._reference(t, dict.fromkeys(names, self.n))
        kp, kd = self.pointer("kp"), self.pointer("kd")

        def feedback(i: Any, j: Any) -> Any:
            stiff = b.fmul(self.get(kp, j), b.fsub(self.get(at["q"], j), self.get(q, i)))
            damped = b.fmul(self.get(kd, j), b.fsub(self.get(at["qd"], j), self.get(qd, i)))
            return b.fadd(stiff, damped)

        if self.code.command == "computed":
            demand = self.other
            self._each(lambda i, j: b.fadd(self.get(at["qdd"], j), feedback(i, j)), demand)
            self._kernel("inverse", self._rows_of(q, qd, demand), [self.command])
        elif self.code.hold:
            self._static(q)
            self._each(lambda i, j: b.fadd(feedback(i, j), self.get(self.other, i)))
        else:
            self._each(feedback)

    def _feedback(self, t: Any, y: Any, q: Any, qd: Any) -> None:
        """τ = τ₀ - K x, and the rates of the integrals, in the order of `StateFeedback`."""
        b, motors = self.b, self.field("motor_count")
        states = self.add_up(self.times(2, self.n), self.memory)
        sizes = {"q": self.n, "qd": self.n, "tau": self.n, "K": b.mul(motors, states)}
        if self.code.integrals:
            sizes["integrals"] = b.mul(self.memory, states)
        self.reference = self._reference(t, sizes)
        at, z = self.reference, self.at(y, self.memory_at)
        index = b.inttoptr(self.field("motors"), INT64.as_pointer())
        # deviations of all arms of the tile, for the torques and the cost
        self.x, self.states = self.after_reference, states
        with self.loop(self.rows) as row:
            x, own = self.at(self.x, b.mul(row, states)), b.mul(row, self.n)
            with self.loop(self.n) as j:
                self.put(b.fsub(self.get(q, own, j), self.get(at["q"], j)), x, j)
                self.put(b.fsub(self.get(qd, own, j), self.get(at["qd"], j)), x, self.n, j)
                self.put(self.get(at["tau"], j), self.command, own, j)
            if self.code.integrals:
                behind = self.times(2, self.n)
                with self.loop(self.memory) as i:
                    self.put(self.get(z, b.mul(row, self.memory), i), x, behind, i)
            with self.loop(motors) as j:
                motor = self.add_up(own, b.load(b.gep(index, [j])))
                gains, torque = self.at(at["K"], b.mul(j, states)), self.get(self.command, motor)
                self.put(self._with_products(b.fsub, torque, gains, x, states), self.command, motor)
            if self.code.integrals:
                self._integral_rates(row, x, states)

    def _integral_rates(self, row: Any, x: Any, states: Any) -> None:
        b = self.b
        rates = self.at(self.k, self.memory_at, b.mul(row, self.memory))
        with self.loop(self.memory) as j:
            gains, zero = self.at(self.reference["integrals"], b.mul(j, states)), real_constant(0.0)
            self.put(self._with_products(b.fadd, zero, gains, x, states), rates, j)

    def _with_products(self, add: Any, start: Any, gains: Any, x: Any, size: Any) -> Any:
        """The start with gains · x added or subtracted, product by product."""
        b, total = self.b, self.variable(start)
        with self.loop(size) as i:
            b.store(add(b.load(total), b.fmul(self.get(gains, i), self.get(x, i))), total)
        return b.load(total)

    def _cost(self, q: Any, qd: Any) -> None:
        """The rate xᵀQx + uᵀRu + 2xᵀNu, summed in the order of NumPy's einsum."""
        b, motors = self.b, self.field("motor_count")
        weights, size = self.pointer("weights"), self.add_up(self.states, motors)
        index = b.inttoptr(self.field("motors"), INT64.as_pointer())
        counting = b.icmp_signed("!=", self.field("counting"), int_constant(0))
        both = self.at(self.x, b.mul(self.field("tile"), self.states))
        least, most = self.pointer("least"), self.pointer("most")
        with self.loop(self.rows) as row:
            x, own = self.at(self.x, b.mul(row, self.states)), b.mul(row, self.n)
            self.copy(both, x, self.states)
            with self.loop(motors) as j:
                joint = b.load(b.gep(index, [j]))
                motor = self.clipped(
                    self.get(self.command, own, joint),
                    self.get(least, joint),
                    self.get(most, joint),
                )
                u = b.fsub(motor, self.get(self.reference["tau"], joint))
                self.put(u, both, self.states, j)
            total = self.variable(real_constant(0.0))
            with self.loop(size) as i, self.loop(size) as j:
                weight = self.get(weights, b.mul(i, size), j)
                product = b.fmul(b.fmul(self.get(both, i), weight), self.get(both, j))
                b.store(b.fadd(b.load(total), product), total)
            rate = b.select(counting, b.load(total), real_constant(0.0))
            self.put(rate, self.k, self.cost_at, row)

    def _limit(self, t: Any) -> None:
        """Cut the command at the effort limits, and add the disturbance."""
        b, least, most = self.b, self.pointer("least"), self.pointer("most")

        def motor(i: Any, j: Any) -> Any:
            return self.clipped(self.get(self.command, i), self.get(least, j), self.get(most, j))

        kind = self.code.disturbance
        if kind is None:
            self._each(motor, self.torque)
            return
        push, stride = self._table("push", kind, t, self.push_row)
        self._each(
            lambda i, j: b.fadd(motor(i, j), self.get(push, self._on(i, j, stride))), self.torque
        )

    def _each(self, value: Any, target: Any = None) -> None:
        """Store value(i, j) for every arm and joint: i counts all numbers, j the joints."""
        b = self.b
        with self.loop(self.rows) as row:
            own = b.mul(row, self.n)
            with self.loop(self.n) as j:
                i = self.add_up(own, j)
                self.put(value(i, j), self.command if target is None else target, i)

    def _on(self, i: Any, j: Any, stride: Any) -> Any:
        """Index in a table of all arms if they have separate rows, else in one row."""
        b = self.b
        separate = self.add_up(i, b.mul(self.arm, self.n))
        return b.select(b.icmp_signed("!=", stride, int_constant(0)), separate, j)

    def _table(self, name: str, kind: TorqueTableKind, t: Any, row: Any) -> tuple[Any, Any]:
        """Values at time t, and whether every arm has its own: 0 if one row is for all."""
        b, values = self.b, self.pointer(name)
        if kind == "constant":
            return values, self.field(f"{name}_stride")
        if kind == "pulse":
            on = b.and_(
                b.fcmp_ordered("<=", self.number(f"{name}_start"), t),
                b.fcmp_ordered("<", t, self.number(f"{name}_stop")),
            )
            return b.select(on, values, self.pointer("zeros")), int_constant(0)
        time, rows = self.pointer(f"{name}_time"), self.field(f"{name}_rows")
        self.interpolate(self.cursor_of[name], time, rows, t, [(values, row, self.n)])
        return row, int_constant(0)

    def _reference(self, t: Any, sizes: dict[str, Any]) -> dict[str, Any]:
        """Arrays of the reference at time t, each one row; the memory after them is free."""
        target = self.rest
        if not self.code.moving:
            self.after_reference = target
            return {name: self.pointer(name) for name in sizes}
        arrays, jobs = {}, []
        for name, size in sizes.items():
            jobs.append((self.pointer(name), target, size))
            arrays[name], target = target, self.at(target, size)
        self.after_reference = target
        b, cursor = self.b, self.cursor_of["reference"]
        # two stages of a step have the same time
        with b.if_then(b.fcmp_unordered("!=", t, b.load(self.reference_time))):
            self.interpolate(cursor, self.pointer("time"), self.field("rows"), t, jobs)
            b.store(t, self.reference_time)
        return arrays
