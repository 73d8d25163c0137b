"""Code generation: C with bit-identical results, and symbolic CasADi functions."""
