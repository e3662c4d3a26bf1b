"""The layer under the services: who may ask when, how long to wait, what may be shown, what ends a recognizer."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import subprocess
import threading
from datetime import UTC, datetime
from email.message import Message
from email.utils import formatdate

import pytest
from fake_services import KEY, VARIABLES, FakeClock, Fakes
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, Transcript, UtteranceError, make_recognizer
from voxaudit.recognize.services import wire
from voxaudit.recognize.services.address import host_of, is_private, plain, problem_with_url
from voxaudit.recognize.services.answers import NotJson, document, message
from voxaudit.recognize.services.aws import Identity, sign
from voxaudit.recognize.services.caller import asked_wait, retry_after
from voxaudit.recognize.services.gate import Clock, Gate
from voxaudit.recognize.services.secret import Secret, hide_all, read_secret
from voxaudit.recognize.services.wire import Reply, Request, WireError, exchange


@pytest.fixture
def fakes(monkeypatch):
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    fakes = Fakes()
    yield fakes
    fakes.close()


def clips(count):
    import numpy as np

    return [Audio(np.zeros(2000 + number, np.float32), 16000) for number in range(count)]


# --- the gate


def stepping():
    """Return a gate's clock that moves one second with every look."""
    ticks = iter(range(10_000))
    return Clock(lambda: float(next(ticks)), lambda seconds: None)


def test_too_many_halves_the_limit_and_successes_raise_it_by_one_a_window():
    gate = Gate(8, stepping())
    assert gate.limit == 8
    for expected in (4, 2, 1, 1):
        with gate.slot() as started:
            gate.congested(started, None)
        assert gate.limit == expected
    gate.succeeded()
    assert gate.limit == 2
    for _ in range(3):  # 2 + 1/2 + 1/2.5 + 1/2.9
        gate.succeeded()
    assert gate.limit == 3
    for _ in range(100):
        gate.succeeded()
    assert gate.limit == 8


def test_requests_that_were_under_way_together_halve_it_once():
    gate = Gate(8, stepping())
    with gate.slot() as first, gate.slot() as second, gate.slot() as third:
        for started in (first, second, third):
            gate.congested(started, None)
    assert gate.limit == 4


def test_nobody_passes_before_the_time_the_service_named():
    clock = FakeClock()
    gate = Gate(2, Clock(clock.now, clock.sleep))
    with gate.slot() as started:
        gate.congested(started, 5.0)
    before = clock.now()
    with gate.slot() as again:
        assert again - before >= 4.5
    assert 4.5 < sum(clock.waits) <= 5.0


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 64))
def test_the_limit_stays_between_one_and_what_was_asked_for(events, most):
    gate = Gate(most, stepping())
    for good in events:
        if good:
            gate.succeeded()
        else:
            with gate.slot() as started:
                gate.congested(started, None)
        assert 1 <= gate.limit <= most


def test_a_service_that_is_asked_too_much_is_asked_less_and_everybody_gets_an_answer(fakes):
    together = threading.Barrier(3, timeout=20)

    def fault(vendor, number):
        if number < 3:
            together.wait()  # so that the third is one too many for certain
        return "429" if number == 2 else ""

    fakes.fault = fault
    recognizer = make_recognizer({"engine": "deepgram", **fakes.settings("deepgram", concurrency=8)})
    client = recognizer.client(Clock(sleep=lambda seconds: None))
    lowered = []
    halve = client.caller.gate.congested
    client.caller.gate.congested = lambda *event: (halve(*event), lowered.append(client.caller.gate.limit))
    answers = client(clips(8))
    assert [answer.text for answer in answers] == [f"heard {2000 + n} samples" for n in range(8)]
    assert len(lowered) == 1
    assert lowered[0] <= 5  # half of 8, and what has been answered meanwhile


# --- how long to wait


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, b"", None),
        ({"Retry-After": "2.5"}, b"", 2.5),
        ({"Retry-After": "0"}, b"", 0.0),
        ({"Retry-After": "-1"}, b"", None),
        ({"Retry-After": "inf"}, b"", None),
        ({"Retry-After": "1e9"}, b"", None),
        ({"Retry-After": "soon"}, b"", None),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, b"", 1.5),
        ({"x-ms-retry-after-ms": "250"}, b"", 0.25),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0.5s"}, b"", 360.5),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "6m0s"}, b"", None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, b"", 0.02),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "later"}, b"", None),
        ({}, b'{"error": {"details": [{"retryDelay": "3.25s"}]}}', 3.25),
    ],
)
def test_what_a_service_asks_for(headers, body, seconds):
    told = Message()
    for name, value in headers.items():
        told[name] = value
    assert asked_wait(told, body) == seconds


def test_dates_are_measured_from_the_answers_own():
    assert retry_after(formatdate(1_000_030, usegmt=True), formatdate(1_000_000, usegmt=True)) == 30.0
    assert retry_after(formatdate(1_000_000, usegmt=True), formatdate(1_000_030, usegmt=True)) == 0.0
    assert retry_after(formatdate(0, usegmt=True)) == 0.0
    assert retry_after(None) is None


def test_many_workers_do_not_come_back_together(fakes):
    """The jitter is of a generator with a seed; only the waits depend on it."""
    fakes.fault = lambda vendor, number: "500" if number % 4 != 3 else ""
    waits = []
    for _ in range(3):
        clock = FakeClock()
        recognizer = make_recognizer({"engine": "watson", **fakes.settings("watson")})
        client = recognizer.client(Clock(clock.now, clock.sleep))
        client.caller._random.seed(len(waits))
        assert client(clips(1))[0].text == "heard 2000 samples"
        waits.append(clock.waits)
    assert len({tuple(wait) for wait in waits}) == 3
    for three in waits:
        assert all(low <= wait <= 2 * low for wait, low in zip(three, (0.25, 0.5, 1.0), strict=True))


# --- what ends a recognizer


def hear(fakes, clock=None, count=1, vendor="deepgram", **settings):
    clock = clock or FakeClock()
    recognizer = make_recognizer({"engine": vendor, **fakes.settings(vendor, **settings)})
    client = recognizer.client(Clock(clock.now, clock.sleep))
    return client, client(clips(count))


@pytest.mark.parametrize("status", [403, 404, 405])
def test_a_refusal_ends_a_recognizer_that_never_answered(fakes, status):
    fakes.fault = lambda vendor, number: (status, {"err_msg": "no"})
    with pytest.raises(RecognizerError, match=f"HTTP {status} .*: no"):
        hear(fakes)


@pytest.mark.parametrize("status", [403, 404, 405])
def test_of_one_that_has_answered_it_costs_a_trial_and_the_third_in_a_row_ends_it(fakes, status):
    fakes.fault = lambda vendor, number: "" if number in (0, 3) else (status, {"err_msg": "no"})
    client, answers = hear(fakes)
    assert isinstance(answers[0], Transcript)
    kinds = [type(client(clips(1))[0]) for _ in range(5)]
    assert kinds == [UtteranceError, UtteranceError, Transcript, UtteranceError, UtteranceError]
    with pytest.raises(RecognizerError, match=f"HTTP {status}"):
        client(clips(1))
    asked = len(fakes.requests)
    with pytest.raises(RecognizerError, match=f"HTTP {status}"):
        client(clips(4))
    assert len(fakes.requests) == asked  # once it has ended, nothing more is sent


def test_what_a_batch_cost_is_kept_though_the_key_was_refused_in_its_midst(fakes):
    fakes.fault = lambda vendor, number: "401" if number == 1 else ""
    client, answers = hear(fakes, count=3, concurrency=1)
    assert [type(answer) for answer in answers] == [Transcript, UtteranceError, UtteranceError]
    assert len(fakes.requests) == 2
    with pytest.raises(RecognizerError, match="HTTP 401"):
        client(clips(1))


def test_a_page_or_nobody_at_the_very_start_ends_it_too(fakes):
    fakes.fault = lambda vendor, number: "html"
    with pytest.raises(RecognizerError, match=r"answered with a web page: <!DOCTYPE html>.* after 4 tries"):
        hear(fakes)
    fakes.fault = lambda vendor, number: "html" if number > 4 else ""
    client, answers = hear(fakes)
    assert isinstance(answers[0], Transcript)
    assert isinstance(client(clips(1))[0], UtteranceError)


def test_a_wait_that_is_longer_than_patience_stops_the_run_for_later(fakes):
    clock = FakeClock()
    fakes.fault = lambda vendor, number: (
        (429, {"err_msg": "quota"}, {"Retry-After": "7200"}) if number else ""
    )
    client, _ = hear(fakes, clock)
    with pytest.raises(RecognizerError, match="quota; it asks to wait 7200 s: run the same command again"):
        client(clips(1))
    assert sum(clock.waits) < 1


# --- the wire


def test_drops_of_headers_do_not_outlast_the_time(fakes):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        done = threading.Event()

        def serve():
            client, _ = server.accept()
            with client:
                client.sendall(b"HTTP/1.1 200 OK\r\n")
                number = 0
                while not done.wait(0.02):
                    number += 1
                    try:
                        client.sendall(f"X-{number}: y\r\n".encode())
                    except OSError:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(WireError, match=r"no answer within 0.3 s"):
            exchange(Request("GET", f"http://127.0.0.1:{server.getsockname()[1]}/"), 0.3)
        done.set()
        thread.join()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "not HTTP"),
        (b"", "closed without an answer"),
    ],
)
def test_broken_answers(raw, message):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve():
            client, _ = server.accept()
            with client:
                client.recv(65536)
                client.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(WireError, match=message):
            exchange(Request("GET", f"http://127.0.0.1:{server.getsockname()[1]}/"), 5)
        thread.join()


def test_what_a_server_said_before_it_hung_up_is_read():
    """A service may refuse a large upload without reading it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve():
            client, _ = server.accept()
            with client:
                client.recv(1000)
                client.sendall(b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nbig")
                client.shutdown(socket.SHUT_WR)
                while client.recv(1_000_000):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        reply = exchange(
            Request("POST", f"http://127.0.0.1:{server.getsockname()[1]}/", {}, b"a" * 5_000_000), 5
        )
        thread.join()
    assert (reply.status, reply.body) == (413, b"big")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    try:
        subprocess.run(
            [*command, "-addext", "subjectAltName=DNS:localhost", *files], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl to make a certificate with")
    return folder


def test_a_certificate_nobody_vouches_for_is_refused(fakes, certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    fakes.server.socket = context.wrap_socket(fakes.server.socket, server_side=True)
    url = fakes.url.replace("http://127.0.0.1", "https://localhost")
    for variable in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(RecognizerError, match=r"its certificate is not trusted .self"):
        make_recognizer({"engine": "deepgram", "url": url}).load()(clips(1))
    assert fakes.requests == []
    trusted = ssl.create_default_context(cafile=certificate / "cert.pem")
    monkeypatch.setattr(wire, "_trust", lambda: trusted)
    (answer,) = make_recognizer({"engine": "deepgram", "url": url}).load()(clips(1))
    assert answer.text == "heard 2000 samples"
    # An answer that never ends is cut under TLS as well.
    fakes.fault = lambda vendor, number: "drip"
    (answer,) = make_recognizer({"engine": "deepgram", "url": url, "timeout": 0.3, "retries": 0}).load()(
        clips(1)
    )
    assert str(answer).endswith("no answer within 0.3 s")


def test_a_proxy_is_asked_for_a_tunnel_with_its_own_password(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://me:p%40ss@127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "inside.example.com")
    from urllib.parse import urlsplit

    through = wire._connection(urlsplit("https://api.deepgram.com/v1"), 1.0)
    assert (through.host, through.port) == ("127.0.0.1", 9)
    assert through._tunnel_host == "api.deepgram.com"
    assert through._tunnel_headers["Proxy-Authorization"] == "Basic bWU6cEBzcw=="
    straight = wire._connection(urlsplit("https://inside.example.com/v1"), 1.0)
    assert (straight.host, straight._tunnel_host) == ("inside.example.com", None)
    assert type(wire._connection(urlsplit("http://localhost:8000/"), 1.0)) is http.client.HTTPConnection


# --- addresses and secrets


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://localhost:8000/v1", True), ("http://127.0.0.1", True), ("http://[::1]:80", True),
        ("http://10.1.2.3", True), ("http://192.168.0.9:1", True), ("http://gpu-box:8000", True),
        ("http://asr.internal", True), ("http://8.8.8.8", False), ("http://api.example.com", False),
        ("http://localhost.example.com", False), ("http://mylocal", True), ("http://evil.notlocal", False),
    ],
)  # fmt: skip
def test_only_ones_own_network_may_do_without_encryption(url, private):
    assert is_private(url) is private
    assert (problem_with_url(url) == "") is private
    assert problem_with_url(url.replace("http://", "https://")) == ""


def test_addresses_as_they_are_shown():
    assert plain("https://u:p@Host.example:8443/a/b/?sig=1#x") == "https://host.example:8443/a/b"
    assert plain("http://[::1]:8000/v1") == "http://[::1]:8000/v1"
    assert host_of("https://a.example:443/x") == "a.example"
    assert problem_with_url("https://a.example/x y") == "url has a space or an odd character"
    assert problem_with_url("https://a.example/\n") != ""


def test_secrets_are_hidden_in_every_dress():
    secret = Secret("pa/ss+word==")
    text = "a pa/ss+word== b pa%2Fss%2Bword%3D%3D c Basic YXBpa2V5OnBhL3NzK3dvcmQ9PQ== d\ne"
    assert hide_all([secret], text) == "a *** b *** c Basic *** d e"
    assert repr(secret) == "Secret(***)"
    assert str(secret) == "Secret(***)"


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 40, 55, 100, 150, 190, 280, 290, 295, 330, 350, 380, 390, 9_990])
@pytest.mark.parametrize("vendor", ["openai", "assemblyai", "azure", "watson"])
def test_no_cut_through_a_message_leaves_half_a_key(fakes, before, vendor):
    told = "x" * before + KEY + "y" * 500
    bodies = [
        (400, {"error": {"message": told}}), (200, {"error": told, "RecognitionStatus": told}), (200, told.encode()),
        (400, told.encode()), (200, {"status": "error", "id": "a", "error": told, "results": [{told: 1}]}),
    ]  # fmt: skip
    for body in bodies:
        fakes.fault = lambda vendor, number, body=body: body
        _, (answer,) = hear(fakes, vendor=vendor, retries=0)
        assert KEY[:5] not in str(answer)
        assert len(str(answer)) <= 400


def test_keys_that_cannot_be_keys(monkeypatch):
    monkeypatch.setenv("A_KEY", "  ")
    assert read_secret("A_KEY", "x") is None
    for value in ("two words", "schlüssel", "abc"):
        monkeypatch.setenv("A_KEY", value)
        with pytest.raises(RecognizerError, match="A_KEY holds no valid key") as caught:
            read_secret("A_KEY", "x")
        assert value not in str(caught.value)


# --- answers


def reply(body, kind="application/json"):
    headers = Message()
    headers["Content-Type"] = kind
    return Reply(200, "OK", headers, body)


def test_json_is_judged_by_itself_not_by_its_label():
    assert document(reply(b'{"a": 1}', "text/html"), str) == {"a": 1}
    with pytest.raises(NotJson, match=r"not answer with JSON .audio/wav.: RIFF"):
        document(reply(b"RIFF\xff", "audio/wav"), str)
    with pytest.raises(NotJson, match="not answer with JSON"):
        document(reply(b"[" * 200_000), str)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": {"message": "m", "code": 3, "status": "S"}}', "m 3 S"),
        (b'[{"error": {"message": "in a list"}}]', "in a list"),
        (b'{"err_code": "C", "err_msg": "m"}', "m C"),
        (b'{"__type": "T", "Message": "m"}', "m T"),
        (b'{"code": 404, "code_description": "Not Found", "error": "Model not found"}', "Model not found"),
        (b"<?xml version='1.0'?><Error><Code>C</Code><Message>m</Message><Key>k</Key></Error>", "C: m"),
        (b"<html><body>no</body></html>", ""),
        (b"plain\nwords", "plain words"),
        (b"", ""),
    ],
)
def test_the_message_inside_a_refusal(body, text):
    assert message(body) == text


# --- Amazon's signature: vectors of the "Signature Version 4 test suite" and of the S3 API reference


def forms_of(key: str) -> list[str]:
    """The forms in which a server could repeat a key, with something else around it."""
    raw = key.encode()
    encoded = [base64.b64encode(b"x" * n + raw + b"y" * m).decode() for n in range(4) for m in range(4)]
    safe = [base64.urlsafe_b64encode(b"x" * n + raw).decode() for n in range(3)]
    return [key, key[::-1], raw.hex(), raw.hex().upper(), *encoded, *safe]


@pytest.mark.parametrize("key", ["pa/ss+word==", "sk-0123456789abcdef", "?>?>?>~~~", "secret"])
def test_a_key_is_hidden_in_whatever_form_it_comes_back(key):
    secret = Secret(key)
    for form in forms_of(key):
        assert secret.within(f"it is {form}!"), form
        shown = hide_all([secret], f"it is {form}!")
        assert "***" in shown
        assert len(shown) <= len("it is !***") + 12  # what was around it, and the ends that depend on that
    assert not secret.within("turn the lamp on")


@pytest.mark.parametrize("form", range(4))
def test_a_transcript_that_is_the_key_is_refused_and_not_kept(fakes, form):
    fakes.say = lambda frames: f"the key is {forms_of(KEY)[form]}"
    (answer,) = make_recognizer("openai", **fakes.settings("openai")).load()(clips(1))
    assert isinstance(answer, UtteranceError)
    assert "repeats the key" in str(answer)
    assert not answer.again
    assert forms_of(KEY)[form] not in str(answer)


def test_answers_are_handed_over_as_they_come(fakes):
    """A driver that is killed loses what is under way, not what was paid for."""
    late = threading.Event()
    client = make_recognizer("openai", **fakes.settings("openai", concurrency=3)).load()
    hear = client._hear
    client._hear = lambda audio: (late.wait(20) if len(audio.samples) == 2000 else None, hear(audio))[1]
    answers = client.each(clips(3))
    first = [next(answers), next(answers)]
    assert sorted(place for place, _ in first) == [1, 2]
    assert all(isinstance(answer, Transcript) for _, answer in first)
    late.set()
    assert [place for place, _ in answers] == [0]


def raw_answer(data: bytes) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            exchange(Request("GET", f"http://127.0.0.1:{server.getsockname()[1]}/"), 5)
        except WireError as error:
            return str(error)
        finally:
            thread.join()
    return "understood"


@pytest.mark.parametrize("line", ["HTTP/9.9 200 OK", "HTTP/1.1 99999 X", "HTTP/1.1 abc", "\xff" * 100])
def test_what_is_no_http_is_said_in_one_line(line):
    said = raw_answer(f"{line}\r\nContent-Length: 2\r\n\r\n{{}}".encode("latin-1"))
    assert said.startswith("the answer is not HTTP")
    assert "\n" not in said


SUITE = Identity(Secret("AKIDEXAMPLE"), Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
S3 = Identity(Secret("AKIAIOSFODNN7EXAMPLE"), Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


@pytest.mark.parametrize(
    ("method", "path", "signature"),
    [
        ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", "/ሴ", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        ("GET", "/example space/", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    ],
)
def test_signatures_of_the_suite(method, path, signature):
    now = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    url = f"https://example.amazonaws.com{path}"
    signed = sign(SUITE, method, url, {}, b"", region="us-east-1", service="service", now=now)
    assert signed["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders=host;x-amz-date, Signature={signature}"
    )


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "signature"),
    [
        (
            "GET", "/test.txt", {"Range": "bytes=0-9"}, b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT", "/test%24file.text",
            {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET", "/?lifecycle", {}, b"", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        (
            "GET", "/?max-keys=2&prefix=J", {}, b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)  # fmt: skip
def test_signatures_of_s3(method, path, headers, body, signature):
    now = datetime(2013, 5, 24, tzinfo=UTC)
    url = f"https://examplebucket.s3.amazonaws.com{path}"
    signed = sign(S3, method, url, headers, body, region="us-east-1", service="s3", now=now)
    assert signed["Authorization"].endswith(f"Signature={signature}")


def test_the_key_is_not_in_a_signature():
    token = Identity(SUITE.id, SUITE.secret, Secret("a-session-token"))
    signed = sign(token, "GET", "https://a.example/", {}, b"", region="r", service="s3")
    assert SUITE.secret.reveal() not in str(signed)
    assert signed["X-Amz-Security-Token"] == "a-session-token"
    assert "x-amz-security-token" in signed["Authorization"]
    assert KEY not in repr(token)
