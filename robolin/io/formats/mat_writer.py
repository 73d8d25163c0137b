"""MAT-files of level 5, which MATLAB and Octave open; equal variables give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from robolin.errors import FileError, RobolinError
from robolin.io.atomic import replacing

# the first bytes are free text, in which SciPy tells the date, and we what the others digest to
HEADER_TEXT = 116
HEADER = "MATLAB 5.0 MAT-file, written by robolin"
# a variable of a file of level 5 has a size of 32 bits
LARGEST_VARIABLE = 2**31 - 1


def write_mat(target: str | Path, variables: Mapping[str, Any]) -> None:
    """A MAT-file with these variables, complete or not at all.

    Arrays stay arrays, text becomes text, rows of text become cell columns, mappings structs.
    """
    content = mat_bytes(variables)
    with replacing(target) as stream:
        stream.write(content)


def mat_bytes(variables: Mapping[str, Any]) -> memoryview:
    """The bytes of the file."""
    try:
        from scipy.io import savemat
    except ImportError as error:
        message = "MAT-files need SciPy, which is not installed"
        raise RobolinError(message, hint="pip install 'robolin[control]'") from error
    stream = BytesIO()
    converted = {name: _value(name, value) for name, value in variables.items()}
    savemat(stream, converted, format="5", long_field_names=True, oned_as="column")
    content = stream.getbuffer()
    content[:HEADER_TEXT] = header(content[HEADER_TEXT:])
    return content


def header(body: bytes | memoryview) -> bytes:
    """The first bytes of a file whose others are these."""
    return f"{HEADER} {sha256(body).hexdigest()}".encode().ljust(HEADER_TEXT)


def _value(name: str, value: Any) -> Any:
    """A value as SciPy writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _value(f"{name}.{key}", each) for key, each in value.items()}
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        cells = np.empty((len(value), 1), dtype=object)
        cells[:, 0] = list(value)
        return cells
    array = np.asarray(value)
    if array.nbytes > LARGEST_VARIABLE:
        size = f"{array.nbytes / 1e9:.1f} GB"
        hint = "write fewer rows, or an NPZ file"
        raise FileError(f"'{name}' has {size}, too large for a MAT-file", hint=hint)
    return array
