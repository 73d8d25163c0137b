"""Code generation: C with bit-identical results, FMUs, WebAssembly and CasADi functions."""
