/*
 * @_mpc: receding-horizon control, $N knots of $dt s
 *
 * Call @_mpc_start once, then @_mpc_step every $dt s with the measured state, and
 * apply tau until the next call.  No heap, no libraries; all memory is in the structure.
 * Results are bit-identical to robolin.receding.  The return value is 0, -1 if the state or the
 * torques are not finite, or the value of the dynamics that failed; then tau is unchanged.  A
 * sample with NaN, infinity or torques that overflow does not change the controller.
 */
#ifndef $upper_MPC_H
#define $upper_MPC_H

#include "@.h"

#define $upper_MPC_KNOTS $N

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double goal[$n], hold[$n], bias[$n];
    double last_q[$n], last_qd[$n], last_tau[$n];
    double damping;
    int started, current;
    /* states, accelerations and torques of the plan and of a trial */
    double x[2][$N + 1][$n2], a[2][$N][$n], tau[2][$N][$n];
    /* derivatives of the torques by accelerations, positions and velocities */
    double J[$N][$n][$columns];
    /* sines and cosines of the last plan whose torques were computed */
    double turns[$N][$n2];
    double K[$N][$n4][$PC];
    double dx[$N + 1][$n2], da[$N][$n];
} @_mpc;

/* goal: $n positions in rad or m; NULL is not allowed */
int @_mpc_start(@_mpc *m, const double goal[$n]);
int @_mpc_set_goal(@_mpc *m, const double goal[$n]);
/* q, qd: measured state; tau: torques within the effort limits */
int @_mpc_step(@_mpc *m, const double q[$n], const double qd[$n], double tau[$n]);

/* the goal for which the code was generated */
extern const double @_mpc_goal[$n];

#ifdef __cplusplus
}
#endif
#endif
