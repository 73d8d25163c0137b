"""Wrong arguments for compiled calls: each must raise an error, and nothing may break.

python -m tests.fuzz.wrong_calls --count 100000: the long run.
"""

from __future__ import annotations

import argparse
import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import robolin
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError
from robolin.evaluation.constant_inputs import PRESCRIBED_VARIANT
from robolin.evaluation.frames import ABOUT_A_FRAME
from tests.robots import random_arm

VERBS = (
    *("inverse", "mass-matrix", "linearize-forward", "jacobian", "energy", "perturb-inverse"),
    "forward-prescribed",
)
# number of wrong calls between two valid ones, whose results must not change
BETWEEN = 50

Arrays = dict[str, Any]


class Disguised:
    """An object that claims to be an array but is not one."""

    dtype, shape, ndim = np.dtype(float), (3,), 1
    flags = np.zeros(3).flags

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        return np.zeros(3)


class Subclass(np.ndarray):
    """A subclass of ndarray, which may run any code when it is accessed."""


@dataclass
class Subject:
    """A compiled call with valid arguments and its results."""

    call: Callable[..., Any]
    inputs: Arrays
    out: Any
    expected: list[bytes]

    def is_unchanged(self) -> bool:
        """Return whether the valid call still gives the same bits, in new and in given arrays."""
        new, reused = self.call(*self.inputs.values()), self.call(**self.inputs, out=self.out)
        return reused is self.out and _bits(new) == _bits(reused) == self.expected


def subject(verb: str, joints: int = 3) -> Subject:
    arm = random_arm(61, joints)
    rng = np.random.default_rng(7)
    if verb in PRESCRIBED_VARIANT.values():
        # its last input, the prescribed joints, is not an argument
        base = next(each for each, name in PRESCRIBED_VARIANT.items() if name == verb)
        call = robolin.compile(arm, base, prescribe=arm.joint_names[1])
        needs = ALGORITHMS[verb].needs[:-1]
    else:
        frame = arm.links[-1].name if verb in ABOUT_A_FRAME else None
        call, needs = robolin.compile(arm, verb, frame=frame), ALGORITHMS[verb].needs
    inputs: Arrays = {name: rng.uniform(-1.0, 1.0, joints) for name in needs}
    out = call(**inputs)
    return Subject(call, inputs, out, _bits(call(**inputs)))


def _bits(results: Any) -> list[bytes]:
    return [each.tobytes() for each in (results if isinstance(results, tuple) else (results,))]


def wrong_array(rng: np.random.Generator, right: np.ndarray, written: bool) -> Any:
    """Something in place of an array that is not a valid array."""
    n, shape = right.size, right.shape
    wide = rng.uniform(-1.0, 1.0, (*shape, 2))
    loose = np.zeros(8 * n + 8, dtype=np.uint8)[1 : 8 * n + 1].view(float).reshape(shape)
    locked = right.copy()
    locked.flags.writeable = False
    kinds = ("f4", "f2", "i8", "u8", "c16", ">f8", "O", "?", "S8", "U3", "M8[s]", "g", "f8,f8")
    choices: list[Any] = [
        np.zeros(shape, kinds[rng.integers(len(kinds))]),
        # a single number has no stride
        wide[..., 0] if shape else wide,
        loose,
        np.broadcast_to(np.float64(1.0), shape),
        np.zeros(n + rng.integers(1, 4)),
        np.zeros((*shape[:-1], shape[-1] - 1)) if shape else np.zeros(2),
        np.zeros((1, *shape)),
        np.zeros((*shape, 1)),
        np.zeros(0),
        np.array(1.0) if shape else np.zeros(1),
        right.view(Subclass),
        np.ma.masked_array(right),
        *(Disguised(), object(), np.ndarray, np.float64(1.0), 1.0, 10**30, "q", b"q" * 8 * n),
        *([0.0] * n, (0.0,) * n, {"q": 0.0}, range(n), memoryview(right), bytearray(8 * n)),
        array.array("d", [0.0] * n),
        lambda: right,
        Ellipsis,
        *([locked] if written else [None]),
    ]
    return choices[rng.integers(len(choices))]


def wrong_values(rng: np.random.Generator, right: np.ndarray) -> np.ndarray:
    """A copy of the array with one value that is not finite."""
    wrong = right.copy()
    wrong[rng.integers(right.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return wrong


def wrong_out(rng: np.random.Generator, right: Subject) -> Any:
    """Something invalid in place of the output arrays, or among them."""
    if not isinstance(right.out, tuple):
        return _any(rng, [(right.out,), [right.out], wrong_array(rng, right.out, True)])
    several, kind = list(right.out), type(right.out)
    swapped, index = several.copy(), rng.integers(len(several))
    swapped[index] = wrong_array(rng, several[index], True)
    # the last array once more in place of another of its shape, if there is one
    first = next(i for i, each in enumerate(several) if each.shape == several[-1].shape)
    twice = [*several[:first], several[-1], *several[first + 1 :]]
    if first == len(several) - 1:
        twice = several[:1]
    choices = [kind(*swapped), tuple(swapped), swapped, tuple.__new__(kind, twice), twice]
    choices += [tuple.__new__(kind, several[:-1]), several[:-1], (*several, several[0])]
    return _any(rng, [*choices, right.out[0], iter(several), dict(enumerate(several)), np.empty(0)])


def overlapping(rng: np.random.Generator, right: Subject) -> Callable[[], Any]:
    """A call whose output would overwrite one of its inputs."""
    inputs, results = list(right.inputs.values()), right.out
    several = list(results) if isinstance(results, tuple) else [results]
    index, at = rng.integers(len(inputs)), rng.integers(len(several))
    size, shape = several[at].size, several[at].shape
    memory = np.zeros(size + inputs[index].size)
    inputs[index] = memory[: inputs[index].size]
    start = rng.integers(inputs[index].size)
    several[at] = memory[start : start + size].reshape(shape)
    out = type(results)(*several) if isinstance(results, tuple) else several[0]
    return lambda: right.call(*inputs, out)


def _any(rng: np.random.Generator, choices: list[Any]) -> Any:
    return choices[rng.integers(len(choices))]


def wrong_call(rng: np.random.Generator, right: Subject) -> Callable[[], Any]:
    """A call with at least one invalid argument."""
    inputs, names = list(right.inputs.values()), list(right.inputs)
    index = int(rng.integers(len(inputs)))
    kind = rng.integers(8)
    if kind == 0:
        return lambda: right.call(*inputs[:index])
    if kind == 1:
        return lambda: right.call(*inputs, None, *inputs[: 1 + index])
    if kind == 2:
        name = _any(rng, ["outt", "arm", "", "self", names[index]])
        return lambda: right.call(*inputs, **{name: inputs[index]})
    if kind == 3:
        out = wrong_out(rng, right)
        if rng.random() < 0.5:
            return lambda: right.call(*inputs, out)
        return lambda: right.call(*inputs, out=out)
    if kind == 7:
        return overlapping(rng, right)
    if kind == 4:
        inputs[index] = wrong_values(rng, inputs[index])
    else:
        inputs[index] = wrong_array(rng, inputs[index], False)
    if kind == 6:
        return lambda: right.call(*inputs, out=right.out)
    return lambda: right.call(*inputs)


def campaign(count: int, seed: int, verbs: Sequence[str] = VERBS) -> Iterator[str]:
    """Yield the outcome of every wrong call: the name of the exception, or a failure."""
    rng = np.random.default_rng(seed)
    subjects = [subject(verb) for verb in verbs]
    for i in range(count):
        right = subjects[int(rng.integers(len(subjects)))]
        wrong = wrong_call(rng, right)
        try:
            wrong()
        except (TypeError, ValueError, RobolinError) as error:
            yield type(error).__name__
        except Exception as error:
            yield f"FAILED {type(error).__name__}: {error}"
        else:
            yield "FAILED no exception"
        if i % BETWEEN == 0 and not right.is_unchanged():
            yield "FAILED another answer"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz.wrong_calls", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many calls")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other calls")
    options = parser.parse_args()
    ended = Counter(campaign(options.count, options.seed))
    for what, count in ended.most_common():
        print(f"{count:>8} {what}")
    return 1 if any(what.startswith("FAILED") for what in ended) else 0


if __name__ == "__main__":
    raise SystemExit(main())
