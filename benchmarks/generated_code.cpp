// One state after the other: generated C, and Pinocchio's C++ if PINOCCHIO is defined, in turns.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "panda.h"

#ifdef PINOCCHIO
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#endif

static const int N = PANDA_JOINTS, STATES = 256, ROUNDS = 40, REPEATS = 4;

struct State
{
  double q[N], qd[N], u[N];
};

template <class Call>
static double nanoseconds(const std::vector<State> & states, Call call)
{
  const auto start = std::chrono::steady_clock::now();
  for (int repeat = 0; repeat < REPEATS; ++repeat) {
    for (const State & state : states) {
      call(state);
    }
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / (REPEATS * STATES);
}

static double sink = 0.0;

template <class Ours, class Theirs>
static void compare(
  const char * verb, const std::vector<State> & states, Ours ours, Theirs theirs)
{
  double own = 1e300, other = 1e300;
  for (int round = 0; round < ROUNDS; ++round) {
    own = std::min(own, nanoseconds(states, ours));
    other = std::min(other, nanoseconds(states, theirs));
  }
  std::printf("%s %.1f %.1f\n", verb, own, other);
}

#ifdef PINOCCHIO
// each joint turns about z: rotation and translation of its placement, mass, lever, inertia
static pinocchio::Model read(const char * name)
{
  pinocchio::Model model;
  std::ifstream file(name);
  for (int i = 0; i < N; ++i) {
    double x[25];
    for (double & each : x) {
      file >> each;
    }
    const Eigen::Matrix3d turn = Eigen::Matrix3d(x).transpose(), inertia = Eigen::Matrix3d(x + 16);
    const pinocchio::SE3 place(turn, Eigen::Vector3d(x[9], x[10], x[11]));
    const auto joint =
      model.addJoint(i, pinocchio::JointModelRZ(), place, "joint" + std::to_string(i));
    const Eigen::Vector3d lever(x[13], x[14], x[15]);
    const pinocchio::Inertia body(x[12], lever, inertia);
    model.appendBodyToJoint(joint, body, pinocchio::SE3::Identity());
  }
  return model;
}
#endif

int main(int, char ** arguments)
{
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(-2.0, 2.0);
  std::vector<State> states(STATES);
  for (State & state : states) {
    for (int i = 0; i < N; ++i) {
      state.q[i] = draw(random), state.qd[i] = draw(random), state.u[i] = draw(random);
    }
  }
  double a[N], A[N * N], B[N * N], C[N * N];
  (void)arguments;
#ifdef PINOCCHIO
  const pinocchio::Model model = read(arguments[1]);
  pinocchio::Data data(model);
  using Vector = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 1>>;
  Eigen::VectorXd q(N), qd(N), u(N);
  const auto set = [&](const State & s) {
    q = Vector(s.q, N), qd = Vector(s.qd, N), u = Vector(s.u, N);
  };
#define THEIRS(call) [&](const State & s) { set(s); call; }
#else
#define THEIRS(call) [&](const State &) {}
#endif
  compare("inverse", states,
    [&](const State & s) { panda_inverse(s.q, s.qd, s.u, a); sink += a[0]; },
    THEIRS(sink += pinocchio::rnea(model, data, q, qd, u)[0]));
  compare("forward", states,
    [&](const State & s) { panda_forward(s.q, s.qd, s.u, a); sink += a[0]; },
    THEIRS(sink += pinocchio::aba(model, data, q, qd, u)[0]));
  compare("mass-matrix", states,
    [&](const State & s) { panda_mass_matrix(s.q, A); sink += A[0]; },
    THEIRS(sink += pinocchio::crba(model, data, q)(0, 0)));
  compare("linearize-inverse", states,
    [&](const State & s) { panda_linearize_inverse(s.q, s.qd, s.u, A, B, C); sink += A[0]; },
    THEIRS(pinocchio::computeRNEADerivatives(model, data, q, qd, u); sink += data.M(0, 0)));
  compare("linearize-forward", states,
    [&](const State & s) { panda_linearize_forward(s.q, s.qd, s.u, a, A, B, C); sink += A[0]; },
    THEIRS(pinocchio::computeABADerivatives(model, data, q, qd, u); sink += data.Minv(0, 0)));
  return sink == 0.5;
}
