"""Our ZIP headers are those of the standard library, and CRCs of pieces add up."""

import io
import random
import zipfile
import zlib

import pytest

from robolin.io.formats.npz_writer import ZipMember, crc32_combine, directory, local_header

PLACES = [
    ("small", 100, 7000),
    ("large", 5 << 30, 1000),
    ("far away", 100, 5 << 30),
    ("large and far away", 6 << 30, 5 << 30),
]


def entry(name, size, crc, offset):
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o644 << 16
    info.file_size = info.compress_size = size
    info.CRC, info.header_offset = crc, offset
    return info


@pytest.mark.parametrize("size, offset", [row[1:] for row in PLACES], ids=[r[0] for r in PLACES])
def test_headers_are_those_of_the_standard_library(size, offset):
    """Local header and directory have the bytes that `zipfile` writes, also beyond 4 GiB."""
    info = entry("q.npy", size, 0x12345678, offset)
    assert local_header("q.npy", size, 0x12345678) == info.FileHeader(zip64=True)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.filelist.append(info)
    assert directory([ZipMember("q.npy", size, 0x12345678, offset, 0)], 0) == held.getvalue()


def test_a_directory_beyond_4_gib_says_where_it_is():
    """The records for large archives point back at the directory."""
    data = directory([ZipMember("q.npy", 5 << 30, 1, 0, 0)], 5 << 30)
    assert data[-98:-94] == b"PK\x06\x06"
    assert data[-42:-38] == b"PK\x06\x07"
    assert int.from_bytes(data[-50:-42], "little") == 5 << 30


def test_crcs_of_pieces_add_up():
    """The CRC of two pieces follows from theirs and the length of the second."""
    rng = random.Random(5)
    for _ in range(200):
        first, second = (rng.randbytes(rng.choice([0, 1, 7, 64, 1000, 65537])) for _ in range(2))
        both = crc32_combine(zlib.crc32(first), zlib.crc32(second), len(second))
        assert both == zlib.crc32(first + second)
