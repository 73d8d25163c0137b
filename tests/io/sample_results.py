"""Results with awkward numbers and awkward names, for every writer."""

import numpy as np

from robolin.core.result import Array, Result, stream_of_one_part
from robolin.io.provenance import Digests

JOINTS = ("shoulder", "arm/elbow.x", 'wrist_1,"a"')
AWKWARD = (0.0, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, -1e-5, 2.5e-9, 1e16, 0.1 + 0.2)


def sample(rows: int | None = None, *, seed: int = 7, time: bool = True) -> Result:
    """A vector, a matrix, a rank-3 array and a scalar; one state, or `rows` of them."""
    rng = np.random.default_rng(seed)
    n = len(JOINTS)

    def drawn(*shape: int) -> np.ndarray:
        batch = shape if rows is None else (rows, *shape)
        values = rng.standard_normal(batch) * 10.0 ** rng.integers(-12, 12, batch)
        values.reshape(-1)[: len(AWKWARD)] = AWKWARD[: values.size]
        return values

    return Result(
        verb="linearize-forward",
        arrays=(
            Array("qdd", drawn(n), (JOINTS,), "rad/s²", "acceleration"),
            Array("dqdd_dq", drawn(n, n), (JOINTS, JOINTS), "1/s²"),
            Array("dmass_matrix_dq", drawn(n, n, n), (JOINTS,) * 3, "N·m·s²/rad²"),
            Array("kinetic_energy", np.asarray(drawn()), (), "J"),
        ),
        joints=JOINTS,
        contract={"gravity": (0.0, 0.0, -9.81), "damping": True, "locked": {}},
        options={"q": [0.5, 0.0, 0.0], "gravity": None},
        inputs={"arm.urdf": "ab" * 32},
        time=np.arange(rows) * 0.1 if rows is not None and time else None,
    )


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Compare two arrays bit by bit as float64; 0 and -0 differ."""
    return a.shape == b.shape and a.astype("<f8").tobytes() == b.astype("<f8").tobytes()


def meta(result: Result) -> dict[str, object]:
    """The provenance that any writer stores with a result."""
    digests = Digests()
    digests.add(result)
    return digests.meta(stream_of_one_part(result))
