"""Kernels by address: called from ctypes, from LLVM functions and from C, with the same bits."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

import robolin
from robolin.core.arm import Arm
from robolin.engine.compiled.native import (
    KERNEL_TYPE,
    KernelTable,
    NativeModule,
    call_kernel,
    compile_module,
)
from robolin.errors import RobolinError, UsageError
from tests.robots import arm_name, random_arm, random_states

INT64, NUMBER = ir.IntType(64), ir.DoubleType()
POINTERS = NUMBER.as_pointer()
CHAIN = random_arm(61, 3, prismatic=False)
TREE = random_arm(62, 5, tree=True)
arms = pytest.mark.parametrize("arm", [CHAIN, TREE], ids=arm_name)


def states_of(arm: Arm, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    states = random_states(arm, rows)
    return states.q, states.qd, states.qdd


def addresses(*arrays: np.ndarray) -> list[int]:
    return [each.ctypes.data for each in arrays]


def euler_module() -> NativeModule:
    """`step(table, q, qd, tau, qdd, status, joints, rows, dt)`: semi-implicit Euler on all rows."""
    module = ir.Module("euler")
    kinds = [POINTERS] * 6 + [INT64] * 2 + [NUMBER]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "step")
    table, q, qd, tau, qdd, status, n, rows, dt = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    zero = ir.Constant(INT64, 0)
    call_kernel(b, table, [(q, n), (qd, n), (tau, n)], [qdd], status, zero, rows)
    entry, loop = b.block, function.append_basic_block("loop")
    after = function.append_basic_block("after")
    total = b.mul(n, rows)
    b.branch(loop)
    b.position_at_end(loop)
    i = b.phi(INT64)
    i.add_incoming(zero, entry)
    velocity = b.fadd(b.load(b.gep(qd, [i])), b.fmul(dt, b.load(b.gep(qdd, [i]))))
    b.store(velocity, b.gep(qd, [i]))
    b.store(b.fadd(b.load(b.gep(q, [i])), b.fmul(dt, velocity)), b.gep(q, [i]))
    following = b.add(i, ir.Constant(INT64, 1))
    i.add_incoming(following, loop)
    b.cbranch(b.icmp_signed("<", following, total), loop, after)
    b.position_at_end(after)
    b.ret_void()
    return compile_module(module)


def step_of(module: NativeModule) -> Any:
    kinds = [ctypes.c_void_p] * 6 + [ctypes.c_int64] * 2 + [ctypes.c_double]
    return module.function("step", None, *kinds)


@arms
def test_a_kernel_called_by_address_has_the_bits_of_the_function(arm: Arm) -> None:
    q, qd, tau = states_of(arm, 5)
    kernel = robolin.native_kernel(arm, "forward")
    assert kernel.inputs == ("q", "qd", "tau")
    assert kernel.outputs == {"qdd": (arm.n,)}
    assert kernel.row_sizes == (arm.n,)
    (qdd,), status = kernel(kernel.table(), q, qd, tau)
    assert np.array_equal(qdd, robolin.forward(arm, q, qd, tau))
    assert not status.any()


def test_several_results_and_a_repeated_row() -> None:
    q, _, tau = states_of(CHAIN, 3)
    kernel = robolin.native_kernel(CHAIN, "linearize-forward")
    results, _ = kernel(kernel.table(), q, np.zeros(3), tau)
    model = robolin.linearize_forward(CHAIN, q, np.zeros(3), tau)
    for name, result in zip(kernel.outputs, results, strict=True):
        assert np.array_equal(result, getattr(model, name)), name


def test_tables_have_separate_aligned_memory() -> None:
    kernel = robolin.native_kernel(CHAIN, "forward")
    one, two = kernel.table(), kernel.table()
    assert one.call == two.call == kernel.address
    assert one.doubles == two.doubles
    assert one.scratch != two.scratch
    assert one.scratch % 64 == one.tables % 64 == one.staging % 64 == 0
    scratch, tables, _ = kernel.memory
    assert one.tables - one.scratch >= scratch
    assert one.staging - one.tables >= tables


def test_the_status_names_a_row_without_a_result() -> None:
    q, qd, tau = states_of(CHAIN, 3)
    q[1, 0] = np.nan
    kernel = robolin.native_kernel(CHAIN, "forward")
    _, status = kernel(kernel.table(), q, qd, tau)
    assert status.tolist() == [0.0, -1.0, 0.0]


@arms
def test_an_llvm_function_calls_the_kernel_of_any_arm(arm: Arm) -> None:
    q, qd, tau = states_of(arm, 3)
    expected_qd = qd + 0.01 * robolin.forward(arm, q, qd, tau)
    expected_q = q + 0.01 * expected_qd
    table = robolin.native_kernel(arm, "forward").table()
    qdd, status = np.empty_like(q), np.empty(3)
    own = addresses(q, qd, tau, qdd, status)
    step_of(euler_module())(table.address, *own, arm.n, 3, 0.01)
    assert np.array_equal(q, expected_q)
    assert np.array_equal(qd, expected_qd)


def test_a_module_is_compiled_once() -> None:
    assert euler_module() is euler_module()


def test_a_table_outlives_kernel_and_arm() -> None:
    q, qd, tau = states_of(CHAIN, 1)
    table = robolin.native_kernel(random_arm(61, 3, prismatic=False), "forward").table()
    qdd, status = np.empty(3), np.empty(1)
    pairs = (ctypes.c_int64 * 6)(*(x for each in addresses(q, qd, tau) for x in (each, 0)))
    own = (pairs, (ctypes.c_int64 * 2)(qdd.ctypes.data, 0), status.ctypes.data)
    memory = (table.scratch, table.tables, table.staging)
    KERNEL_TYPE(table.call)(table.doubles, table.integers, *own, *memory, 3, 3, 0, 1)
    assert np.array_equal(qdd, robolin.forward(CHAIN, q[0], qd[0], tau[0]))


@pytest.mark.parametrize(
    "line",
    [
        "%y = fadd fast double %x, %x",
        "%y = fmul nnan contract double %x, %x",
        "%y = call double @llvm.fma.f64(double %x, double %x, double %x)",
        "%y = call double @llvm.fmuladd.f64(double %x, double %x, double %x)",
    ],
)
def test_code_that_rounds_differently_is_rejected(line: str) -> None:
    text = f"define double @f(double %x) {{\n  {line}\n  ret double %y\n}}\n"
    with pytest.raises(UsageError, match="would change the rounding"):
        compile_module(text)


def test_products_and_sums_are_rounded_separately() -> None:
    text = (
        "define double @f(double %x, double %y, double %z) {\n"
        "  %p = fmul double %x, %y\n  %s = fadd double %p, %z\n  ret double %s\n}\n"
    )
    number = ctypes.c_double
    f = compile_module(text).function("f", number, number, number, number)
    x = 1.0 + 2.0**-30
    # a fused multiply-add would return 2**-60
    assert f(x, x, -(1.0 + 2.0**-29)) == 0.0


def test_a_missing_function_is_reported() -> None:
    with pytest.raises(UsageError, match="defines no function 'g'"):
        compile_module("define void @f() {\n  ret void\n}\n").address("g")


def test_invalid_requests_are_rejected() -> None:
    with pytest.raises(UsageError, match="width: must be 2, 4, 8 or None, got 3"):
        robolin.native_kernel(CHAIN, "forward", width=3)
    with pytest.raises(UsageError, match="unknown function 'backward'"):
        robolin.native_kernel(CHAIN, "backward")
    with pytest.raises(
        RobolinError, match="forward cannot be compiled for robots with closed loops"
    ):
        robolin.native_kernel(robolin.load("four-bar"), "forward")


C_SOURCE = """
#include <stdint.h>
struct input { const double *first; int64_t stride; };
struct kernel {
    void (*call)(const double *, const int64_t *, const struct input *, double *const *,
                 double *, double *, double *, double *, int64_t, int64_t, int64_t, int64_t);
    const double *doubles; const int64_t *integers;
    double *scratch, *tables, *staging;
    int64_t links, joints;
};
void forward(const struct kernel *k, const double *q, const double *qd, const double *tau,
             double *qdd, double *status, int64_t rows) {
    const struct input inputs[] = {{q, k->joints}, {qd, k->joints}, {tau, k->joints}};
    double *const outputs[] = {qdd, 0};
    k->call(k->doubles, k->integers, inputs, outputs, status,
            k->scratch, k->tables, k->staging, k->links, k->joints, 0, rows);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="requires a C compiler")
def test_c_calls_a_kernel_through_its_table(tmp_path: Path) -> None:
    (tmp_path / "caller.c").write_text(C_SOURCE)
    library = tmp_path / "caller.so"
    command = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, "caller.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    q, qd, tau = states_of(TREE, 6)
    qdd, status = np.empty_like(q), np.empty(6)
    table: KernelTable = robolin.native_kernel(TREE, "forward").table()
    forward = ctypes.CDLL(str(library)).forward
    forward.argtypes = [ctypes.c_void_p] * 6 + [ctypes.c_int64]
    forward(table.address, *addresses(q, qd, tau, qdd, status), 6)
    assert np.array_equal(qdd, robolin.forward(TREE, q, qd, tau))


def _two_arms(path: Path) -> Arm:
    """Two arms of two joints on one base, with a load in world axes at the first."""
    inertial = (
        '<inertial><origin xyz="0.1 0 0.05"/><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    text = '<link name="base"/>'
    for k, parent in enumerate(("base", "link0", "base", "link2")):
        text += f'<link name="link{k}">{inertial}</link><joint name="joint{k}" type="continuous">'
        text += f'<parent link="{parent}"/><child link="link{k}"/><origin xyz="0.3 0 0.1"/>'
        text += f'<axis xyz="{k % 2} 1 0"/></joint>'
    path.write_text(f'<robot name="two">{text}</robot>')
    wrench = {"link1": (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)}
    return robolin.load(str(path), wrench=wrench, wrench_frame="dead")


def test_rows_without_a_result_do_not_change_later_rows(tmp_path):
    """NaN in one row stays in its row: the kernel's memory keeps nothing of it."""
    arm = _two_arms(tmp_path / "two.urdf")
    kernel = robolin.native_kernel(arm, "linearize-forward", method="operator", width=2)
    q, qd, tau = states_of(arm, 20)
    expected, _ = kernel(kernel.table(), q, qd, tau)
    for position in (3, 8):
        states = q.copy()
        states[position] = np.nan
        results, status = kernel(kernel.table(), states, qd, tau)
        assert np.flatnonzero(status).tolist() == [position]
        for result, true in zip(results, expected, strict=True):
            others = np.arange(len(q)) != position
            np.testing.assert_array_equal(result[others], true[others])
