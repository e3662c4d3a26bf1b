"""The server core: who may ask, from where, how much, and what the browser may do with an answer."""

import contextlib
import http.client
import json
import socket
import threading

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.review import web as connection
from voxaudit.review.web import SECURITY, HttpError, Response, json_response, one_token, running

AUDIO = bytes(range(256)) * 4


def app(request):
    if request.path == "/audio":
        return Response(200, AUDIO, "audio/wav", ranges=True)
    if request.path == "/echo":
        return json_response({"method": request.method, "query": dict(request.query), "who": request.who})
    if request.path == "/save":
        return json_response(request.json())
    if request.path == "/fault":
        raise RuntimeError("secret /home/someone/file.py")
    if request.path == "/refusal":
        raise VoxauditError("/home/someone/data/clip.wav: no such audio file")
    raise HttpError(404, "nothing here")


def ask(server, method="GET", path="/echo", headers=None, body=None, *, token=True, host=None):
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": host or f"127.0.0.1:{server.port}", **(headers or {})}
        if token and server.token:
            sent.setdefault("Cookie", f"voxaudit_{server.port}={server.token}")
        if body is not None:
            sent.setdefault("Content-Length", str(len(body)))
        for key, value in sent.items():
            link.putheader(key, value)
        link.endheaders()
        if body is not None:
            link.send(body)
        answer = link.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        link.close()


def post(server, body=b"{}", **changes):
    headers = {
        "Origin": f"http://127.0.0.1:{server.port}",
        "Content-Type": "application/json",
        "X-Voxaudit": "1",
        "Sec-Fetch-Site": "same-origin",
    }
    for key, value in changes.pop("headers", {}).items():
        if value is None:
            headers.pop(key)
        else:
            headers[key] = value
    return ask(server, "POST", changes.pop("path", "/save"), headers, body, **changes)


@pytest.fixture(scope="module")
def server():
    with running(app, max_body=1000) as server:
        yield server


def test_the_link_becomes_a_cookie_and_leaves_the_address_bar(server):
    assert server.link == f"http://127.0.0.1:{server.port}/?token={server.token}"
    status, headers, _ = ask(server, path=f"/?token={server.token}", token=False)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert cookie == f"voxaudit_{server.port}={server.token}; HttpOnly; SameSite=Strict; Path=/"
    assert ask(server, headers={"Cookie": cookie.split(";")[0]}, token=False)[0] == 200


def test_a_link_from_another_site_goes_on_by_our_own_page(server):
    status, headers, body = ask(
        server, path=f"/?token={server.token}", headers={"Sec-Fetch-Site": "cross-site"}, token=False
    )
    assert status == 200
    assert "set-cookie" in headers
    assert b'http-equiv="refresh" content="0;url=/"' in body
    assert server.token.encode() not in body


@pytest.mark.parametrize("target", ["//evil.example/", "/%2F%2Fevil.example", "/a%22b", "/%0d%0aX: 1"])
def test_the_link_cannot_send_people_elsewhere(server, target):
    status, headers, _ = ask(server, path=f"{target}?token={server.token}".replace(" ", "%20"), token=False)
    assert status == 400 or not headers["location"].startswith(("//", "/\\", "http"))
    assert "x" not in headers


def test_no_token_and_wrong_tokens_see_nothing(server):
    for headers in (
        {},
        {"Cookie": f"voxaudit_{server.port}=wrong"},
        {"Cookie": "voxaudit_1=" + server.token},
    ):
        status, _, body = ask(server, headers=headers, token=False)
        assert status == 403
        assert body.count(b"\n") == 1
    assert ask(server, path="/?token=wrong", token=False)[0] == 403
    assert ask(server, path="/?token=", token=False)[0] == 403
    assert ask(server, path=f"/?token={server.token[:-1]}", token=False)[0] == 403
    assert ask(server, path="/?token=%C3%A9", token=False)[0] == 403
    assert post(server, token=False)[0] == 403
    assert post(server, path=f"/save?token={server.token}", token=False)[0] == 403


def test_tokens_are_random():
    with running(app) as one, running(app) as two:
        assert one.token != two.token
        assert len(one.token) >= 32


def test_another_name_for_this_machine_is_refused(server):
    port = server.port
    for good in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        assert ask(server, host=good)[0] == 200
    for bad in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil:{port}",
        " ",
    ):
        assert ask(server, host=bad)[0] == 403


def test_two_host_headers_are_refused(server):
    lines = f"GET /echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil\r\n\r\n"
    assert raw(server, lines.encode()).startswith(b"HTTP/1.1 400")


def test_a_change_needs_origin_json_and_our_header(server):
    assert post(server, b'{"a": 1}')[::2] == (200, b'{"a":1}')
    wrong = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": f"http://localhost:{server.port}"},  # the Host says 127.0.0.1: another origin
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Voxaudit": None},
    ]
    assert [post(server, headers=headers)[0] for headers in wrong] == [403] * len(wrong)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert post(server, headers={"Content-Type": kind})[0] == 415


def test_bodies_are_bounded_and_must_be_json_objects(server):
    assert post(server, b"x" * 1001)[0] == 413
    assert post(server, b"{}", headers={"Content-Length": "-1"})[0] == 411
    assert post(server, b"{}", headers={"Content-Length": "9" * 30})[0] == 411
    assert post(server, b"{}", headers={"Transfer-Encoding": "chunked"})[0] == 411
    for body in (b"", b"[1]", b"{", b"\xff", b"[" * 900):
        assert post(server, body)[0] == 400


def test_every_answer_carries_the_policy(server):
    for path in ("/echo", "/nothing", "/fault", "/audio"):
        _, headers, _ = ask(server, path=path)
        assert {key: headers[key.lower()] for key in SECURITY} == SECURITY
        assert "python" not in headers["server"].lower()
    assert "'unsafe" not in SECURITY["Content-Security-Policy"]


def test_methods(server):
    status, headers, body = ask(server, "HEAD", "/audio")
    assert (status, body, headers["content-length"]) == (200, b"", "1024")
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "FOO"):
        status, headers, body = ask(server, method)
        assert status == 405
        assert headers["allow"] == "GET, HEAD, POST"
        assert b"<" not in body


def test_ranges(server):
    def part(text, method="GET"):
        status, headers, body = ask(server, method, "/audio", {"Range": text})
        return status, headers.get("content-range"), body

    assert part("bytes=0-3") == (206, "bytes 0-3/1024", AUDIO[:4])
    assert part("bytes=1020-") == (206, "bytes 1020-1023/1024", AUDIO[1020:])
    assert part("bytes=-2") == (206, "bytes 1022-1023/1024", AUDIO[-2:])
    assert part("bytes=-5000") == (206, "bytes 0-1023/1024", AUDIO)
    assert part("bytes=1000-9999") == (206, "bytes 1000-1023/1024", AUDIO[1000:])
    assert part("bytes=0-0")[2] == AUDIO[:1]
    assert part("bytes=1024-")[:2] == (416, "bytes */1024")
    assert part("bytes=-0")[0] == 416
    for text in ("bytes=5-2", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b"):
        assert part(text)[::2] == (200, AUDIO)
    assert part("bytes=0-3", "HEAD") == (206, "bytes 0-3/1024", b"")


def test_faults_are_one_line_without_paths():
    lines = []
    with running(app, log=lines.append) as server:
        status, _, body = ask(server, path="/fault")
        assert status == 500
        assert b"secret" not in body
        assert b"/home" not in body
        assert ask(server, path="/refusal")[::2] == (422, b"clip.wav: no such audio file\n")
    assert lines == [
        "GET /fault: RuntimeError: secret /home/someone/file.py",
        "GET /refusal: /home/someone/data/clip.wav: no such audio file",
    ]


@pytest.mark.parametrize(
    "path",
    ["/../etc/passwd", "/%2e%2e/etc/passwd", "/a/..%2f..%2fetc", "/%5c..%5cetc", "/%00", "/%ff", "/a%0ab"],
)
def test_paths_that_climb_are_refused(server, path):
    assert ask(server, path=path)[0] == 400


def test_odd_addresses(server):
    assert ask(server, path="/echo?a=1&a=2")[0] == 400
    assert ask(server, path="/echo?" + "&".join(f"a{n}=" for n in range(40)))[0] == 400
    assert ask(server, path="/echo?a=%ff")[0] == 400
    assert ask(server, path="/" + "a" * 5000)[0] == 414
    assert ask(server, path="http://evil.example/echo")[0] == 400
    assert ask(server, headers={"X-Long": "a" * 40_000})[0] == 431
    assert json.loads(ask(server, path="/echo?q=%E2%80%AEa+b")[2])["query"] == {"q": "\u202ea b"}


def test_broken_cookies_count_as_none(server):
    assert ask(server, headers={"Cookie": "\x00=;;;=\xff"}, token=False)[0] in (400, 403)


def raw(server, data):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        parts = []
        while piece := link.recv(65_536):
            parts.append(piece)
        return b"".join(parts)


def test_what_is_not_http_gets_a_line_or_nothing(server):
    for data in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 50,
        b"A" * 70_000,
    ):
        answer = raw(server, data)
        assert b"Traceback" not in answer
        assert b"<html" not in answer.lower()
    assert ask(server)[0] == 200


def test_a_second_request_on_the_connection_is_not_served(server):
    cookie = f"Cookie: voxaudit_{server.port}={server.token}"
    one = f"GET /echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{cookie}\r\n\r\n".encode()
    assert raw(server, one * 3).count(b"HTTP/1.1") == 1


def test_a_client_that_drips_is_cut_off(monkeypatch):
    monkeypatch.setattr(connection, "READ_SECONDS", 0.6)
    with running(app) as server, socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        stop = threading.Event()

        def drip():
            while not stop.wait(0.1):
                try:
                    link.sendall(b"G")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with contextlib.suppress(ConnectionError):
                assert link.recv(1000) == b""  # closed while bytes still came every 0.1 s
        finally:
            stop.set()
            thread.join()
        assert ask(server)[0] == 200


def test_more_connections_than_slots_are_closed_and_slots_come_back():
    from voxaudit.review.web import MAX_CONNECTIONS

    with running(app) as server:
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MAX_CONNECTIONS)]
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one_more:
            assert one_more.recv(10) == b""
        for link in held:
            link.close()
        for _ in range(200):
            try:
                assert ask(server)[0] == 200
                break
            except (ConnectionError, http.client.HTTPException):
                threading.Event().wait(0.02)
        else:
            pytest.fail("no slot came back")


def test_every_participant_has_a_token_of_their_own():
    people = {"t-anna": "anna", "t-ben": "ben"}

    def authorize(token):
        return next((who for known, who in people.items() if one_token(known)(token) is not None), None)

    with running(app, authorize=authorize) as server:
        assert server.token is None
        assert server.link == server.url
        for token, who in people.items():
            _, headers, _ = ask(server, path=f"/?token={token}")
            answer = ask(server, headers={"Cookie": headers["set-cookie"].split(";")[0]})
            assert json.loads(answer[2])["who"] == who
        assert ask(server)[0] == 403


def test_other_machines_only_on_request():
    with (
        pytest.raises(VoxauditError, match="see the arguments `allow_remote`, `host`"),
        running(app, host="0.0.0.0"),
    ):
        pass
    with running(
        app, host="0.0.0.0", allow_remote=True, names=["study.example", "study.example:8443"]
    ) as server:
        assert server.url == f"http://127.0.0.1:{server.port}/"
        for good in (
            f"192.0.2.7:{server.port}",
            f"study.example:{server.port}",
            "study.example:8443",
            "study.example",
        ):
            assert ask(server, host=good)[0] == 200
        assert ask(server, host=f"evil.example:{server.port}")[0] == 403


def test_a_port_in_use_is_one_line():
    with (
        running(app) as server,
        pytest.raises(VoxauditError, match="cannot listen there"),
        running(app, port=server.port),
    ):
        pass
    with pytest.raises(VoxauditError, match="between 0 and 65535"), running(app, port=70_000):
        pass
