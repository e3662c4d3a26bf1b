"""All services at one address of this machine: they speak the vendors' documented protocols, and fail on demand."""

from __future__ import annotations

import base64
import email
import hashlib
import hmac
import io
import itertools
import json
import socket
import struct
import threading
import time
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

KEY = "sk-very-secret-0123456789abcdef"
AWS_ID = "AKIAVERYSECRETEXAMPLE"
TOKEN = "FwoGZXIvYXdzEXAMPLETOKEN/1234+56=="
BUCKET = "recordings-of-ours"

SETTINGS = {
    "openai": {},
    "google": {},
    "azure": {"api": "short"},
    "watson": {},
    "aws": {"bucket": BUCKET, "poll": 0.01},
    "deepgram": {},
    "assemblyai": {"poll": 0.01},
    "elevenlabs": {},
    "speechmatics": {"poll": 0.01},
    "gladia": {"poll": 0.01},
    "revai": {"poll": 0.01},
}
"""Settings of each engine that the fake needs, besides its address."""

VARIABLES = {
    "OPENAI_API_KEY": KEY,
    "GOOGLE_API_KEY": KEY,
    "AZURE_SPEECH_KEY": KEY,
    "WATSON_API_KEY": KEY,
    "DEEPGRAM_API_KEY": KEY,
    "ASSEMBLYAI_API_KEY": KEY,
    "ELEVENLABS_API_KEY": KEY,
    "SPEECHMATICS_API_KEY": KEY,
    "GLADIA_API_KEY": KEY,
    "REVAI_ACCESS_TOKEN": KEY,
    "AWS_SECRET_ACCESS_KEY": KEY,
    "AWS_ACCESS_KEY_ID": AWS_ID,
    "AWS_SESSION_TOKEN": TOKEN,
}

ERRORS = {
    "openai": lambda code, text: {"error": {"message": text, "type": "x", "code": None}},
    "google": lambda code, text: {"error": {"code": code, "message": text, "status": "SOME_STATUS"}},
    "azure": lambda code, text: {"error": {"code": str(code), "message": text}},
    "watson": lambda code, text: {"code": code, "code_description": "Some Words", "error": text},
    "aws": lambda code, text: {"__type": "SomeException", "Message": text},
    "deepgram": lambda code, text: {"err_code": "SOME_CODE", "err_msg": text, "request_id": "r"},
    "assemblyai": lambda code, text: {"error": text},
    "elevenlabs": lambda code, text: {"detail": {"status": "some_status", "message": text}},
    "speechmatics": lambda code, text: {"code": code, "error": "Some Words", "detail": text},
    "gladia": lambda code, text: {"statusCode": code, "message": text, "request_id": "G-1"},
    "revai": lambda code, text: {"title": "Some Words", "detail": text, "status": code},
}
"""How each vendor words a refusal."""


class Fakes:
    """A server. `fault(vendor, number)` names what goes wrong with a vendor's n-th request, or nothing."""

    def __init__(self):
        self.fault = lambda vendor, number: ""
        self.say = lambda frames: f"heard {frames} samples"
        self.requests = []  # (vendor, method, path, headers, body)
        self.stored = {}  # what is left at the services: uploads, jobs, transcripts
        self.looks = {}
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.busy = self.most_busy = 0
        self.release = threading.Event()
        fakes = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:  # a client that left
                    self.close_connection = True

            def do_POST(self):
                fakes.handle(self)

            do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815 - the standard library's names

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False  # so that closing waits for them
        self.server.handle_error = lambda *arguments: None
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def settings(self, vendor, **more):
        """Return the settings with which an engine talks to this server."""
        settings = {"url": self.url + ("/v1" if vendor == "openai" else ""), **SETTINGS[vendor], **more}
        if vendor == "aws":
            settings["s3_url"] = self.url
        return settings

    def of(self, vendor):
        return [request for request in self.requests if request[0] == vendor]

    def handle(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        vendor = vendor_of(handler)
        with self.lock:
            number = len(self.of(vendor))
            self.requests.append((vendor, handler.command, handler.path, dict(handler.headers), body))
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
        try:
            self.answer(handler, vendor, number, body)
        finally:
            with self.lock:
                self.busy -= 1

    def answer(self, handler, vendor, number, body):
        fault = self.fault(vendor, number)
        error = ERRORS[vendor]
        if callable(fault):
            fault = fault()
        if isinstance(fault, tuple):
            return send(handler, *fault)
        if fault == "429":
            return send(handler, 429, error(429, "slow down"))
        if fault == "429 after":
            return send(handler, 429, error(429, "slow down"), {"Retry-After": "0.1"})
        if fault == "500":
            return send(handler, 500, error(500, "something broke"))
        if fault == "401":
            return send(handler, 401, error(401, f"the key {KEY} of {AWS_ID} is not known"))
        if fault == "400":
            return send(handler, 400, error(400, "cannot decode the audio"))
        if fault == "html":
            return send(handler, 200, b"<!DOCTYPE html><html><body>Sign in</body></html>", {}, "text/html")
        if fault == "error inside":
            inside = {"RecognitionStatus": "Error"} if vendor == "azure" else error(503, "overloaded")
            return send(handler, 200, inside)
        if fault == "timeout":
            self.release.wait(5)
            handler.close_connection = True
            return None
        if fault == "reset":
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
            return handler.connection.close()
        status, content = getattr(self, f"do_{vendor}")(handler, body)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        if fault == "truncated":
            send(handler, status, data[: len(data) // 2], {"Content-Length": str(len(data) + 5)})
            handler.close_connection = True
            return None
        if fault == "drip":
            return drip(handler, data, self.release)
        if fault == "huge":
            return send(handler, 200, b'{"text": "' + b"a" * 21_000_000 + b'"}')
        return send(handler, status, data)

    # One method per vendor: what its documentation says that it answers.

    def do_openai(self, handler, body):
        if handler.headers["Authorization"] != f"Bearer {KEY}":
            return 401, ERRORS["openai"](401, "bad key")
        fields = form(handler.headers, body)
        return 200, {"text": self.say(frames(fields["file"]))}

    def do_google(self, handler, body):
        if handler.headers["X-Goog-Api-Key"] != KEY and handler.headers["Authorization"] != f"Bearer {KEY}":
            return 400, {
                "error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
            }
        order = json.loads(body)
        v2 = handler.path.startswith("/v2/")
        content = base64.b64decode(order["content"] if v2 else order["audio"]["content"])
        text = self.say(len(content) // 2)
        billed = {"metadata": {"totalBilledDuration": "1s"}} if v2 else {"totalBilledTime": "15s"}
        if not text:
            return 200, billed
        first, last = ("startOffset", "endOffset") if v2 else ("startTime", "endTime")
        words = [
            {first: f"{n}s", last: f"{n}.900s", "word": w, "confidence": 0.9}
            for n, w in enumerate(text.split())
        ]
        best = {"transcript": text, "confidence": 0.8, "words": words}
        return 200, {"results": [{"alternatives": [best], "languageCode": "en-us"}], **billed}

    def do_azure(self, handler, body):
        if handler.headers["Ocp-Apim-Subscription-Key"] != KEY:
            return 401, ERRORS["azure"](401, "Access denied due to invalid subscription key")
        if handler.path.startswith("/speechtotext/"):
            text = self.say(frames(form(handler.headers, body)["audio"]))
            word = {"text": text, "offsetMilliseconds": 40, "durationMilliseconds": 320}
            phrase = {**word, "words": [word], "locale": "en-US", "confidence": 0.93}
            return 200, {
                "durationMilliseconds": 1000,
                "combinedPhrases": [{"text": text}] if text else [],
                "phrases": [phrase] if text else [],
            }
        text = self.say(frames(body))
        if not text:
            return 200, {"RecognitionStatus": "InitialSilenceTimeout", "Offset": 0, "Duration": 0}
        best = {"Confidence": 0.9, "Lexical": text.lower(), "ITN": text, "MaskedITN": text, "Display": text}
        return 200, {"RecognitionStatus": "Success", "Offset": 1, "Duration": 2, "NBest": [best]}

    def do_watson(self, handler, body):
        if handler.headers["Authorization"] != "Basic " + base64.b64encode(f"apikey:{KEY}".encode()).decode():
            return 401, ERRORS["watson"](401, "Unauthorized")
        text = self.say(frames(body))
        if not text:
            return 200, {"result_index": 0, "results": []}
        words = text.split()
        best = {
            "transcript": f"{text} ",
            "confidence": 0.96,
            "timestamps": [[word, n, n + 0.5] for n, word in enumerate(words)],
            "word_confidence": [[word, 0.5] for word in words],
        }
        return 200, {"result_index": 0, "results": [{"final": True, "alternatives": [best]}]}

    def do_deepgram(self, handler, body):
        if handler.headers["Authorization"] != f"Token {KEY}":
            return 401, {"err_code": "INVALID_AUTH", "err_msg": "Invalid credentials.", "request_id": "r"}
        text = self.say(frames(body))
        words = [
            {"word": w, "start": n, "end": n + 0.5, "confidence": 0.9, "punctuated_word": w.title()}
            for n, w in enumerate(text.split())
        ]
        best = {"transcript": text, "confidence": 0.99 if text else 0.0, "words": words}
        return 200, {"metadata": {"duration": 1.0}, "results": {"channels": [{"alternatives": [best]}]}}

    def do_assemblyai(self, handler, body):
        if handler.headers["Authorization"] != KEY:
            return 401, {"error": "Authentication error, API token missing/invalid"}
        path = urlsplit(handler.path).path
        if path == "/v2/upload":
            return 200, {"upload_url": f"https://cdn.example/upload/{next(self.numbers)}-{frames(body)}"}
        if handler.command == "POST":
            name = f"job-{next(self.numbers)}-{json.loads(body)['audio_url'].rpartition('-')[2]}"
            self.stored[name] = json.loads(body)
            return 200, {"id": name, "status": "queued", "error": None}
        name = path.rpartition("/")[2]
        if handler.command == "DELETE":
            self.stored.pop(name)
            return 200, {"id": name, "status": "completed", "text": "Deleted by user."}
        self.looks[name] = self.looks.get(name, 0) + 1
        if self.looks[name] == 1:
            return 200, {"id": name, "status": "processing", "text": None}
        text = self.say(int(name.rpartition("-")[2]))
        words = [
            {"text": w, "start": 1000 * n, "end": 1000 * n + 500, "confidence": 0.9}
            for n, w in enumerate(text.split())
        ]
        done = {"id": name, "status": "completed", "text": text or None, "words": words, "confidence": 0.97}
        return 200, done

    def do_elevenlabs(self, handler, body):
        if handler.headers["xi-api-key"] != KEY:
            return 401, {"detail": {"status": "invalid_api_key", "message": "Invalid API key"}}
        text = self.say(frames(form(handler.headers, body)["file"]))
        words = []
        for n, word in enumerate(text.split()):
            words += [{"text": " ", "start": n, "end": n, "type": "spacing", "logprob": 0.0}] if n else []
            words.append({"text": word, "start": n, "end": n + 0.5, "type": "word", "logprob": -0.5})
        return 200, {"language_code": "eng", "language_probability": 0.9, "text": text, "words": words}

    def job(self, handler, uploaded, done, fields):
        """Keep jobs as most vendors do: a POST orders, the second GET finds it done, DELETE forgets it."""
        path = urlsplit(handler.path).path
        if handler.command == "POST":
            name = f"job-{next(self.numbers)}-{uploaded()}"
            self.stored[name] = True
            return 200, {"id": name, **fields}
        name = path.removesuffix("/transcript").rpartition("/")[2]
        if handler.command == "DELETE":
            self.stored.pop(name)
            return 202, {}
        self.looks[name] = self.looks.get(name, 0) + 1
        return 200, done(path, name, self.looks[name] > 1, self.say(int(name.rpartition("-")[2])).split())

    def do_speechmatics(self, handler, body):
        if handler.headers["Authorization"] != f"Bearer {KEY}":
            return 401, ERRORS["speechmatics"](401, "Permission Denied")

        def done(path, name, ready, words):
            if not path.endswith("/transcript"):
                return {"job": {"id": name, "status": "done" if ready else "running"}}
            items = [
                {
                    "type": "word", "start_time": n, "end_time": n + 0.5,
                    "alternatives": [{"content": word, "confidence": 0.9, "language": "en"}],
                }
                for n, word in enumerate(words)
            ]  # fmt: skip
            return {"format": "2.9", "job": {"id": name}, "results": items}

        uploaded = lambda: frames(form(handler.headers, body)["data_file"])  # noqa: E731
        return self.job(handler, uploaded, done, {})

    def do_gladia(self, handler, body):
        if handler.headers["x-gladia-key"] != KEY:
            return 401, ERRORS["gladia"](401, "gladia key not found")
        if handler.path == "/v2/upload":
            heard = frames(form(handler.headers, body)["audio"])
            return 200, {"audio_url": f"{self.url}/file/x-{heard}", "audio_metadata": {"id": "x"}}

        def done(path, name, ready, words):
            if not ready:
                return {"id": name, "status": "processing", "result": None}
            timed = [
                {"word": word, "start": n, "end": n + 0.5, "confidence": 0.9} for n, word in enumerate(words)
            ]
            spoken = [{"text": " ".join(words), "confidence": 0.8, "words": timed}] if words else []
            found = {"full_transcript": " ".join(words), "utterances": spoken, "languages": ["en"]}
            return {"id": name, "status": "done", "error_code": None, "result": {"transcription": found}}

        uploaded = lambda: json.loads(body)["audio_url"].rpartition("-")[2]  # noqa: E731
        return self.job(handler, uploaded, done, {"result_url": f"{self.url}/v2/pre-recorded/x"})

    def do_revai(self, handler, body):
        if handler.headers["Authorization"] != f"Bearer {KEY}":
            return 401, ERRORS["revai"](401, "Authorization has been denied")

        def done(path, name, ready, words):
            if not path.endswith("/transcript"):
                return {"id": name, "status": "transcribed" if ready else "in_progress"}
            elements = []
            for n, word in enumerate(words):
                elements += [{"type": "punct", "value": " "}] if n else []
                elements.append(
                    {"type": "text", "value": word, "ts": n, "end_ts": n + 0.5, "confidence": 0.9}
                )
            return {"monologues": [{"speaker": 0, "elements": elements}]}

        uploaded = lambda: frames(form(handler.headers, body)["media"])  # noqa: E731
        return self.job(handler, uploaded, done, {"status": "in_progress"})

    def do_aws(self, handler, body):
        path = urlsplit(handler.path).path
        if path.startswith("/result/"):  # an address with its own signature: our keys have no business here
            if "Authorization" in handler.headers or "X-Amz-Security-Token" in handler.headers:
                return 500, ERRORS["aws"](500, "credentials were sent to a foreign address")
            return 200, aws_result(self.say(int(path.rpartition("-")[2])))
        service = "transcribe" if "X-Amz-Target" in handler.headers else "s3"
        problem = aws_signature_problem(handler, body, service)
        if problem:
            return 403, (
                f"<?xml version='1.0'?><Error><Code>SignatureDoesNotMatch</Code><Message>{problem}</Message>"
                f"<AWSAccessKeyId>{AWS_ID}</AWSAccessKeyId></Error>"
            ).encode()
        if handler.command == "PUT":
            self.stored[f"s3:/{path}"] = frames(body)
            return 200, b""
        if handler.command == "DELETE":
            self.stored.pop(f"s3:/{path}", None)
            return 204, b""
        target, order = handler.headers["X-Amz-Target"], json.loads(body)
        name = order["TranscriptionJobName"]
        if target == "Transcribe.StartTranscriptionJob":
            if name in self.stored:
                return 400, {"__type": "ConflictException", "Message": "the name is taken"}
            self.stored[name] = self.stored[order["Media"]["MediaFileUri"]]
            return 200, {
                "TranscriptionJob": {"TranscriptionJobName": name, "TranscriptionJobStatus": "QUEUED"}
            }
        if target == "Transcribe.DeleteTranscriptionJob":
            self.stored.pop(name)
            return 200, b""
        self.looks[name] = self.looks.get(name, 0) + 1
        job = {"TranscriptionJobName": name, "TranscriptionJobStatus": "IN_PROGRESS"}
        if self.looks[name] > 1:
            uri = f"{self.url}/result/{name}-{self.stored[name]}?X-Amz-Signature=abc"
            job |= {"TranscriptionJobStatus": "COMPLETED", "Transcript": {"TranscriptFileUri": uri}}
        return 200, {"TranscriptionJob": job}


def vendor_of(handler):
    path = urlsplit(handler.path).path
    for start, vendor in {
        "/v1/audio/": "openai", "/v1/speech:": "google", "/v2/projects/": "google",
        "/speech/": "azure", "/speechtotext/transcriptions": "azure",
        "/v1/recognize": "watson", "/v1/listen": "deepgram", "/v2/pre-recorded": "gladia", "/v2/jobs": "speechmatics",
        "/v1/speech-to-text": "elevenlabs", "/speechtotext/v1/": "revai", "/v2/": "assemblyai",
    }.items():  # fmt: skip
        if vendor == "assemblyai" and "x-gladia-key" in handler.headers:
            return "gladia"
        if path.startswith(start):
            return vendor
    return "aws"


def aws_result(text):
    items = [
        {
            "start_time": f"{n}.04",
            "end_time": f"{n}.5",
            "alternatives": [{"confidence": "0.9", "content": word}],
            "type": "pronunciation",
        }
        for n, word in enumerate(text.split())
    ]
    items += (
        [{"alternatives": [{"confidence": "0.0", "content": "."}], "type": "punctuation"}] if text else []
    )
    return {"results": {"transcripts": [{"transcript": text}], "items": items}, "status": "COMPLETED"}


def aws_signature_problem(handler, body, service):
    """Check a signature the way a server does: from the request as it arrived."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    given = dict(part.split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(", "))
    identity, day, region, of, end = given["Credential"].split("/")
    names = given["SignedHeaders"].split(";")
    digest = hashlib.sha256(body).hexdigest()
    needed = {
        "host",
        "x-amz-date",
        "x-amz-security-token",
        *(["x-amz-content-sha256"] if service == "s3" else []),
    }
    if not needed <= set(names) or headers["x-amz-security-token"] != TOKEN:
        return f"not signed: {needed - set(names)}"
    lines = [handler.command, quote(urlsplit(handler.path).path), "", *(f"{n}:{headers[n]}" for n in names)]
    request = "\n".join([*lines, "", ";".join(names), digest])
    scope = f"{day}/{region}/{of}/{end}"
    text = (
        f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    )
    key = f"AWS4{KEY}".encode()
    for part in (day, "us-east-1", service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    expected = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return "" if (expected, identity) == (given["Signature"], AWS_ID) else "another signature was computed"


def send(handler, status, content, headers=None, kind="application/json"):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def drip(handler, data, release):
    """Send an answer byte by byte: each arrives well within any time-out, the whole never."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data) + 1000))
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        if release.wait(0.02):
            break
    handler.close_connection = True


def form(headers, body):
    """Parse multipart/form-data with the standard library's parser: {name: bytes}."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(head + body).get_payload()
    return {p.get_param("name", header="Content-Disposition"): p.get_payload(decode=True) for p in parts}


def frames(wav):
    with wave.open(io.BytesIO(wav)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16000, 1, 2)
        return sound.getnframes()


def query(path):
    return {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}


class FakeClock:
    """A clock that only waiting moves, and real time a little: requests are real."""

    def __init__(self):
        self.waits = []
        self._offset = 0.0
        self._lock = threading.Lock()

    def now(self):
        return time.monotonic() + self._offset

    def sleep(self, seconds):
        with self._lock:
            self.waits.append(seconds)
            self._offset += seconds
