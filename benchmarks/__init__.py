"""What robolin costs: beside its peers, as arms grow, when compiled, and from file to file.

`python -m benchmarks --help` lists the parts.
"""
