from __future__ import annotations

import json
from email.message import Message
from typing import Any, Dict, List, Mapping, Optional

from .types import STATUS_OF


class MoorageError(Exception):
    """Everything that can go wrong between you and the service.

    `code` says what: one of the API's codes, or `unreachable` (no reply came), `invalid_reply` (something else than
    Moorage answered) or `waiting` (a run that you wait for waits for something itself). `status` is 0 without a reply.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: Optional[str] = None,
        details: Optional[List[Dict[str, str]]] = None,
        retry_after: Optional[float] = None,
        should_retry: Optional[bool] = None,
        reason: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        #: Give it to the operator when you ask for help: it is in the service's log.
        self.request_id = request_id
        #: The wrong fields, if the request was not valid: `{"field", "error"}`.
        self.details = details or []
        #: In seconds.
        self.retry_after = retry_after
        #: False if the service says that another try would run the agent again, and most likely end in the same way.
        self.should_retry = should_retry
        #: Why a run waits, if not for people.
        self.reason = reason
        #: Whether the service may have got the request although no reply came.
        self.was_sent = False

    def __reduce__(self) -> Any:
        # Pools of processes copy errors, and know only the message.
        return (_copy, (type(self), self.code, self.message, self.__dict__))

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        # After `timeout`, the agent took too long, and another try would take as long again.
        if self.should_retry is False or self.code == "timeout":
            return False
        return self.status == 0 or self.status == 429 or self.status >= 500 or self.code == "idempotency_key_in_use"


def _copy(kind: Any, code: str, message: str, facts: Dict[str, Any]) -> MoorageError:
    error: MoorageError = kind(code, message)
    error.__dict__.update(facts)
    return error


def error_of(status: int, headers: Message, text: str) -> MoorageError:
    """The error in a reply. A proxy on the way may have answered in another format."""
    facts: Dict[str, Any] = {
        "status": status,
        "request_id": headers.get("x-request-id"),
        "retry_after": seconds(headers.get("retry-after")),
        "should_retry": False if headers.get("x-should-retry") == "false" else None,
    }
    try:
        body = json.loads(text)
    except ValueError:
        return MoorageError(_code_of(status), f"The service answered {status}.", **facts)
    said = body.get("error") if isinstance(body, dict) else None
    message = said.get("message") if isinstance(said, dict) else None
    if isinstance(said, dict) and isinstance(message, str) and body.get("success") is False and "code" in said:
        return _told(said, facts)
    # Errors for clients of other protocols have our code or one of theirs.
    if isinstance(said, dict) and isinstance(message, str) and str(facts["request_id"]).startswith("req_"):
        code = said.get("code")
        return _told({**said, "code": code if code in STATUS_OF else _code_of(status)}, facts)
    message = f"The server answered {status}, but not like Moorage. Check the URL."
    return MoorageError("server_error" if status >= 500 else "invalid_reply", message, **facts)


def error_from(body: Mapping[str, Any], request_id: Optional[str]) -> MoorageError:
    """The error of a body without a status: the last event of a stream."""
    said = body["error"]
    return _told(said, {"status": STATUS_OF.get(said["code"], 500), "request_id": request_id})


def _told(said: Mapping[str, Any], facts: Dict[str, Any]) -> MoorageError:
    known = {name: said[name] for name in ("details", "retry_after") if said.get(name) is not None}
    return MoorageError(said["code"], said["message"], **{**facts, **known})


def seconds(text: Optional[str]) -> Optional[float]:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if value >= 0 else None


def _code_of(status: int) -> str:
    known = next((code for code, value in STATUS_OF.items() if value == status), None)
    return known or ("server_error" if status >= 500 else "invalid_reply")
