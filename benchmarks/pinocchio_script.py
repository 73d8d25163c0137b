"""A typical script with Pinocchio and polars: read, loop over rows, write.

usage: python pinocchio_script.py ROBOT.urdf MOTION.csv RESULT.(npz|csv|parquet)
"""

import sys

import numpy as np
import pinocchio as pin
import polars as pl


def main(urdf, source, target):
    model = pin.buildModelFromUrdf(urdf)
    data = model.createData()
    joints = [name for name in model.names if name != "universe"]

    table = pl.read_csv(source)
    q, qd, tau = (
        np.ascontiguousarray(table.select([f"{joint}/{what}" for joint in joints]).to_numpy())
        for what in ("position", "velocity", "effort")
    )

    rows, n = q.shape
    qdd = np.empty((rows, n))
    dqdd_dtau, dqdd_dqd, dqdd_dq = np.empty((3, rows, n, n))
    for i in range(rows):
        pin.computeABADerivatives(model, data, q[i], qd[i], tau[i])
        qdd[i] = data.ddq
        dqdd_dtau[i] = data.Minv
        dqdd_dqd[i] = data.ddq_dv
        dqdd_dq[i] = data.ddq_dq

    matrices = {"dqdd_dtau": dqdd_dtau, "dqdd_dqd": dqdd_dqd, "dqdd_dq": dqdd_dq}
    if target.endswith(".npz"):
        np.savez(target, qdd=qdd, **matrices)
        return
    columns = {f"{joint}/acceleration": qdd[:, j] for j, joint in enumerate(joints)}
    for name, matrix in matrices.items():
        for i, row in enumerate(joints):
            for j, column in enumerate(joints):
                columns[f"{name}/{row}/{column}"] = matrix[:, i, j]
    result = pl.DataFrame(columns)
    if target.endswith(".csv"):
        result.write_csv(target)
    else:
        result.write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
