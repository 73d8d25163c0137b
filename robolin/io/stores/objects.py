"""Objects found, read and put by obstore, over the crate that polars reads stores with.

Credentials, region and endpoint come from the variables that every program of a store knows, such
as AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from robolin.errors import FileError, RobolinError, UsageError

# nobody waits for a store that does not answer: so long for a connection, for an answer, and for
# all tries together
_CONNECT, _ANSWER, _TRIES, _ALL_TRIES = 5, 60, 3, 30
# larger files go in pieces, and become an object when the last of them is there
_ONE_PUT = 1 << 26
# requests take tens of milliseconds, whatever they ask for
_READ_AT_ONCE = 1 << 23
_TOLD = ("AWS_", "GOOGLE_", "AZURE_")
_ENDPOINTS = (
    *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    *("AZURITE_BLOB_STORAGE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
)
# files of accounts that may name a store of one's own
_ACCOUNTS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")


def found(url: str) -> ObjectVersion | None:
    """The object as it is now, None if there is none."""
    if parts_of(url)[0] == "hf":
        from robolin.io.stores.hub import found_in_hub

        return found_in_hub(url)
    store, key = _store_and_key(url)
    with store_errors(url):
        try:
            told = _obstore(url).head(store, key)
        except FileNotFoundError:
            return None
    # a store without such names has times at least
    return ObjectVersion(told["size"], told["e_tag"] or told["last_modified"].isoformat())


def require_exists(url: str) -> ObjectVersion:
    """The object as it is now, which has to be there."""
    version = found(url)
    if version is None:
        raise FileError("there is no such object", where=url, hint="check bucket and key")
    return version


def list_objects(url: str) -> list[str]:
    """All objects whose names begin so, in the order of their names."""
    if parts_of(url)[0] == "hf":
        from robolin.io.stores.hub import listed_in_hub

        return listed_in_hub(url)
    store, key = _store_and_key(url)
    scheme, bucket, _ = parts_of(url)
    # a store lists whole names of folders; what they begin with is looked at here
    folder = key.rpartition("/")[0]
    with store_errors(url):
        pages = _obstore(url).list(store, folder or None)
        keys = [each["path"] for page in pages for each in page]
    return [f"{scheme}://{bucket}/{each}" for each in sorted(keys) if each.startswith(key)]


def content(url: str) -> bytes | None:
    """All bytes of a small object, None if there is none."""
    store, key = _store_and_key(url)
    with store_errors(url):
        try:
            return bytes(_obstore(url).get(store, key).bytes())
        except FileNotFoundError as error:
            if is_about_bucket(error):
                raise
            return None


def put(url: str, data: bytes | Path) -> None:
    """Let an object be these bytes, or those of a file; it is complete or absent."""
    store, key = _store_and_key(url)
    large = isinstance(data, Path) and data.stat().st_size > _ONE_PUT
    with store_errors(url, writing=True):
        _obstore(url).put(store, key, data, use_multipart=large)


def download(url: str, path: Path) -> None:
    """Have all bytes of an object in a file."""
    with open_object(url) as stream, open(path, "wb") as target:
        while piece := stream.read(_READ_AT_ONCE):
            target.write(piece)


def open_object(url: str, version: ObjectVersion | None = None) -> BinaryIO:
    """The bytes of an object as a stream; one that is replaced meanwhile is an error."""
    version = version or require_exists(url)
    return io.BufferedReader(_Pieces(url, version), _READ_AT_ONCE)


class _Pieces(io.RawIOBase):
    """An object read in pieces, all of the same version."""

    def __init__(self, url: str, version: ObjectVersion) -> None:
        self._url, self._version, self._at = url, version, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._version.size}[whence]
        self._at = max(0, start + place)
        return self._at

    def readinto(self, buffer: Any) -> int:
        stop = min(self._at + len(buffer), self._version.size)
        if stop <= self._at:
            return 0
        piece = bytes_between(self._url, self._version, self._at, stop)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def bytes_between(url: str, version: ObjectVersion, start: int, stop: int) -> bytes:
    """Some bytes of this version of an object; another one is refused."""
    if parts_of(url)[0] == "hf":
        from robolin.io.stores.hub import bytes_in_hub

        return bytes_in_hub(url, start, stop)
    store, key = _store_and_key(url)
    wanted: dict[str, Any] = {"range": (start, stop), "if_match": version.etag}
    with store_errors(url):
        return bytes(_obstore(url).get(store, key, options=wanted).bytes())


def require_same_version(url: str, version: ObjectVersion) -> None:
    """Refuse an object that was replaced since it was found."""
    if found(url) != version:
        raise RobolinError("it was changed while it was read", where=url, hint="ask again")


def is_read_by_polars(url: str) -> bool:
    """Whether polars gets at the object by itself."""
    if parts_of(url)[0] != "hf":
        return True
    from robolin.io.stores.hub import is_another_hub

    return not is_another_hub()


def polars_options(url: str) -> dict[str, str | int]:
    """What polars has to be told of a store: the same as is told here."""
    if parts_of(url)[0] == "hf":
        return {}
    return {
        "connect_timeout": f"{_CONNECT}s",
        "timeout": f"{_ANSWER}s",
        "max_retries": _TRIES,
        "retry_timeout_ms": 1000 * _ALL_TRIES,
        "allow_http": str(_plain_http()).lower(),
    }


def _plain_http() -> bool:
    """Whether somebody names a store of their own that does without encryption."""
    named = [os.environ.get(name, "") for name in _ENDPOINTS]
    for name in _ACCOUNTS:
        with suppress(OSError, ValueError, AttributeError):
            told = json.loads(Path(os.environ.get(name, "")).read_text("utf-8"))
            named.append(str(told.get("gcs_base_url", "")))
    return any(each.startswith("http://") for each in named)


def _store_and_key(url: str) -> tuple[Any, str]:
    scheme, bucket, key = parts_of(url)
    if not bucket:
        raise UsageError("it names no bucket", where=url, hint="s3://bucket/folder/file.parquet")
    if scheme == "hf":
        raise UsageError("is only read from", where=url, hint="write to s3://, gs:// or az://")
    told = frozenset((name, text) for name, text in os.environ.items() if name.startswith(_TOLD))
    return _store(f"{scheme}://{bucket}", told), key


@cache
def _store(bucket: str, told: frozenset[tuple[str, str]]) -> Any:
    """What reaches a bucket, as variables tell."""
    _obstore(bucket)
    from obstore.store import from_url

    client = {
        "connect_timeout": timedelta(seconds=_CONNECT),
        "timeout": timedelta(seconds=_ANSWER),
        "allow_http": _plain_http(),
    }
    retries = {"max_retries": _TRIES, "retry_timeout": timedelta(seconds=_ALL_TRIES)}
    with store_errors(bucket):
        return from_url(bucket, client_options=cast(Any, client), retry_config=cast(Any, retries))


def _obstore(url: str) -> Any:
    try:
        import obstore
    except ImportError as error:
        hint = "pip install 'robolin[stores]'"
        raise UsageError("needs the package obstore", where=url, hint=hint) from error
    return obstore


_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_SERVICE_ACCOUNT, or GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "hf": "HF_TOKEN",
}
# words in what a store says, what is wrong then, and what helps
_KNOWN = (
    (("NoSuchBucket", "ContainerNotFound"), "there is no such bucket", "check its name"),
    (("PreconditionFailed", "412 Precondition"), "it was changed while it was read", "ask again"),
    # where nobody gives credentials, those of the machine itself are asked for
    (("169.254.169.254", "metadata.google"), "there are no credentials", "{variables}"),
    (("InvalidAccessKeyId", "SignatureDoesNotMatch"), "credentials are wrong", "{variables}"),
    (("401 Unauth", "403 Forbidden", "AccessDenied"), "access is denied", "{variables}"),
    (("Missing", "must be specified", "not found in"), "something is not told", "{variables}"),
    (("301 Moved", "PermanentRedirect"), "the bucket is in another region", "AWS_REGION says it"),
    (
        ("error sending request", "timed out", "dns error", "onnection"),
        "the store does not answer",
        "is there a network? AWS_ENDPOINT_URL names a store of your own",
    ),
)
_LONGEST = 300


@contextmanager
def store_errors(url: str, *, writing: bool = False) -> Iterator[None]:
    """What a library says of an object as our error."""
    try:
        yield
    except FileNotFoundError as error:
        if writing or is_about_bucket(error):
            raise store_error(url, str(error)) from error
        raise
    except OSError as error:
        if error.errno is not None:
            # a disk of this machine says so
            raise
        raise store_error(url, str(error)) from error
    except Exception as error:
        if not type(error).__module__.startswith(("obstore", "huggingface_hub", "httpx")):
            raise
        raise store_error(url, str(error)) from error


def is_about_bucket(error: FileNotFoundError) -> bool:
    """Whether not the object is missing, but all of the bucket."""
    return any(word in str(error) for word in _KNOWN[0][0])


def store_error(url: str, text: str) -> FileError:
    """The error that the words of a library come to."""
    first = text.partition("\n\nDebug source")[0]
    unknown = FileError(f"its store says: {' '.join(first.split())[:_LONGEST]}", where=url)
    return known_problem(url, text) or unknown


def known_problem(url: str, text: str) -> FileError | None:
    """The error that some words tell of, None if they tell of none."""
    for words, message, hint in _KNOWN:
        if any(word in text for word in words):
            variables = f"credentials come from {_VARIABLES[url.partition(':')[0]]}"
            return FileError(message, where=url, hint=hint.format(variables=variables))
    return None


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
