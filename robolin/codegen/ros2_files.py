"""ROS 2 plugin around a generated program: an `inverse_dynamics_solver` for one arm."""

from __future__ import annotations

from collections.abc import Iterator

from robolin.codegen.c_files import CProgram
from robolin.codegen.c_statements import literal
from robolin.core.arm import Arm
from robolin.errors import UsageError

NEEDED = ("inverse", "mass-matrix")

_SOURCE = """\
// A solver for the package inverse_dynamics_solver.  What its functions give adds up to inverse:
//     M(q) qdd + Coriolis(q, qd) + gravity(q) + friction(qd) = torques(q, qd, qdd)
// {static} part of the gravity vector.
#include <cmath>
#include <stdexcept>
#include <string>

#include <eigen3/Eigen/Core>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>

#include "{prefix}.h"

namespace {prefix}_inverse_dynamics_solver
{{

using Vector = Eigen::VectorXd;

class Solver : public inverse_dynamics_solver::InverseDynamicsSolver
{{
public:
  Solver() {{}}

  // the arm's numbers are part of the program: there is nothing to read
  void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr = nullptr,
                  const std::string & = "", const std::string & = "") override {{}}

  Eigen::MatrixXd getInertiaMatrix(const Vector & q) const override
  {{
    double found[{n} * {n}];
    require({prefix}_mass_matrix(checked(q), found));
    return Eigen::Map<Eigen::Matrix<double, {n}, {n}, Eigen::RowMajor>>(found);
  }}

  Vector getCoriolisVector(const Vector & q, const Vector & qd) const override
  {{
    return getTorques(q, qd, Vector::Zero({n})) - getGravityVector(q) - getFrictionVector(qd);
  }}

  Vector getGravityVector(const Vector & q) const override
  {{
    return getTorques(q, Vector::Zero({n}), Vector::Zero({n}));
  }}

  Vector getFrictionVector(const Vector & qd) const override
  {{
    const double * const velocities = checked(qd);
    Vector found = Vector::Zero({n});
{losses}
    return found;
  }}

  Vector getTorques(const Vector & q, const Vector & qd, const Vector & qdd) const override
  {{
    Vector found({n});
    require({prefix}_inverse(checked(q), checked(qd), checked(qdd), found.data()));
    return found;
  }}

private:
  static const double * checked(const Vector & values)
  {{
    if (values.size() != {n}) {{
      throw std::invalid_argument("{prefix}: {n} joints are needed");
    }}
    return values.data();
  }}

  static void require(int status)
  {{
    if (status != 0) {{
      throw std::domain_error("{prefix}: an angle is too large, or not a number");
    }}
  }}
}};

}}  // namespace {prefix}_inverse_dynamics_solver

PLUGINLIB_EXPORT_CLASS({prefix}_inverse_dynamics_solver::Solver,
                       inverse_dynamics_solver::InverseDynamicsSolver)
"""

_PLUGIN = """\
<library path="{prefix}_inverse_dynamics_solver">
  <class type="{prefix}_inverse_dynamics_solver::Solver"
         base_class_type="inverse_dynamics_solver::InverseDynamicsSolver">
    <description>Inverse dynamics of {prefix}, made by robolin</description>
  </class>
</library>
"""


def require_ros2(program: CProgram) -> None:
    """Reject programs that the plugin does not support."""
    verbs = [function.verb for function in program.functions]
    if any(verb not in verbs for verb in NEEDED):
        hint = f"request {' and '.join(NEEDED)}"
        raise UsageError("a ROS 2 plugin needs two verbs", hint=hint)
    if program.precision.real != "double":
        raise UsageError("a ROS 2 plugin requires double precision", hint="omit --real float")


def plugin_source(program: CProgram) -> Iterator[str]:
    """C++ source of the solver."""
    losses = "\n".join(f"    {line}" for line in _losses(program))
    static = "Wrenches that the arm was loaded with are"
    if program.arm.has_springs:
        static = "Wrenches that the arm was loaded with and joint springs are"
    text = _SOURCE.format(prefix=program.prefix, n=program.arm.n, losses=losses, static=static)
    yield from text.splitlines()


def plugin_description(program: CProgram) -> Iterator[str]:
    """Plugin description for pluginlib."""
    yield from _PLUGIN.format(prefix=program.prefix).splitlines()


def _losses(program: CProgram) -> Iterator[str]:
    """Damping and smoothed friction of every link's joint, mapped to the mimicked joint."""
    arm: Arm = program.arm
    any_loss = False
    for link, index in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        joint = link.joint
        ratio = joint.mimic.ratio if joint.mimic else 1.0
        damping = joint.damping * ratio * ratio if arm.damping else 0.0
        if damping:
            any_loss = True
            yield f"found[{index}] += {_number(program, damping)} * velocities[{index}];"
        if any(joint.friction_sides) and arm.friction_velocity is not None:
            any_loss = True
            positive, negative = joint.friction_sides
            size = _number(program, (positive + negative) / 2.0 * ratio)
            rate = _number(program, ratio / arm.friction_velocity)
            smooth = f"std::tanh({rate} * velocities[{index}])"
            if positive == negative:
                yield f"found[{index}] += {size} * {smooth};"
            else:
                bias = _number(program, (positive - negative) / 2.0 * ratio)
                yield f"found[{index}] += ({size} + {bias} * {smooth}) * {smooth};"
    if not any_loss:
        yield "(void)velocities;"


def _number(program: CProgram, number: float) -> str:
    return literal(number, program.precision)
