"""Functional mock-up units: valid, reproducible, and equal to robolin's simulation."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.errors import FileError, RobolinError, UsageError
from tests.cli.command import run_ok
from tests.codegen.compilers import EVERY

VERBS = ["forward", "linearize-forward"]
LIFTED = {"gravity": (0.3, -2.0, -8.0), "payload": ("lower", 1.5, (0.1, 0.2, 0.3))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fmu") / "made"
    robolin.generate(robolin.load("two-link"), VERBS, made, extras=["fmu"])
    return made


def test_the_same_command_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Archives have fixed dates, and contain the description and the sources."""
    run_ok("generate", "two-link", *VERBS, "--with", "fmu", "-o", tmp_path / "made")
    for fmi in (2, 3):
        name = f"two_link_fmi{fmi}.fmu"
        assert (tmp_path / "made" / name).read_bytes() == (folder / name).read_bytes()
        with zipfile.ZipFile(folder / name) as archive:
            assert archive.testzip() is None
            assert {"modelDescription.xml", "sources/two_link.c"} <= {*archive.namelist()}
            root = ET.fromstring(archive.read("modelDescription.xml"))
        assert root.get("fmiVersion") == f"{fmi}.0"
        names = [each.get("name") for each in root.iterfind("ModelVariables/*")]
        assert names[:3] == ["time", "shoulder.position", "elbow.position"]
        assert names[-4:] == ["payload.mass", "payload.x", "payload.y", "payload.z"]


def test_changed_archives_are_never_replaced(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "made")
    arm = robolin.load("two-link")
    robolin.generate(arm, VERBS, copy, extras=["fmu"])
    content = (copy / "two_link_fmi3.fmu").read_bytes()
    (copy / "two_link_fmi3.fmu").write_bytes(content.replace(b"FMI_OK", b"FMI_NO", 1))
    with pytest.raises(FileError, match="changed afterwards"):
        robolin.generate(arm, VERBS, copy, extras=["fmu"])


def test_archives_of_an_earlier_command_are_named(folder: Path, tmp_path: Path) -> None:
    """They belong to the earlier robot; files of others and edited files are not named."""
    copy = shutil.copytree(folder, tmp_path / "made")
    (copy / "own.c").write_text("int main(void) { return 0; }\n")
    again = run_ok("generate", "two-link", "forward", "--payload", "lower:1", "-o", copy)
    assert again.err == (
        f"note: {copy}: files of an earlier run remain unchanged: 'two_link_fmi2.fmu', "
        "'two_link_fmi3.fmu'\n"
    )
    assert run_ok("generate", "two-link", *VERBS, "--with", "fmu", "-o", copy).err == ""


def test_robots_without_a_unit_are_rejected(tmp_path: Path) -> None:
    arm = robolin.load("two-link")
    with pytest.raises(UsageError, match="an FMU requires forward and linearize-forward"):
        robolin.generate(arm, ["forward"], tmp_path / "made", extras=["fmu"])
    with pytest.raises(UsageError, match="an FMU requires double precision"):
        robolin.generate(arm, VERBS, tmp_path / "made", extras=["fmu"], real="float")
    with pytest.raises(RobolinError, match="does not support floating joints"):
        robolin.generate(
            robolin.load("panda", floating_base=True), VERBS, tmp_path / "made", extras=["fmu"]
        )
    assert not list(tmp_path.iterdir())


def test_fmpy_finds_no_problem(folder: Path) -> None:
    validation = pytest.importorskip("fmpy.validation", reason="fmpy is not installed")
    for fmi in (2, 3):
        assert validation.validate_fmu(folder / f"two_link_fmi{fmi}.fmu") == []


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_sources_are_strict(compiler: str, folder: Path, tmp_path: Path) -> None:
    """They compile without warnings."""
    for fmi in (2, 3):
        with zipfile.ZipFile(folder / f"two_link_fmi{fmi}.fmu") as archive:
            archive.extract("sources/two_link.c", tmp_path / str(fmi))
        sources = tmp_path / str(fmi) / "sources"
        flags = ("-c", "-O1", "-Wno-unused-parameter")
        EVERY[compiler].compile(sources, "two_link.c", into="x.o", flags=flags)


@pytest.fixture(scope="module", params=[2, 3])
def built(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A unit with a binary for this machine."""
    fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
    build = pytest.importorskip("fmpy.build", reason="this fmpy does not compile")
    for needed in ("cmake", "cc"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    unit, temporary = (tmp_path_factory.mktemp(name) for name in ("unit", "build"))
    fmpy.extract(folder / f"two_link_fmi{request.param}.fmu", unzipdir=unit)
    build.build_platform_binary(unit, build_dir=temporary)
    return str(unit)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, LIFTED], ids=["loaded", "lifted"])
def test_cvode_agrees_with_simulate(built: str, options: dict[str, Any]) -> None:
    """The motion of CVode is within 1e-7, also with another gravity and a payload."""
    import fmpy

    start = {"shoulder.position": 0.4, "elbow.position": -0.9, "elbow.velocity": 1.0}
    start |= {"shoulder.effort": 2.0}
    if options:
        (_, mass, position), gravity = options["payload"], options["gravity"]
        values = (*gravity, mass, *position)
        start |= {
            f"{name}.{axis}": value
            for (name, axis), value in zip(
                [*(("gravity", x) for x in "xyz"), ("payload", "mass")]
                + [("payload", x) for x in "xyz"],
                values,
                strict=True,
            )
        }
    result = fmpy.simulate_fmu(
        built, stop_time=1.0, output_interval=0.01, start_values=start, relative_tolerance=1e-10
    )
    arm = robolin.load("two-link", **options)
    motion = robolin.simulate(arm, [0.4, -0.9], [0.0, 1.0], tau=[2.0, 0.0], duration=1, every=10)
    for i, joint in enumerate(arm.joint_names):
        assert np.abs(result[f"{joint}.position"] - motion.q[:, i]).max() < 1e-7
        assert np.abs(result[f"{joint}.velocity"] - motion.qd[:, i]).max() < 1e-7


@pytest.mark.slow
def test_directional_derivatives_are_those_of_linearize_forward(built: str) -> None:
    """Each unit seed gives a column of the partial derivatives, to the bit."""
    import fmpy
    from fmpy.simulation import instantiate_fmu

    description = fmpy.read_model_description(built)
    model = instantiate_fmu(built, description, fmi_type="ModelExchange")
    state = [0.4, -0.9, 0.7, -1.2]
    references, efforts = [*range(1, 5)], [9, 10]
    if description.fmiVersion.startswith("2"):
        model.setupExperiment(startTime=0.0)
        model.enterInitializationMode()
        model.setReal([*references, *efforts], [*state, 3.0, -1.0])
        model.exitInitializationMode()
    else:
        model.enterInitializationMode(startTime=0.0)
        model.setFloat64([*references, *efforts], [*state, 3.0, -1.0])
        model.exitInitializationMode()
    columns = [
        model.getDirectionalDerivative([5, 6, 7, 8], [known], [1.0])
        for known in (*references, *efforts)
    ]
    exact = robolin.linearize_forward(robolin.load("two-link"), state[:2], state[2:], [3.0, -1.0])
    rates = np.hstack([exact.dqdd_dq, exact.dqdd_dqd, exact.dqdd_dtau])
    expected = np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2), np.zeros((2, 2))]), rates])
    assert np.array_equal(np.array(columns).T, expected)
    model.terminate()
    model.freeInstance()
