"""A public recording of a Panda: local polynomials remove the noise of its time stamps."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.published import COLLECTION

PANDA = COLLECTION / "recordings" / "panda"
ARM = robolin.load("panda")

needs_recording = pytest.mark.skipif(
    not PANDA.is_dir(), reason="../shared/data/recordings beside the repository is missing"
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The four files of the recording as one table."""
    names = {"position": "positions", "velocity": "velocity", "effort": "torques"}
    columns = {word: np.loadtxt(PANDA / f"{name}.txt") for word, name in names.items()}
    time = np.loadtxt(PANDA / "time.txt")
    rows = min(len(time), *map(len, columns.values()))
    head = ["time", *(f"{joint}/{word}" for word in columns for joint in ARM.joint_names)]
    path = tmp_path_factory.mktemp("panda") / "panda.csv"
    table = np.column_stack([time[:rows], *(each[:rows] for each in columns.values())])
    np.savetxt(path, table, "%.17g", ",", header=",".join(head), comments="")
    return path


def rms(path, method):
    states = robolin.States(trajectory=path, differentiate=method)
    result = robolin.answer(ARM, robolin.Question("inverse", residual=True), states)
    return np.sqrt((result["tau_residual"] ** 2).mean(axis=0))


@needs_recording
@pytest.mark.slow
def test_local_polynomials_leave_the_error_of_the_model(recording):
    """The first four joints have a half to a seventh of the error of central differences."""
    errors = rms(recording, "savgol:0.1")[:4]
    # values of an independent program, rounded up
    assert (errors < [0.8, 2.6, 1.85, 3.0]).all()
    # the default width is the same
    assert (rms(recording, "savgol")[:4] == errors).all()
    assert (rms(recording, "central")[:4] > [5.0, 9.0, 5.0, 5.0]).all()
