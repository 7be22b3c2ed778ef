"""The sealed state that a modern client returns with a person's decision.

The client may keep, change or copy the state, so an HMAC binds it to this process, to the call and to the digests of
the content that was asked about. It is valid once, for ten minutes.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

VALID_S = 600.0
_VERSION = "v1"


class Asked(Struct, frozen=True, kw_only=True):
    """What a person is asked. digest: of the question. approved: digests of those approved before, in the same call.

    lines: digest of the lines that the question would change.
    """

    digest: str
    lines: str = ""
    approved: tuple[str, ...] = ()


class _Payload(Struct, frozen=True, kw_only=True):
    nonce: str
    expiry: float
    asked: Asked


class StateSeal:
    """Seals and opens states. Belongs to the event loop."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self._now = now
        self._used: dict[str, float] = {}  # nonce -> expiry

    def seal(self, call: str, asked: Asked) -> str:
        """Return the state for a question. call: what it is bound to, see `digest_of_call`."""
        payload = _Payload(nonce=secrets.token_hex(16), expiry=self._now() + VALID_S, asked=asked)
        body = base64.urlsafe_b64encode(msgspec.json.encode(payload)).decode("ascii")
        return f"{_VERSION}.{body}.{self._mac(call, body)}"

    def open(self, call: str, state: str) -> Asked | None:
        """Return None for a state that is forged, altered, expired, already used, or of another call."""
        version, _, rest = state.partition(".")
        body, _, mac = rest.partition(".")
        if version != _VERSION or not hmac.compare_digest(
            self._mac(call, body).encode(), mac.encode("utf-8", "replace")
        ):
            return None
        try:
            payload = msgspec.json.decode(base64.urlsafe_b64decode(body), type=_Payload)
        except (binascii.Error, msgspec.DecodeError):
            return None
        now = self._now()
        self._used = {nonce: expiry for nonce, expiry in self._used.items() if expiry > now}
        if payload.expiry <= now or payload.nonce in self._used:
            return None
        self._used[payload.nonce] = payload.expiry
        return payload.asked

    def _mac(self, call: str, body: str) -> str:
        return hmac.new(self._key, f"{call}\n{body}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def digest_of_call(session_id: str, tool: str, arguments: object) -> str:
    """Return a digest that is equal only for the same call; the order of keys does not count."""
    text = json.dumps([session_id, tool, arguments], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
