"""Objects in S3, Google Cloud, Azure and Hugging Face stores, with obstore as polars does.

Credentials, region and endpoint come from the usual environment variables, such as
AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from robolin.core.records import dataclass
from robolin.errors import FileError, RobolinError, UsageError

# timeouts in seconds for a connection and a response, the number of retries, and the time in
# seconds for all of them
_CONNECT, _RESPONSE, _TRIES, _ALL_TRIES = 5, 60, 3, 30
# larger files are uploaded in several parts
_ONE_PUT = 1 << 26
# a request takes tens of milliseconds, regardless of its size
_READ_AT_ONCE = 1 << 23
_VARIABLE_PREFIXES = ("AWS_", "GOOGLE_", "AZURE_")
_ENDPOINTS = (
    *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    *("AZURITE_BLOB_STORAGE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
)
# account files, which may name a private store
_ACCOUNTS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")


def stat(url: str) -> ObjectVersion | None:
    """The current version of the object, None if it does not exist."""
    if parts_of(url)[0] == "hf":
        return stat_in_hub(url)
    store, key = _store_and_key(url)
    with store_errors(url):
        try:
            info = _obstore(url).head(store, key)
        except FileNotFoundError:
            return None
    # a store without ETags has the time of the last change
    return ObjectVersion(info["size"], info["e_tag"] or info["last_modified"].isoformat())


def require_exists(url: str) -> ObjectVersion:
    """The current version of the object; an error if it does not exist."""
    version = stat(url)
    if version is None:
        raise FileError(
            "no such object", where=url, hint="check the names of the bucket and the object"
        )
    return version


def list_objects(url: str) -> list[str]:
    """All objects with this prefix, sorted by name."""
    if parts_of(url)[0] == "hf":
        return list_in_hub(url)
    store, key = _store_and_key(url)
    scheme, bucket, _ = parts_of(url)
    # stores list by folder; the rest of the prefix is compared here
    folder = key.rpartition("/")[0]
    with store_errors(url):
        pages = _obstore(url).list(store, folder or None)
        keys = [each["path"] for page in pages for each in page]
    return [f"{scheme}://{bucket}/{each}" for each in sorted(keys) if each.startswith(key)]


def content(url: str) -> bytes | None:
    """All bytes of a small object, None if it does not exist."""
    store, key = _store_and_key(url)
    with store_errors(url):
        try:
            return bytes(_obstore(url).get(store, key).bytes())
        except FileNotFoundError as error:
            if is_about_bucket(error):
                raise
            return None


def put(url: str, data: bytes | Path) -> None:
    """Write an object atomically from bytes or from a file."""
    store, key = _store_and_key(url)
    large = isinstance(data, Path) and data.stat().st_size > _ONE_PUT
    with store_errors(url, writing=True):
        _obstore(url).put(store, key, data, use_multipart=large)


def download(url: str, path: Path) -> None:
    """Copy an object to a local file."""
    with open_object(url) as stream, open(path, "wb") as target:
        while piece := stream.read(_READ_AT_ONCE):
            target.write(piece)


def open_object(url: str, version: ObjectVersion | None = None) -> BinaryIO:
    """Open an object as a stream; an error if it is replaced while it is read."""
    version = version or require_exists(url)
    return io.BufferedReader(_Pieces(url, version), _READ_AT_ONCE)


class _Pieces(io.RawIOBase):
    """A stream over one version of an object, read in ranges."""

    def __init__(self, url: str, version: ObjectVersion) -> None:
        self._url, self._version, self._at = url, version, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._version.size}[whence]
        self._at = max(0, start + offset)
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
    """Read a range of bytes of this version of an object; another version is rejected."""
    if parts_of(url)[0] == "hf":
        return read_in_hub(url, start, stop)
    store, key = _store_and_key(url)
    options: dict[str, Any] = {"range": (start, stop), "if_match": version.etag}
    with store_errors(url):
        return bytes(_obstore(url).get(store, key, options=options).bytes())


def require_same_version(url: str, version: ObjectVersion) -> None:
    """Reject an object that was replaced since this version was read."""
    if stat(url) != version:
        raise RobolinError(
            "the object was changed while it was read", where=url, hint="run the command again"
        )


def is_read_by_polars(url: str) -> bool:
    """Return whether polars can read the object directly."""
    if parts_of(url)[0] != "hf":
        return True
    return not is_another_hub()


def polars_options(url: str) -> dict[str, str | int]:
    """Storage options for polars: the same timeouts and retries as here."""
    if parts_of(url)[0] == "hf":
        return {}
    return {
        "connect_timeout": f"{_CONNECT}s",
        "timeout": f"{_RESPONSE}s",
        "max_retries": _TRIES,
        "retry_timeout_ms": 1000 * _ALL_TRIES,
        "allow_http": str(_plain_http()).lower(),
    }


def _plain_http() -> bool:
    """Return whether a private endpoint without encryption is configured."""
    endpoints = [os.environ.get(name, "") for name in _ENDPOINTS]
    for name in _ACCOUNTS:
        with suppress(OSError, ValueError, AttributeError):
            account = json.loads(Path(os.environ.get(name, "")).read_text("utf-8"))
            endpoints.append(str(account.get("gcs_base_url", "")))
    return any(each.startswith("http://") for each in endpoints)


def _store_and_key(url: str) -> tuple[Any, str]:
    scheme, bucket, key = parts_of(url)
    if not bucket:
        raise UsageError(
            "the bucket is missing", where=url, hint="use the form s3://bucket/folder/file.parquet"
        )
    if scheme == "hf":
        raise UsageError("hf:// is read-only", where=url, hint="write to s3://, gs:// or az://")
    variables = frozenset(
        (name, text) for name, text in os.environ.items() if name.startswith(_VARIABLE_PREFIXES)
    )
    return _store(f"{scheme}://{bucket}", variables), key


@cache
def _store(bucket: str, variables: frozenset[tuple[str, str]]) -> Any:
    """The client of a bucket; `variables` are part of the cache key."""
    _obstore(bucket)
    from obstore.store import from_url

    client = {
        "connect_timeout": timedelta(seconds=_CONNECT),
        "timeout": timedelta(seconds=_RESPONSE),
        "allow_http": _plain_http(),
    }
    retries = {"max_retries": _TRIES, "retry_timeout": timedelta(seconds=_ALL_TRIES)}
    with store_errors(bucket):
        return from_url(bucket, client_options=cast(Any, client), retry_config=cast(Any, retries))


def _obstore(url: str) -> Any:
    try:
        import obstore
    except ImportError as error:
        hint = "pip install obstore huggingface_hub"
        raise UsageError(
            "object stores require the package obstore", where=url, hint=hint
        ) from error
    return obstore


_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_SERVICE_ACCOUNT, or GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "hf": "HF_TOKEN",
}
# substrings of a store's error text, our message, and the hint
_KNOWN = (
    (("NoSuchBucket", "ContainerNotFound"), "no such bucket", "check the name of the bucket"),
    (
        ("PreconditionFailed", "412 Precondition"),
        "the object was changed while it was read",
        "run the command again",
    ),
    # without credentials, the client queries the metadata service of the machine
    (("169.254.169.254", "metadata.google"), "credentials are missing", "{variables}"),
    (("InvalidAccessKeyId", "SignatureDoesNotMatch"), "credentials are invalid", "{variables}"),
    (("401 Unauth", "403 Forbidden", "AccessDenied"), "access is denied", "{variables}"),
    (
        ("Missing", "must be specified", "not found in"),
        "a required setting of the object store is missing",
        "{variables}",
    ),
    (("301 Moved", "PermanentRedirect"), "the bucket is in another region", "set AWS_REGION"),
    (
        ("error sending request", "timed out", "dns error", "onnection"),
        "the object store does not respond",
        "check the network; for a private store, set AWS_ENDPOINT_URL",
    ),
)
_LONGEST = 300


@contextmanager
def store_errors(url: str, *, writing: bool = False) -> Iterator[None]:
    """Raise errors of the store's library as FileError."""
    try:
        yield
    except FileNotFoundError as error:
        if writing or is_about_bucket(error):
            raise store_error(url, str(error)) from error
        raise
    except OSError as error:
        if error.errno is not None:
            # an error of the local disk
            raise
        raise store_error(url, str(error)) from error
    except Exception as error:
        if not type(error).__module__.startswith(("obstore", "huggingface_hub", "httpx")):
            raise
        raise store_error(url, str(error)) from error


def is_about_bucket(error: FileNotFoundError) -> bool:
    """Return whether the whole bucket is missing, not only the object."""
    return any(word in str(error) for word in _KNOWN[0][0])


def store_error(url: str, text: str) -> FileError:
    """Convert the error text of a library to a FileError."""
    first = text.partition("\n\nDebug source")[0]
    unknown = FileError(
        f"the object store reports: {' '.join(first.split())[:_LONGEST]}", where=url
    )
    return known_problem(url, text) or unknown


def known_problem(url: str, text: str) -> FileError | None:
    """The FileError for a known error text, None for any other text."""
    for words, message, hint in _KNOWN:
        if any(word in text for word in words):
            variables = f"set {_VARIABLES[url.partition(':')[0]]}"
            return FileError(message, where=url, hint=hint.format(variables=variables))
    return None


@dataclass(frozen=True)
class StorePath:
    """The URL of an object or folder in a store, joined with '/' like a path."""

    url: str

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self.url.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last component."""
        return PurePosixPath(self.url).name


@dataclass(frozen=True)
class ObjectVersion:
    """Version of an object: its size in bytes and its ETag."""

    size: int
    etag: str

    @property
    def text(self) -> str:
        """Stands in for the hash of an object, which would require reading all of it."""
        return f"{self.size} bytes, ETag {self.etag}"


def parts_of(url: str) -> tuple[str, str, str]:
    """The scheme, the bucket or container, and the key."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return scheme, bucket, key


# files of Hugging Face repositories, hf://datasets/owner/name/file
_HUB_PREFIX = "hf://"
_HUB = "https://huggingface.co"


def stat_in_hub(url: str) -> ObjectVersion | None:
    """The current version of the file, None if it does not exist."""
    with store_errors(url):
        try:
            # only the full listing has the hash of the content
            info = _hub_files(url).info(_hub_name(url), refresh=True, expand_info=True)
        except FileNotFoundError:
            return None
    return ObjectVersion(info["size"], info["blob_id"]) if info["type"] == "file" else None


def list_in_hub(url: str) -> list[str]:
    """All files with this prefix, sorted by name."""
    name = _hub_name(url)
    with store_errors(url):
        try:
            names = _hub_files(url).find(name.rpartition("/")[0], refresh=True)
        except FileNotFoundError:
            names = []
    return [f"{_HUB_PREFIX}{each}" for each in sorted(names) if each.startswith(name)]


def read_in_hub(url: str, start: int, stop: int) -> bytes:
    """Read a range of bytes of a file."""
    with store_errors(url):
        return bytes(_hub_files(url).cat_file(_hub_name(url), start=start, end=stop))


def _hub_name(url: str) -> str:
    return url.removeprefix(_HUB_PREFIX)


def is_another_hub() -> bool:
    """Return whether HF_ENDPOINT names another hub, which polars cannot read."""
    return _hub_endpoint() not in (None, _HUB)


def _hub_endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _hub_files(url: str) -> Any:
    try:
        from huggingface_hub import HfFileSystem
    except ImportError as error:
        hint = "pip install obstore huggingface_hub"
        raise UsageError(
            "hf:// requires the package huggingface_hub", where=url, hint=hint
        ) from error
    return HfFileSystem(endpoint=_hub_endpoint())
