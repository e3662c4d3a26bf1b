"""Amazon's signature of a request, version 4: a hash of what is asked, keyed by the secret, the day and the place."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from voxaudit.recognize.services.address import host_of
from voxaudit.recognize.services.secret import Secret

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
