#include <stdio.h>
#include <string.h>
#include "@_mpc.h"

$states
$expected

static @_mpc controller;

int main(void)
{
    int row, i, wrong = 0;
    wrong += @_mpc_start(&controller, @_mpc_goal) != 0;
    for (row = 0; row < $rows; ++row) {
        double tau[$n];
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
