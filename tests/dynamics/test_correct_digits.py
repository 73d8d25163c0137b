"""Number of correct digits of each result on the Panda, by 50-digit arithmetic.

The same algorithm runs twice, on floats and on 50-digit numbers, from the same parameters. Run with
-s to see the table. A double has 15.95 digits. The inverse side keeps 14.5: some hundred products
are summed. Results that divide by the mass matrix lose up to log10 cond(𝓜) more, 3 for the Panda.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import mpmath
import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from tests.dynamics.running import run_on
from tests.robots import random_states

STATES = 2

SUMMED = 14.5

# everything else divides by 𝓜, by a factor of it or by D
ONLY_SUMS = (
    "inverse",
    "mass-matrix",
    "mass-matrix-derivative",
    "coriolis-matrix",
    "linearize-inverse",
    "perturb-inverse",
    "inverse-from-rest",
    "energy",
    "power",
    "momentum-observer",
    "momentum-observer-start",
    "slotine-li-regressor",
    "gradient-inverse",
    "hessian-inverse",
)


@pytest.fixture(scope="module", autouse=True)
def fifty_digits() -> Iterator[None]:
    """Fifty digits while these tests run."""
    with mpmath.workdps(50):
        yield


@pytest.fixture(scope="module")
def panda() -> Arm:
    return robolin.load("panda", friction_velocity=0.5)


@pytest.fixture(scope="module")
def motions(panda: Arm) -> list[dict[str, np.ndarray]]:
    """Every input of any algorithm, per state, in floats."""
    s = random_states(panda, STATES)
    tau = robolin.inverse(panda, s.q, s.qd, s.qdd)
    one, two = (
        robolin.diagonalize(panda, s.q, s.qd, tau),
        robolin.diagonalize_unnormalized(panda, s.q, s.qd, tau),
    )
    inputs = {**vars(s), "tau": tau, "nu": one.nu, "epsilon": one.epsilon}
    inputs |= {"xi": two.xi, "kappa": two.kappa, "gain": np.abs(s.dq)}
    inputs |= {"qdr": s.dqd, "qddr": s.dqdd, "tau_weights": s.dqd, "qdd_weights": s.dqd}
    # an estimate of about the size of the momentum, and a filter with 1 kHz
    inputs |= {"observer": 0.1 * tau, "observer_decay": np.full_like(s.q, 0.96)}
    inputs["observer_rate"] = np.full_like(s.q, 40.0)
    # every other joint is prescribed
    inputs["prescribed"] = np.broadcast_to(1.0 * (np.arange(panda.n) % 2), s.q.shape)
    return [{name: values[i] for name, values in inputs.items()} for i in range(STATES)]


def in_fifty_digits(panda: Arm, name: str, motion: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    exact = {
        need: np.array([mpmath.mpf(x) for x in motion[need].tolist()])
        for need in ALGORITHMS[name].needs
    }
    return run_on(panda, name, exact, number=mpmath.mpf)


def digits(computed: np.ndarray, true: np.ndarray) -> float:
    """Correct digits of the worst entry relative to the largest one."""
    gaps, size = np.ravel(true - computed), max(abs(x) for x in np.ravel(true))
    error = max(abs(x) for x in gaps) / size
    return float(-mpmath.log10(error)) if error else 16.0


@pytest.mark.slow
@pytest.mark.parametrize("name", [x for x in ALGORITHMS if ALGORITHMS[x].kind != "closed"])
def test_number_of_correct_digits(
    name: str,
    panda: Arm,
    motions: list[dict[str, np.ndarray]],
    record_property: Callable[[str, object], None],
) -> None:
    """14.5 correct digits; log10 cond(𝓜) fewer for results that divide by the mass matrix."""
    algorithm = ALGORITHMS[name]
    condition = max(np.linalg.cond(robolin.mass_matrix(panda, motion["q"])) for motion in motions)
    floor = SUMMED if name in ONLY_SUMS else SUMMED - np.log10(condition)
    answers = []
    for motion in motions:
        results = run_on(panda, name, {need: motion[need].tolist() for need in algorithm.needs})
        answers.append((results, in_fifty_digits(panda, name, motion)))
    for result in algorithm.gives:
        worst = min(digits(computed[result], true[result]) for computed, true in answers)
        record_property(f"{name}.{result}", round(worst, 1))
        print(f"{name:32} {result:20} {worst:5.1f} digits")
        assert worst >= floor, result


def test_fifty_digits_are_independent_of_the_algorithm(
    panda: Arm, motions: list[dict[str, np.ndarray]]
) -> None:
    """Algorithms 4, 6 and the tree form agree to 40 digits."""
    models = ("linearize-forward", "linearize-forward-tree", "linearize-forward-conventional")
    inverses = [name for name in ALGORITHMS if name.startswith("mass-matrix-inverse")]
    _agree_in_fifty_digits(panda, models, motions[0])
    _agree_in_fifty_digits(panda, inverses, motions[0])


def _agree_in_fifty_digits(panda: Arm, names: Sequence[str], motion: dict[str, np.ndarray]) -> None:
    one, *others = (in_fifty_digits(panda, name, motion) for name in names)

    for other in others:
        for result, true in one.items():
            size = max(abs(x) for x in true.ravel())
            assert max(abs(x) for x in (other[result] - true).ravel()) < size * mpmath.mpf("1e-40")
