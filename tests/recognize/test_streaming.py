"""Recognizers that answer while they listen: sessions, clocks, and services at the wire."""

from __future__ import annotations

import json
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, UtteranceError, make_recognizer, streaming
from voxaudit.recognize.base import as_transcript
from voxaudit.recognize.streaming import FAST, REAL_TIME, LocalSession, Said, listen

TONE = Audio(np.sin(np.arange(8_000) / 5.0).astype(np.float32), 16_000)


class Counting(LocalSession):
    """Says how many chunks it has, twice each, and is sure of them after every third."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def send(self, samples):
        self.sizes.append(len(samples))
        count = len(self.sizes)
        said = " ".join(["word"] * (count % 3 or 3))
        self.waiting += [Said(said, False), Said(said, False)]
        if count % 3 == 0:
            self.waiting.append(Said(said, True))

    def end(self):
        self.waiting.append(Said("end", True))
        self.over = True


def test_messages_carry_what_was_sent_and_the_clock_of_real_time_without_its_waiting():
    session = Counting()
    heard = listen(session, TONE, chunk=0.1, pace=FAST)
    assert session.sizes == [1600] * 5
    assert heard.text == "word word word end"
    assert [(one.text.count("word"), one.final, one.sent_s) for one in heard.messages] == [
        (1, False, 0.1), (2, False, 0.2), (3, False, 0.3), (3, True, 0.3), (1, False, 0.4), (2, False, 0.5),
        (0, True, 0.5),
    ]  # fmt: skip
    times = [one.received_s for one in heard.messages]
    assert times == sorted(times)
    assert all(one.received_s >= one.sent_s for one in heard.messages)


def test_at_real_time_a_chunk_is_handed_over_when_it_was_spoken():
    short = Audio(TONE.samples[:1600], 16_000)
    heard = listen(Counting(), short, chunk=0.05, pace=REAL_TIME)
    assert [one.sent_s for one in heard.messages] == [0.05, 0.1, 0.1]
    assert all(one.received_s >= one.sent_s for one in heard.messages)


def test_a_partial_text_that_is_taken_back_is_a_message():
    class Unsure(Counting):
        def send(self, samples):
            self.waiting.append(Said("oh" if len(self.sizes) == 1 else "", False))
            self.sizes.append(1)

    heard = listen(Unsure(), TONE, chunk=0.1, pace=FAST)
    assert [(one.text, one.final) for one in heard.messages] == [("oh", False), ("", False), ("end", True)]


# sherpa-onnx: the library's calls, by a stand-in; no online model is in a package.


def fake_sherpa(monkeypatch):
    class Stream:
        def __init__(self):
            self.samples, self.start, self.done = 0, 0, 0

        def accept_waveform(self, rate, samples):
            assert (rate, samples.dtype) == (16_000, np.float32)
            self.samples += len(samples)

        def input_finished(self):
            pass

    class Online:
        made = None

        @classmethod
        def from_transducer(cls, **options):
            cls.made = options
            return cls()

        def create_stream(self):
            return Stream()

        def is_ready(self, stream):
            return stream.done < stream.samples // 1600

        def decode_stream(self, stream):
            stream.done += 1

        def get_result(self, stream):
            return " ".join(f"w{n}" for n in range(stream.start, stream.done))

        def is_endpoint(self, stream):
            return stream.done - stream.start >= 3

        def reset(self, stream):
            stream.start = stream.done

    module = SimpleNamespace(OnlineRecognizer=Online, __spec__=SimpleNamespace(name="sherpa_onnx"))
    monkeypatch.setitem(sys.modules, "sherpa_onnx", module)
    return Online


def test_sherpa_onnx_gives_finals_at_endpoints_and_the_rest_at_the_end(monkeypatch, tmp_path):
    online = fake_sherpa(monkeypatch)
    for name in ("encoder.onnx", "encoder.int8.onnx", "decoder.onnx", "joiner.onnx", "tokens.txt"):
        (tmp_path / name).write_text("x")
    recognizer = make_recognizer("sherpa_onnx_streaming", model=str(tmp_path))
    heard = recognizer.load()([TONE])[0]
    assert online.made["encoder"].endswith("encoder.onnx")
    assert online.made["enable_endpoint_detection"] is True
    assert [(one.text, one.final) for one in heard.messages][:4] == [
        ("w0", False), ("w0 w1", False), ("w0 w1 w2", True), ("w3", False),
    ]  # fmt: skip
    assert heard.text.split()[:5] == ["w0", "w1", "w2", "w3", "w4"]


def test_sherpa_onnx_names_the_file_that_is_missing(monkeypatch, tmp_path):
    fake_sherpa(monkeypatch)
    with pytest.raises(RecognizerError, match=r"\*encoder\*.onnx"):
        make_recognizer("sherpa_onnx_streaming", model=str(tmp_path)).require()


def test_the_kinds_are_those_of_the_library():
    sherpa_onnx = pytest.importorskip("sherpa_onnx")
    import inspect

    from voxaudit.recognize.sherpa_onnx import ONLINE_KINDS

    online = sherpa_onnx.OnlineRecognizer
    assert set(ONLINE_KINDS) == {name[5:] for name in dir(online) if name.startswith("from_")}
    for kind, parts in ONLINE_KINDS.items():
        taken = inspect.signature(getattr(online, f"from_{kind}")).parameters
        assert {"tokens", *parts, "enable_endpoint_detection", "num_threads"} <= set(taken)


# Services, by real sockets to a server in this process.


@pytest.fixture
def serve():
    server_of = pytest.importorskip("websockets.sync.server")
    running = []

    def start(handler, **options):
        server = server_of.serve(handler, "127.0.0.1", 0, **options)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.socket.getsockname()[1]}"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join(5)


def hear(recognizer):
    [answer] = recognizer.load()([TONE])
    if isinstance(answer, Exception):
        raise answer
    return answer


def test_a_vosk_server_is_told_the_rate_and_its_messages_are_kept(serve):
    got = []

    def handler(socket):
        got.append(json.loads(socket.recv()))
        for message in socket:
            if isinstance(message, bytes):
                got.append(len(message))
                socket.send(json.dumps({"partial": " ".join(["hm"] * (len(got) - 1))}))
            else:
                got.append(json.loads(message))
                word = {"word": "hm", "start": 0.0, "end": 0.4, "conf": 0.9}
                socket.send(json.dumps({"result": [word], "text": "hm"}))
                return

    heard = hear(make_recognizer("vosk_server", url=serve(handler), chunk=0.25))
    assert got == [{"config": {"sample_rate": 16000, "words": 1}}, 8000, 8000, {"eof": 1}]
    assert heard.text == "hm"
    assert heard.words[0].confidence == 0.9
    assert [(one.text, one.final) for one in heard.messages] == [
        ("hm", False),
        ("hm hm", False),
        ("hm", True),
    ]
    assert heard.messages[-1].received_s >= 0.5


def test_deepgram_is_asked_as_documented(serve, monkeypatch):
    monkeypatch.setenv("DEEPGRAM_API_KEY", "made-up-key-1234")
    asked = []

    def handler(socket):
        asked.append((socket.request.path, socket.request.headers["Authorization"]))
        for message in socket:
            if isinstance(message, str):
                assert json.loads(message) == {"type": "CloseStream"}
                break
        words = [{"word": "yes", "start": 0.1, "end": 0.3, "confidence": 0.8}]
        for final in (False, True):
            best = {"transcript": "yes", "confidence": 0.8, "words": words}
            socket.send(
                json.dumps({"type": "Results", "is_final": final, "channel": {"alternatives": [best]}})
            )
        socket.send(json.dumps({"type": "Metadata"}))

    heard = hear(make_recognizer("deepgram_streaming", url=serve(handler), pace=FAST))
    [(path, authorization)] = asked
    assert authorization == "Token made-up-key-1234"
    assert path.startswith("/v1/listen?model=nova-3&language=en&interim_results=true&encoding=linear16")
    assert (heard.text, len(heard.words)) == ("yes", 1)
    assert heard.messages[0].sent_s > heard.messages[0].received_s, "not at real time, and the trace shows it"


def test_a_service_that_refuses_or_hangs_up_says_so_in_one_line(serve, monkeypatch):
    monkeypatch.setenv("DEEPGRAM_API_KEY", "made-up-key-1234")

    def refuse(connection, request):
        return connection.respond(401, "no")

    url = serve(lambda socket: None, process_request=refuse)
    with pytest.raises((RecognizerError, UtteranceError), match="refused with status 401"):
        hear(make_recognizer("deepgram_streaming", url=url))
    with pytest.raises(UtteranceError, match="hung up"):
        hear(make_recognizer("vosk_server", url=serve(lambda socket: socket.close(1011, "broken"))))
    with pytest.raises(UtteranceError, match="cannot be reached"):
        hear(make_recognizer("vosk_server", url="http://127.0.0.1:9"))


def test_a_service_that_redirects_gets_no_audio_sent_elsewhere(serve):
    elsewhere = []
    other = serve(lambda socket: elsewhere.append(socket.recv()))

    def redirect(connection, request):
        answer = connection.respond(302, "over there")
        answer.headers["Location"] = "ws" + other.removeprefix("http")
        return answer

    url = serve(lambda socket: None, process_request=redirect)
    with pytest.raises((RecognizerError, UtteranceError), match=r"status 302. It redirects"):
        hear(make_recognizer("vosk_server", url=url))
    assert elsewhere == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("[" * 100_000, "not of the documented form"),
        ("[]", "not of the documented form"),
        ('{"text": 3}', "not of the documented form"),
        ('{"result": [{"word": "a", "start": 1%s, "end": 2, "conf": 1}], "text": "a"}' % ("0" * 400), "word"),
        ('{"partial": "key-9876-abcdef"}', "repeats the key"),
        ('{"partial": "fedcba-6789-yek"}', "repeats the key"),
    ],
    ids=range(6),
)
def test_what_a_hostile_server_says_costs_its_own_trial_and_no_key(serve, monkeypatch, message, reason):
    monkeypatch.setenv("MY_KEY", "key-9876-abcdef")

    def handler(socket):
        socket.send(message)
        socket.recv()

    recognizer = make_recognizer("vosk_server", url=serve(handler), key_env="MY_KEY", pace=FAST)
    with pytest.raises(UtteranceError, match=reason) as caught:
        as_transcript(hear(recognizer))
    assert "key-9876" not in str(caught.value)


def test_a_server_that_talks_without_end_is_given_up(serve, monkeypatch):
    monkeypatch.setattr(streaming, "LONGEST_TRACE", 5_000)

    def handler(socket):
        for number in range(10_000):
            socket.send(json.dumps({"partial": f"hm {number}"}))

    with pytest.raises(UtteranceError, match="more than 5,000 characters"):
        hear(make_recognizer("vosk_server", url=serve(handler), pace=FAST))
