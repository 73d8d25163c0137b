"""Algorithms traced into LLVM kernels: one state per SIMD lane, on several threads."""
