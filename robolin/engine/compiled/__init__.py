"""Algorithms traced into LLVM kernels that run one state per SIMD lane, on several threads."""
