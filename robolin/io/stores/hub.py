"""Files of repositories on Hugging Face, `hf://datasets/owner/name/file`, which are only read."""

from __future__ import annotations

import os
from typing import Any

from robolin.errors import UsageError
from robolin.io.stores.objects import ObjectVersion, store_errors

_BEGINNING = "hf://"
_HUB = "https://huggingface.co"


def found_in_hub(url: str) -> ObjectVersion | None:
    """The file as it is now, None if there is none."""
    with store_errors(url):
        try:
            # without all that is known of a file its content has no name
            told = _files(url).info(_name(url), refresh=True, expand_info=True)
        except FileNotFoundError:
            return None
    return ObjectVersion(told["size"], told["blob_id"]) if told["type"] == "file" else None


def listed_in_hub(url: str) -> list[str]:
    """All files whose names begin so, in the order of their names."""
    name = _name(url)
    with store_errors(url):
        try:
            told = _files(url).find(name.rpartition("/")[0], refresh=True)
        except FileNotFoundError:
            told = []
    return [f"{_BEGINNING}{each}" for each in sorted(told) if each.startswith(name)]


def bytes_in_hub(url: str, start: int, stop: int) -> bytes:
    """Some bytes of a file."""
    with store_errors(url):
        return bytes(_files(url).cat_file(_name(url), start=start, end=stop))


def _name(url: str) -> str:
    return url.removeprefix(_BEGINNING)


def is_another_hub() -> bool:
    """Whether HF_ENDPOINT names a hub that polars, which knows one only, does not read from."""
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
