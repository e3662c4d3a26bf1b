"""What all services share: their settings, their keys, and a batch asked at once."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import (
    RecognizerError,
    RefusedUtteranceError,
    Transcriber,
    Transcript,
    UtteranceError,
)
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.services.address import holds_secret, is_private, plain, problem_with_url
from voxaudit.recognize.services.answers import WHOLE, told
from voxaudit.recognize.services.caller import Access, Call, Caller, Patience, Rules
from voxaudit.recognize.services.gate import Clock, Gate
from voxaudit.recognize.services.secret import Secret, problem_with_variable, read_secret
from voxaudit.recognize.services.wire import Request
from voxaudit.recognize.settings import check_settings, setting

_ASIDE = frozenset(
    {
        "concurrency", "timeout", "patience", "retries", "price_per_minute", "billing_step", "billing_minimum",
        "key_env",
    }
)  # fmt: skip
_ID = re.compile(r"[\w-]{1,100}", re.ASCII)


def key_in(
    variable: str, help: str = "environment variable that holds the key; never written anywhere"
) -> Any:
    """Return the setting that names the variable of a service's key."""
    return setting(variable, help=help)


def concurrency_of(usual: int, help: str) -> Any:
    """Return the setting of how many requests a worker has under way at a time."""
    return setting(usual, help=help, at_least=1, at_most=64)


@dataclass(frozen=True)
class Service:
    """A recognizer behind HTTP. A vendor's own adds its settings, `hear`, and how a request is signed."""

    description: ClassVar[str] = ""
    engine: ClassVar[str] = ""
    main: ClassVar[str] = "model"
    """The setting that is meant by a value without a name."""
    shortest: ClassVar[float] = 0.1
    """Seconds: services refuse less; silence is added."""
    longest: ClassVar[float | None] = None
    """Seconds that one request may hold, where there is such a limit."""
    rules: ClassVar[Rules] = Rules()
    takes_query: ClassVar[bool] = False
    """Whether the URL may have a query, which then goes along."""
    aside: ClassVar[frozenset[str]] = frozenset()
    """Settings of its own that cannot change a text."""
    signed: ClassVar[tuple[str, str]] = ("Authorization", "Bearer {}")
    """The header that carries the key, and how."""

    url: str = setting("", help="base URL of the service")
    rate: int = setting(16_000, help="sample rate of the audio sent, in Hz", at_least=1000)
    concurrency: int = concurrency_of(4, "requests at a time per worker, at most; fewer while it is too much")
    timeout: float = setting(60.0, help="seconds to wait for one answer, whole", above=0)
    patience: float = setting(
        100.0, help="seconds for an utterance with all its tries; keep below [run] timeout", above=0
    )
    retries: int = setting(
        3, help="further tries when the service is busy or unreachable", at_least=0, at_most=20
    )
    price_per_minute: float = setting(
        0.0, help="what a minute of audio costs you, in USD; 0 for unknown", at_least=0
    )
    billing_step: float = setting(
        1.0, help="seconds that a request is rounded up to on the bill; 0 for exact", at_least=0
    )
    billing_minimum: float = setting(0.0, help="least seconds that a request is billed as", at_least=0)
    key_env: str = key_in("")
    options: str = setting("", help="further parameters in the service's own words, such as a=1&b=true")
    version: str = setting("", help="yours to raise when the service changes behind the same name")

    def __post_init__(self) -> None:
        check_settings(self, self.engine)
        problem = next((problem for problem in self.problems() if problem), "")
        if problem:
            raise RecognizerError(f"recognizer '{self.engine}': {problem}")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings, as far as they can tell; empty text where nothing is."""
        yield problem_with_url(self.base)
        if not self.takes_query and any(mark in self.base for mark in "?#"):
            yield "url must have no ? or # in it"
        if self.key_env or not is_private(self.base):
            yield problem_with_variable(self.key_env, "key_env")
        if holds_secret(self.options):
            yield "options holds a key; put it in the environment variable named by key_env"

    @property
    def base(self) -> str:
        """The address in use, without a slash at its end."""
        return self.url.rstrip("/")

    def at(self, path: str) -> str:
        """Return the address of `path` below `url`, whose query stays; a `url` that ends in it is taken as it is."""
        parts = urlsplit(self.url)
        place = parts.path.rstrip("/")
        return urlunsplit(parts._replace(path=place if place.endswith(path) else place + path))

    def pairs(self, **own: str) -> list[tuple[str, str]]:
        """Return what goes into a query or a form: the service's own fields that have a value, then `options`."""
        filled = [(name, value) for name, value in own.items() if value]
        return filled + parse_qsl(self.options, keep_blank_values=True)

    def order(self, **own: Any) -> dict[str, Any]:
        """Return what goes into JSON: the service's own keys, then `options`, read as JSON where that is valid."""
        for name, text in self.pairs():
            try:
                own[name] = json.loads(text)
            except ValueError:
                own[name] = text
        return own

    @property
    def remote(self) -> bool:
        """True where audio leaves one's own network, or has a price: a budget counts it."""
        return not is_private(self.base) or self.price_per_minute > 0

    @property
    def batch_size(self) -> int:
        """As many as are asked at a time."""
        return self.concurrency

    def billed_seconds(self, duration: float) -> float:
        """Return the seconds that a request with so many seconds of audio is billed as, without further tries."""
        seconds = max(duration, self.shortest)
        if self.billing_step > 0:
            seconds = math.ceil(seconds / self.billing_step - 1e-6) * self.billing_step
        return max(seconds, self.billing_minimum)

    def require(self) -> None:
        """Raise one line if a key is missing or part of a setting; a server on this machine may do without."""
        keys = self.keys()
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, str) and any(key.within(value) for key in keys.values()):
                raise RecognizerError(
                    f"recognizer '{self.engine}': the setting '{f.name}' holds the key, and settings are"
                    " written into the run's folder; leave the key to the environment alone"
                )

    def keys(self) -> dict[str, Secret]:
        """Return the keys by the setting that names their variable; raise one line where one is missing."""
        key = read_secret(self.key_env, f"recognizer '{self.engine}'")
        if key is None and not is_private(self.base):
            raise RecognizerError(
                f"recognizer '{self.engine}': {plain(self.base)} needs a key; put it in the environment"
                f" variable {self.key_env}"
            )
        return {} if key is None else {"key_env": key}

    def fingerprint(self) -> dict[str, str]:
        """The service and everything that is sent with the audio. Never the key, nor the URL's query."""
        sent = [f.name for f in fields(self) if f.name not in _ASIDE | self.aside | {"url"}]
        return {
            "engine": self.engine,
            "url": plain(self.base),
            **{name: str(getattr(self, name)) for name in sent},
        }

    def load(self) -> Transcriber:
        """Return the function that sends audio; nothing is asked of the service yet."""
        return self.client(Clock())

    def client(self, clock: Clock) -> Client:
        """Return the function that sends audio, with a clock of one's own."""
        self.require()
        keys = self.keys()
        caller = Caller(
            Gate(self.concurrency, clock),
            Patience(self.timeout, self.patience, self.retries),
            Access(self.signer(keys), tuple(keys.values())),
            self.rules,
            clock=clock,
            seed=os.getpid(),
        )
        return Client(self, caller)

    def signer(self, keys: Mapping[str, Secret]) -> Callable[[Request], Mapping[str, str]]:
        """Return the function from a request to the headers that show who asks."""
        key = keys.get("key_env")
        return lambda request: {} if key is None else self.credentials(key)

    def credentials(self, key: Secret) -> dict[str, str]:
        """Return the header that carries the key."""
        return {self.signed[0]: self.signed[1].format(key.reveal())}

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Ask the service about one utterance."""
        raise NotImplementedError


@dataclass(frozen=True)
class JobService(Service):
    """A service that takes an order, is asked until the job is done, and forgets it then.

    A vendor says how to order (`start`), the words for a job's state, and how to read what came of it (`read`).
    """

    jobs: ClassVar[str] = ""
    """Where jobs are, below the base URL: `JOBS/ID` is asked until it is done, and deleted."""
    pending: ClassVar[tuple[str, ...]] = ()
    done: ClassVar[str] = ""
    silence: ClassVar[tuple[str, ...]] = ()
    """Words of a failure that stand for: nobody spoke."""
    aside: ClassVar[frozenset[str]] = frozenset({"poll", "keep"})

    poll: float = setting(1.0, help="seconds between two looks at a job that is not done", above=0)
    keep: bool = setting(False, help="leave the job and its transcript at the service")

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Order, look until it is done, read, delete."""
        name = str(self.start(call, audio)["id"])
        if not _ID.fullmatch(name):
            raise ValueError("id")
        one = f"{self.base}{self.jobs}/{name}"
        try:
            job = self.finished(call, one, Request("GET", one))
            return Transcript("") if job is None else self.read(call, one, job)
        finally:
            self.forget(call, Request("DELETE", one), "the transcript")

    def start(self, call: Call, audio: Audio) -> dict[str, Any]:
        """Send the recording and order its transcript; return the answer, which has the job's id."""
        raise NotImplementedError

    def read(self, call: Call, one: str, job: dict[str, Any]) -> Transcript:
        """Return the transcript of a finished job, which is at the address `one`."""
        raise NotImplementedError

    def state(self, document: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the job inside an answer, and its state."""
        job = document.get("job", document)
        return job, str(job.get("status") or "")

    def finished(self, call: Call, name: str, look: Request) -> dict[str, Any] | None:
        """Look until the job is done, and return it; None if nobody spoke. Raises `UtteranceError` where it fails."""
        state = "queued"
        while True:
            call.pause(self.poll, f"{name}: the job is {state.lower()}, not done")
            job, state = self.state(call.json(look, check=self._stated))
            if state == self.done:
                return job
            if state not in self.pending:
                reason = told(job)
                if any(words in reason for words in self.silence):
                    return None
                raise UtteranceError(f"{name}: the job failed: {reason}")

    def _stated(self, document: dict[str, Any]) -> None:
        """A job that failed is an answer like any other; one without a state is not."""
        if not self.state(document)[1]:
            raise UtteranceError(f"{self.engine}: {told(document)}")

    def forget(self, call: Call, request: Request, what: str) -> None:
        """Delete what was left at the service, unless it is to stay."""
        if not self.keep:
            call.tidy(request, what)


class Client:
    """A loaded service: a batch of audio in, an answer each out."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        self.caller = caller

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript | UtteranceError]:
        """Return an answer per utterance, in order; raise `RecognizerError` where the service refuses any."""
        answers = dict(self.each(batch))
        return [answers[place] for place in range(len(batch))]

    def each(self, batch: Sequence[Audio]) -> Iterator[tuple[int, Transcript | UtteranceError]]:
        """Yield (place in the batch, answer) as the answers come: what was paid for is kept at once."""
        self.caller.check()
        answered, refused = False, {}
        with ThreadPoolExecutor(min(len(batch), self._service.concurrency)) as pool:
            places = {pool.submit(self._hear, audio): place for place, audio in enumerate(batch)}
            for done in as_completed(places):
                answer = done.result()
                if isinstance(answer, RecognizerError):
                    refused[places[done]] = answer
                else:
                    answered |= isinstance(answer, Transcript)
                    yield places[done], answer
        # What others of the batch got, and perhaps cost, is not thrown away because one failed: where the
        # service refuses any further audio, that is said with the next call.
        if not answered:
            self.caller.check()
        yield from ((place, UtteranceError(str(error))) for place, error in refused.items())

    def _hear(self, audio: Audio) -> Transcript | UtteranceError | RecognizerError:
        service = self._service
        if service.longest is not None and audio.duration > service.longest:
            return RefusedUtteranceError(
                f"{service.engine} takes at most {service.longest:g} s of audio in a request,"
                f" not {audio.duration:.1f} s"
            )
        audio = Audio(at_least(audio.samples, math.ceil(service.shortest * audio.rate)), audio.rate)
        try:
            heard = service.hear(Call(self.caller), audio)
            parts = (*(word.text for word in heard.words), *(message.text for message in heard.messages))
            said = " ".join((heard.text, *parts))
            if any(secret.within(said) for secret in self.caller.access.secrets):
                return RefusedUtteranceError(
                    f"{service.engine}: the answer repeats the key, which nobody said"
                )
            return heard
        except UtteranceError as error:
            return type(error)(self.caller.safe(str(error)))
        except RecognizerError as error:
            return error
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            kind = f"{type(error).__name__}: {one_line(error, WHOLE)}"
            return UtteranceError(
                self.caller.safe(f"{service.engine}: the answer is not of the documented form ({kind})")
            )
