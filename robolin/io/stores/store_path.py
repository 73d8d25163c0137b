"""Where an object lies: `s3://bucket/key`, `gs://…`, `az://container/key`, `hf://datasets/…`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class StorePath:
    """A place in a store, put together as paths are; it is no path of this machine."""

    url: str

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self.url.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """Its last name."""
        return PurePosixPath(self.url).name


@dataclass(frozen=True)
class ObjectVersion:
    """Which object was found: its size in bytes, and what its store calls this version of it."""

    size: int
    etag: str

    @property
    def text(self) -> str:
        """What stands for the digest of an object, which nobody reads only to digest it."""
        return f"{self.size} bytes, ETag {self.etag}"


def parts_of(url: str) -> tuple[str, str, str]:
    """The scheme, the bucket or container, and the key."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return scheme, bucket, key
