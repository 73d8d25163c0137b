"""Kernels as functions of the interpreter: one state in, arrays out, in a microsecond."""
