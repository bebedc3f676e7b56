"""The client of a Moorage service."""

from __future__ import annotations

import mimetypes
import os
import secrets
import time
from typing import IO, TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _methods as methods
from ._request import UNSET, Caller, Connection, Content, OnRetry, RequestOptions, fill, given
from ._stream import INVOKE, Stream, waiting_error
from .types import InvokeFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import types as t

#: An agent may take ten minutes.
LONGEST_RUN = 610.0
#: Files may be large.
LONGEST_UPLOAD = 3600.0

#: A file of a message: as the API takes it (`{"file_id": …}`, `{"url": …}`, `{"data": …}`), bytes, or a path.
Attachable = Union[Mapping[str, Any], bytes, "os.PathLike[str]"]


class InvokeArguments(InvokeFields, RequestOptions, total=False):
    """What `invoke`, `stream` and `start` take besides a message: the fields of the API, and the options of a request."""

    #: Files and bytes are uploaded first.
    attachments: Sequence[Attachable]


class Agents(methods.Agents):
    """Agents: an agent is named by its ID or its name."""

    _files: "Files"

    def invoke(self, agent_id: str, message: str, **rest: Unpack[InvokeArguments]) -> t.InvocationResult:
        """Returns the answer.

        The run goes on if you stop waiting; use `stream` if it should end then. If the run waits for a person or for
        something else, it raises a `MoorageError` with the code `waiting` and the `request_id` of the run.
        """
        asked, options = self._asked(message, rest)
        path = fill(INVOKE, agent_id=agent_id)
        reply = self._caller.connection.send("POST", path, body=asked, options=options, default_timeout=LONGEST_RUN)
        data = reply.data()
        if "status" in data:
            raise waiting_error(data)
        return data

    def stream(self, agent_id: str, message: str, **rest: Unpack[InvokeArguments]) -> Stream:
        """Gives the answer as it comes. After a broken connection it goes on where it stopped.

        Closing the stream before its end, as a `with` statement does, cancels the run.
        """
        connection = self._caller.connection
        asked, options = self._asked(message, rest)
        once: RequestOptions = {"idempotency_key": secrets.token_hex(16), **options}

        def begin() -> Any:
            return connection.open(
                "POST",
                fill(INVOKE, agent_id=agent_id),
                body=asked,
                headers={"Accept": "text/event-stream"},
                options=once,
                default_timeout=connection.idle_timeout,
            )

        return Stream(connection, agent_id, begin, is_cancelled_when_left=True)

    def start(self, agent_id: str, message: str, **rest: Unpack[InvokeArguments]) -> t.InvocationQueued:
        """Starts a run in the background. `invocations.wait` waits for its answer, `invocations.get` returns its state."""
        asked, options = self._asked(message, rest)
        path, headers = fill(INVOKE, agent_id=agent_id), {"Prefer": "respond-async"}
        return self._caller.connection.send("POST", path, body=asked, headers=headers, options=options).data()

    def _asked(self, message: str, rest: Mapping[str, Any]) -> Tuple[Dict[str, Any], RequestOptions]:
        """What the service is asked, and how."""
        names = RequestOptions.__annotations__
        options: Any = {name: value for name, value in rest.items() if name in names}
        body = {name: value for name, value in rest.items() if name not in names}
        if body.get("attachments") is not None:
            user_id = (body.get("context") or {}).get("user_id")
            body["attachments"] = self._files.attach(body["attachments"], user_id, options.get("idempotency_key"))
        return {"message": message, **body}, options


class Invocations(methods.Invocations):
    def follow(self, agent_id: str, request_id: str, *, last_event_id: Optional[str] = None) -> Stream:
        """Gives what a run has said from the beginning, and stays until it ends. Leaving early does not affect the run."""
        return Stream(
            self._caller.connection, agent_id, None, request_id=request_id, last_event_id=last_event_id
        )

    def wait(self, agent_id: str, request_id: str, *, timeout: Optional[float] = None) -> t.InvocationResult:
        """Waits until a run has ended and returns its answer, also if it waits for people meanwhile.

        Raises the run's error if it failed, and a `MoorageError` with the code `timeout` if it has not ended within
        `timeout` seconds (and up to 15 more). The run goes on then.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        connection = self._caller.connection
        with Stream(connection, agent_id, None, request_id=request_id, deadline=deadline) as stream:
            return stream.result()  # type: ignore[return-value]


class Files(methods.Files):
    def create(
        self,
        content: Union[bytes, IO[bytes], "os.PathLike[str]"],
        *,
        name: str = UNSET,
        type: Optional[str] = None,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.StoredFile:
        """Uploads bytes, an open file, or the file at a path. An open file is not sent again after a failure."""
        if isinstance(content, os.PathLike):
            path = os.fspath(content)
            given_name = os.path.basename(path) if name is UNSET else name
            kind = type or mimetypes.guess_type(path)[0]
            with open(path, "rb") as file:
                return self._upload(file, given_name, kind, user_id, options, is_repeatable=True)
        return self._upload(content, name, type, user_id, options)

    def _upload(
        self,
        content: Content,
        name: str,
        type: Optional[str],
        user_id: str,
        options: RequestOptions,
        is_repeatable: bool = False,
    ) -> t.StoredFile:
        headers = {"Content-Type": type or "application/octet-stream"}
        if not isinstance(content, bytes):
            headers["Content-Length"] = str(_size_of(content))
        reply = self._caller.connection.send(
            "POST",
            "/v1/files",
            query=given({"name": name, "user_id": user_id}),
            content=content,
            headers=headers,
            options=options,
            default_timeout=LONGEST_UPLOAD,
            is_repeatable=is_repeatable,
        )
        return reply.data()

    def content(self, file_id: str, **options: Unpack[RequestOptions]) -> bytes:
        """The bytes of a file."""
        path = fill("/v1/files/{file_id}/content", file_id=file_id)
        reply = self._caller.connection.send("GET", path, headers={"Accept": "*/*"}, options=options)
        return reply.content

    def attach(
        self, attachments: Sequence[Attachable], user_id: Optional[str], key: Optional[str]
    ) -> List[Mapping[str, Any]]:
        """Uploads what is not stored yet. A call with the same idempotency key uploads nothing a second time."""
        attached: List[Mapping[str, Any]] = []
        for position, one in enumerate(attachments):
            if isinstance(one, Mapping):
                attached.append(one)
                continue
            once: RequestOptions = {} if key is None else {"idempotency_key": f"{position}:{key}"[:255]}
            file = self.create(one, user_id=UNSET if user_id is None else user_id, **once)
            attached.append({"file_id": file["id"]})
        return attached


class Logs(methods.Logs):
    def follow(self, agent_id: str, **filters: Any) -> Iterator[t.LogEntry]:
        """Gives each entry that is stored from now on, once. Leave the loop to end it."""
        after = filters.pop("after", "latest")
        while True:
            asked: Any = {"limit": 1000, **filters, "after": after}
            page = self.list(agent_id, **asked)
            yield from page.data
            after = page.pagination.get("next_after", after)
            if not page.pagination["has_more"]:
                time.sleep(1)


class Moorage:
    """A client of one service: every operation of its API is one method.

    It may be used by several threads at once. In asyncio, call it through `asyncio.to_thread`.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        project: Optional[str] = None,
        retries: int = 2,
        timeout: float = 60.0,
        idle_timeout: float = 45.0,
        on_retry: Optional[OnRetry] = None,
        headers: Optional[Mapping[str, str]] = None,
        ssl_context: Any = None,
    ) -> None:
        """Without `url` and `key`, those of `MOORAGE_URL` and `MOORAGE_API_KEY` are used."""
        self._connection = Connection(
            url or os.environ.get("MOORAGE_URL") or "http://127.0.0.1:8787",
            key if key is not None else os.environ.get("MOORAGE_API_KEY"),
            project=project,
            retries=retries,
            timeout=timeout,
            idle_timeout=idle_timeout,
            on_retry=on_retry,
            headers=headers,
            ssl_context=ssl_context,
        )
        caller = Caller(self._connection)
        self.agents = Agents(caller)
        self.invocations = Invocations(caller)
        self.files = Files(caller)
        self.logs = Logs(caller)
        self.agents._files = self.files
        self.approvals = methods.Approvals(caller)
        self.callbacks = methods.Callbacks(caller)
        self.keys = methods.Keys(caller)
        self.deployments = methods.Deployments(caller)
        self.schedules = methods.Schedules(caller)
        self.metrics = methods.Metrics(caller)
        self.usage = methods.Usage(caller)
        self.prices = methods.Prices(caller)
        self.memory = methods.Memory(caller)
        self.users = methods.Users(caller)
        self.webhooks = methods.Webhooks(caller)
        self.listeners = methods.Listeners(caller)
        self.people = methods.People(caller)
        self.mfa = methods.Mfa(caller)
        self.console = methods.Console(caller)
        self.invitations = methods.Invitations(caller)
        self.projects = methods.Projects(caller)
        self.pauses = methods.Pauses(caller)
        self.secrets = methods.Secrets(caller)
        self.providers = methods.Providers(caller)
        self.budgets = methods.Budgets(caller)
        self.audit = methods.Audit(caller)
        self.system = methods.System(caller)
        self.telemetry = methods.Telemetry(caller)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        **options: Unpack[RequestOptions],
    ) -> Any:
        """Sends any other request to the service and returns the whole body of its reply."""
        return self._connection.send(
            method, path, query=query, body=body, headers=headers, options=options
        ).json()


def _size_of(file: IO[bytes]) -> int:
    here = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(here)
    return size - here
