"""A long job keeps the memory that it frees, where it can."""

from __future__ import annotations

import ctypes
import sys

import pytest

from tests.cli.command import python

# allocates and frees four megabytes repeatedly, and prints the number of pages from the system
PROGRAM = """
from robolin.cli.query_command import tune_malloc
tune_malloc()
for _ in range(200):
    bytearray(b"x" * (4 << 20))
# the eighth entry behind the name of the process
print(open("/proc/self/stat").read().rpartition(")")[2].split()[7])
"""
CAN_BE_TOLD = sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallopt")


@pytest.mark.skipif(not CAN_BE_TOLD, reason="there is no glibc to be told")
def test_what_is_freed_is_used_again() -> None:
    """Memory that is taken again and again comes from the system a few times only.

    Four megabytes are 1024 pages, of which there are two hundred thousand if none is kept.
    """
    assert int(python(PROGRAM).out) < 20 * 1024
