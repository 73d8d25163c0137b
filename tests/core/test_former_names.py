"""Results of earlier versions: option names and phrases are read as the current ones."""

from __future__ import annotations

import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.former_names import (
    _PHRASES,
    FORMER_OPTIONS,
    with_argument_hints,
    with_current_names,
)
from robolin.io.provenance import meta_digest
from robolin.queries.question import Question
from tests.cases import for_each
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok

# phrases of earlier versions and the current ones
PHRASES = {
    "motor currents times 12, 11.98 N·m/A or N/A": (
        "motor currents times 12, 11.98 N·m per A or N per A"
    ),
    "none in the description": "none in the robot file",
    "elbow: no motor in the description": "elbow: no motor in the robot file",
    "efforts of m.csv, linear between rows": "efforts of m.csv, interpolated linearly between rows",
    "ignored (asked for): 0.1 on all 3 joints": "ignored as requested: 0.1 on all 3 joints",
    "open (asked for): pin": "open as requested: pin",
    "left out as requested: stiffness 2": "ignored as requested: stiffness 2",
    "link 'a'; joints off the chain are rigid": "link 'a'; joints off the chain are locked",
    "link 'a'; joints inboard of it are rigid, gravity": (
        "link 'a'; joints inboard of it are locked, gravity"
    ),
    "joints inboard of it are rigid and what they carry moves along": (
        "joints inboard of it are locked and their links move with it"
    ),
    "follower: in the link's axes at its origin, turning with it": (
        "follower: in the link's axes at its origin, rotating with the link"
    ),
    "moment 0, 0, 0 N·m, borne by the base": "moment 0, 0, 0 N·m, carried by the base",
    "closed: pin, closed by joints that stand still": "closed: pin, closed by locked joints",
    "computed about the first joint, gone along with link 'cart'": (
        "computed about the first joint, moved with link 'cart'"
    ),
    "joint 'b' follows 'a' but is off the chain: it stands still": (
        "joint 'b' mimics 'a' but is off the chain: it is locked"
    ),
    "the armature given for joint 'a' has no effect: it stands still": (
        "the armature of joint 'a' has no effect: the joint does not move"
    ),
    "the payload on link 'a' weighs nothing": "the payload on link 'a' has no mass",
    "the wrench on link 'a' has no effect: the base bears it": (
        "the wrench on link 'a' has no effect: the base carries it"
    ),
    "base: accelerations given, torques answered": "base: accelerations given, torques computed",
    "bias torques first, joints that move as told rigid, O(n)": (
        "bias torques computed first, prescribed joints locked, O(n)"
    ),
    "elimination, joints that move as told taken out, O(n³)": (
        "elimination, prescribed joints removed, O(n³)"
    ),
    "inverse model and elimination, prescribed joints removed, O(n³)": (
        "linearized inverse dynamics and elimination, prescribed joints removed, O(n³)"
    ),
    "what the given accelerations take (inverse dynamics)": (
        "torques for the given accelerations (inverse dynamics)"
    ),
    "onto the loop constraints, changed as little as can be": (
        "onto the loop constraints, changed as little as possible"
    ),
    "it moves there: drift is not zero, and poles are not those of an equilibrium": (
        "not an equilibrium: drift is not zero, and poles describe deviations from the motion"
    ),
    "counted in ns, passed through as it came": "in ns, values unchanged",
    "torques cut off at the joints' limits in 2 rows (a)": (
        "torques are saturated at the joint limits in 2 rows (a)"
    ),
    "joints that move as told take more than their limits in 1 row": (
        "prescribed joints exceed their effort limits in 1 row"
    ),
    "respected, none was reached; joints that move as told have none": (
        "respected, none was reached; prescribed joints have none"
    ),
    "1e-10 J at most, beside kinetic energies up to 11 J": (
        "at most 1e-10 J, kinetic energy up to 11 J"
    ),
    "every step brought back onto them, positions and velocities": (
        "positions and velocities projected onto the loop constraints in every step"
    ),
    "gaps drawn shut by Baumgarte's terms, 10 and 10 1/s": (
        "Baumgarte stabilisation with 10 and 10 1/s"
    ),
    "1.3e-15 left beside its largest term": "residual 1.3e-15 of its largest term",
    "not flat: no coordinates make the mass matrix diagonal everywhere": (
        "not flat: no coordinates make the mass matrix constant"
    ),
    "flat in all 5 configurations tested; if flat everywhere, coordinates exist that make the "
    "mass matrix diagonal": (
        "flat in all 5 configurations tested; if flat everywhere, coordinates exist that make "
        "the mass matrix constant"
    ),
    "flat in all 5 configurations looked at; if so everywhere, coordinates make the mass": (
        "flat in all 5 configurations tested; if flat everywhere, coordinates exist that make "
        "the mass"
    ),
    "closed loops: tree and closures in one system, O(n³)": (
        "closed loops: accelerations and constraint forces in one system, O(n³)"
    ),
    "closed loops: forces of the closures first, O(n³)": (
        "closed loops: constraint forces computed first, O(n³)"
    ),
    "closed loops: motions that the closures leave free first, O(n³)": (
        "closed loops: motion in the null space of the constraints computed first, O(n³)"
    ),
    "at rest at q = 0, brought onto the closures": (
        "at rest at q = 0, projected onto the loop constraints"
    ),
    "q̇, by tree and closures": "q̇, with loop constraints",
    "kp (q₀ - q) - kd q̇ and what carries weight and loads; kp = 1": (
        "kp (q₀ - q) - kd q̇ and compensation of gravity and loads; kp = 1"
    ),
    "control 8.1, ε = -c ν with c = 1; weight, loads and losses made up for": (
        "control 8.1, ε = -c ν with c = 1; gravity, loads and dissipation compensated"
    ),
    "singular values of the stacked regressor, columns of length one": (
        "singular values of the stacked regressor with normalized columns"
    ),
    "what holds the equilibrium": "holding the equilibrium",
    "3 steps; elbow moved most, by 0.2; 1e-15 left at passive joints": (
        "3 steps; largest change 0.2 of elbow; residual 1e-15 at passive joints"
    ),
    "12.5, of which 0.1 after its end": "12.5, including 0.1 after the end",
    "f1 0.25 m, f2 0 m (follows f1)": "f1 0.25 m, f2 0 m (mimics f1)",
    "mechanicalReduction noted, not applied: 50": "mechanicalReduction is ignored: 50",
    "mechanicalReduction noted, drake:gear_ratio is applied instead: 10 on 'j'": (
        "mechanicalReduction is ignored, drake:gear_ratio is applied instead: 10 on 'j'"
    ),
    "biases of velocities a little old, two sweeps, O(n)": (
        "bias terms of the previous velocities, two sweeps, O(n)"
    ),
    "Tables 1 and 2 backwards without roots, O(n)": (
        "inverse of Tables 1 and 2 without square roots, O(n)"
    ),
    "elimination in the mass matrix backwards, O(n³)": (
        "inverse transformation by factorization of the mass matrix, O(n³)"
    ),
    "braking by elimination in the mass matrix, O(n³)": (
        "rate control by factorization of the mass matrix, O(n³)"
    ),
    "one half by recursions outward, O(n²)": (
        "outward recursions for one triangle of the matrix, O(n²)"
    ),
    "all, by the gradient of the cost whose slopes are in c.csv": (
        "all, by the cost gradient in c.csv"
    ),
    "elbow 5, from 0.1 to 0.2 s; efforts are without it": (
        "elbow 5, from 0.1 to 0.2 s; not included in the efforts"
    ),
    "τ₀ - K x, gains of g.npz on straight lines between its 3 rows, held for 0.1 s": (
        "τ₀ - K x, gains of g.npz, interpolated linearly between its 3 rows, held for 0.1 s"
    ),
    "pin (point: 'a' on 'b'); every joint is moved by itself, as in the tree": (
        "pin (point: 'a' on 'b'); all joints are independent, as in the tree"
    ),
    "6 numbers of 13 parameters; 7 for random motions": (
        "6 combinations of 13 parameters; 7 for random motions"
    ),
    "where the gains of g.npz begin": "start of the gains in g.npz",
    "--offset from where m.csv begins; q of prescribed joints from f.csv": (
        "--offset from the start of m.csv; q of prescribed joints from f.csv"
    ),
    "where m.csv begins": "start of the motion in m.csv",
    "gain 46.0517 1/s, 1 % after 0.1 s; period 0.01 s": (
        "gain 46.0517 1/s, error 1 % after 0.1 s; period 0.01 s"
    ),
    "2 rows repeat the time of the row before": "2 rows repeat the time of the previous row",
    "q̇ from q; 1 row with the time stamp of the row before, first row 102": (
        "q̇ from q; 1 row with the time stamp of the previous row, first row 102"
    ),
    "of 4 poles 2 stable, 2 edge": "4 poles: 2 stable, 2 marginal",
    "1 edge, neither decays nor grows within 3e-05/s: a; 2 stable, gone after one sample: b": (
        "1 marginal, rate below 3e-05/s: a; 2 stable, vanishes after one sample: b"
    ),
    "all of 4 states reached by the motors; nearest to being lost is the pole 0 (a), 0.08 beside "
    "the size of A": (
        "all of 4 states controllable; least controllable pole 0 (a), distance 0.08 relative to ‖A‖"
    ),
    "2 of 4 states seen in the outputs; nearest to being lost is the pole 0 (a), 0 beside the "
    "size of A": (
        "2 of 4 states observable; least observable pole 0 (a), distance 0 relative to ‖A‖"
    ),
    "bias torques first, with the links' accelerations, four sweeps, O(n)": (
        "bias torques computed first, with link accelerations, four sweeps, O(n)"
    ),
    "bias forces of the links first, with their accelerations, three sweeps, O(n)": (
        "bias forces of the links computed first, with link accelerations, three sweeps, O(n)"
    ),
    "constraint forces first, by recursions, O(n)": (
        "constraint forces computed first, by recursions, O(n)"
    ),
    "biases as polynomials of velocities, two sweeps, O(n)": (
        "bias terms as polynomials of the velocities, two sweeps, O(n)"
    ),
    "all bodies and the forces in their joints, sparse elimination, O(n)": (
        "sparse elimination of the accelerations and joint forces of all bodies, O(n)"
    ),
    "the forces in the joints alone, block-tridiagonal, O(n)": (
        "block-tridiagonal system of the joint forces, O(n)"
    ),
    "one triangle by recursions outward with branches, O(n²)": (
        "outward recursions with branches for one triangle of the matrix, O(n²)"
    ),
    "Algorithm 5 with unit right-hand sides, O(n²)": "Algorithm 5 applied to unit vectors, O(n²)",
    "unit parameters link by link, with Christoffel symbols, O(n²)": (
        "torques for unit parameters of each link, with Christoffel symbols, O(n²)"
    ),
    "spring_regressor: unit springs joint by joint, O(n); a: b": (
        "spring_regressor: torques for a unit spring at each joint, O(n); a: b"
    ),
    "the linear model for virtual joints, O(n²)": (
        "linearized inverse dynamics with virtual joints, O(n²)"
    ),
    "ψ*H*D⁻¹Hψ along the links and a 6x6 elimination, O(n)": (
        "recursion for ψ*H*D⁻¹Hψ, then elimination of a 6x6 matrix, O(n)"
    ),
    "differences of two frames' motions, O(n)": (
        "differences between the motions of two frames, O(n)"
    ),
    "differences of two frames' derivatives, O(n²)": (
        "differences between the motion derivatives of two frames, O(n²)"
    ),
    "least step by Gram–Schmidt, O(n)": "minimum-norm step by Gram–Schmidt, O(n)",
    "articulated bodies and differentiated adjoint sweeps, O(n)": (
        "articulated bodies and derivatives of the adjoint sweeps, O(n)"
    ),
    "factorization of the mass matrix, C by ∂𝓜/∂q, O(n³)": (
        "factorization of the mass matrix, C from ∂𝓜/∂q, O(n³)"
    ),
}


@pytest.mark.parametrize(("former", "current"), PHRASES.items())
def test_former_phrases_become_current(former: str, current: str) -> None:
    """A phrase of an earlier version is replaced, also in lists; the current one is unchanged."""
    contract = {"key": former, "notes": [former, "none"], "count": 3}
    read = with_current_names({"options": {}, "contract": contract})["contract"]
    assert read == {"key": current, "notes": [current, "none"], "count": 3}
    assert with_current_names({"options": {}, "contract": read})["contract"] == read


def test_every_former_phrase_has_an_example() -> None:
    """No pattern of the table is unused."""
    unused = [each for each in _PHRASES if not any(re.search(each, text) for text in PHRASES)]
    assert unused == []


def _as_earlier_version(path: Path) -> None:
    """Rewrite a JSON result with the option and a phrase of an earlier version."""
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    meta = document["meta"]
    (name, former), *_ = ((new, old) for old, new in FORMER_OPTIONS.items())
    meta["options"][former] = meta["options"].pop(name)
    meta["contract"]["energy error"] = "1e-10 J at most, beside kinetic energies up to 11 J"
    meta["sha256"] = meta_digest(meta)
    path.write_text(json.dumps(document), "utf-8")


def test_stored_results_are_read_and_checked(tmp_path: Path) -> None:
    """A result stored under the former names is checked as the same."""
    gains, motion = tmp_path / "gains.npz", tmp_path / "motion.json"
    run_ok("lqr", "two-link", "-o", gains)
    flags = ("--feedback", gains, "--duration", "0.002", "--other-figures")
    run_ok("simulate", "two-link", *flags, "-o", motion)
    assert "other-figures" not in motion.read_text("utf-8")
    _as_earlier_version(motion)
    assert robolin.read_result(motion).meta["options"]["allow-model-mismatch"] is True
    assert command_line("check", motion).code == 0


def test_keywords_of_earlier_versions() -> None:
    """Python accepts the former keywords of a question and of a control law."""
    keywords = {"duration": 1.0, "feedback": "gains.npz"}
    old = Question("simulate", other_figures=True, **keywords)
    assert old == Question("simulate", allow_model_mismatch=True, **keywords)
    old = Question("sensitivity", cost_slopes="cost.csv")
    assert old == Question("sensitivity", cost_gradient="cost.csv")
    regulator = robolin.lqr(robolin.state_space(robolin.load("two-link"), [0.0, 0.0]))
    laws = regulator.feedback(other_figures=True), regulator.feedback(allow_model_mismatch=True)
    assert all(law.arm is None for law in laws)
    assert np.array_equal(laws[0].K, laws[1].K)


FUNCTIONS = [name for name in robolin.__all__ if inspect.isfunction(getattr(robolin, name))]


def _own(name: str) -> dict[str, inspect.Parameter]:
    """Parameters of a function, without those for unknown arguments."""
    parameters = inspect.signature(getattr(robolin, name)).parameters
    keywords = inspect.Parameter.VAR_KEYWORD
    return {key: each for key, each in parameters.items() if each.kind is not keywords}


@for_each("name", FUNCTIONS)
def test_a_missing_argument_is_named(name: str) -> None:
    """Every public function names its first missing argument, and the hint lists the required."""
    required = [key for key, each in _own(name).items() if each.default is each.empty]
    values = [robolin.load("two-link"), *[[0.0, 0.0]] * len(required)]
    for count, key in enumerate(required):
        with pytest.raises(robolin.UsageError, match=f"missing arguments? '{key}'") as caught:
            getattr(robolin, name)(*values[:count])
        assert caught.value.where == f"robolin.{name}"
        assert f"call robolin.{name}({', '.join(required)}" in caught.value.hint


@for_each("name", FUNCTIONS)
def test_a_misspelt_argument_has_a_suggestion(name: str) -> None:
    """Every public function suggests its own argument for a misspelt one."""
    arm = robolin.load("two-link")
    optional = [key for key, each in _own(name).items() if each.default is not each.empty]
    for key in optional:
        if len(key) > 4 and f"{key}x" not in _own(name):
            with pytest.raises(robolin.RobolinError) as caught:
                getattr(robolin, name)(arm, [0.0, 0.0], **{f"{key}x": 1})
            assert f"{key}x" in caught.value.message or "positional" in caught.value.message
            assert f"'{key}'" in caught.value.hint or "by name" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        ("lqr", {"q": [0.0, 0.0]}, "robolin.state_space(arm, q)"),
        ("optimize", {"max_speed": 2.0}, "use 'max_velocity'"),
        ("inverse", {"qdot": 1.0}, "use 'qd'"),
        ("forward", {"torque": 1.0}, "use 'tau'"),
        ("simulate", {"t_end": 1.0}, "use 'duration'"),
        ("integrate", {"position": 1.0}, "use 'q'"),
    ],
)
def test_former_and_foreign_arguments_have_a_hint(
    name: str, arguments: dict[str, Any], hint: str
) -> None:
    """Names of earlier versions and of other programs lead to the current argument."""
    with pytest.raises(robolin.UsageError) as caught:
        getattr(robolin, name)(robolin.load("two-link"), **arguments)
    assert hint in caught.value.hint


@for_each("name", FUNCTIONS)
def test_too_many_positional_arguments_are_counted(name: str) -> None:
    """Every public function reports how many positional arguments it accepts."""
    parameters = inspect.signature(getattr(robolin, name)).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        pytest.skip("accepts any number")
    most = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    with pytest.raises(robolin.UsageError, match=f"accepts {most} positional .* got {most + 1}"):
        getattr(robolin, name)(*[0.0] * (most + 1))


def test_a_type_error_inside_a_function_stays_one() -> None:
    """Only Python's own check of the arguments becomes a `UsageError`."""

    def fails(weights: list[float]) -> float:
        return max(*weights, key=3)  # type: ignore[call-overload,no-any-return]

    with pytest.raises(TypeError, match="int"):
        with_argument_hints(fails)([1.0, 2.0])
    assert pickle.loads(pickle.dumps(robolin.lqr)) is robolin.lqr


@pytest.mark.parametrize("name", ["inverse", "gradient_forward"])
def test_reading_a_name_again_gives_the_same_function(name: str) -> None:
    """As two threads do that read a name for the first time at the same time."""
    function = getattr(robolin, name)
    defaults = function.__defaults__
    assert robolin.__getattr__(name) is function
    assert len(function.__defaults__ or ()) == len(defaults or ())
    assert inspect.getmodule(function).__dict__[name] is function
