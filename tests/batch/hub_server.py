"""A local server with the documented API of the Hugging Face hub.

It has only what reading needs: a repository, its tree, information on paths, and bytes of files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "somebody/logs"
_API, _FILES = f"/api/datasets/{REPOSITORY}", f"/datasets/{REPOSITORY}/resolve/main/"
_COMMIT = {"id": "0" * 40, "title": "logs", "date": "2026-01-01T00:00:00.000Z"}


@contextmanager
def running_hub(files: dict[str, bytes]) -> Iterator[str]:
    """The address of a hub with a dataset of these files, which may change meanwhile."""

    class Hub(_Hub):
        held = files

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Hub(BaseHTTPRequestHandler):
    held: dict[str, bytes]

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path.startswith(_FILES):
            self._send_file(path.removeprefix(_FILES))
        elif path.startswith(f"{_API}/tree/main"):
            folder = path.removeprefix(f"{_API}/tree/main").strip("/")
            names = _below(folder, self.held, all_of_them=query.get("recursive") == ["true"])
            self._send([_entry(name, self.held) for name in names])
        elif path == _API:
            self._send({"id": REPOSITORY, "sha": "0" * 40, "siblings": [], "tags": []})
        else:
            self._refuse("RepoNotFound")

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        names = parse_qs(text).get("paths", [])
        self._send([_entry(name, self.held) for name in names if name in self.held])

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _send_file(self, name: str) -> None:
        if name not in self.held:
            self._refuse("EntryNotFound")
            return
        data = self.held[name]
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if first:
            data = data[int(first) : int(last) + 1]
        self._answer(data, 206 if first else 200)

    def _refuse(self, why: str) -> None:
        self._answer(b"{}", 404, {"X-Error-Code": why})

    def _send(self, document: Any) -> None:
        self._answer(json.dumps(document).encode(), 200, {"Content-Type": "application/json"})

    def _answer(self, data: bytes, code: int, more: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, text in {**(more or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)


def _below(folder: str, files: dict[str, bytes], *, all_of_them: bool) -> list[str]:
    """Files and folders directly in a folder, or all files below it."""
    begin = f"{folder}/" if folder else ""
    inside = [name.removeprefix(begin) for name in files if name.startswith(begin)]
    return sorted({begin + (name if all_of_them else name.partition("/")[0]) for name in inside})


def _entry(name: str, files: dict[str, bytes]) -> dict[str, Any]:
    if name not in files:
        return {"type": "directory", "path": name, "oid": "0" * 40, "size": 0}
    content = hashlib.sha1(files[name]).hexdigest()
    size = len(files[name])
    return {"type": "file", "path": name, "oid": content, "size": size, "lastCommit": _COMMIT}
