"""Names of commands and options in other programs, and what they mean here."""

from __future__ import annotations

# names that other programs use for the same thing
SYNONYMS = {
    name: verb
    for verb, names in (
        ("inverse", "id rnea inverse-dynamics"),
        ("forward", "fd aba forward-dynamics"),
        ("mass-matrix", "crba inertia-matrix"),
        ("jacobian", "jac"),
        ("momentum", "com centroidal"),
        ("state-space", "ss"),
        ("poles", "eig eigenvalues"),
        ("lqr", "gains"),
        ("simulate", "sim"),
        ("inspect", "info"),
        ("validate", "lint"),
        ("models", "list robots"),
        ("generate", "codegen"),
        ("bench", "benchmark"),
        ("count", "counts operations"),
    )
    for name in names.split()
}
# names with several meanings, or of a command that needs options -> hint
LIKELY_COMMANDS = {
    name: hint
    for names, hint in (
        (
            "fk pose kinematics forward-kinematics",
            "use `robolin jacobian ARM --only position --only rotation`",
        ),
        (
            "ik inverse-kinematics",
            "use `robolin simulate ARM --control pose --target FRAME=X,Y,Z,ROLL,PITCH,YAW`",
        ),
        ("gravity", "use `robolin inverse ARM --q VALUES`: torques at rest compensate gravity"),
        ("coriolis", "use `robolin mass-matrix ARM --coriolis --qd VALUES`"),
        ("dynamics", "use `inverse` for torques, `forward` for accelerations"),
        (
            "linearize linearise derivatives",
            "use `linearize-forward` for accelerations, `linearize-inverse` for torques, "
            "`state-space` for A, B, C and D",
        ),
        ("bode frequency-response tf", "use `robolin response ARM --frequencies 0.1:100:200`"),
        ("step", "use `robolin response ARM --duration 2`"),
        ("impulse", "use `robolin response ARM --duration 2 --impulse`"),
        ("identify identification", "use `robolin regressor ARM --rank --samples 50`"),
        ("view visualize show draw", "use `inspect` for text, `report` or `plot` for an image"),
        ("compare", "use `diff` for robots, `check A --against B` for stored results"),
        ("test", "use `verify` for a robot, `check` for stored results"),
        ("energy", "use `robolin simulate ARM --duration 1`: it returns the energies"),
        ("inertia mass", "use `mass-matrix` for M, `inspect` for masses and inertias"),
    )
    for name in names.split()
}


def canonical_name(name: str) -> str:
    """The name of a command for a synonym; other names are unchanged."""
    return SYNONYMS.get(name, name)


# names of options in other programs -> options of robolin, the first that the command has
FOREIGN_OPTIONS = {
    name: options.split()
    for names, options in (
        ("q0 pos position positions joint-positions configuration", "q"),
        ("qdot dq v vel velocity velocities joint-velocities", "qd"),
        ("qddot ddq a acc acceleration accelerations", "qdd"),
        ("torque torques effort efforts u force forces", "tau"),
        ("file input data csv-file recording motion log", "trajectory"),
        ("out outfile out-file output-file save", "output"),
        ("csv json npz parquet table", "format"),
        ("link body ee end-effector tcp", "frame tip"),
        ("mass load", "payload"),
        ("timestep time-step step-size sample-time", "dt"),
        ("time-span tspan t-end", "duration"),
        ("steps samples-out", "rows"),
        ("Q state-weight", "weight"),
        ("R input-weight", "effort"),
        ("omega frequency w", "frequencies"),
        ("deg units", "degrees"),
        ("threads workers cores", "jobs"),
        ("friction", "friction-velocity"),
        ("rotor-inertia motor-inertia", "armature"),
    )
    for name in names.split()
}
# names that stand for an option with a value
WITH_VALUE = dict.fromkeys(("csv", "json", "npz", "parquet", "table"), "--format")
