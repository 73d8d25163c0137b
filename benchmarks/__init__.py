"""Benchmarks of robolin: reference programs, growing robots, compilation, and complete commands.

`python -m benchmarks --help` lists the parts.

Each run writes one file, `results/DATE-TIME-LABEL.json` (UTC), an object with these keys:

    machine   processor, cores, system, versions; "measured" is "in full" or "a quick look"
    PART      the results of one part, such as "verbs" or "end-to-end"

A part is an object whose keys are the rows of its tables (`tables.py` reads them).  A time or a
ratio that was measured several times is `{"median": x, "low": x, "high": x}`.  Keys end with
their unit: "us", "ns", "seconds" or "s", "bytes", "gflops".  Files contain neither paths nor host
names.
"""
