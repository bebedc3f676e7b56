from __future__ import annotations

import http.client
import json
import random
import time
from typing import Any, Callable, Dict, Generator, Iterator, Optional

from ._errors import MoorageError, error_from
from ._request import Connection, Reply, RequestOptions, fill, not_ours

INVOKE = "/v1/agents/{agent_id}/invoke"
FOLLOW = "/v1/agents/{agent_id}/invocations/{request_id}/stream"
CANCEL = "/v1/agents/{agent_id}/invocations/{request_id}/cancel"
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
#: For how many seconds a service may be away before its streams give up.
PATIENCE = 120.0
CANCEL_WITHIN = 10.0

Event = Dict[str, Any]
Begin = Callable[[], http.client.HTTPResponse]


class Stream:
    """What a run says and does while it answers: iterate it for the events, or `text()` for the answer alone.

    Each event is a dictionary with a `type`: `start`, `delta` (`text`), `tool_call`, `tool_result`, `output.delta`,
    `restart` (a crash: forget what was said before), `waiting`, and at last `done` (`data`). After a broken connection
    it goes on where it stopped. Used in a `with` statement, it is closed at its end.
    """

    def __init__(
        self,
        connection: Connection,
        agent_id: str,
        begin: Optional[Begin],
        *,
        request_id: Optional[str] = None,
        last_event_id: Optional[str] = None,
        deadline: Optional[float] = None,
        is_cancelled_when_left: bool = False,
    ) -> None:
        self._connection = connection
        self._agent_id = agent_id
        self._begin = begin
        #: The run's ID, once the stream has begun.
        self.request_id = request_id
        #: `invocations.follow` goes on after this event.
        self.last_event_id = last_event_id
        self._deadline = deadline
        self._is_cancelled_when_left = is_cancelled_when_left
        self._is_over = False
        self._events = self._rejoining()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def text(self) -> Iterator[str]:
        """The pieces of the answer."""
        for event in self:
            if event["type"] == "delta":
                yield event["text"]

    def result(self) -> Dict[str, Any]:
        """Reads to the end and returns the result, as `agents.invoke` does."""
        for event in self:
            if event["type"] == "done":
                return event["data"]
            if event["type"] == "waiting" and self._is_cancelled_when_left:
                raise waiting_error(event)
        raise MoorageError("unreachable", "The stream ended early.", request_id=self.request_id)

    def close(self) -> None:
        """Ends the stream. A run that `agents.stream` started is cancelled if it has not ended."""
        self._events.close()
        if self._is_cancelled_when_left and not self._is_over and self.request_id:
            self._is_over = True
            path = fill(CANCEL, agent_id=self._agent_id, request_id=self.request_id)
            try:
                self._connection.send("POST", path, options={"retries": 0, "timeout": CANCEL_WITHIN})
            except MoorageError:
                pass  # It has ended meanwhile, or the service is away.

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass

    def _rejoining(self) -> Generator[Event, None, None]:
        lost_at: Optional[float] = None
        tries = 0
        is_going_away = False
        response = self._begin() if self._begin else self._join(None)
        while True:
            problem: MoorageError
            # The request was sent before, and its run waits.
            if response.status == 202:
                with response:
                    data = Reply(response, self._connection.url).data()
                self._is_over = True
                yield {"type": "waiting", **data}
                return
            try:
                with response:
                    for event in self._telling(response):
                        lost_at, tries, is_going_away = None, 0, False
                        yield event
                        if self._is_over:
                            return
                problem = MoorageError("unreachable", "The stream ended early.", request_id=self.request_id)
            except MoorageError as error:
                # The first time it means that the process is stopping. After a new connection it is about the run.
                if error.code == "unavailable" and not is_going_away:
                    is_going_away = True
                elif error.code != "unreachable":
                    self._is_over = True
                    raise
                problem = error
            while True:
                lost_at = time.monotonic() if lost_at is None else lost_at
                pause = min(FIRST_PAUSE * 2.0**tries, LONGEST_PAUSE) * (0.5 + random.random() / 2)
                pause = max(pause, problem.retry_after or 0)
                if time.monotonic() + pause - lost_at > PATIENCE:
                    raise problem
                self._check_deadline()
                tries += 1
                if self._connection.on_retry:
                    self._connection.on_retry(problem, pause)
                time.sleep(pause)
                try:
                    response = self._begin() if self.request_id is None and self._begin else self._join(0)
                    break
                except MoorageError as error:
                    if not error.is_passing or error.status == 500:
                        raise
                    problem = error

    def _telling(self, response: http.client.HTTPResponse) -> Iterator[Event]:
        kind = response.headers.get("content-type") or ""
        if not kind.startswith("text/event-stream"):
            url = self._connection.url
            Reply(response, url).json()
            raise not_ours(url, response.status, response.headers, "with a stream")
        for said in self._read(response):
            body = json.loads(said["data"])
            kind = said.get("event", "message")
            if kind == "error":
                raise error_from(body, response.headers.get("x-request-id"))
            self.last_event_id = said.get("id", self.last_event_id)
            event: Event = {"type": "done", "data": body["data"]} if kind == "done" else {"type": kind, **body}
            if kind == "start":
                self.request_id = body["request_id"]
            # The run may wait for days. A caller that wants to wait with it calls `invocations.follow`.
            self._is_over = kind == "done" or (kind == "waiting" and self._is_cancelled_when_left)
            yield event

    def _read(self, response: http.client.HTTPResponse) -> Iterator[Dict[str, str]]:
        """Server-sent events, until the connection ends."""
        fields: Dict[str, str] = {}
        try:
            while True:
                # A ping comes every 15 s, so this does not wait for long.
                self._check_deadline()
                line = response.readline()
                if not line:
                    return
                text = line.decode("utf-8").rstrip("\r\n")
                if text == "":
                    if "data" in fields:
                        yield fields
                    fields = {}
                    continue
                name, _, value = text.partition(":")
                value = value[1:] if value.startswith(" ") else value
                # A line that begins with a colon is a comment: a ping.
                if name:
                    fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
        except (OSError, http.client.HTTPException) as problem:
            raise self._connection.unreachable(problem, self._connection.idle_timeout) from problem

    def _check_deadline(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._is_over = True
            message = "The run has not ended in the given time. It goes on."
            raise MoorageError("timeout", message, request_id=self.request_id)

    def _join(self, retries: Optional[int]) -> http.client.HTTPResponse:
        assert self.request_id is not None
        headers = {"Accept": "text/event-stream"}
        if self.last_event_id is not None:
            headers["Last-Event-ID"] = self.last_event_id
        # The caller counts its tries itself.
        options: RequestOptions = {"timeout": self._connection.idle_timeout}
        if retries is not None:
            options["retries"] = retries
        path = fill(FOLLOW, agent_id=self._agent_id, request_id=self.request_id)
        return self._connection.open("GET", path, headers=headers, options=options)


def waiting_error(queued: Dict[str, Any]) -> MoorageError:
    """A run that waits has no answer yet."""
    reason = queued.get("reason")
    what = "The run waits."
    if queued.get("approvals"):
        what = "The run waits for a person to decide."
    elif reason:
        what = f"The run waits: {reason.rstrip('.')}."
    request_id = queued["request_id"]
    return MoorageError("waiting", f"{what} ({request_id})", status=202, request_id=request_id, reason=reason)
