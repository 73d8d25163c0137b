"""The recipe for an algorithm in docs/dev/extending.md: one module and one catalogue entry."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import robolin
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algorithm import VECTOR, Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.elimination import to_coordinates
from robolin.dynamics.mass_matrix.mass_matrix import composite_bodies
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok
from tests.robots import random_states

NAME, MODULE = "inverse-by-mass-matrix", "robolin.dynamics.inverse.inverse_by_mass_matrix"


# the module robolin/dynamics/inverse/inverse_by_mass_matrix.py
def inverse_by_mass_matrix(chain: Chain, factor: float = 1.0) -> None:
    """τ = 𝓜 q̈ + τ(q, q̇, q̈ = 0)."""
    links, mass, bias = forward_kinematics(chain), chain.table(), chain.column()
    torques(chain, links, chain.input("qd"), chain.zeros(), bias)
    composite_bodies(chain, links, mass)
    qdd, tau = to_coordinates(chain, chain.input("qdd")), chain.result("tau")
    for r in chain.coordinates():
        entry = chain.accumulator((bias[r],))
        for c in chain.coordinates():
            entry.value = (entry.value[0] + mass[r, c] * qdd[c] * factor,)
        tau[r] = entry.value[0]


# the entry in robolin/dynamics/catalogue.py
ENTRY = Algorithm(
    "inverse.inverse_by_mass_matrix:inverse_by_mass_matrix",
    ("q", "qd", "qdd"),
    {"tau": VECTOR},
    "mass matrix and bias torques, O(n²)",
    "independent",
    verb="inverse",
    method="conventional",
    counted=("inverse", "mass matrix and bias"),
)


@pytest.fixture(autouse=True)
def _entered(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(MODULE)
    module.inverse_by_mass_matrix = inverse_by_mass_matrix  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setitem(ALGORITHMS, NAME, ENTRY)  # type: ignore[arg-type]


def test_a_new_algorithm_has_a_kernel() -> None:
    """The method of the entry selects it; the kernel agrees with the recursion."""
    arm = robolin.load("two-link")
    s = random_states(arm, 20)
    call = robolin.compile(arm, "inverse", method="conventional")
    tau = np.array([call(*row) for row in zip(s.q, s.qd, s.qdd, strict=True)])
    # two sums of the same few products, in another order
    np.testing.assert_allclose(tau, robolin.inverse(arm, s.q, s.qd, s.qdd), rtol=1e-13, atol=1e-13)
    assert not np.array_equal(tau, robolin.inverse(arm, s.q, s.qd, s.qdd))


def test_a_new_algorithm_is_counted() -> None:
    """`count` lists its operations."""
    lines = run_ok("count", "inverse", "two-link").out.splitlines()
    (row,) = (line.split() for line in lines if line.startswith("mass matrix and bias"))
    assert int(row[4]) > 0


def test_c_is_generated_from_a_new_algorithm(tmp_path: Path) -> None:
    """`generate` selects it by its method and names it in the header."""
    run_ok("generate", "two-link", "inverse", "--method", "conventional", "-o", tmp_path / "c")
    (header,) = (tmp_path / "c").glob("*.h")
    assert ENTRY.title in header.read_text("utf-8")


@pytest.mark.slow
def test_a_new_algorithm_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` compares it with the algorithm that it replaces, and finds an error in it."""
    title = "inverse: mass matrix and bias torques = recursive Newton–Euler"
    assert title in run_ok("verify", "two-link", "--samples", "4", "-v").out

    def wrong(chain: Chain) -> None:
        inverse_by_mass_matrix(chain, factor=1.0 + 1e-9)

    monkeypatch.setitem(ALGORITHMS, NAME, replace(ENTRY, function=wrong))  # type: ignore[arg-type]
    assert command_line("verify", "two-link", "--samples", "4").code == 1
