"""An OpenAI-compatible service, spoken to over real HTTP on this machine."""

from __future__ import annotations

import email
import io
import json
import socket
import threading
import time
import wave
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from fake_services import FakeClock

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, Transcript, UtteranceError, Word, as_transcripts, require
from voxaudit.recognize.services.gate import Clock
from voxaudit.recognize.services.openai import OpenAI

KEY = "sk-very-secret-0123456789"
CLIP = Audio(np.linspace(-0.5, 0.5, 4000, dtype=np.float32), 16000)


class Service:
    """A server that records requests and answers with what it was told, the last answer again and again."""

    def __init__(self):
        self.requests = []
        self.answers = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests.append((self.path, dict(self.headers), form(self.headers, body)))
                answer = service.answers.pop(0) if len(service.answers) > 1 else service.answers[0]
                answer = answer(service.requests[-1]) if callable(answer) else answer
                status, content, headers = (*answer, {})[:3]
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False  # so that closing waits for them
        # A client that left, a handler that is meant to die: nothing to print.
        self.server.handle_error = lambda *arguments: None
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def form(headers, body):
    """Parse multipart/form-data with the standard library's parser: [(name, file name, bytes)]."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(head + body).get_payload()
    names = [(p.get_param("name", header="Content-Disposition"), p.get_filename()) for p in parts]
    return [(*name, part.get_payload(decode=True)) for name, part in zip(names, parts, strict=True)]


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    service = Service()
    yield service
    service.close()


def hear(service, *clips, clock=None, **settings):
    settings = {"url": service.url, "retries": 0, **settings}
    clips = clips or (CLIP,)
    transcribe = OpenAI(**settings).client(Clock() if clock is None else Clock(clock.now, clock.sleep))
    return as_transcripts(transcribe(clips), len(clips))


def test_the_request_is_what_the_interface_documents(service):
    service.answers = [(200, {"text": "Hello there."})]
    answers = hear(service, model="whisper-1", language="en", prompt="Käse, “quotes”\nand lines")
    assert answers == [Transcript("Hello there.")]
    ((path, headers, fields),) = service.requests
    assert path == "/v1/audio/transcriptions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert {name: data.decode() for name, file, data in fields if file is None} == {
        "model": "whisper-1",
        "response_format": "json",
        "temperature": "0",
        "language": "en",
        "prompt": "Käse, “quotes”\nand lines",
    }
    ((name, file, data),) = [field for field in fields if field[1]]
    assert (name, file) == ("file", "audio.wav")
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth(), sound.getnframes()) == (
            16000,
            1,
            2,
            4000,
        )


def test_verbose_answers_have_words_and_confidence(service):
    service.answers = [
        (
            200,
            {
                "task": "transcribe",
                "text": "Hello there.",
                "words": [
                    {"word": "Hello", "start": 0.0, "end": 0.4},
                    {"word": "there", "start": 0.5, "end": 0.9},
                ],
                "segments": [
                    {"avg_logprob": np.log(0.5), "tokens": [1, 2]},
                    {"avg_logprob": np.log(0.25), "tokens": [1, 2]},
                ],
            },
        )
    ]
    (answer,) = hear(service, response_format="verbose_json")
    assert answer.words == (Word("Hello", 0.0, 0.4), Word("there", 0.5, 0.9))
    assert answer.confidence == pytest.approx(np.sqrt(0.5 * 0.25))
    fields = service.requests[0][2]
    assert [data for name, _, data in fields if name == "timestamp_granularities[]"] == [b"word", b"segment"]


def length_of(request):
    with wave.open(io.BytesIO(next(data for _, file, data in request[2] if file))) as sound:
        return sound.getnframes()


def test_a_batch_is_asked_at_once_and_answered_in_order(service):
    meet = threading.Barrier(3, timeout=20)

    def answer(request):
        meet.wait()
        time.sleep(0.05 * (length_of(request) == 3000))
        return 200, {"text": str(length_of(request))}

    service.answers = [answer]
    clips = [Audio(np.zeros(n, np.float32), 16000) for n in (3000, 2000, 4000)]
    assert [a.text for a in hear(service, *clips, concurrency=3)] == ["3000", "2000", "4000"]
    assert OpenAI(concurrency=3).batch_size == 3


def test_one_bad_utterance_does_not_cost_the_batch(service):
    service.answers = [
        lambda r: (400, {"error": {"message": "bad"}}) if length_of(r) == 2000 else (200, {"text": "a"})
    ]
    clips = [Audio(np.zeros(n, np.float32), 16000) for n in (3000, 2000, 4000)]
    first, second, third = OpenAI(url=service.url, retries=0).load()(clips)
    assert first == third == Transcript("a")
    assert isinstance(second, UtteranceError)
    assert "HTTP 400" in str(second)


def test_audio_too_short_for_services_is_filled_up(service):
    service.answers = [(200, {"text": ""})]
    hear(service, Audio(np.ones(1, np.float32), 16000))
    assert length_of(service.requests[0]) == 1600


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, b""), "did not answer with JSON: nothing"),
        ((200, b"\xff\xfe"), "did not answer with JSON"),
        ((200, b'{"text": "half an ans'), 'did not answer with JSON: {"text": "half an ans'),
        ((200, ["hello"]), "answered with a JSON list, not an object"),
        ((200, {"error": {"message": "model overloaded", "code": "busy"}}), "model overloaded busy"),
        ((200, {"error": "out of memory"}), "out of memory"),
        ((200, {"txt": "hello"}), "answer has no 'text'"),
        ((200, {"text": None}), "returned None instead of text"),
        ((200, {"text": "a", "words": [{"word": "a", "start": 0}]}), "returned None as a word's end"),
        ((200, b'{"text": "a\\ud800"}'), "lone surrogate"),
        ((200, b'{"text": "hello"}', {"Content-Length": "1000"}), "the answer broke off"),
        ((400, {"error": {"message": "Invalid file format."}}), "HTTP 400 Bad Request: Invalid file format."),
        ((413, b"<html><h1>too large</h1></html>"), "HTTP 413 Request Entity Too Large"),
        ((422, {"detail": [{"loc": ["body", "model"], "msg": "unknown"}]}), "unknown"),
        ((500, b"oops"), "HTTP 500 Internal Server Error: oops"),
        ((503, b""), "HTTP 503 Service Unavailable"),
    ],
)
def test_every_way_to_fail_is_one_line_that_names_the_service(service, answer, message):
    service.answers = [answer]
    with pytest.raises(UtteranceError) as caught:
        hear(service)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
            "HTTP 401 .* provided: \\*\\*\\*",
        ),
        ((403, b"no"), "HTTP 403 Forbidden: no"),
        ((402, b"pay"), "HTTP 402 Payment Required: pay"),
        (
            (429, {"error": {"message": "quota", "code": "insufficient_quota"}}),
            "HTTP 429 .*insufficient_quota",
        ),
        (
            (429, {"error": {"message": "slow"}}, {"Retry-After": "3600"}),
            "slow; it asks to wait 3600 s: run the same command again after that",
        ),
        (
            (200, b"<!DOCTYPE html>\n<html><body>Sign in</body></html>"),
            "answered with a web page: <!DOCTYPE html>",
        ),
        (
            (404, {"error": {"message": "The model `x` does not exist"}}),
            "HTTP 404 Not Found: The model `x` does not",
        ),
        ((302, b"", {"Location": "http://127.0.0.1:9/steal"}), "HTTP 302 Found. It redirects"),
        ((308, b"", {"Location": "/v2"}), "HTTP 308 Permanent Redirect. It redirects"),
    ],
)
def test_what_no_audio_could_mend_is_an_error_of_the_recognizer(service, answer, message):
    service.answers = [answer]
    with pytest.raises(RecognizerError, match=message) as caught:
        hear(service)
    assert KEY not in str(caught.value)
    assert len(service.requests) == 1


def test_a_busy_service_is_asked_again_after_the_time_it_names(service):
    clock = FakeClock()
    date = {"Retry-After": formatdate(time.time() + 20, usegmt=True)}
    busy = [
        (429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}),
        (503, b"", date),
        (502, b"", {"Retry-After": "soon"}),
        (500, b""),
    ]
    service.answers = [*busy, (200, {"text": "at last"})]
    assert hear(service, retries=4, clock=clock)[0].text == "at last"
    waits = [wait for wait in clock.waits if wait > 0.01]
    lengths = [(7, 7.7), (18, 22), (1, 2), (2, 4)]
    assert all(low <= wait <= high for wait, (low, high) in zip(waits, lengths, strict=True)), waits


def test_patience_ends(service):
    service.answers = [(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})]
    with pytest.raises(UtteranceError, match="HTTP 429 Too Many Requests: slow down after 3 tries"):
        hear(service, retries=2, clock=FakeClock())
    assert len(service.requests) == 3


def test_patience_is_for_all_tries_together(service):
    service.answers = [(429, {"error": {"message": "slow down"}}, {"Retry-After": "40"})]
    with pytest.raises(UtteranceError, match="slow down after 3 tries"):
        hear(service, retries=20, clock=FakeClock(), patience=100)
    assert len(service.requests) == 3


def test_a_service_that_does_not_answer_in_time(service):
    release = threading.Event()
    service.answers = [lambda request: (release.wait(20), (200, {"text": "late"}))[1]]
    with pytest.raises(UtteranceError, match=r"/v1/audio/transcriptions: no answer within 0.2 s"):
        hear(service, timeout=0.2)
    release.set()


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    recognizer = OpenAI(url=f"http://127.0.0.1:{port}/v1", retries=0)
    with pytest.raises(
        RecognizerError, match=rf"127.0.0.1:{port}/v1/audio/transcriptions: cannot be reached .Connection"
    ):
        recognizer.load()([CLIP])


def test_a_connection_that_is_cut(service):
    service.answers = [lambda request: 1 / 0]  # the handler dies without an answer
    with pytest.raises(UtteranceError, match="the connection was closed without an answer"):
        hear(service)


def test_the_key_is_only_in_the_environment(service, monkeypatch):
    recognizer = OpenAI(url=service.url)
    transcribe = recognizer.load()
    shown = [
        repr(recognizer),
        str(recognizer.fingerprint()),
        repr(vars(transcribe)),
        str(recognizer.__dict__),
    ]
    assert all(KEY not in text for text in shown)
    monkeypatch.delenv("OPENAI_API_KEY")
    service.answers = [(200, {"text": "no key needed here"})]
    assert hear(service)[0].text == "no key needed here"
    assert "Authorization" not in service.requests[0][1]
    with pytest.raises(
        RecognizerError, match=r"https://api.openai.com/v1 needs a key; .* variable OPENAI_API_KEY"
    ):
        require(OpenAI())
    monkeypatch.setenv("MY_KEY", "a\nb")
    with pytest.raises(RecognizerError, match="MY_KEY holds no valid key") as caught:
        require(OpenAI(key_env="MY_KEY"))
    assert "a\nb" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pw@host/v1",
        "https://host/v1?api_key=abc",
        "https://host/v1?x=1&sig=abc",
        "host/v1",
        "http://[::1/",
    ],
)
def test_urls_with_secrets_or_mistakes_are_refused_without_repeating_them(url):
    with pytest.raises(RecognizerError, match="recognizer 'openai': url") as caught:
        OpenAI(url=url)
    assert "abc" not in str(caught.value)
    assert "pw" not in str(caught.value).replace("password", "")


@pytest.mark.parametrize(
    ("path", "asked"), [("", "/audio/transcriptions"), ("/v1/", "/v1/audio/transcriptions")]
)
def test_base_urls(service, path, asked):
    service.answers = [(200, {"text": ""})]
    hear(service, url=service.url.removesuffix("/v1") + path)
    hear(service, url=service.url.removesuffix("/v1") + asked + "?api-version=1")
    assert [request[0] for request in service.requests] == [asked, asked + "?api-version=1"]


def test_the_fingerprint_follows_what_is_sent():
    base = OpenAI()
    changed = [
        OpenAI(**{name: value})
        for name, value in {
            "model": "m", "url": "http://localhost/v1", "language": "en", "prompt": "p", "temperature": 0.5,
            "response_format": "verbose_json", "rate": 8000, "version": "2",
        }.items()
    ]  # fmt: skip
    assert len({str(r.fingerprint()) for r in [base, *changed]}) == 9
    assert OpenAI(concurrency=9, timeout=9, retries=9, key_env="K").fingerprint() == base.fingerprint()
