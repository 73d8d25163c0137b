// Pinocchio's C++ functions, state by state, with results copied to arrays.  Matrices stay in
// Pinocchio's own layout, column by column, because a change of layout would take its time.
#include <algorithm>
#include <string>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

using Vector = Eigen::Map<const Eigen::VectorXd>;
using Result = Eigen::Map<Eigen::VectorXd>;
using Matrix = Eigen::Map<Eigen::MatrixXd>;

struct Robot
{
  pinocchio::Model model;
  pinocchio::Data data;
  explicit Robot(const pinocchio::Model & made) : model(made), data(made) {}
};

// an axis along x, y or z has its own joint type, which is faster
static pinocchio::JointModel joint(bool turns, const Eigen::Vector3d & axis)
{
  using namespace pinocchio;
  if (axis == Eigen::Vector3d::UnitX())
    return turns ? JointModel(JointModelRX()) : JointModel(JointModelPX());
  if (axis == Eigen::Vector3d::UnitY())
    return turns ? JointModel(JointModelRY()) : JointModel(JointModelPY());
  if (axis == Eigen::Vector3d::UnitZ())
    return turns ? JointModel(JointModelRZ()) : JointModel(JointModelPZ());
  return turns ? JointModel(JointModelRevoluteUnaligned(axis))
               : JointModel(JointModelPrismaticUnaligned(axis));
}

// Pinocchio computes the upper half; tiles make the copy five times as fast as a triangular view
static void complete(const Robot & robot, double * to)
{
  constexpr long tile = 8;
  const auto & M = robot.data.M;
  const long n = M.rows();
  Matrix all(to, n, n);
  for (long c = 0; c < n; c += tile) {
    const long columns = std::min(tile, n - c);
    all.block(0, c, c + columns, columns) = M.block(0, c, c + columns, columns);
    for (long r = 0; r < c; r += tile) {
      if (columns == tile)
        all.block<tile, tile>(c, r) = M.block<tile, tile>(r, c).transpose();
      else
        all.block(c, r, columns, tile) = M.block(r, c, tile, columns).transpose();
    }
    all.block(c, c, columns, columns).triangularView<Eigen::StrictlyLower>() =
      M.block(c, c, columns, columns).transpose().triangularView<Eigen::StrictlyLower>();
  }
}

extern "C" {

// each joint: parent and kind, then rotation and translation of its placement, axis, mass, lever,
// inertia and armature
Robot * pinocchio_robot(int joints, const int * kinds, const double * x, const double * gravity)
{
  pinocchio::Model model;
  model.gravity.linear(Eigen::Vector3d(gravity));
  for (int i = 0; i < joints; ++i, kinds += 2, x += 29) {
    const Eigen::Matrix3d turn = Eigen::Matrix3d(x).transpose(), inertia = Eigen::Matrix3d(x + 19);
    const pinocchio::SE3 place(turn, Eigen::Vector3d(x + 9));
    const auto index = model.addJoint(
      kinds[0], joint(kinds[1], Eigen::Vector3d(x + 12)), place, "joint" + std::to_string(i));
    const pinocchio::Inertia body(x[15], Eigen::Vector3d(x + 16), inertia);
    model.appendBodyToJoint(index, body, pinocchio::SE3::Identity());
    model.armature[i] = x[28];
  }
  return new Robot(model);
}

void pinocchio_free(Robot * robot) { delete robot; }

void pinocchio_inverse(
  Robot & r, long rows, const double * q, const double * qd, const double * qdd, double * tau)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, qdd += n, tau += n)
    Result(tau, n) = pinocchio::rnea(r.model, r.data, Vector(q, n), Vector(qd, n), Vector(qdd, n));
}

void pinocchio_forward(
  Robot & r, long rows, const double * q, const double * qd, const double * tau, double * qdd)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, tau += n, qdd += n)
    Result(qdd, n) = pinocchio::aba(
      r.model, r.data, Vector(q, n), Vector(qd, n), Vector(tau, n), pinocchio::Convention::WORLD);
}

void pinocchio_mass_matrix(Robot & r, long rows, const double * q, double * M)
{
  const long n = r.model.nv;
  // the faster of both, measured with 7, 30 and 100 joints
  const auto convention = n > 40 ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL;
  for (long row = 0; row < rows; ++row, q += n, M += n * n) {
    pinocchio::crba(r.model, r.data, Vector(q, n), convention);
    complete(r, M);
  }
}

static void inverse_derivatives(Robot & r, const double * q, const double * qd, const double * qdd)
{
  const long n = r.model.nv;
  const Vector x(q, n), v(qd, n), a(qdd, n);
  pinocchio::computeRNEADerivatives(r.model, r.data, x, v, a);
}

static void forward_derivatives(Robot & r, const double * q, const double * qd, const double * tau)
{
  const long n = r.model.nv;
  const Vector x(q, n), v(qd, n), t(tau, n);
  pinocchio::computeABADerivatives(r.model, r.data, x, v, t);
}

void pinocchio_linearize_inverse(
  Robot & r, long rows, const double * q, const double * qd, const double * qdd, double * M,
  double * by_qd, double * by_q)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, qdd += n) {
    inverse_derivatives(r, q, qd, qdd);
    complete(r, M);
    Matrix(by_qd, n, n) = r.data.dtau_dv;
    Matrix(by_q, n, n) = r.data.dtau_dq;
    M += n * n, by_qd += n * n, by_q += n * n;
  }
}

void pinocchio_linearize_forward(
  Robot & r, long rows, const double * q, const double * qd, const double * tau, double * qdd,
  double * by_tau, double * by_qd, double * by_q)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, tau += n, qdd += n) {
    forward_derivatives(r, q, qd, tau);
    Result(qdd, n) = r.data.ddq;
    Matrix(by_tau, n, n) = r.data.Minv;
    Matrix(by_qd, n, n) = r.data.ddq_dv;
    Matrix(by_q, n, n) = r.data.ddq_dq;
    by_tau += n * n, by_qd += n * n, by_q += n * n;
  }
}

void pinocchio_perturb_inverse(
  Robot & r, long rows, const double * q, const double * qd, const double * qdd, const double * dq,
  const double * dqd, const double * dqdd, double * dtau)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, qdd += n) {
    inverse_derivatives(r, q, qd, qdd);
    Result result(dtau, n);
    result.noalias() = r.data.dtau_dq * Vector(dq, n);
    result.noalias() += r.data.dtau_dv * Vector(dqd, n);
    result.noalias() += r.data.M.selfadjointView<Eigen::Upper>() * Vector(dqdd, n);
    dq += n, dqd += n, dqdd += n, dtau += n;
  }
}

void pinocchio_perturb_forward(
  Robot & r, long rows, const double * q, const double * qd, const double * tau, const double * dq,
  const double * dqd, const double * dtau, double * dqdd)
{
  const long n = r.model.nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, tau += n) {
    forward_derivatives(r, q, qd, tau);
    Result result(dqdd, n);
    result.noalias() = r.data.ddq_dq * Vector(dq, n);
    result.noalias() += r.data.ddq_dv * Vector(dqd, n);
    result.noalias() += r.data.Minv * Vector(dtau, n);
    dq += n, dqd += n, dtau += n, dqdd += n;
  }
}
}
