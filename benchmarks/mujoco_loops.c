// MuJoCo's C functions, state by state; only the stages that each result needs.
#include <mujoco/mujoco.h>
#include <string.h>

static void positions(const mjModel *m, mjData *d, const double *q)
{
  memcpy(d->qpos, q, m->nv * sizeof(double));
  mj_kinematics(m, d);
  mj_comPos(m, d);
}

static void velocities(const mjModel *m, mjData *d, const double *qd)
{
  memcpy(d->qvel, qd, m->nv * sizeof(double));
  mj_comVel(m, d);
}

void mujoco_inverse(
  const mjModel *m, mjData *d, long rows, const double *q, const double *qd, const double *qdd,
  double *tau)
{
  const int n = m->nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, qdd += n, tau += n) {
    positions(m, d, q);
    velocities(m, d, qd);
    memcpy(d->qacc, qdd, n * sizeof(double));
    mj_rne(m, d, 1, tau);
    for (int i = 0; i < n; ++i) {
      tau[i] += m->dof_armature[i] * qdd[i];
    }
  }
}

void mujoco_forward(
  const mjModel *m, mjData *d, long rows, const double *q, const double *qd, const double *tau,
  double *qdd)
{
  const int n = m->nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, tau += n, qdd += n) {
    positions(m, d, q);
    mj_makeM(m, d);
    mj_factorM(m, d);
    velocities(m, d, qd);
    mj_rne(m, d, 0, d->qfrc_bias);
    for (int i = 0; i < n; ++i) {
      d->qfrc_smooth[i] = tau[i] - d->qfrc_bias[i];
    }
    mj_solveM(m, d, qdd, d->qfrc_smooth, 1);
  }
}

void mujoco_mass_matrix(const mjModel *m, mjData *d, long rows, const double *q, double *M)
{
  const int n = m->nv;
  for (long row = 0; row < rows; ++row, q += n, M += n * n) {
    positions(m, d, q);
    mj_makeM(m, d);
    mj_fullM(m, d, M);
  }
}

// finite differences; row i is the derivative by input i
void mujoco_linearize_inverse(
  const mjModel *m, mjData *d, long rows, const double *q, const double *qd, const double *qdd,
  double *M, double *by_qd, double *by_q, double step)
{
  const int n = m->nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, qdd += n) {
    memcpy(d->qpos, q, n * sizeof(double));
    memcpy(d->qvel, qd, n * sizeof(double));
    memcpy(d->qacc, qdd, n * sizeof(double));
    mjd_inverseFD(m, d, step, 0, by_q, by_qd, M, 0, 0, 0, 0);
    M += n * n, by_qd += n * n, by_q += n * n;
  }
}

// finite differences of a time step: A is 2n × 2n, B is 2n × n
void mujoco_linearize_forward(
  const mjModel *m, mjData *d, long rows, const double *q, const double *qd, const double *tau,
  double *A, double *B, double step)
{
  const int n = m->nv;
  for (long row = 0; row < rows; ++row, q += n, qd += n, tau += n) {
    memcpy(d->qpos, q, n * sizeof(double));
    memcpy(d->qvel, qd, n * sizeof(double));
    memcpy(d->ctrl, tau, n * sizeof(double));
    mjd_transitionFD(m, d, step, 1, A, B, 0, 0);
    A += 4 * n * n, B += 2 * n * n;
  }
}
