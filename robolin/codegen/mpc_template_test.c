#include <stdio.h>
#include <string.h>
#include "@_mpc.h"

$states
$expected

static @_mpc controller;

/* number of accepted samples with a value that is not finite */
static int accepted(const double *state)
{
    const double large = 1e200, infinite = large * large;
    const double bad[] = {infinite - infinite, infinite, -infinite};
    int i, k, count = 0;
    for (k = 0; k < 3; ++k)
        for (i = 0; i < 2 * $n; ++i) {
            double sample[2 * $n], tau[$n];
            memcpy(sample, state, sizeof sample);
            sample[i] = bad[k];
            if (@_mpc_step(&controller, sample, sample + $n, tau) != -1) {
                printf("a sample with %g is accepted\n", bad[k]);
                ++count;
            }
        }
    return count;
}

int main(void)
{
    int row, i, wrong = 0;
    wrong += @_mpc_start(&controller, @_mpc_goal) != 0;
    for (row = 0; row < $rows; ++row) {
        double tau[$n];
        wrong += accepted(states[row]);
        wrong += @_mpc_step(&controller, states[row], states[row] + $n, tau) != 0;
        for (i = 0; i < $n; ++i) {
            unsigned long long bits;
            memcpy(&bits, &tau[i], sizeof bits);
            if (bits != expected[row][i]) {
                printf("tau[%d] of sample %d differs in its bits\n", i, row);
                ++wrong;
            }
        }
    }
    printf("@_mpc: $rows samples, %d differences\n", wrong);
    return wrong != 0;
}
