"""What each verb costs in multiplications and additions, beside what the papers print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from robolin.algebra.axes import Shape
from robolin.algebra.chain import Chain
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.dynamics.forward.conventional import forward_model_conventional
from robolin.dynamics.forward.linearize_forward import forward_model
from robolin.dynamics.forward.linearize_forward_columns import forward_model_columns
from robolin.dynamics.forward.linearize_forward_tree import forward_model_tree
from robolin.dynamics.links.link_poses import place_links
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies
from robolin.engine.counting import Cost, cost_of, count_operations
from robolin.engine.parameters import Parameters
from robolin.engine.recorded_program import RecordingChain, recorded_inputs

Polynomial = tuple[Fraction, ...]  # coefficients of 1, n, n², n³


@dataclass(frozen=True)
class Published:
    """A paper's count for a serial chain of n revolute joints, and what is wrong with it."""

    multiplications: Polynomial
    additions: Polynomial
    remark: str = ""


@dataclass(frozen=True)
class Counted:
    """One algorithm on one arm.

    folded: the cost with the arm's numbers known beforehand and nothing computed twice
    """

    algorithm: str
    cost: Cost
    folded: Cost | None
    published: Published | None


def _polynomial(*coefficients: str | int) -> Polynomial:
    return tuple(Fraction(c) for c in coefficients)


# Jain and Rodriguez, on linearizing manipulator dynamics with spatial operators
PUBLISHED: Mapping[str, Published] = {
    "Algorithm 1": Published(_polynomial(-159, 320), _polynomial(-149, 303)),
    "Algorithm 2": Published(_polynomial(-132, 333, 21), _polynomial(-145, "605/2", "47/2")),
    "Algorithm 3": Published(
        _polynomial(-153, "952/3", "3/2", "1/6"),
        _polynomial(-147, "1805/6", 1, "1/6"),
        "Cannot hold: less the solve itself it is linear in n, "
        "so the n² operations that form the mass matrix are missing.",
    ),
    "Algorithm 4": Published(
        _polynomial(-132, "998/3", "43/2", "17/6"),
        _polynomial(-145, "1819/6", 20, "17/6"),
    ),
    "Algorithm 5": Published(
        _polynomial(-129, 259),
        _polynomial(-123, 232),
        "Cannot hold: it is below Algorithm 1's count, whose Step 1 it contains, "
        "and has no room for the two articulated recursions.",
    ),
    "Algorithm 6": Published(_polynomial(-225, 781, 36), _polynomial(-255, 773, 33)),
}


def _algorithm_4(chain: Chain) -> None:
    forward_model_conventional(chain, place_links(chain), chain.given("qdd"))


def _algorithm_6(chain: Chain) -> None:
    links = place_links(chain)
    forward_model(chain, links, articulated_bodies(chain, links), chain.given("qdd"))


def _branches(chain: Chain) -> None:
    links = place_links(chain)
    forward_model_tree(chain, links, articulated_bodies(chain, links), chain.given("qdd"))


def _columns(chain: Chain) -> None:
    links = place_links(chain)
    forward_model_columns(chain, links, articulated_bodies(chain, links), chain.given("qdd"))


_GIVEN = ("q", "qd", "qdd")
_PERTURBED = (*_GIVEN, "tau", "dq", "dqd", "dqdd", "dtau")


@dataclass(frozen=True)
class Candidate:
    """An algorithm that answers a verb, and the arms it holds on."""

    title: str
    run: Callable[[Chain], None]
    needs: tuple[str, ...]
    kind: str = "any"
    gives: Mapping[str, Shape] | None = None
    inverts_bodies: bool = False


def _from_catalogue(title: str, name: str) -> Candidate:
    algorithm = ALGORITHMS[name]
    shape = (algorithm.kind, algorithm.gives, algorithm.inverts_bodies)
    return Candidate(title, algorithm.run, algorithm.needs, *shape)


def _perturbing(title: str, name: str) -> Candidate:
    return Candidate(title, ALGORITHMS[name].run, _PERTURBED, ALGORITHMS[name].kind)


COSTS_BY_VERB: Mapping[str, tuple[Candidate, ...]] = {
    "inverse": (_from_catalogue("Newton–Euler", "inverse"),),
    "forward": (
        _from_catalogue("articulated bodies", "forward"),
        _from_catalogue("bias torques first", "forward-bias-free"),
        _from_catalogue("the same with the links", "forward-bias-free-links"),
        _from_catalogue("bias forces first", "forward-three-sweeps"),
        _from_catalogue("the same with links and tip", "forward-three-sweeps-links"),
        _from_catalogue("two sweeps", "forward-two-sweeps"),
        _from_catalogue("all bodies, sparse", "forward-all-bodies"),
        _from_catalogue("joint forces, block-tridiagonal", "forward-constraint-forces"),
        _from_catalogue("mass matrix and elimination", "forward-conventional"),
    ),
    "mass-matrix": (
        _from_catalogue("composite bodies", "mass-matrix"),
        _from_catalogue("inverse by innovations factors", "mass-matrix-inverse"),
        _from_catalogue("inverse by elimination", "mass-matrix-inverse-conventional"),
        _from_catalogue("innovations factors", "mass-matrix-factor"),
        _from_catalogue("factors by elimination", "mass-matrix-factor-conventional"),
        _from_catalogue("derivative", "mass-matrix-derivative"),
        _from_catalogue("Coriolis matrix", "coriolis-matrix"),
    ),
    "linearize-inverse": (
        _from_catalogue("Algorithm 2", "linearize-inverse"),
        _perturbing("Algorithm 1", "perturb-inverse"),
    ),
    "linearize-forward": (
        Candidate("Algorithm 6", _algorithm_6, _GIVEN, "serial"),
        Candidate("Algorithm 4", _algorithm_4, _GIVEN),
        Candidate("Algorithm 6 with branches", _branches, _GIVEN, "independent"),
        Candidate("Algorithm 5 by columns", _columns, _GIVEN, "independent"),
        _perturbing("Algorithm 5", "perturb-forward-articulated"),
        _perturbing("Algorithm 5b", "perturb-forward"),
        _perturbing("Algorithm 3", "perturb-forward-conventional"),
        _from_catalogue("nominal accelerations", "forward"),
    ),
    "jacobian": (
        _from_catalogue("Jacobian", "jacobian"),
        _from_catalogue("motion of the frame", "frame-motion"),
        _from_catalogue("derivatives of its motion", "frame-derivatives"),
        _from_catalogue("operational space", "operational-space"),
        _from_catalogue("operational space, inverse only", "operational-space-inverse"),
        _from_catalogue("operational space by elimination", "operational-space-conventional"),
    ),
    "diagonalize": (
        _from_catalogue("Tables 1 and 2, Algorithm 7.1", "diagonalize"),
        _from_catalogue("un-normalized, recursion 7.10", "diagonalize-unnormalized"),
        _from_catalogue("back to the joints", "undiagonalize"),
        _from_catalogue("elimination and ∂𝓜/∂q", "diagonalize-conventional"),
        _from_catalogue("back to the joints by elimination", "undiagonalize-conventional"),
    ),
}


def operation_counts(verb: str, parameters: Parameters, fold: bool = False) -> Iterator[Counted]:
    """Every algorithm that answers the verb on this arm, counted."""
    for candidate in COSTS_BY_VERB[verb]:
        if candidate.kind not in ("any", "reaching") and parameters.mimics:
            continue
        if candidate.kind == "serial" and not parameters.serial:
            continue
        if candidate.inverts_bodies and parameters.grouped:
            continue
        cost = count_operations(parameters, candidate.run, candidate.needs, candidate.gives)
        folded = _folded(candidate, parameters) if fold else None
        yield Counted(candidate.title, cost, folded, PUBLISHED.get(candidate.title))


def _folded(candidate: Candidate, parameters: Parameters) -> Cost:
    inputs = recorded_inputs(parameters, candidate.needs)
    chain = RecordingChain(parameters, inputs, candidate.gives or {})
    candidate.run(chain)
    return cost_of(value for entries in chain.results.values() for value in entries.values())


def value_at(polynomial: Polynomial, n: int) -> int:
    """The polynomial at n; counts are whole numbers."""
    return int(sum(c * n**power for power, c in enumerate(polynomial)))


def polynomial_text(polynomial: Polynomial) -> str:
    """The polynomial as a formula, highest power first."""
    text = ""
    for power, c in reversed(list(enumerate(polynomial))):
        if c == 0:
            continue
        name = ("", "n", "n²", "n³")[power]
        size = abs(c)
        number = "" if size == 1 and name else str(size)
        if size.denominator > 1:
            top = "" if size.numerator == 1 and name else size.numerator
            number, name = f"{top}{name}/{size.denominator}", ""
        sign = " − " if c < 0 else " + "
        text += (sign if text else sign.strip().replace("+", "")) + number + name
    return text
