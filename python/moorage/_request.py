from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import socket
import time
import urllib.error
import urllib.request
from typing import IO, Any, Callable, Dict, Iterator, Mapping, Optional, TypedDict, Union
from urllib.parse import quote, urlencode, urlsplit

from ._errors import MoorageError, error_of
from ._pages import Pages


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


#: What was not given. `None` is a value: it becomes null.
UNSET: Any = _Unset()

RETRIES = 2
TIMEOUT = 60.0
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 60.0

Content = Union[bytes, IO[bytes]]
OnRetry = Callable[[MoorageError, float], None]


class RequestOptions(TypedDict, total=False):
    """What every method takes besides its own arguments."""

    #: Makes your own retries safe too. Without it, each call gets a key of its own.
    idempotency_key: str
    #: A one-time code, for operations that ask for one.
    otp: str
    #: For how many seconds the service may be silent.
    timeout: float
    #: How often a request is sent again if it failed and was not at fault.
    retries: int


class Reply:
    """A reply that has arrived completely."""

    def __init__(self, response: http.client.HTTPResponse, url: str) -> None:
        self.url = url
        self.status = response.status
        self.headers = response.headers
        self.content = response.read()

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError:
            raise not_ours(self.url, self.status, self.headers, "in JSON") from None

    def data(self) -> Any:
        """The data of an operation's reply. Another server may answer in JSON too, so the envelope is required."""
        body = self.json()
        if not isinstance(body, dict) or body.get("success") is not True or "data" not in body:
            raise not_ours(self.url, self.status, self.headers)
        return body["data"]

    def page(self) -> Dict[str, Any]:
        body = self.json()
        if not isinstance(body, dict) or not isinstance(body.get("data"), list) or "pagination" not in body:
            raise not_ours(self.url, self.status, self.headers)
        return body


def not_ours(url: str, status: int, headers: Any, how: str = "as Moorage does") -> MoorageError:
    message = f"{url} did not answer {how}. Check the URL."
    return MoorageError("invalid_reply", message, status=status, request_id=headers.get("x-request-id"))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # The key would be sent to wherever the redirect leads.
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


class Connection:
    """Sends calls to the service, and sends them again as long as that can help."""

    def __init__(
        self,
        url: str,
        key: Optional[str] = None,
        *,
        project: Optional[str] = None,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
        idle_timeout: float = 45.0,
        on_retry: Optional[OnRetry] = None,
        headers: Optional[Mapping[str, str]] = None,
        ssl_context: Any = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be an http or https URL, such as http://127.0.0.1:8787: {url!r}")
        self.url = url.rstrip("/")
        self.origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.retries = retries
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.on_retry = on_retry
        self._own = {
            "User-Agent": "moorage-python",
            **({} if key is None else {"Authorization": f"Bearer {key}"}),
            **({} if project is None else {"Moorage-Project": project}),
            **(headers or {}),
        }
        # The proxies of the environment are used, as by other programs.
        self._opener = urllib.request.build_opener(
            _NoRedirects(), urllib.request.HTTPSHandler(context=ssl_context)
        )

    def send(self, method: str, path: str, **rest: Any) -> Reply:
        """Returns the whole reply."""
        return self._retrying(method, path, lambda response, url: Reply(response, url), **rest)

    def open(self, method: str, path: str, **rest: Any) -> http.client.HTTPResponse:
        """Returns when the reply begins. The caller reads and closes it."""
        return self._retrying(method, path, None, **rest)

    def _retrying(
        self,
        method: str,
        path: str,
        read: Optional[Callable[[http.client.HTTPResponse, str], Any]],
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        content: Optional[Content] = None,
        headers: Optional[Mapping[str, str]] = None,
        deleted: Optional[Mapping[str, Any]] = None,
        options: Optional[RequestOptions] = None,
        default_timeout: Optional[float] = None,
        default_retries: Optional[int] = None,
        is_repeatable: bool = False,
    ) -> Any:
        """`is_repeatable`: `content` is a file that can be sent again from its beginning."""
        options = options or {}
        unknown = next((name for name in options if name not in RequestOptions.__annotations__), None)
        if unknown is not None:
            raise TypeError(f"{method} {path} takes no argument {unknown}")
        # Without the slash the path would become part of the host name, and the key would be sent there.
        if not path.startswith("/"):
            raise ValueError(f"the path must start with /: {path}")
        url = self.url + path + _query_text(query or {})
        fields = {"Accept": "application/json", **self._own}
        if method in ("POST", "PATCH"):
            fields["Idempotency-Key"] = options.get("idempotency_key") or secrets.token_hex(16)
        if "otp" in options:
            fields["X-Service-OTP"] = options["otp"]
        if body is not None:
            fields["Content-Type"] = "application/json"
        fields.update(headers or {})
        sent = json.dumps(body).encode() if body is not None else content
        timeout = options.get("timeout", default_timeout or self.timeout)
        retries = options.get("retries", self.retries if default_retries is None else default_retries)
        tries = 0
        is_reply_lost = False
        while True:
            try:
                return self._once(method, url, fields, sent, timeout, read)
            except MoorageError as error:
                if deleted and is_reply_lost and error.code == "not_found":
                    # The first try deleted it, and only its reply was lost.
                    return _Deleted(deleted)
                is_reply_lost = is_reply_lost or error.was_sent
                pause = _pause_before(path, error, tries)
                if tries >= retries or pause is None or not (is_repeatable or content is None or isinstance(content, bytes)):
                    raise
                tries += 1
                if self.on_retry:
                    self.on_retry(error, pause)
                time.sleep(pause)
                if is_repeatable:
                    sent.seek(0)

    def _once(self, method: str, url: str, headers: Any, sent: Any, timeout: float, read: Any) -> Any:
        request = urllib.request.Request(url, data=sent, headers=headers, method=method)
        try:
            response = self._opener.open(request, timeout=timeout)
            if read is None:
                return response
            with response:
                return read(response, url)
        except urllib.error.HTTPError as refusal:
            with refusal:
                try:
                    text = refusal.read().decode("utf-8", "replace")
                except (OSError, http.client.HTTPException):
                    text = ""
                raise error_of(refusal.code, refusal.headers, text) from None
        except (OSError, http.client.HTTPException) as problem:
            raise self.unreachable(problem, timeout) from problem

    def unreachable(self, problem: Exception, timeout: float) -> MoorageError:
        reason = getattr(problem, "reason", problem)
        why = f"no reply within {timeout:g} s" if isinstance(reason, (TimeoutError, socket.timeout)) else str(reason) or repr(reason)
        error = MoorageError("unreachable", f"Cannot reach {self.origin}: {why}")
        # The service may have done what was asked, unless there was no connection at all.
        error.was_sent = not isinstance(reason, (ConnectionRefusedError, socket.gaierror))
        return error


class _Deleted:
    """Stands for the lost reply of a DELETE that was done."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)

    def data(self) -> Any:
        return self._data


def _pause_before(path: str, error: MoorageError, tries: int) -> Optional[float]:
    """None when another try cannot help, or only after a very long wait."""
    # The agent ran and failed. Its idempotency key does not store that, so another try would run it again.
    if error.status == 500 and path.endswith("/invoke"):
        return None
    if not error.is_passing:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE else None
    return FIRST_PAUSE * 2.0**tries * (0.5 + random.random() / 2)


class Caller:
    """Calls operations. The generated methods use it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def call(self, method: str, path: str, **rest: Any) -> Any:
        return self.connection.send(method, path, **rest).data()

    def list(self, method: str, path: str, **rest: Any) -> Pages[Any]:
        # A search has its paging in the body, other lists have it in the query.
        part = "body" if rest.get("body") is not None else "query"
        asked = rest.pop(part, None) or {}

        def load(page: Dict[str, Any]) -> Dict[str, Any]:
            answer = self.connection.send(method, path, **{part: page}, **rest).page()
            # A key belongs to one request, and every further page is another one.
            rest["options"] = {k: v for k, v in (rest.get("options") or {}).items() if k != "idempotency_key"}
            return answer

        return Pages(load, asked)

    def lines(self, method: str, path: str, **rest: Any) -> Iterator[Any]:
        response = self.connection.open(method, path, headers={"Accept": "application/x-ndjson"}, **rest)
        try:
            with response:
                for line in _lines_of(response):
                    yield json.loads(line)
        except (OSError, http.client.HTTPException) as problem:
            raise MoorageError("unreachable", "The reply ended before it was complete.") from problem


def _lines_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines as they come. `readline` would take a reply that breaks off for one that has ended."""
    rest = b""
    while True:
        piece = response.read1(65_536)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        raise http.client.IncompleteRead(rest)


def fill(path: str, **params: str) -> str:
    """Fills in the parameters of the path."""

    def value(match: "re.Match[str]") -> str:
        text = params[match[1]]
        # With an empty value, the path of one thing would become the path of a list.
        if not text:
            raise ValueError(f"{match[1]} must not be empty")
        # Proxies take these words out of a path, which would then name what the thing belongs to.
        if text in (".", ".."):
            raise ValueError(f"{match[1]} must not be {text}")
        return quote(text, safe="")

    return re.sub(r"\{(\w+)\}", value, path)


def given(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Without what was not given."""
    return {name: value for name, value in fields.items() if value is not UNSET}


def _query_text(query: Mapping[str, Any]) -> str:
    texts = {name: _text(value) for name, value in query.items() if value is not None and value is not UNSET}
    return f"?{urlencode(texts)}" if texts else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
