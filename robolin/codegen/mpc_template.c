#include <float.h>
#include "@_mpc.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* joints, joints rounded up to a multiple of 4, knots */
enum { n = $n, n4 = $n4, N = $N };
/* columns of W: accelerations, positions, velocities, gradient; of P: without accelerations */
enum { C = 3 * n4 + 4, PC = 2 * n4 + 4, GRADIENT = 3 * n4 };
/* kinds of knots in the tables */
enum { FIRST, MIDDLE, LAST };

static const double dt = $dt, observer = $observer;
$tables

static int kind_of(int knot)
{
    return knot == 0 ? FIRST : knot == N ? LAST : MIDDLE;
}

/* residual, violation, gradient and Hessian of the cost of one number */
typedef struct {
    double r, e, gradient, hessian;
} term;

static term term_of(double y, double reference, int kind, int at)
{
    term t;
    const double low = lower[kind][at], high = upper[kind][at];
    const double raised = y > low ? y : low, clamped = raised < high ? raised : high;
    t.e = y - clamped;
    t.r = y - reference;
    t.gradient = weight[kind][at] * t.r + penalty[kind][at] * t.e;
    t.hessian = weight[kind][at] + (t.e != 0.0 ? penalty[kind][at] : 0.0);
    return t;
}

/* reference of number i of q, v and tau */
static double reference_of(const @_mpc *m, int i)
{
    return i < n ? m->goal[i] : i < 2 * n ? 0.0 : m->hold[i - 2 * n];
}

static double cost_of(const @_mpc *m, int which)
{
    double sums[3 * n], total = 0.0;
    int knot, i;
    for (i = 0; i < 3 * n; ++i)
        sums[i] = 0.0;
    for (knot = 0; knot <= N; ++knot) {
        const int kind = kind_of(knot), count = knot == N ? 2 * n : 3 * n;
        for (i = 0; i < count; ++i) {
            const double y = i < 2 * n ? m->x[which][knot][i] : m->tau[which][knot][i - 2 * n];
            const term t = term_of(y, reference_of(m, i), kind, i);
            sums[i] += weight[kind][i] * (t.r * t.r) + penalty[kind][i] * (t.e * t.e);
        }
    }
    for (i = 0; i < 3 * n; ++i)
        total += sums[i];
    return 0.5 * total;
}

static int torques_of(@_mpc *m, int which)
{
    int knot, status;
    for (knot = 0; knot < N; ++knot) {
        const double *x = m->x[which][knot];
        status = @_inverse(x, x + n, m->a[which][knot], m->tau[which][knot]);
        if (status)
            return status;
    }
    return 0;
}

static int linearize(@_mpc *m)
{
    int knot, status;
    for (knot = 0; knot < N; ++knot) {
        const double *x = m->x[m->current][knot];
        status = @_linearize_inverse(x, x + n, m->a[m->current][knot], m->M[knot], m->Jv[knot],
                                     m->Jq[knot]);
        if (status)
            return status;
    }
    return 0;
}

static void clear(double *values, int count)
{
    int i;
    for (i = 0; i < count; ++i)
        values[i] = 0.0;
}

/* cost-to-go P of the next knot as a function of accelerations, positions and velocities */
static void propagate(double P[2 * n4][PC], double W[3 * n4][C])
{
    const double dt2 = dt * dt;
    int i, c;
    for (i = 0; i < n4; ++i) {
        const double *q = P[i], *v = P[n4 + i];
        const double sv = dt * q[2 * n4] + v[2 * n4];
        for (c = 0; c < n4; ++c) {
            const double Svq = dt * q[c] + v[c], Sqv = dt * q[c] + q[n4 + c];
            const double Svv = dt * Sqv + (dt * v[c] + v[n4 + c]);
            W[i][c] = dt2 * Svv;
            W[i][n4 + c] = dt * Svq;
            W[i][2 * n4 + c] = dt * Svv;
            W[n4 + i][n4 + c] = q[c];
            W[n4 + i][2 * n4 + c] = Sqv;
            W[2 * n4 + i][2 * n4 + c] = Svv;
        }
        W[i][GRADIENT] = dt * sv;
        W[n4 + i][GRADIENT] = q[2 * n4];
        W[2 * n4 + i][GRADIENT] = sv;
    }
}

/* add the diagonal terms to W; J, and J with the Hessian and the gradient of the torques */
static void scale(const @_mpc *m, int knot, double W[3 * n4][C], double J[n][C],
                  double scaled[n][C])
{
    const int kind = kind_of(knot), own = m->current;
    int i, c, group;
    for (i = 0; i < n; ++i) {
        term t;
        W[i][i] += m->damping;
        for (group = 0; group < 2; ++group) {
            const int at = group * n + i, row = (group + 1) * n4 + i;
            t = term_of(m->x[own][knot][at], reference_of(m, at), kind, at);
            W[row][row] += t.hessian;
            W[row][GRADIENT] += t.gradient;
        }
        t = term_of(m->tau[own][knot][i], m->hold[i], kind, 2 * n + i);
        for (c = 0; c < n; ++c) {
            J[i][c] = m->M[knot][n * i + c];
            J[i][n4 + c] = m->Jq[knot][n * i + c];
            J[i][2 * n4 + c] = m->Jv[knot][n * i + c];
        }
        for (c = 0; c < GRADIENT; ++c)
            scaled[i][c] = t.hessian * J[i][c];
        scaled[i][GRADIENT] = t.gradient;
    }
}

/* add (or subtract) the products of two columns f with four columns s over all joints */
#define PRODUCTS(SIGN, f, s)                                                                      \
    for (i = 0; i < n; ++i) {                                                                     \
        const double f0 = f[i * C], f1 = f[i * C + 1];                                            \
        const double s0 = s[i * C], s1 = s[i * C + 1], s2 = s[i * C + 2], s3 = s[i * C + 3];      \
        a0 = a0 SIGN f0 * s0;                                                                     \
        a1 = a1 SIGN f0 * s1;                                                                     \
        a2 = a2 SIGN f0 * s2;                                                                     \
        a3 = a3 SIGN f0 * s3;                                                                     \
        b0 = b0 SIGN f1 * s0;                                                                     \
        b1 = b1 SIGN f1 * s1;                                                                     \
        b2 = b2 SIGN f1 * s2;                                                                     \
        b3 = b3 SIGN f1 * s3;                                                                     \
    }

/* rows r and r + 1 of W + J' scaled, and with Z of - Z' W, in four columns from c on */
static void accumulate(double W[3 * n4][C], int r, int c, double J[n][C], double scaled[n][C],
                       double (*Z)[C])
{
    double *const u = W[r] + c, *const v = W[r + 1] + c;
    const double *f = &J[0][r], *s = &scaled[0][c];
    double a0 = u[0], a1 = u[1], a2 = u[2], a3 = u[3];
    double b0 = v[0], b1 = v[1], b2 = v[2], b3 = v[3];
    int i;
    PRODUCTS(+, f, s)
    if (Z) {
        f = &Z[0][r];
        s = &W[0][c];
        PRODUCTS(-, f, s)
    }
    u[0] = a0, u[1] = a1, u[2] = a2, u[3] = a3;
    v[0] = b0, v[1] = b1, v[2] = b2, v[3] = b3;
}

/* row -= ratio * other, from a multiple of four on */
static void subtract(double *row, double ratio, const double *other, int first)
{
    int c;
    for (c = first; c < C; c += 4) {
        row[c] -= ratio * other[c];
        row[c + 1] -= ratio * other[c + 1];
        row[c + 2] -= ratio * other[c + 2];
        row[c + 3] -= ratio * other[c + 3];
    }
}

/* eliminate the accelerations among themselves; 0 if a pivot is not positive */
static int factorize(double W[3 * n4][C], double Z[n][C], double inverse[n])
{
    int i, j, c;
    for (i = 0; i < n; ++i) {
        if (!(W[i][i] > 0.0))
            return 0;
        inverse[i] = 1.0 / W[i][i];
        for (c = 0; c < C; ++c)
            Z[i][c] = W[i][c] * inverse[i];
        for (j = i + 1; j < n; ++j)
            subtract(W[j], W[i][j] * inverse[i], W[i], j & ~3);
    }
    return 1;
}

/* cost-to-go of this knot: the rows of positions and velocities without the accelerations */
static void complement(double W[3 * n4][C], double J[n][C], double scaled[n][C], double Z[n][C],
                       double P[2 * n4][PC])
{
    int r, c;
    for (r = 0; r < 2 * n4; r += 2)
        for (c = n4 + (r & ~3); c < C; c += 4)
            accumulate(W, n4 + r, c, J, scaled, Z);
    for (r = 0; r < 2 * n4; ++r)
        for (c = r; c < PC; ++c)
            P[r][c] = W[n4 + r][n4 + c];
    for (r = 0; r < 2 * n4; ++r)
        for (c = 0; c < r; ++c)
            P[r][c] = P[c][r];
}

/* gains by back substitution in the rows of the accelerations */
static void substitute(double W[3 * n4][C], const double inverse[n], double X[n4][PC])
{
    int i, j, c;
    for (c = 0; c < PC; c += 4)
        for (i = n - 1; i >= 0; --i) {
            const double *const w = W[i] + n4 + c;
            double a0 = w[0], a1 = w[1], a2 = w[2], a3 = w[3];
            for (j = i + 1; j < n; ++j) {
                const double ratio = W[i][j], *const x = X[j] + c;
                a0 -= ratio * x[0];
                a1 -= ratio * x[1];
                a2 -= ratio * x[2];
                a3 -= ratio * x[3];
            }
            X[i][c] = a0 * inverse[i];
            X[i][c + 1] = a1 * inverse[i];
            X[i][c + 2] = a2 * inverse[i];
            X[i][c + 3] = a3 * inverse[i];
        }
}

/* gains of all knots; 0 if the model of the cost has no minimum */
static int backward(@_mpc *m, double *decrease)
{
    double P[2 * n4][PC], W[3 * n4][C], J[n][C], scaled[n][C], Z[n][C], inverse[n], saved[n];
    int knot, i, c;
    clear(&P[0][0], 2 * n4 * PC);
    clear(&W[0][0], 3 * n4 * C);
    clear(&J[0][0], n * C);
    clear(&scaled[0][0], n * C);
    for (i = 0; i < 2 * n; ++i) {
        const int row = i < n ? i : n4 + i - n;
        const term t = term_of(m->x[m->current][N][i], reference_of(m, i), LAST, i);
        P[row][row] = 0.0 + t.hessian;
        P[row][2 * n4] = 0.0 + t.gradient;
    }
    *decrease = 0.0;
    for (knot = N - 1; knot >= 0; --knot) {
        propagate(P, W);
        scale(m, knot, W, J, scaled);
        for (i = 0; i < n4; i += 2)
            for (c = i & ~3; c < C; c += 4)
                accumulate(W, i, c, J, scaled, 0);
        for (i = 0; i < n; ++i)
            saved[i] = W[i][GRADIENT];
        if (!factorize(W, Z, inverse))
            return 0;
        complement(W, J, scaled, Z, P);
        substitute(W, inverse, m->K[knot]);
        for (i = 0; i < n; ++i)
            *decrease += m->K[knot][i][2 * n4] * saved[i];
    }
    return 1;
}

/* full step of states and accelerations */
static void step_of(@_mpc *m)
{
    double q[n], v[n];
    int knot, i, j;
    clear(q, n);
    clear(v, n);
    clear(m->dx[0], 2 * n);
    for (knot = 0; knot < N; ++knot) {
        for (i = 0; i < n; ++i) {
            const double *row = m->K[knot][i];
            double sum = -row[2 * n4];
            for (j = 0; j < n; ++j)
                sum -= row[j] * q[j];
            for (j = 0; j < n; ++j)
                sum -= row[n4 + j] * v[j];
            m->da[knot][i] = sum;
        }
        for (i = 0; i < n; ++i) {
            v[i] = v[i] + dt * m->da[knot][i];
            q[i] = q[i] + dt * v[i];
            m->dx[knot + 1][i] = q[i];
            m->dx[knot + 1][n + i] = v[i];
        }
    }
}

/* move along the step; 0 if no fraction of it reduces the cost enough */
static int search(@_mpc *m, double *cost, double decrease)
{
    static const double fractions[] = {$fractions};
    const int own = m->current, other = 1 - own;
    int which, knot, i;
    step_of(m);
    for (which = 0; which < (int)(sizeof fractions / sizeof fractions[0]); ++which) {
        const double fraction = fractions[which];
        double found;
        for (knot = 0; knot <= N; ++knot)
            for (i = 0; i < 2 * n; ++i)
                m->x[other][knot][i] = m->dx[knot][i] * fraction + m->x[own][knot][i];
        for (knot = 0; knot < N; ++knot)
            for (i = 0; i < n; ++i)
                m->a[other][knot][i] = m->da[knot][i] * fraction + m->a[own][knot][i];
        if (torques_of(m, other))
            continue;
        found = cost_of(m, other);
        if (found <= *cost - $sufficient * fraction * decrease) {
            *cost = found;
            m->current = other;
            return 1;
        }
    }
    return 0;
}

static double larger(double one, double other)
{
    return one > other ? one : other;
}

/* size of the Hessian by the accelerations */
static double size_of(const @_mpc *m)
{
    double most = 0.0, effort = 0.0;
    int knot, i;
    for (knot = 0; knot < N; ++knot)
        for (i = 0; i < n * n; ++i)
            most = larger(most, m->M[knot][i] < 0.0 ? -m->M[knot][i] : m->M[knot][i]);
    for (i = 0; i < n; ++i)
        effort = larger(effort, weight[FIRST][2 * n + i]);
    return most * most * effort;
}

static int iterate(@_mpc *m)
{
    double cost = cost_of(m, m->current), decrease;
    int linearized = 0, iteration, status;
    for (iteration = 0; iteration < $iterations; ++iteration) {
        const double size = cost < 0.0 ? -cost : cost;
        if (!linearized && (status = linearize(m)) != 0)
            return status;
        linearized = 1;
        while (!backward(m, &decrease)) {
            m->damping = larger($least, 10.0 * m->damping);
            if (m->damping > $most)
                return 0;
        }
        if (0.5 * decrease <= 0.0 || decrease <= $rounding * size)
            return 0;
        if (search(m, &cost, decrease)) {
            m->damping = m->damping < 1e-12 ? 0.0 : 0.1 * m->damping;
            linearized = 0;
            continue;
        }
        if (m->damping >= $most || 0.5 * decrease <= 1e-9 * size)
            return 0;
        m->damping = larger(1e-6 * size_of(m), 10.0 * m->damping);
    }
    return 0;
}

static int all_finite(const double *values, int count)
{
    int i;
    for (i = 0; i < count; ++i)
        if (!(values[i] >= -DBL_MAX && values[i] <= DBL_MAX))
            return 0;
    return 1;
}

/* update the torque bias from the motion since the last sample */
static void observe(@_mpc *m, const double *q, const double *qd)
{
    double mean_q[n], mean_qd[n], qdd[n], tau[n];
    int i;
    if (observer == 0.0)
        return;
    for (i = 0; i < n; ++i) {
        mean_q[i] = 0.5 * (m->last_q[i] + q[i]);
        mean_qd[i] = 0.5 * (m->last_qd[i] + qd[i]);
        qdd[i] = (qd[i] - m->last_qd[i]) / dt;
    }
    if (@_inverse(mean_q, mean_qd, qdd, tau) || !all_finite(tau, n))
        return;
    for (i = 0; i < n; ++i)
        m->bias[i] = m->bias[i] + observer * (m->last_tau[i] - tau[i] - m->bias[i]);
}

/* move the plan one knot ahead and start it at the measured state; the other plan stays */
static int roll_out(@_mpc *m, int own, const double *q, const double *qd)
{
    const int ahead = m->started ? 1 : 0;
    int knot, i, status;
    for (i = 0; i < n; ++i) {
        m->x[own][0][i] = q[i];
        m->x[own][0][n + i] = qd[i];
    }
    for (knot = 0; knot < N; ++knot)
        for (i = 0; i < n; ++i) {
            const double a = knot + ahead < N ? m->a[1 - own][knot + ahead][i] : 0.0;
            const double v = m->x[own][knot][n + i] + a * dt;
            m->a[own][knot][i] = a;
            m->x[own][knot + 1][n + i] = v;
            m->x[own][knot + 1][i] = m->x[own][knot][i] + v * dt;
        }
    status = torques_of(m, own);
    return status ? status : all_finite(&m->tau[own][0][0], N * n) ? 0 : -1;
}

int @_mpc_set_goal(@_mpc *m, const double goal[$n])
{
    double zero[n], hold[n];
    int i, status;
    clear(zero, n);
    status = @_inverse(goal, zero, zero, hold);
    if (status)
        return status;
    for (i = 0; i < n; ++i) {
        m->goal[i] = goal[i];
        m->hold[i] = hold[i];
    }
    return 0;
}

int @_mpc_start(@_mpc *m, const double goal[$n])
{
    m->started = m->current = 0;
    m->damping = 0.0;
    clear(m->bias, n);
    clear(&m->a[0][0][0], 2 * N * n);
    clear(&m->K[0][0][0], N * n4 * PC);
    return @_mpc_set_goal(m, goal);
}

int @_mpc_step(@_mpc *m, const double q[$n], const double qd[$n], double tau[$n])
{
    double planned[n];
    int i, status;
    if (!all_finite(q, n) || !all_finite(qd, n))
        return -1;
    status = roll_out(m, 1 - m->current, q, qd);
    if (status)
        return status;
    m->current = 1 - m->current;
    if (m->started)
        observe(m, q, qd);
    status = iterate(m);
    if (status)
        return status;
    for (i = 0; i < n; ++i)
        planned[i] = m->tau[m->current][0][i] + m->bias[i];
    if (!all_finite(planned, n))
        return -1;
    for (i = 0; i < n; ++i) {
        const double raised = planned[i] > effort[0][i] ? planned[i] : effort[0][i];
        tau[i] = raised < effort[1][i] ? raised : effort[1][i];
        m->last_q[i] = q[i];
        m->last_qd[i] = qd[i];
        m->last_tau[i] = tau[i];
    }
    m->started = 1;
    return 0;
}
