"""Extra files around a generated program.

- a MEX function for MATLAB and Octave: ARM_mex('verb', q, …)
- a ROS 2 plugin: an `inverse_dynamics_solver` for one arm
"""

from __future__ import annotations

from collections.abc import Iterator

from robolin.codegen.c_files import CProgram
from robolin.codegen.c_function import CFunction
from robolin.codegen.c_statements import literal
from robolin.core.arm import Arm
from robolin.errors import UsageError

_START = """\
/*
 * In Octave:  mkoctfile --mex {prefix}_mex.c {prefix}.c
 * In MATLAB:  mex {prefix}_mex.c {prefix}.c
 * Then:       {call}
 */
#include <string.h>
#include "mex.h"
#include "{prefix}.h"

static void take(const mxArray *given, {real} *into)
{{
    const double *values;
    int i;
    if (!mxIsDouble(given) || mxIsComplex(given) || mxGetNumberOfElements(given) != {n})
        mexErrMsgIdAndTxt("{prefix}:arguments", "every argument must have {n} real numbers");
    values = mxGetPr(given);
    for (i = 0; i < {n}; ++i)
        into[i] = ({real})values[i];
}}

/* convert row-major to column-major order */
static mxArray *handed(const {real} *found, int axes, const mwSize *sizes)
{{
    mxArray *made = mxCreateNumericArray(axes, sizes, mxDOUBLE_CLASS, mxREAL);
    double *values = mxGetPr(made);
    const size_t count = mxGetNumberOfElements(made);
    size_t index;
    for (index = 0; index < count; ++index) {{
        size_t rest = index, there = 0;
        int axis;
        for (axis = 0; axis < axes; ++axis) {{
            there = there * sizes[axis] + rest % sizes[axis];
            rest /= sizes[axis];
        }}
        values[index] = found[there];
    }}
    return made;
}}

static void require(int status)
{{
    if (status > 0)
        mexErrMsgIdAndTxt("{prefix}:inertia", "joint '%s' moves no inertia",
                          {prefix}_joint_names[status - 1]);
    if (status == -1)
        mexErrMsgIdAndTxt("{prefix}:angle", "an angle is too large, or NaN");
    if (status)
        mexErrMsgIdAndTxt("{prefix}:singular", "the result does not exist in this state");
}}
"""

_END = """\
void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{{
    char command[64];
    if (nrhs < 1 || mxGetString(prhs[0], command, sizeof command))
        mexErrMsgIdAndTxt("{prefix}:command", "the first argument must be the name of a command");
{choices}
        mexErrMsgIdAndTxt("{prefix}:command", "unknown command '%s'", command);
}}
"""


def mex_text(program: CProgram) -> Iterator[str]:
    """The complete file."""
    prefix, first = program.prefix, program.functions[0]
    call = f"{', '.join(first.gives)} = {prefix}_mex('{first.verb}', {', '.join(first.needs)})"
    if len(first.gives) > 1:
        call = f"[{call.replace(' = ', '] = ', 1)}"
    words = {"prefix": prefix, "real": program.precision.real, "n": program.arm.n, "call": call}
    yield from _START.format(**words).splitlines()
    for function in program.functions:
        yield ""
        yield from _called(program, function)
    yield ""
    choices = []
    for function in program.functions:
        spelt = f'strcmp(command, "{function.verb}") == 0'
        choices.append(f"    if ({spelt})")
        choices.append(f"        {_name(function)}(nlhs, plhs, nrhs - 1, prhs + 1);")
        choices.append("    else")
    yield from _END.format(prefix=prefix, choices="\n".join(choices)).splitlines()


def _name(function: CFunction) -> str:
    return f"call_{function.verb.replace('-', '_')}"


def _called(program: CProgram, function: CFunction) -> Iterator[str]:
    real, n = program.precision.real, program.arm.n
    count, many = len(function.needs), len(function.gives)
    yield (
        f"static void {_name(function)}(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])"
    )
    yield "{"
    yield f"    {real} {', '.join(f'{name}[{n}]' for name in function.needs)};"
    for name, shape in function.gives.items():
        sizes = shape if len(shape) > 1 else (*shape, 1) if shape else (1, 1)
        yield f"    static const mwSize {name}_sizes[] = {{{', '.join(map(str, sizes))}}};"
        total = 1
        for size in sizes:
            total *= size
        yield f"    {real} {name}[{max(1, total)}];"
    yield f"    if (nrhs != {count} || nlhs > {many})"
    yield (
        f'        mexErrMsgIdAndTxt("{program.prefix}:arguments", '
        f'"{function.verb} takes {", ".join(function.needs)} '
        f'and returns {", ".join(function.gives)}");'
    )
    for i, name in enumerate(function.needs):
        yield f"    take(prhs[{i}], {name});"
    arguments = ", ".join((*function.needs, *function.gives))
    yield f"    require({program.name(function)}({arguments}));"
    for i, (name, shape) in enumerate(function.gives.items()):
        condition = f"    if (nlhs > {i})\n        " if i else "    "
        axes = max(2, len(shape))
        yield from f"{condition}plhs[{i}] = handed({name}, {axes}, {name}_sizes);".split("\n")
    yield "}"


NEEDED = ("inverse", "mass-matrix")

_SOURCE = """\
// A solver for the package inverse_dynamics_solver.  The functions add up to inverse dynamics:
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

  // the model parameters are compiled in: no parameters to read
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
      throw std::invalid_argument("{prefix}: expected {n} joints");
    }}
    return values.data();
  }}

  static void require(int status)
  {{
    if (status != 0) {{
      throw std::domain_error("{prefix}: an angle is too large, or NaN");
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
    <description>Inverse dynamics of {prefix}, generated by robolin</description>
  </class>
</library>
"""


# the generated arm as a package of ROS 2, which works without ROS as well
_PACKAGE = """\
<package format="3">
  <name>{prefix}</name>
  <version>1.0.0</version>
  <description>Dynamics of {prefix}, generated by robolin</description>
  <maintainer email="maintainer@example.com">Replace this entry</maintainer>
  <license>Replace this entry</license>

  <buildtool_depend>ament_cmake</buildtool_depend>
  <depend>eigen</depend>
  <depend>inverse_dynamics_solver</depend>
  <depend>pluginlib</depend>
  <depend>rclcpp</depend>

  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""

CMAKE_ROS2 = """\

find_package(ament_cmake QUIET)
find_package(inverse_dynamics_solver QUIET)
find_package(pluginlib QUIET)
if(inverse_dynamics_solver_FOUND AND pluginlib_FOUND)
  enable_language(CXX)
  find_package(Eigen3 REQUIRED)
  find_package(rclcpp REQUIRED)
  add_library({prefix}_inverse_dynamics_solver SHARED {prefix}_inverse_dynamics_solver.cpp)
  target_link_libraries({prefix}_inverse_dynamics_solver PRIVATE {prefix} Eigen3::Eigen
    inverse_dynamics_solver::inverse_dynamics_solver pluginlib::pluginlib rclcpp::rclcpp)
  install(TARGETS {prefix}_inverse_dynamics_solver LIBRARY DESTINATION lib)
  pluginlib_export_plugin_description_file(inverse_dynamics_solver {prefix}_plugins.xml)
else()
  message(STATUS "{prefix}: the plugin requires inverse_dynamics_solver and pluginlib")
endif()
if(ament_cmake_FOUND)
  ament_export_targets(export_{prefix} NAMESPACE {prefix}:: HAS_LIBRARY_TARGET)
  ament_package()
else()
  install(EXPORT export_{prefix} NAMESPACE {prefix}:: FILE {prefix}Config.cmake
    DESTINATION lib/cmake/{prefix})
endif()
"""


def package_manifest(program: CProgram) -> Iterator[str]:
    """The package.xml of ROS 2."""
    yield from _PACKAGE.format(prefix=program.prefix).splitlines()


def require_ros2(program: CProgram) -> None:
    """Reject programs that the plugin does not support."""
    verbs = [function.verb for function in program.functions]
    if missing := [verb for verb in NEEDED if verb not in verbs]:
        names = " and ".join(NEEDED)
        raise UsageError(f"a ROS 2 plugin requires {names}", hint=f"add {' and '.join(missing)}")
    if program.precision.real != "double":
        raise UsageError("a ROS 2 plugin requires double precision", hint="omit --real float")


def plugin_source(program: CProgram) -> Iterator[str]:
    """C++ source of the solver."""
    losses = "\n".join(f"    {line}" for line in _losses(program))
    static = "Wrenches in the model are"
    if program.arm.has_springs:
        static = "Wrenches and joint springs in the model are"
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
            velocity = joint.friction_velocity or arm.friction_velocity
            rate = _number(program, ratio / velocity)
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
