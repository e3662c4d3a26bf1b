"""Amazon Transcribe: the recording into a bucket of yours, a job, its transcript, and both deleted again."""

from __future__ import annotations

import hashlib
import hmac
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcript, UtteranceError
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.services.address import host_of, is_private, plain, problem_with_url
from voxaudit.recognize.services.answers import confidence_of, heard
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.secret import Secret, problem_with_variable, read_secret
from voxaudit.recognize.services.service import JobService, key_in
from voxaudit.recognize.services.wire import Request, post_json
from voxaudit.recognize.settings import setting

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9/_.-]{0,200}")


@dataclass(frozen=True)
class AWS(JobService):
    """Documented in "StartTranscriptionJob", "GetTranscriptionJob" and "DeleteTranscriptionJob" of the Amazon
    Transcribe API reference and in "PutObject" and "DeleteObject" of the Amazon S3 API reference.
    """

    description = "Amazon Transcribe's batch jobs, with a bucket of S3 for the recordings."
    main = "bucket"
    engine = "aws"
    shortest = 0.5
    rules = Rules(
        stops=(
            "UnrecognizedClientException", "InvalidSignatureException", "SignatureDoesNotMatch", "InvalidAccessKeyId",
            "InvalidClientTokenId", "ExpiredToken", "InvalidToken", "AccessDenied", "NoSuchBucket",
            "SubscriptionRequiredException", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed",
        ),
        passes=("LimitExceededException", "Throttling", "SlowDown", "TooManyRequests", "InternalFailure"),
    )  # fmt: skip
    aside = JobService.aside | {"bucket", "prefix", "s3_url", "id_env", "token_env"}
    pending = ("QUEUED", "IN_PROGRESS")
    done = "COMPLETED"

    url: str = setting("", help="base URL of Amazon Transcribe, if it is not the region's")
    billing_minimum: float = setting(15.0, help="least seconds that a request is billed as", at_least=0)
    key_env: str = key_in(
        "AWS_SECRET_ACCESS_KEY", "environment variable of the secret key; never written anywhere"
    )
    bucket: str = setting("", help="bucket of yours that recordings pass through")
    region: str = setting("us-east-1", help="region of the bucket and of the service")
    language: str = setting("en-US", help="language of the speech")
    prefix: str = setting("voxaudit/", help="what the recordings' names in the bucket begin with")
    poll: float = setting(3.0, help="seconds between two looks at a job that is not done", above=0)
    s3_url: str = setting("", help="base URL of S3, if it is not the region's")
    id_env: str = setting("AWS_ACCESS_KEY_ID", help="environment variable of the key's id")
    token_env: str = setting("AWS_SESSION_TOKEN", help="environment variable of the token, if there is one")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        if not _REGION.fullmatch(self.region):
            yield f"region must be such as us-east-1, not '{one_line(self.region, 40)}'"
        if not _BUCKET.fullmatch(self.bucket):
            yield "give a bucket of yours as bucket: recordings pass through it"
        if not _PREFIX.fullmatch(self.prefix) or "//" in self.prefix or "." in self.prefix.split("/"):
            yield "prefix may have letters, digits and / _ . -"
        yield from super().problems()
        yield problem_with_url(self._objects, "s3_url")
        for name in ("id_env", "token_env"):
            yield problem_with_variable(getattr(self, name), name)

    @property
    def base(self) -> str:
        """The region's own address unless another is given."""
        return self.url.rstrip("/") or f"https://transcribe.{self.region}.amazonaws.com"

    @property
    def _objects(self) -> str:
        """Where the bucket's objects are. A name with dots does not fit the certificate of its own host."""
        if self.s3_url or "." in self.bucket:
            base = self.s3_url.rstrip("/") or f"https://s3.{self.region}.amazonaws.com"
            return f"{base}/{self.bucket}"
        return f"https://{self.bucket}.s3.{self.region}.amazonaws.com"

    def keys(self) -> dict[str, Secret]:
        """The secret key and its id are needed even by servers in one's own network: requests are signed."""
        who = f"recognizer '{self.engine}'"
        found = {name: read_secret(getattr(self, name), who) for name in ("key_env", "id_env", "token_env")}
        for name in ("key_env", "id_env"):
            if found[name] is None:
                raise RecognizerError(
                    f"{who}: put your key in the environment variable {getattr(self, name)}"
                )
        return {name: key for name, key in found.items() if key is not None}

    def signer(self, keys: Mapping[str, Secret]) -> Callable[[Request], Mapping[str, str]]:
        """Sign each try anew: a signature is good for minutes."""
        identity = Identity(keys["id_env"], keys["key_env"], keys.get("token_env"))

        def headers(request: Request) -> Mapping[str, str]:
            own = {
                n: v for n, v in request.headers.items() if n.lower().startswith(("x-amz-", "content-type"))
            }
            return sign(
                identity,
                request.method,
                request.url,
                own,
                request.body or b"",
                region=self.region,
                service="transcribe" if "X-Amz-Target" in own else "s3",
            )

        return headers

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Put the recording into the bucket, order a job, look until it is done, fetch its text, clear up."""
        name = f"voxaudit-{uuid.uuid4().hex}"
        key = f"{self.prefix}{name}.wav"
        recording = f"{self._objects}/{key}"
        clear = Request("DELETE", recording)
        try:
            call.send(Request("PUT", recording, {"Content-Type": "audio/wav"}, wav_bytes(audio)))
        except UtteranceError:  # it may have got there all the same
            self.forget(call, clear, "the recording")
            raise
        try:
            return self._transcribe(call, name, f"s3://{self.bucket}/{key}", audio.rate)
        finally:
            self.forget(call, clear, "the recording")

    def _transcribe(self, call: Call, name: str, recording: str, rate: int) -> Transcript:
        job = self.order(
            TranscriptionJobName=name,
            LanguageCode=self.language,
            MediaFormat="wav",
            MediaSampleRateHertz=rate,
            Media={"MediaFileUri": recording},
        )
        # The name is ours alone: that it exists means that an earlier try got through after all.
        call.json(self._job("Start", job), fine=("ConflictException",))
        this = {"TranscriptionJobName": name}
        try:
            job = self.finished(call, plain(self.base), self._job("Get", this)) or {}
            return parse_answer(call.json(self._elsewhere(job["Transcript"]["TranscriptFileUri"])))
        finally:
            self.forget(call, self._job("Delete", this), f"the job {name}")

    def state(self, document: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the job inside an answer, and its state, by Amazon's names."""
        job = document["TranscriptionJob"]
        return job, job["TranscriptionJobStatus"]

    def _job(self, verb: str, body: Mapping[str, Any]) -> Request:
        kind = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": f"Transcribe.{verb}TranscriptionJob",
        }
        return post_json(f"{self.base}/", body, **kind)

    def _elsewhere(self, url: str) -> Request:
        """Return the request for a transcript. The address carries its own signature; our keys are not sent there."""
        if urlsplit(url).scheme != "https" and not (is_private(url) and is_private(self.base)):
            raise ValueError("the transcript's address is not https")
        return Request("GET", url, authorize=False)


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the transcript of a finished job, with times and confidences of its words (not of punctuation)."""
    results = document["results"]
    words = [
        {
            "text": item["alternatives"][0]["content"],
            "start": float(item["start_time"]),
            "end": float(item["end_time"]),
            "confidence": float(item["alternatives"][0]["confidence"]),
        }
        for item in results.get("items") or []
        if item["type"] == "pronunciation"
    ]
    text = " ".join(part["transcript"] for part in results["transcripts"])
    return heard(text, words, confidence_of((word["confidence"], 1) for word in words))


# Amazon's signature of a request, version 4: a hash of what is asked, keyed by the secret, the day and the place.

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Identity:
    """Who signs: the key's id, the secret, and the token of temporary credentials."""

    id: Secret
    secret: Secret
    token: Secret | None = None


def sign(
    identity: Identity,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    region: str,
    service: str,
    now: datetime | None = None,
) -> dict[str, str]:
    """Return the headers that sign a request: Authorization, Host, X-Amz-Date and what belongs to them.

    Follows "Create a signed AWS API request" of the AWS IAM user guide. Paths are encoded once more than they
    are sent, except for S3, which takes a hash of the body as a header instead.
    """
    time = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    added = {"Host": host_of(url), "X-Amz-Date": time}
    if service == "s3":
        added["X-Amz-Content-Sha256"] = digest
    if identity.token is not None:
        added["X-Amz-Security-Token"] = identity.token.reveal()
    signed = {name.lower(): " ".join(value.split()) for name, value in {**headers, **added}.items()}
    names = ";".join(sorted(signed))
    parts = urlsplit(url)
    path = parts.path or "/"
    request = "\n".join(
        [
            method,
            quote(unquote(path) if service == "s3" else path, safe="/-_.~"),
            _query(parts.query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            digest,
        ]
    )
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([ALGORITHM, time, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = _hmac(_key(identity.secret, time[:8], region, service), text).hex()
    added["Authorization"] = (
        f"{ALGORITHM} Credential={identity.id.reveal()}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return added


def _query(query: str) -> str:
    pairs = sorted(
        (quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in parse_qsl(query, keep_blank_values=True)
    )
    return "&".join(f"{key}={value}" for key, value in pairs)


def _key(secret: Secret, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret.reveal()}".encode()
    for part in (day, region, service, "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
