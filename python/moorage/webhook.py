"""Checks that a webhook delivery, or a call of a remote agent, comes from your service."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Dict, Mapping, Optional, Sequence, Union

TOLERANCE_SECONDS = 300

Secrets = Union[str, Sequence[str]]


class WebhookVerificationError(Exception):
    """The delivery is not genuine, or too old: answer 401 and do nothing else."""


def verify_webhook(
    body: Union[bytes, str],
    headers: Mapping[str, str],
    secret: Secrets,
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: Optional[float] = None,
) -> Dict[str, Any]:
    """Returns the event, or raises `WebhookVerificationError`.

    `body` must be the bytes that arrived, before they were parsed. `secret` is the webhook's secret (`whsec_…`), or
    several during a rotation. `webhook-signature` covers the id and the time as well, so that an old delivery cannot be
    replayed. An event may arrive more than once, so remember its id.
    """
    content = body.encode() if isinstance(body, str) else body
    message_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookVerificationError("webhook-timestamp is not a time")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookVerificationError("webhook-timestamp is too far from the current time")
    signed = f"{message_id}.{timestamp}.".encode() + content
    given = [part.encode() for part in signatures.split(" ")]
    # The body is hashed once for each secret of ours, however many signatures a stranger sends.
    expected = [sign(key, signed) for key in map(_key, _several(secret)) if key]
    if not _is_any(given, expected):
        raise WebhookVerificationError("no signature matches")
    return json.loads(content)


def verify_signature(body: Union[bytes, str], signature: str, secret: Secrets) -> bool:
    """Checks `X-Service-Signature` alone: the hex HMAC-SHA256 of the body, with the whole secret as key.

    It covers neither the id nor the time, so it cannot detect a replayed delivery: prefer `verify_webhook`.
    """
    content = body.encode() if isinstance(body, str) else body
    keys = [one.encode() for one in _several(secret) if one]
    expected = [hmac.new(key, content, hashlib.sha256).hexdigest().encode() for key in keys]
    return _is_any([signature.lower().encode()], expected)


def sign(key: bytes, signed: bytes) -> bytes:
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


def _is_any(given: Sequence[bytes], expected: Sequence[bytes]) -> bool:
    # In constant time: how long it takes says nothing about where two signatures differ.
    return any([hmac.compare_digest(one, right) for one in given for right in expected])


def _several(secret: Secrets) -> Sequence[str]:
    return [secret] if isinstance(secret, str) else secret


def _key(secret: str) -> bytes:
    text = secret[len("whsec_") :] if secret.startswith("whsec_") else secret
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def _header(headers: Mapping[str, str], name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), "")
    if not value:
        raise WebhookVerificationError(f"the header {name} is missing")
    return value
