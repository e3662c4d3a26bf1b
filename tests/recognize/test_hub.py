"""Models by their name at the Hugging Face Hub, against a hub of our own over HTTP: fetched only when told to."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("huggingface_hub")

from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.recognize import MissingModelError, RecognizerError, make_recognizer
from voxaudit.recognize.weights import hub
from voxaudit.recognize.weights.fetch import model_source, obtain

OLD, NEW = "0" * 39 + "1", "0" * 39 + "2"
FILES = {
    "config.json": b'{"model_type": "toy"}',
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"the same, pickled",
    "tf_model.h5": b"the same, for another library",
}


class Hub:
    """One model with two commits, as the Hub's HTTP interface shows it."""

    def __init__(self):
        self.requests, self.main = [], OLD
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.requests.append(f"{self.command} {self.path}")
                hub.answer(self)

            do_HEAD = do_GET  # noqa: N815 - the standard library's names

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        path = handler.path.partition("?")[0]
        if path.startswith("/api/models/toys/small/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in FILES.items()
            ]
            return self.send(handler, 200, tree)
        if path.startswith("/api/models/toys/small"):
            revision = path.rpartition("/revision/")[2] if "/revision/" in path else "main"
            commit = {"main": self.main, OLD: OLD, NEW: NEW}.get(revision)
            if commit:
                siblings = [{"rfilename": name, "size": len(data)} for name, data in FILES.items()]
                card = {"license": "mit"}
                return self.send(
                    handler, 200, {"id": "toys/small", "sha": commit, "siblings": siblings, "cardData": card}
                )
        if path.startswith("/toys/small/resolve/"):
            commit, _, name = path.removeprefix("/toys/small/resolve/").partition("/")
            if name in FILES:
                content = FILES[name] + (commit.encode() if name == "model.safetensors" else b"")
                return self.send(handler, 200, content, commit)
        return self.send(handler, 404, {"error": "Repository not found"})

    def send(self, handler, status, content, commit=None):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        if status == 404:
            handler.send_header("X-Error-Code", "RepoNotFound")
        if commit:
            handler.send_header("X-Repo-Commit", commit)
            handler.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)


@pytest.fixture
def toys(monkeypatch, tmp_path):
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True, raising=False)
    yield server
    server.close()


def test_nothing_is_downloaded_unless_told(toys, capsys):
    with pytest.raises(MissingModelError, match=r"'hf:toys/small' .*voxaudit models fetch hf:toys/small$"):
        model_source("toy", "toys/small")
    assert main(["models", "path", "hf:toys/small"]) == 2
    assert toys.requests == []
    assert main(["models", "fetch", "hf:toys/small"]) == 0
    folder, identity = model_source("toy", "hf:toys/small")
    assert capsys.readouterr().out.strip() == str(folder)
    assert identity == f"toys/small@{OLD}"
    # Weights for other libraries stay where they are, as do pickles where there is something safer.
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]


def test_a_model_stays_what_it_was_until_it_is_fetched_again(toys):
    hub.fetch("toys/small")
    asked = len(toys.requests)
    toys.main = NEW
    assert model_source("toy", "toys/small")[1] == f"toys/small@{OLD}"
    assert len(toys.requests) == asked
    hub.fetch("toys/small")
    assert model_source("toy", "toys/small")[1] == f"toys/small@{NEW}"
    assert model_source("toy", f"hf:toys/small@{OLD}")[1] == f"toys/small@{OLD}"  # both are there
    assert model_source("toy", "toys/small", OLD)[1] == f"toys/small@{OLD}"
    assert main(["models", "remove", "hf:toys/small"]) == 0
    assert hub.find("toys/small") is None
    assert not hub.remove("toys/small")


def test_the_librarys_own_names_lead_to_the_hub(toys):
    hub.fetch("toys/small")
    table = {"tiny": "toys/small"}
    assert model_source("toy", "tiny", names=lambda: table)[1] == f"toys/small@{OLD}"
    assert (
        model_source("toy", "tiny", names=lambda: table, one_file="*.safetensors")[0].name
        == "model.safetensors"
    )
    with pytest.raises(
        RecognizerError, match=r"no model of that name. Did you mean: tiny\? Names: tiny, hf:ORG/NAME"
    ):
        model_source("toy", "tinny", names=lambda: table)
    with pytest.raises(RecognizerError, match=r"2 files \* there; name one of them"):
        model_source("toy", "tiny", names=lambda: table, one_file="*")


def test_download_is_consent_for_what_a_recognizer_lacks(toys):
    class Toy:
        def require(self):
            model_source("toy", "hf:toys/small")

    obtain(Toy())
    assert hub.find("toys/small").name == OLD
    asked = len(toys.requests)
    obtain(Toy())  # it is there
    obtain(make_recognizer("python:json:dumps"))  # needs none
    assert len(toys.requests) == asked


def test_what_cannot_be_fetched_is_one_line(toys, capsys, monkeypatch):
    with pytest.raises(VoxauditError, match=r"^hf:toys/none: cannot be fetched \(") as caught:
        hub.fetch("toys/none")
    assert "\n" not in str(caught.value)
    assert main(["models", "fetch", "hf:nonsense"]) == 2
    assert "hf:ORG/NAME" in capsys.readouterr().err
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(VoxauditError, match="cannot be fetched"):
        hub.fetch("toys/small")
