"""Other stores than S3: Google's, simulated by a server with both APIs, Azure's and the hub's."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from robolin.errors import FileError
from robolin.io import object_stores
from robolin.io.locations import StorePath, content
from tests.batch.hub_server import REPOSITORY, running_hub
from tests.batch.sample_recordings import write_recordings
from tests.batch.test_stores import _as_parquet
from tests.cli.command import robolin

pytest.importorskip("obstore")
ASKED = ["inverse", "two-link"]

# the default account of Azurite
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    write_recordings(folder)
    _as_parquet(folder / "run_2" / "a.csv")
    return folder


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of Google's, whose XML API is that of S3 but for how one signs."""
    server: Any = pytest.importorskip("moto.moto_server.werkzeug_app")
    serving: Any = pytest.importorskip("werkzeug.serving")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = server.DomainDispatcherApplication(server.create_backend_app)

    def signed(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        where = "somebody/20260101/us-east-1/s3/aws4_request"
        environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={where}, Signature=0"
        return store(environ, start)

    running = serving.make_server("127.0.0.1", 0, signed, threaded=True)
    Thread(target=running.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{running.server_port}"
    urllib.request.urlopen(urllib.request.Request(f"{url}/fleet", method="PUT")).close()
    account = {"gcs_base_url": url, "disable_oauth": True}
    nobody = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    (tmp_path / "account.json").write_text(json.dumps({**account, **nobody}))
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
    yield "gs://fleet"
    running.shutdown()


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A container of Azure, simulated by Azurite."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not installed (npm install -g azurite)")
    options = ["--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
    words = [program, *options, "--blobPort", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        url = re.findall(r"http://[0-9.:]+", line)[0]
        for name, text in {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": url,
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }.items():
            monkeypatch.setenv(name, text)
        _make_container(url, "fleet")
        yield "az://fleet"
        process.kill()


def _make_container(url: str, name: str) -> None:
    """Create a container with a request signed as Azure requires."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    header_lines = "".join(f"{key}:{text}\n" for key, text in headers.items())
    text = "PUT" + 12 * "\n" + f"{header_lines}/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    address = f"{url}/{ACCOUNT}/{name}?restype=container"
    request = urllib.request.Request(address, method="PUT", headers=headers)
    urllib.request.urlopen(request).close()


@pytest.mark.slow
@pytest.mark.parametrize("store", ["google", "azure"])
def test_parts_in_other_stores(
    logs: Path, tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    """Merged parts in a bucket equal the result without parts; damaged parts are reported."""
    bucket = request.getfixturevalue(store)
    for path in logs.rglob("*.*"):
        object_stores.put(f"{bucket}/{path.relative_to(logs).as_posix()}", path)
    ask = [*ASKED, "--trajectory", f"{bucket}/run_*/*", "--trajectory", f"{bucket}/c.npz"]
    into = ["-o", f"{bucket}/out", "--part-rows", "100", "--resume"]
    for number, code in ((2, 1), (1, 0)):
        done = robolin(*ask, *into, "--shard", f"{number}/2")
        assert done.code == 0, done.err
        assert robolin("status", f"{bucket}/out").code == code
    first = f"{bucket}/out/part-00000.parquet"
    right = content(StorePath(first)) or b""
    object_stores.put(first, right[:-40])
    assert "1 damaged" in robolin("status", f"{bucket}/out").out
    assert "1 part written, 3 skipped" in robolin(*ask, *into).err
    assert content(StorePath(first)) == right
    assert robolin("merge", f"{bucket}/out", "-o", tmp_path / "merged.npz").code == 0
    assert robolin(*ask, "-o", tmp_path / "plain.npz").code == 0
    assert (tmp_path / "merged.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()
    version = object_stores.require_exists(f"{bucket}/c.npz")
    object_stores.put(f"{bucket}/c.npz", b"another")
    with pytest.raises(FileError, match="changed while"):
        object_stores.bytes_between(f"{bucket}/c.npz", version, 0, 4)
    for name, message in (("fleet/none.csv", "no such object"), ("none/*.csv", "no such bucket")):
        refused = robolin(*ASKED, "--trajectory", f"{bucket[:5]}{name}")
        assert (refused.code, message in refused.err) == (4, True), refused.err


@pytest.mark.slow
def test_recordings_on_a_hub(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a dataset are read as those of a disk; one that is replaced is another one."""
    pytest.importorskip("huggingface_hub")
    files = {
        path.relative_to(logs).as_posix(): path.read_bytes() for path in sorted(logs.rglob("*.*"))
    }
    with running_hub(files) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        dataset = f"hf://datasets/{REPOSITORY}"
        ask = ["--trajectory", f"{dataset}/run_*/*", "--trajectory", f"{dataset}/c.npz"]
        into = ["-o", tmp_path / "out", "--part-rows", "100"]
        done = robolin(*ASKED, *ask, *into)
        assert done.code == 0, done.err
        assert robolin("merge", tmp_path / "out", "-o", tmp_path / "there.csv").code == 0
        here = [word.replace(dataset, str(logs)) for word in ask]
        assert robolin(*ASKED, *here, "-o", tmp_path / "here.csv").code == 0
        assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
        # as many bytes, but others
        files["run_1/b.csv"] = files["run_1/b.csv"].replace(b"1", b"2")
        assert "'run_1/b.csv' was changed" in robolin(*ASKED, *ask, *into, "--resume").err
        for name in (f"{REPOSITORY}/none.csv", "somebody/none/a.csv"):
            refused = robolin(*ASKED, "--trajectory", f"hf://datasets/{name}")
            assert (refused.code, "no such object" in refused.err) == (4, True), refused.err
