"""Read files of Hugging Face repositories, `hf://datasets/owner/name/file`."""

from __future__ import annotations

import os
from typing import Any

from robolin.errors import UsageError
from robolin.io.stores.objects import ObjectVersion, store_errors

_BEGINNING = "hf://"
_HUB = "https://huggingface.co"


def stat_in_hub(url: str) -> ObjectVersion | None:
    """The current version of the file, None if it does not exist."""
    with store_errors(url):
        try:
            # only the full listing has the hash of the content
            info = _files(url).info(_name(url), refresh=True, expand_info=True)
        except FileNotFoundError:
            return None
    return ObjectVersion(info["size"], info["blob_id"]) if info["type"] == "file" else None


def list_in_hub(url: str) -> list[str]:
    """All files with this prefix, sorted by name."""
    name = _name(url)
    with store_errors(url):
        try:
            names = _files(url).find(name.rpartition("/")[0], refresh=True)
        except FileNotFoundError:
            names = []
    return [f"{_BEGINNING}{each}" for each in sorted(names) if each.startswith(name)]


def read_in_hub(url: str, start: int, stop: int) -> bytes:
    """Read a range of bytes of a file."""
    with store_errors(url):
        return bytes(_files(url).cat_file(_name(url), start=start, end=stop))


def _name(url: str) -> str:
    return url.removeprefix(_BEGINNING)


def is_another_hub() -> bool:
    """Return whether HF_ENDPOINT names another hub, which polars cannot read."""
    return _endpoint() not in (None, _HUB)


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _files(url: str) -> Any:
    try:
        from huggingface_hub import HfFileSystem
    except ImportError as error:
        hint = "pip install 'robolin[stores]'"
        raise UsageError("needs the package huggingface_hub", where=url, hint=hint) from error
    return HfFileSystem(endpoint=_endpoint())
