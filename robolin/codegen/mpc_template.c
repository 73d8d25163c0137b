#include <float.h>
#include "@_mpc.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* vector extensions of GCC and Clang change no bit; define NO_VECTORS to compile without them */
#if defined(__GNUC__) && !defined(NO_VECTORS)
#define VECTORS 1
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
#define AT(p) (*(two *)(p))
#else
#define VECTORS 0
#endif

/* on x86, functions compiled twice: with AVX for processors that have it, and without AVX; */
/* define NO_AVX to compile them once */
#if VECTORS && defined(__x86_64__) && !defined(__AVX__) && !defined(NO_AVX)
#define INSIDE static inline __attribute__((always_inline))
#define TWICE(kind, name, parameters, values)                                                     \
    __attribute__((target("avx"))) static kind name##_avx parameters                              \
    {                                                                                             \
        return name##_body values;                                                                \
    }                                                                                             \
    static kind name parameters                                                                   \
    {                                                                                             \
        return __builtin_cpu_supports("avx") ? name##_avx values : name##_body values;            \
    }
#else
#define INSIDE static inline
#define TWICE(kind, name, parameters, values)                                                     \
    static kind name parameters                                                                   \
    {                                                                                             \
        return name##_body values;                                                                \
    }
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

INSIDE term term_of(double y, double reference, int kind, int at)
{
    term t;
    const double low = lower[kind][at], high = upper[kind][at];
    const double raised = y > low ? y : low, clamped = raised < high ? raised : high;
    t.e = y - clamped;
    t.r = y - reference;
    t.gradient = weight[kind][at] * t.r + penalty[kind][at] * t.e;
    t.hessian = weight[kind][at] + (t.e != 0.0 || low == high ? penalty[kind][at] : 0.0);
    return t;
}

/* reference of number i of q, v and tau */
INSIDE double reference_of(const @_mpc *m, int i)
{
    return i < n ? m->goal[i] : i < 2 * n ? 0.0 : m->hold[i - 2 * n];
}

INSIDE double cost_of_body(const @_mpc *m, int which)
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

TWICE(double, cost_of, (const @_mpc *m, int which), (m, which))

/* with vector extensions, the dynamics of two knots take the time of one */
#if VECTORS && $has_pairs
#define PAIRS 1
typedef double pair __attribute__((vector_size(16)));
typedef long long mask __attribute__((vector_size(16)));

INSIDE pair choose(mask first, pair yes, pair no)
{
    return (pair)((first & (mask)yes) | (~first & (mask)no));
}

$pairs

INSIDE void gather(pair *to, const double *first, const double *second)
{
    int i;
    for (i = 0; i < n; ++i)
        to[i] = (pair){first[i], second[i]};
}

/* derivatives of two knots, into columns of their rows J */
INSIDE void scatter(const pair *from, double (*first)[C], double (*second)[C], int column)
{
    int i, c;
    for (i = 0; i < n; ++i, from += n) {
        for (c = 0; c + 1 < n; c += 2) {
            AT(first[i] + column + c) = (two){from[c][0], from[c + 1][0]};
            AT(second[i] + column + c) = (two){from[c][1], from[c + 1][1]};
        }
        if (n % 2) {
            first[i][column + n - 1] = from[n - 1][0];
            second[i][column + n - 1] = from[n - 1][1];
        }
    }
}

/* states and accelerations of two knots; 0 if an angle is large: single knots check it exactly */
INSIDE int gather_knots(const @_mpc *m, int which, int knot, pair q[n], pair v[n], pair a[n])
{
    const double *x = m->x[which][knot], *y = m->x[which][knot + 1];
    int i, near = 1;
    for (i = 0; i < n; ++i)
        near &= -1e5 <= x[i] && x[i] <= 1e5 && -1e5 <= y[i] && y[i] <= 1e5;
    gather(q, x, y);
    gather(v, x + n, y + n);
    gather(a, m->a[which][knot], m->a[which][knot + 1]);
    return near;
}
#else
#define PAIRS 0
#endif

INSIDE int torques_of_body(@_mpc *m, int which)
{
    int knot = 0, status;
    while (knot < N) {
        const double *x = m->x[which][knot];
#if PAIRS
        pair q[n], v[n], a[n], tau[n];
        int i;
        if (knot + 1 < N && gather_knots(m, which, knot, q, v, a)) {
            pair_inverse(q, v, a, tau, m->turns[knot]);
            for (i = 0; i < n; ++i) {
                m->tau[which][knot][i] = tau[i][0];
                m->tau[which][knot + 1][i] = tau[i][1];
            }
            knot += 2;
            continue;
        }
#endif
        status = @_inverse(x, x + n, m->a[which][knot], m->tau[which][knot]);
        if (status)
            return status;
        ++knot;
    }
    return 0;
}

TWICE(int, torques_of, (@_mpc *m, int which), (m, which))

INSIDE int linearize_body(@_mpc *m)
{
    const int own = m->current;
    double one_M[n * n], one_Jv[n * n], one_Jq[n * n];
    int knot = 0, i, c, status;
    while (knot < N) {
        const double *x = m->x[own][knot];
#if PAIRS
        pair q[n], v[n], a[n], M[n * n], Jv[n * n], Jq[n * n];
        if (knot + 1 < N && gather_knots(m, own, knot, q, v, a)) {
            /* the torques of this plan were the last to be computed */
            pair_linearize_inverse(q, v, a, M, Jv, Jq, m->turns[knot]);
            scatter(M, m->J[knot], m->J[knot + 1], 0);
            scatter(Jq, m->J[knot], m->J[knot + 1], n4);
            scatter(Jv, m->J[knot], m->J[knot + 1], 2 * n4);
            knot += 2;
            continue;
        }
#endif
        status = @_linearize_inverse(x, x + n, m->a[own][knot], one_M, one_Jv, one_Jq);
        if (status)
            return status;
        for (i = 0; i < n; ++i)
            for (c = 0; c < n; ++c) {
                m->J[knot][i][c] = one_M[n * i + c];
                m->J[knot][i][n4 + c] = one_Jq[n * i + c];
                m->J[knot][i][2 * n4 + c] = one_Jv[n * i + c];
            }
        ++knot;
    }
    return 0;
}

TWICE(int, linearize, (@_mpc *m), (m))

INSIDE void clear(double *values, int count)
{
    int i;
    for (i = 0; i < count; ++i)
        values[i] = 0.0;
}

/* four neighbouring numbers x: in two registers with vector extensions, else in four */
#if VECTORS
#define FOUR(x) two x##0, x##1
#define LOAD(x, p) (x##0 = AT(p), x##1 = AT((p) + 2))
#define GATHER(x, p, s) (x##0 = (two){(p)[0], (p)[s]}, x##1 = (two){(p)[2 * s], (p)[3 * s]})
#define SCATTER(p, s, x)                                                                          \
    ((p)[0] = x##0[0], (p)[s] = x##0[1], (p)[2 * s] = x##1[0], (p)[3 * s] = x##1[1])
#define STORE(p, x) (AT(p) = x##0, AT((p) + 2) = x##1)
#define SET(x, y) (x##0 = y##0, x##1 = y##1)
#define SCALE(x, f) (x##0 = x##0 * (f), x##1 = x##1 * (f))
#define PRODUCT(x, SIGN, f, y) (x##0 = x##0 SIGN(f) * y##0, x##1 = x##1 SIGN(f) * y##1)
#define RIGHT_PRODUCT(x, SIGN, f, y) (x##1 = x##1 SIGN(f) * y##1)
#else
#define FOUR(x) double x##0, x##1, x##2, x##3
#define LOAD(x, p) (x##0 = (p)[0], x##1 = (p)[1], x##2 = (p)[2], x##3 = (p)[3])
#define GATHER(x, p, s) (x##0 = (p)[0], x##1 = (p)[s], x##2 = (p)[2 * s], x##3 = (p)[3 * s])
#define SCATTER(p, s, x) ((p)[0] = x##0, (p)[s] = x##1, (p)[2 * s] = x##2, (p)[3 * s] = x##3)
#define STORE(p, x) ((p)[0] = x##0, (p)[1] = x##1, (p)[2] = x##2, (p)[3] = x##3)
#define SET(x, y) (x##0 = y##0, x##1 = y##1, x##2 = y##2, x##3 = y##3)
#define SCALE(x, f) (x##0 = x##0 * (f), x##1 = x##1 * (f), x##2 = x##2 * (f), x##3 = x##3 * (f))
#define PRODUCT(x, SIGN, f, y)                                                                    \
    (x##0 = x##0 SIGN(f) * y##0, x##1 = x##1 SIGN(f) * y##1, x##2 = x##2 SIGN(f) * y##2,          \
     x##3 = x##3 SIGN(f) * y##3)
#define RIGHT_PRODUCT(x, SIGN, f, y) (x##2 = x##2 SIGN(f) * y##2, x##3 = x##3 SIGN(f) * y##3)
#endif

/* cost-to-go P of the next knot as a function of accelerations, positions and velocities */
INSIDE void propagate(double P[2 * n4][PC], double W[3 * n4][C])
{
    const double dt2 = dt * dt;
    int i, c;
    for (i = 0; i < n4; ++i) {
        double *const q = P[i], *const v = P[n4 + i];
        const double sv = dt * q[2 * n4] + v[2 * n4];
        for (c = 0; c < n4; c += 4) {
            FOUR(qq);
            FOUR(qv);
            FOUR(vq);
            FOUR(vv);
            FOUR(sum);
            LOAD(qq, q + c);
            LOAD(qv, q + n4 + c);
            LOAD(vq, v + c);
            LOAD(vv, v + n4 + c);
            STORE(W[n4 + i] + n4 + c, qq);
            /* Sqv = dt Pqq + Pqv, Svv = dt Sqv + (dt Pvq + Pvv), Svq = dt Pqq + Pvq */
            PRODUCT(qv, +, dt, qq);
            STORE(W[n4 + i] + 2 * n4 + c, qv);
            PRODUCT(vv, +, dt, vq);
            PRODUCT(vv, +, dt, qv);
            STORE(W[2 * n4 + i] + 2 * n4 + c, vv);
            SET(sum, vv);
            SCALE(sum, dt2);
            STORE(W[i] + c, sum);
            SCALE(vv, dt);
            STORE(W[i] + 2 * n4 + c, vv);
            PRODUCT(vq, +, dt, qq);
            SCALE(vq, dt);
            STORE(W[i] + n4 + c, vq);
        }
        W[i][GRADIENT] = dt * sv;
        W[n4 + i][GRADIENT] = q[2 * n4];
        W[2 * n4 + i][GRADIENT] = sv;
    }
}

/* add the diagonal terms to W; J with the Hessian and the gradient of the torques */
INSIDE void scale(const @_mpc *m, int knot, double W[3 * n4][C], double scaled[n][C])
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
        for (c = 0; c < GRADIENT; ++c)
            scaled[i][c] = t.hessian * m->J[knot][i][c];
        scaled[i][GRADIENT] = t.gradient;
    }
}

/* add (or subtract) the products of four columns f with four columns s over all joints */
#define PRODUCTS(SIGN, f, s, LAST_ROWS)                                                           \
    for (i = 0; i < n; ++i) {                                                                     \
        LOAD(y, s + i * C);                                                                       \
        PRODUCT(a, SIGN, f[i * C], y);                                                            \
        PRODUCT(b, SIGN, f[i * C + 1], y);                                                        \
        LAST_ROWS(c, SIGN, f[i * C + 2], y);                                                      \
        LAST_ROWS(d, SIGN, f[i * C + 3], y);                                                      \
    }

/* rows r to r + 3 of W + J' scaled, and with Z of - Z' W, in four columns from column on */
INSIDE void accumulate(double W[3 * n4][C], int r, int column, double (*J)[C], double scaled[n][C],
                       double (*Z)[C], double *to, int stride)
{
    double *const rows = W[r] + column;
    const double *f = &J[0][r];
    double *s = &scaled[0][column];
    FOUR(a);
    FOUR(b);
    FOUR(c);
    FOUR(d);
    FOUR(y);
    int i;
    LOAD(a, rows);
    LOAD(b, rows + C);
    LOAD(c, rows + 2 * C);
    LOAD(d, rows + 3 * C);
    if (r == column) {
        /* only the upper half of a block on the diagonal is used */
        PRODUCTS(+, f, s, RIGHT_PRODUCT)
    } else {
        PRODUCTS(+, f, s, PRODUCT)
    }
    if (Z) {
        f = &Z[0][r];
        s = &W[0][column];
        if (r == column) {
            PRODUCTS(-, f, s, RIGHT_PRODUCT)
        } else {
            PRODUCTS(-, f, s, PRODUCT)
        }
    }
    STORE(to, a);
    STORE(to + stride, b);
    STORE(to + 2 * stride, c);
    STORE(to + 3 * stride, d);
}

/* the same for the gradient alone */
INSIDE void accumulate_gradient(double W[3 * n4][C], int r, double (*J)[C], double scaled[n][C],
                                double (*Z)[C], double *to, int stride)
{
    FOUR(a);
    FOUR(y);
    int i;
    GATHER(a, W[r] + GRADIENT, C);
    for (i = 0; i < n; ++i) {
        LOAD(y, J[i] + r);
        PRODUCT(a, +, scaled[i][GRADIENT], y);
    }
    if (Z)
        for (i = 0; i < n; ++i) {
            LOAD(y, Z[i] + r);
            PRODUCT(a, -, W[i][GRADIENT], y);
        }
    SCATTER(to, stride, a);
}

/* row -= ratio * other, from a multiple of four on */
INSIDE void subtract(double *row, double ratio, double *other, int first)
{
    int column;
    FOUR(a);
    FOUR(y);
    for (column = first; column < C; column += 4) {
        LOAD(a, row + column);
        LOAD(y, other + column);
        PRODUCT(a, -, ratio, y);
        STORE(row + column, a);
    }
}

/* eliminate the accelerations among themselves; 0 if a pivot is not positive */
INSIDE int factorize(double W[3 * n4][C], double Z[n][C], double inverse[n])
{
    int i, j, c;
    FOUR(a);
    for (i = 0; i < n; ++i) {
        if (!(W[i][i] > 0.0))
            return 0;
        inverse[i] = 1.0 / W[i][i];
        for (c = n4; c < GRADIENT; c += 4) {
            LOAD(a, W[i] + c);
            SCALE(a, inverse[i]);
            STORE(Z[i] + c, a);
        }
        for (j = i + 1; j < n; ++j)
            subtract(W[j], W[i][j] * inverse[i], W[i], j & ~3);
    }
    return 1;
}

/* transpose four rows and columns of P; within the block of the diagonal, the upper half */
INSIDE void mirror(double *from, double *to)
{
    int i, j;
    if (from == to) {
        for (i = 1; i < 4; ++i)
            for (j = 0; j < i; ++j)
                to[i * PC + j] = from[j * PC + i];
        return;
    }
#if VECTORS
    for (i = 0; i < 4; i += 2)
        for (j = 0; j < 4; j += 2) {
            const two one = AT(from + j * PC + i), other = AT(from + (j + 1) * PC + i);
            AT(to + i * PC + j) = (two){one[0], other[0]};
            AT(to + (i + 1) * PC + j) = (two){one[1], other[1]};
        }
#else
    for (i = 0; i < 4; ++i)
        for (j = 0; j < 4; ++j)
            to[i * PC + j] = from[j * PC + i];
#endif
}

/* cost-to-go of this knot: the rows of positions and velocities without the accelerations */
INSIDE void complement(double W[3 * n4][C], double (*J)[C], double scaled[n][C], double Z[n][C],
                       double P[2 * n4][PC])
{
    int r, c;
    for (r = 0; r < 2 * n4; r += 4) {
        for (c = r; c < 2 * n4; c += 4)
            accumulate(W, n4 + r, n4 + c, J, scaled, Z, P[r] + c, PC);
        accumulate_gradient(W, n4 + r, J, scaled, Z, P[r] + 2 * n4, PC);
    }
    for (r = 0; r < 2 * n4; r += 4)
        for (c = 0; c <= r; c += 4)
            mirror(P[c] + r, P[r] + c);
}

/* gains by back substitution in the rows of the accelerations */
INSIDE void substitute(double W[3 * n4][C], const double inverse[n], double X[n4][PC])
{
    int i, j, c;
    FOUR(a);
    FOUR(b);
    FOUR(y);
    /* eight columns at a time hide the latency of the sums */
    for (c = 0; c < 2 * n4; c += 8)
        for (i = n - 1; i >= 0; --i) {
            LOAD(a, W[i] + n4 + c);
            LOAD(b, W[i] + n4 + c + 4);
            for (j = i + 1; j < n; ++j) {
                LOAD(y, X[j] + c);
                PRODUCT(a, -, W[i][j], y);
                LOAD(y, X[j] + c + 4);
                PRODUCT(b, -, W[i][j], y);
            }
            SCALE(a, inverse[i]);
            SCALE(b, inverse[i]);
            STORE(X[i] + c, a);
            STORE(X[i] + c + 4, b);
        }
    for (i = n - 1; i >= 0; --i) {
        double sum = W[i][GRADIENT];
        for (j = i + 1; j < n; ++j)
            sum -= W[i][j] * X[j][2 * n4];
        X[i][2 * n4] = sum * inverse[i];
    }
}

/* gains of all knots; 0 if the model of the cost has no minimum */
INSIDE int backward_body(@_mpc *m, double *decrease)
{
    double P[2 * n4][PC], W[3 * n4][C], scaled[n][C], Z[n][C], inverse[n], saved[n];
    int knot, i, c;
    clear(&P[0][0], 2 * n4 * PC);
    clear(&W[0][0], 3 * n4 * C);
    clear(&scaled[0][0], n * C);
    for (i = 0; i < 2 * n; ++i) {
        const int row = i < n ? i : n4 + i - n;
        const term t = term_of(m->x[m->current][N][i], reference_of(m, i), LAST, i);
        P[row][row] = 0.0 + t.hessian;
        P[row][2 * n4] = 0.0 + t.gradient;
    }
    *decrease = 0.0;
    for (knot = N - 1; knot >= 0; --knot) {
        double(*const J)[C] = m->J[knot];
        propagate(P, W);
        scale(m, knot, W, scaled);
        for (i = 0; i < n4; i += 4) {
            for (c = i; c < GRADIENT; c += 4)
                accumulate(W, i, c, J, scaled, 0, W[i] + c, C);
            accumulate_gradient(W, i, J, scaled, 0, W[i] + GRADIENT, C);
        }
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

TWICE(int, backward, (@_mpc *m, double *decrease), (m, decrease))

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

/* move along the step; the fraction of it, or 0 if none reduces the cost enough */
static double search(@_mpc *m, double *cost, double decrease)
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
            return fraction;
        }
    }
    return 0.0;
}

static double larger(double one, double other)
{
    return one > other ? one : other;
}

/* size of the Hessian by the accelerations */
static double size_of(const @_mpc *m)
{
    double most = 0.0, scale = 0.0;
    int knot, i, c;
    for (knot = 0; knot < N; ++knot)
        for (i = 0; i < n; ++i)
            for (c = 0; c < n; ++c) {
                const double each = m->J[knot][i][c];
                most = larger(most, each < 0.0 ? -each : each);
            }
    for (i = 0; i < n; ++i)
        scale = larger(scale, weight[FIRST][2 * n + i]);
    return most * most * scale;
}

static int iterate(@_mpc *m)
{
    double cost = cost_of(m, m->current), decrease, fraction;
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
        fraction = search(m, &cost, decrease);
        if (fraction > 0.0) {
            if (fraction < $short_step)
                m->damping = larger(1e-6 * size_of(m), 10.0 * m->damping);
            else
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
    clear(&m->J[0][0][0], N * n * C);
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
