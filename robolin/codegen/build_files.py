"""What builds a generated program: a Makefile, and a CMakeLists.txt for those who prefer that."""

from __future__ import annotations

from collections.abc import Iterator

_MAKE = """\
# -std=c99 keeps GCC from joining operations, and so the bits the same
CC ?= cc
AR ?= ar
CFLAGS ?= -O2
STRICT = -std=c99 -pedantic -Wall -Wextra -ffp-contract=off

lib{prefix}.a: {prefix}.o
\t$(AR) rcs $@ $<

{prefix}.o: {prefix}.c {prefix}.h
\t$(CC) $(STRICT) $(CFLAGS) -c {prefix}.c -o $@

{prefix}_test: {prefix}_test.c lib{prefix}.a
\t$(CC) $(STRICT) $(CFLAGS) {prefix}_test.c lib{prefix}.a -o $@

.PHONY: check clean
check: {prefix}_test
\t./{prefix}_test

clean:
\trm -f {prefix}.o lib{prefix}.a {prefix}_test
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project({prefix} C)

add_library({prefix} STATIC {prefix}.c)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE ON)
# fused operations round once where robolin rounds twice
target_compile_options({prefix} PRIVATE
  $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off>)

enable_testing()
add_executable({prefix}_test {prefix}_test.c)
target_link_libraries({prefix}_test {prefix})
add_test(NAME {prefix} COMMAND {prefix}_test)
"""


def makefile_text(prefix: str) -> Iterator[str]:
    yield from _MAKE.format(prefix=prefix).splitlines()


def cmake_text(prefix: str) -> Iterator[str]:
    yield from _CMAKE.format(prefix=prefix).splitlines()
