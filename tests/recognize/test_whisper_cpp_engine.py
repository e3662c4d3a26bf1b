"""whisper.cpp's server as its documentation describes it, on this machine, spoken to over real HTTP."""

from __future__ import annotations

import email
import io
import json
import threading
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, UtteranceError, make_recognizer, require
from voxaudit.recognize.check import check_recognizer
from voxaudit.recognize.whisper_cpp import WhisperCpp, parse_answer

CLIP = Audio(np.linspace(-0.5, 0.5, 32_000, dtype=np.float32), 16_000)


class Server:
    """Answers as whisper-server does: a form in, `{"text": ...}` out, and errors as JSON, also with status 200."""

    def __init__(self):
        self.forms = []
        self.paths = []
        self.answer = None
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with server.lock:
                    status, document = server.infer(self.path, self.headers, body)
                data = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = False
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def infer(self, path, headers, body):
        self.paths.append(path)
        if not path.endswith("/inference"):
            return 404, b"File Not Found (" + path.encode() + b")"
        head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + body).get_payload()
        form = {
            part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True)
            for part in parts
        }
        self.forms.append(form)
        if "file" not in form:
            return 200, {"error": "no 'file' field in the request"}
        if self.answer is not None:
            return self.answer
        try:
            with wave.open(io.BytesIO(form["file"])) as sound:
                rate, count = sound.getframerate(), sound.getnframes()
                samples = np.frombuffer(sound.readframes(count), "<i2")
        except (wave.Error, EOFError):
            return 200, {"error": "failed to read WAV file"}
        if rate != 16_000:
            return 200, {"error": "failed to read WAV file"}
        if count < 16_000:  # the program warns and hears nothing
            return 200, {"text": ""}
        return 200, {"text": f" Heard {count}.\n Loudest {int(np.abs(samples).max())}.\n"}

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    server = Server()
    yield server
    server.close()


def hear(server, clip=CLIP, **settings):
    return WhisperCpp(url=server.url, retries=0, **settings).load()([clip])[0]


def test_the_request_is_what_the_server_documents(server):
    answer = hear(server, language="en", prompt="names: Käse")
    assert answer.text == "Heard 32000. Loudest 16384."
    assert server.paths == ["/inference"]
    (form,) = server.forms
    assert form.pop("file")[:4] == b"RIFF"
    assert {name: value.decode() for name, value in form.items()} == {
        "response_format": "json",
        "temperature": "0.0",
        "temperature_inc": "0.0",
        "language": "en",
        "prompt": "names: Käse",
    }


def test_the_address_may_have_a_path_of_its_own(server):
    for url in (f"{server.url}/whisper/", f"{server.url}/whisper/inference"):
        WhisperCpp(url=url, retries=0).load()([CLIP])
    assert server.paths == ["/whisper/inference"] * 2


def test_short_audio_is_filled_up_to_what_the_program_hears(server):
    assert hear(server, Audio(np.ones(1, np.float32), 16_000)).text.startswith("Heard 17600.")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, {"error": "failed to read WAV file"}), "failed to read WAV file"),
        ((200, {"error": "failed to process audio"}), "failed to process audio"),
        ((400, {"error": "no 'file' field in the request"}), "HTTP 400"),
        ((200, {"status": "ok"}), "no 'text'"),
        ((200, {"text": None}), "no 'text'"),
        ((200, b""), "nothing"),
    ],
)
def test_every_way_to_fail_is_one_line(server, answer, message):
    server.answer = answer
    error = hear(server)
    assert isinstance(error, UtteranceError)
    assert message in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("answer", "message"),
    [((404, b"File Not Found"), "HTTP 404"), ((200, b"<html>whisper.cpp</html>"), "a web page")],
)
def test_a_wrong_address_stops_the_run(server, answer, message):
    server.infer = lambda *arguments: answer
    with pytest.raises(RecognizerError, match=message):
        hear(server)


def test_nothing_is_remembered(server):
    clips = [Audio(np.full(n, 0.001 * n / 16_000, np.float32), 16_000) for n in (20_000, 30_000, 40_000)]
    result = check_recognizer(WhisperCpp(url=server.url), clips, long_seconds=2)
    assert [check for check in result.checks if not check.passed] == []


def test_what_the_server_was_started_with_is_part_of_the_fingerprint():
    require(WhisperCpp())
    assert WhisperCpp(model="base.en").fingerprint() != WhisperCpp(model="tiny.en").fingerprint()
    assert WhisperCpp(timeout=5).fingerprint() == WhisperCpp().fingerprint()
    assert make_recognizer("whisper_cpp:http://127.0.0.1:9000,language=en").url == "http://127.0.0.1:9000"
    with pytest.raises(RecognizerError, match="'whisper_cpp': url"):
        WhisperCpp(url="localhost:8080")


def test_segments_are_lines_and_become_one_text():
    assert parse_answer({"text": " One two.\n Three.\n"}).text == "One two. Three."
