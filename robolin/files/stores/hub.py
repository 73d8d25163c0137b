"""Files of repositories on Hugging Face, `hf://datasets/owner/name/file`, which are only read."""

from __future__ import annotations

from typing import Any

from robolin.errors import UsageError
from robolin.files.stores.store_errors import store_errors
from robolin.files.stores.store_path import ObjectVersion

_BEGINNING = "hf://"


def found_in_hub(url: str) -> ObjectVersion | None:
    """The file as it is now, None if there is none."""
    with store_errors(url):
        try:
            told = _files(url).info(_name(url), refresh=True)
        except FileNotFoundError:
            return None
    # a commit never changes, and a file of it has one content
    return ObjectVersion(told["size"] or 0, told.get("blob_id") or "") if _is_file(told) else None


def listed_in_hub(url: str) -> list[str]:
    """All files whose names begin so, in the order of their names."""
    name = _name(url)
    with store_errors(url):
        try:
            told = _files(url).find(name.rpartition("/")[0])
        except FileNotFoundError:
            told = []
    return [f"{_BEGINNING}{each}" for each in sorted(told) if each.startswith(name)]


def bytes_in_hub(url: str, start: int, stop: int) -> bytes:
    """Some bytes of a file."""
    with store_errors(url):
        return bytes(_files(url).cat_file(_name(url), start=start, end=stop))


def _name(url: str) -> str:
    return url.removeprefix(_BEGINNING)


def _is_file(told: Any) -> bool:
    return bool(told["type"] == "file")


def _files(url: str) -> Any:
    try:
        from huggingface_hub import HfFileSystem
    except ImportError as error:
        hint = "pip install 'robolin[stores]'"
        raise UsageError("needs the package huggingface_hub", where=url, hint=hint) from error
    return HfFileSystem()
