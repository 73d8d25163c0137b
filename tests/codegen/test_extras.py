"""Files generated around a program: functions for Octave, a plugin for ROS 2."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import robolin
from robolin.errors import UsageError
from tests.robots import random_arm, with_follower

Q, QD, QDD = [0.3, -0.7], [0.5, -1.2], [0.8, 0.4]


def test_a_plugin_needs_doubles(tmp_path: Path) -> None:
    """ROS passes doubles, and the plugin requires two functions."""
    arm, verbs = robolin.load("two-link"), ["inverse", "mass-matrix"]
    with pytest.raises(UsageError, match="a ROS 2 plugin requires double precision"):
        robolin.generate(arm, verbs, tmp_path / "made", real="float", extras=["ros2"])
    files = robolin.generate(arm, verbs, tmp_path / "made", extras=["ros2", "mex"])
    assert files[5:] == (
        "two_link_mex.c",
        "two_link_inverse_dynamics_solver.cpp",
        "two_link_plugins.xml",
        "package.xml",
    )


_CONSUMER = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.10)
project(consumer C)
find_package(two_link REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer two_link::two_link)
""",
    "main.c": """\
#include <stdio.h>
#include <two_link.h>
int main(void) {
  double q[2] = {0.3, -0.7}, qd[2] = {0.5, -1.2}, qdd[2] = {0.8, 0.4}, tau[2];
  if (two_link_inverse(q, qd, qdd, tau)) return 1;
  printf("%.17g %.17g\\n", tau[0], tau[1]);
  return 0;
}
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("extras", [[], ["ros2"]], ids=["plain", "ros2"])
def test_an_installed_arm_is_a_cmake_package(tmp_path: Path, extras: Any) -> None:
    """Another project finds an installed arm with find_package, and gets robolin's bits."""
    for program in ("cmake", "cc"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    arm = robolin.load("two-link")
    robolin.generate(arm, ["inverse", "mass-matrix"], tmp_path / "arm", extras=extras)
    (tmp_path / "consumer").mkdir()
    for name, text in _CONSUMER.items():
        (tmp_path / "consumer" / name).write_text(text)
    installed = tmp_path / "installed"
    steps = (
        ["cmake", "-S", "arm", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={installed}"],
        ["cmake", "--build", "build"],
        ["cmake", "--install", "build"],
        ["cmake", "-S", "consumer", "-B", "use", f"-DCMAKE_PREFIX_PATH={installed}"],
        ["cmake", "--build", "use"],
        [str(tmp_path / "use" / "consumer")],
    )
    for step in steps:
        done = subprocess.run(step, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
    assert [float(x) for x in done.stdout.split()] == robolin.inverse(arm, Q, QD, QDD).tolist()


def test_the_manifest_is_a_package_of_ros(tmp_path: Path) -> None:
    """package.xml has the required elements of format 3, and the name of the CMake project."""
    arm = robolin.load("two-link")
    robolin.generate(arm, ["inverse", "mass-matrix"], tmp_path, extras=["ros2"], states=1)
    root = ElementTree.parse(tmp_path / "package.xml").getroot()
    assert (root.tag, root.get("format")) == ("package", "3")
    assert {"name", "version", "description", "maintainer", "license"} <= {x.tag for x in root}
    assert root.findtext("name") == "two_link"
    assert "project(two_link C)" in (tmp_path / "CMakeLists.txt").read_text()


@pytest.mark.slow
def test_octave_gets_the_same_numbers(tmp_path: Path) -> None:
    """Vectors, matrices and cubes come out as robolin has them; what is wrong is an error."""
    for needed in ("mkoctfile", "octave-cli"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    arm, folder = robolin.load("two-link"), tmp_path / "made"
    verbs = ["inverse", "linearize-forward", "mass-matrix-derivative"]
    robolin.generate(arm, verbs, folder, extras=["mex"], states=1)
    made = subprocess.run(
        ["mkoctfile", "--mex", "two_link_mex.c", "two_link.c"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"mkoctfile does not work here: {made.stderr[:100]}")
    state = ", ".join(str(each) for each in (Q, QD, QDD))
    script = (
        f"t = two_link_mex('inverse', {state});"
        f"[a, b, c, d] = two_link_mex('linearize-forward', {state});"
        f"D = two_link_mex('mass-matrix-derivative', {Q});"
        "printf('%.17g\\n', t, c', permute(D, [3 2 1]));"
        "try, two_link_mex('inverse', 1, 2, 3), catch e, printf('%s\\n', e.message), end;"
        "try, two_link_mex('up'), catch e, printf('%s\\n', e.message), end"
    )
    ran = subprocess.run(
        ["octave-cli", "--eval", script], cwd=folder, capture_output=True, text=True, check=False
    )
    *numbers, shape, verb = ran.stdout.splitlines()
    model = robolin.linearize_forward(arm, Q, QD, QDD)
    expected = np.concatenate(
        [
            robolin.inverse(arm, Q, QD, QDD),
            model.dqdd_dqd.ravel(),
            robolin.mass_matrix_derivative(arm, Q).ravel(),
        ]
    )
    assert [*map(float, numbers)] == expected.tolist()
    assert "not 2 real numbers" in shape
    assert "unknown command 'up'" in verb


# just enough of ROS 2 to compile a plugin against
_ROS = {
    "inverse_dynamics_solver/inverse_dynamics_solver.hpp": """
#pragma once
#include <string>
#include <eigen3/Eigen/Core>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
namespace inverse_dynamics_solver {
class InverseDynamicsSolver {
public:
  using Vector = Eigen::VectorXd;
  virtual ~InverseDynamicsSolver() {}
  virtual void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr,
                          const std::string &, const std::string &) = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Vector &) const = 0;
  virtual Vector getCoriolisVector(const Vector &, const Vector &) const = 0;
  virtual Vector getGravityVector(const Vector &) const = 0;
  virtual Vector getFrictionVector(const Vector &) const = 0;
  virtual Vector getTorques(const Vector &, const Vector &, const Vector &) const = 0;
};
}
""",
    "rclcpp/node_interfaces/node_parameters_interface.hpp": """
#pragma once
#include <memory>
namespace rclcpp { namespace node_interfaces {
struct NodeParametersInterface {
  using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>;
};
} }
""",
    "pluginlib/class_list_macros.hpp": "#pragma once\n#define PLUGINLIB_EXPORT_CLASS(a, b)\n",
    "main.cpp": """
#include <cstdio>
#include "cart_pole_inverse_dynamics_solver.cpp"
int main() {
  cart_pole_inverse_dynamics_solver::Solver solver;
  solver.initialize();
  Eigen::VectorXd q(2), qd(2), qdd(2);
  q << 0.3, -0.7; qd << 0.5, -1.2; qdd << 0.8, 0.4;
  const Eigen::VectorXd sum = solver.getInertiaMatrix(q) * qdd + solver.getCoriolisVector(q, qd) +
    solver.getGravityVector(q) + solver.getFrictionVector(qd);
  const Eigen::VectorXd all = solver.getTorques(q, qd, qdd);
  const Eigen::VectorXd friction = solver.getFrictionVector(qd);
  std::printf("%.17g %.17g %.17g %.17g %.17g %.17g\\n", sum[0], sum[1], all[0], all[1],
              friction[0], friction[1]);
}
""",
}


@pytest.mark.slow
def test_the_plugins_functions_add_up_to_inverse(tmp_path: Path) -> None:
    """Inertia, Coriolis, gravity and friction of an arm with losses sum to its torques."""
    casadi = pytest.importorskip("casadi")
    eigen = Path(casadi.__file__).parent / "include"
    if shutil.which("g++") is None or not (eigen / "eigen3" / "Eigen" / "Core").is_file():
        pytest.skip("there is no C++ compiler, or no Eigen")
    arm, folder = robolin.load("cart-pole", friction_velocity=0.1), tmp_path / "made"
    robolin.generate(arm, ["inverse", "mass-matrix"], folder, extras=["ros2"], states=1)
    for name, text in _ROS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    steps = (
        ["gcc", "-std=c99", "-c", "cart_pole.c", "-o", "cart_pole.o"],
        ["g++", "-std=c++17", f"-I{folder}", f"-I{eigen}", "main.cpp", "cart_pole.o", "-o", "main"],
        ["./main"],
    )
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
    *sums, at_slide, at_pivot = map(float, done.stdout.split())
    expected = robolin.inverse(arm, Q, QD, QDD)
    assert sums[2:] == expected.tolist()
    # four terms of the size of the torques, each rounded
    assert np.abs(np.array(sums[:2]) - expected).max() < 1e-14 * max(1.0, np.abs(expected).max())
    damping = [link.joint.damping for link in arm.links]
    assert damping[0] > 0.0
    assert [at_slide, at_pivot] == [damping[0] * QD[0], damping[1] * QD[1]]


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [None, -1.7], ids=["independent", "follower"])
def test_losses_of_a_plugin_are_those_of_inverse(tmp_path: Path, ratio: float | None) -> None:
    """Damping and friction of every joint, brought to its leader by the ratio, as in `inverse`."""
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    arm = random_arm(5, 3, prismatic=False)
    links = tuple(
        replace(link, joint=replace(link.joint, damping=0.3 + k, friction=0.2 + k))
        for k, link in enumerate(arm.links_tip_to_base)
    )
    arm = replace(arm, name="odd", links_tip_to_base=links, damping=True, friction_velocity=0.4)
    arm = arm if ratio is None else with_follower(arm, ratio)
    robolin.generate(arm, ["inverse", "mass-matrix"], tmp_path, extras=["ros2"], states=1)
    (source,) = tmp_path.glob("*_solver.cpp")
    body = source.read_text().partition("getFrictionVector(const Vector & qd)")[2]
    lines = re.findall(r"^ *found\[.*;$", body, re.MULTILINE)
    qd = np.linspace(-0.9, 0.8, arm.n)
    program = (
        "#include <cmath>\n#include <cstdio>\nint main() {"
        f"double found[{arm.n}] = {{0}}, velocities[] = {{{', '.join(map(repr, qd.tolist()))}}};"
        f'{" ".join(lines)} for (double each : found) std::printf("%.17g\\n", each); }}'
    )
    (tmp_path / "main.cpp").write_text(program)
    subprocess.run(["g++", "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    q = np.full(arm.n, 0.3)
    smooth = replace(arm, damping=False, friction_velocity=None)
    losses = robolin.inverse(arm, q, qd) - robolin.inverse(smooth, q, qd)
    assert np.allclose([*map(float, ran.stdout.split())], losses, rtol=1e-12)


# just enough of MATLAB's interface to call a function
_MEX = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef size_t mwSize;
typedef struct { double *values; size_t count; const char *text; } mxArray;
enum { mxDOUBLE_CLASS, mxREAL };
static int mxIsDouble(const mxArray *a) { return a->text == NULL; }
static int mxIsComplex(const mxArray *a) { return a == NULL; }
static size_t mxGetNumberOfElements(const mxArray *a) { return a->count; }
static double *mxGetPr(const mxArray *a) { return a->values; }
static int mxGetString(const mxArray *a, char *into, size_t size) {
    strncpy(into, a->text, size);
    return 0;
}
static mxArray *mxCreateNumericArray(int axes, const mwSize *sizes, int kind, int complexity) {
    mxArray *made = calloc(1, sizeof *made);
    (void)kind; (void)complexity;
    made->count = 1;
    for (int i = 0; i < axes; ++i) made->count *= sizes[i];
    made->values = calloc(made->count, sizeof(double));
    return made;
}
static void mexErrMsgIdAndTxt(const char *id, const char *text, ...) {
    va_list given;
    va_start(given, text);
    printf("%s: ", id);
    vprintf(text, given);
    exit(0);
}
"""
_MEX_MAIN = """
#include "boom_mex.c"
int main(void) {
    double q[] = {0.3, WHERE}, qd[] = {0.5, -1.2}, tau[] = {0.8, 0.4};
    mxArray verb = {NULL, 0, "VERB"}, given[] = {{q, 2, NULL}, {qd, 2, NULL}, {tau, 2, NULL}};
    const mxArray *right[] = {&verb, &given[0], &given[1], &given[2]};
    mxArray *left[4] = {NULL};
    mexFunction(1, left, COUNT, right);
    for (size_t i = 0; i < left[0]->count; ++i) printf("%.17g\\n", left[0]->values[i]);
    return 0;
}
"""
# a mass slides on a massless boom: at the axis its inertia vanishes
_BOOM = """\
robolin: 1
name: boom
joints:
  - {name: turn, type: continuous, parent: base, child: boom, axis: [0, 0, 1]}
  - {name: slide, type: prismatic, parent: boom, child: mass, axis: [1, 0, 0]}
links:
  - {name: boom}
  - {name: mass, mass: 2}
"""


@pytest.mark.slow
def test_a_mex_function_names_the_joint_without_inertia(tmp_path: Path) -> None:
    """Numbers are robolin's, columns first; an error names the joint that robolin names."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "boom.yaml").write_text(_BOOM)
    arm, moving = robolin.load(tmp_path / "boom.yaml"), ([0.5, -1.2], [0.8, 0.4])

    def called(verb: str, count: int, where: float) -> str:
        text = _MEX_MAIN.replace("VERB", verb).replace("COUNT", str(count))
        (tmp_path / "main.c").write_text(text.replace("WHERE", str(where)))
        build = ["gcc", "-w", "-I.", "main.c", "boom.c", "-lm", "-o", "main"]
        subprocess.run(build, cwd=tmp_path, check=True)
        ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
        return ran.stdout

    verbs = ["forward", "mass-matrix-derivative"]
    robolin.generate(arm, verbs, tmp_path, extras=["mex"], states=1)
    (tmp_path / "mex.h").write_text(_MEX)
    computed = [*map(float, called("forward", 4, 0.7).split())]
    assert computed == robolin.forward(arm, [0.3, 0.7], *moving).tolist()
    computed = [*map(float, called("mass-matrix-derivative", 2, 0.7).split())]
    expected = robolin.mass_matrix_derivative(arm, [0.3, 0.7])
    assert computed == expected.ravel(order="F").tolist()
    with pytest.raises(robolin.RobolinError, match="joint 'turn' moves no inertia"):
        robolin.forward(arm, [0.3, 0.0], *moving)
    error = called("forward", 4, 0.0)
    assert error == "boom:inertia: joint 'turn' moves no inertia"
