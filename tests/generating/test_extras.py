"""What is written around a program: functions for Octave, a plugin for ROS 2."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.errors import UsageError

Q, QD, QDD = [0.3, -0.7], [0.5, -1.2], [0.8, 0.4]


def test_a_plugin_needs_doubles(tmp_path: Path) -> None:
    """ROS hands over doubles, and two verbs are what the plugin is made of."""
    arm, verbs = robolin.load("two-link"), ["inverse", "mass-matrix"]
    with pytest.raises(UsageError, match="computes in double"):
        robolin.generate(arm, verbs, tmp_path / "made", real="float", extras=["ros2"])
    files = robolin.generate(arm, verbs, tmp_path / "made", extras=["ros2", "mex"])
    assert files[5:] == (
        "two_link_mex.c",
        "two_link_inverse_dynamics_solver.cpp",
        "two_link_plugins.xml",
    )


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
    assert "no verb 'up'" in verb


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
