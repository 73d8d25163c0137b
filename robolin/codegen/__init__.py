"""Programs made from an arm: C that computes the same bits, and symbolic functions."""
