"""Services that listen over a WebSocket: audio goes up in chunks, JSON messages come down at their own time.

The protocols are those documented for Deepgram's live audio ("Live audio" of its API reference) and for vosk-server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlencode

from voxaudit.audio import Audio, Samples, pcm16
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcript, UtteranceError, Word
from voxaudit.recognize.files import require_packages
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.deepgram import Deepgram
from voxaudit.recognize.services.service import Service
from voxaudit.recognize.settings import check_settings, setting
from voxaudit.recognize.streaming import REAL_TIME, Said, chunk_setting, listen, pace_setting
from voxaudit.recognize.vosk import read_said

LARGEST = 1_000_000
"""Bytes of one message."""
CLOSING = 1.0
"""Seconds that a service has to say goodbye; all it said before is here."""


class _Live:
    """What services over a WebSocket share, beside the `Service` that they are."""

    extra: ClassVar[str] = "streaming"
    requires: ClassVar[tuple[str, ...]] = ("websockets",)
    first: ClassVar[str] = ""
    """What is sent before the audio; `{rate}` is the sample rate."""
    last: ClassVar[str] = ""
    """What is sent after it."""

    def require(self: Any) -> None:
        """Raise one line if the package or a key is missing, or a setting has a value that it cannot have."""
        require_packages(type(self))
        check_settings(self, self.engine)
        Service.require(self)

    @property
    def address(self: Any) -> str:
        """Where the socket is opened."""
        return str(self.base)

    def said(self, document: dict[str, Any]) -> Said | None:
        """Return what a message says; None where it says nothing of the text."""
        raise NotImplementedError

    def hear(self: Any, call: Call, audio: Audio) -> Transcript:
        """Open a socket, hand the audio over and keep what comes."""
        headers = self.signer(self.keys())(None)
        with ExitStack() as stack:
            session = _Session(self, _opened(self, headers, stack))
            if self.first:
                session.write(self.first.replace("{rate}", str(audio.rate)))
            return listen(session, audio, chunk=self.chunk, pace=self.pace)


def _opened(service: Any, headers: Mapping[str, str], stack: ExitStack) -> Any:
    """Return an open socket, which `stack` closes; raise one line where there is none."""
    from websockets.exceptions import InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect

    class Straight(ClientConnection):
        """A connection that goes where it was sent: `connect` would follow redirects, and the audio with it."""

        def handshake(self, *arguments: Any) -> None:
            try:
                super().handshake(*arguments)
            except InvalidStatus as error:
                status = error.response.status_code
                refused = f"{service.engine}: refused with status {status}"
                if 300 <= status < 400:
                    refused += ". It redirects; give the address it redirects to as url"
                ends = status in (401, 402, 403) or 300 <= status < 400
                raise (RecognizerError if ends else UtteranceError)(refused) from error

    try:
        return stack.enter_context(
            connect(
                "ws" + service.address.removeprefix("http"),
                additional_headers=dict(headers),
                open_timeout=service.timeout,
                close_timeout=CLOSING,
                max_size=LARGEST,
                create_connection=Straight,
            )
        )
    except WebSocketException as error:
        raise UtteranceError(f"{service.engine}: no WebSocket there ({one_line(error, 120)})") from error
    except OSError as error:
        raise UtteranceError(f"{service.engine}: cannot be reached ({one_line(error, 120)})") from error


class _Session:
    local = False

    def __init__(self, service: Any, socket: Any) -> None:
        self.over = False
        self._service, self._socket = service, socket

    def send(self, samples: Samples) -> None:
        self.write(pcm16(samples).astype("<i2").tobytes())

    def end(self) -> None:
        self.write(self._service.last)

    def write(self, message: str | bytes) -> None:
        """Send a message as it is. A service that closed in order hears no more; what it said is still read."""
        self._try(lambda: self._socket.send(message))

    def receive(self, seconds: float) -> Said | None:
        until = time.perf_counter() + seconds
        while not self.over:
            left = max(until - time.perf_counter(), 0.0)
            try:
                message = self._try(partial(self._socket.recv, timeout=left))
            except TimeoutError:
                return None
            self.over = message is None
            said: Said | None = None if message is None else self._service.said(json.loads(message))
            if said is not None:
                return said
        return None

    def _try(self, step: Callable[[], Any]) -> Any:
        """Return what a step gives; None where the service closed the socket in order."""
        from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK

        try:
            return step()
        except ConnectionClosedOK:
            return None
        except ConnectionClosedError as error:
            raise UtteranceError(f"{self._service.engine}: hung up ({one_line(error, 120)})") from error


@dataclass(frozen=True)
class DeepgramStreaming(_Live, Deepgram):
    description = "Deepgram's live audio, a WebSocket at `/v1/listen`."
    engine = "deepgram_streaming"
    last = '{"type": "CloseStream"}'

    chunk: float = chunk_setting()
    pace: str = pace_setting(REAL_TIME)

    @property
    def address(self) -> str:
        """The documented address, with what is asked for."""
        asked = {"model": self.model, "language": self.language, "interim_results": "true"}
        asked |= {"encoding": "linear16", "sample_rate": str(self.rate), "channels": "1"}
        more = f"&{self.options}" if self.options else ""
        return f"{self.base}/v1/listen?{urlencode(asked)}{more}"

    def said(self, document: dict[str, Any]) -> Said | None:
        """Return the first channel's best alternative: final where `is_final`."""
        if document.get("type") != "Results":
            return None
        best = document["channel"]["alternatives"][0]
        words = tuple(
            Word(one["word"], one["start"], one["end"], one.get("confidence"))
            for one in best.get("words") or ()
            if document["is_final"]
        )
        return Said(best["transcript"], bool(document["is_final"]), words)


@dataclass(frozen=True)
class VoskServer(_Live, Service):
    description = "A vosk-server, or another that speaks its WebSocket protocol."
    engine = "vosk_server"
    main = "url"
    first = '{"config": {"sample_rate": {rate}, "words": 1}}'
    last = '{"eof": 1}'

    url: str = setting("http://127.0.0.1:2700", help="address of the server; the socket is opened there")
    chunk: float = chunk_setting()
    pace: str = pace_setting(REAL_TIME)

    def said(self, document: dict[str, Any]) -> Said | None:
        """Return what Vosk's own JSON says."""
        return read_said(document)
