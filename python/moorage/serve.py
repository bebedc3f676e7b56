"""Serves an agent that runs here to a Moorage service: docs/remote-agents.md and docs/remote-protocol.md."""

from __future__ import annotations

import base64
import http.client
import json
import queue
import sys
import threading
import urllib.error
import urllib.request
from datetime import datetime, timezone
from socket import SO_REUSEADDR, SOL_SOCKET
from socketserver import ThreadingMixIn
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from ._errors import seconds
from .webhook import Secrets, WebhookVerificationError, verify_webhook

#: A call may have 4 MiB of files, in base64, and 16 MiB of steps besides the message, the history and the tools.
MOST_BYTES = 64 * 1024 * 1024
#: How often the same steps are asked for, and how long the agent waits before it asks again.
MOST_TRIES = 10
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 60.0
#: For how many seconds the service may be silent until a step is asked for again.
STEP_TIMEOUT = 300.0
#: Only what is written shows whether the service still listens.
PING_SECONDS = 5.0

Answer = Union[None, str, Mapping[str, Any], Iterator[str]]
Handler = Callable[["Run"], Answer]


class StepError(Exception):
    """A step failed. The message says how."""


class CallOver(BaseException):
    """The service has ended this call. The agent is called again if the run goes on.

    It is no `Exception`, so that an agent that catches those does not go on.
    """


class _Busy(Exception):
    """The service cannot take the steps now."""

    def __init__(self, message: str, pause: Optional[float] = None) -> None:
        super().__init__(message)
        self.pause = pause


class Run:
    """A run, as the agent sees it.

    Each step has an id of its own within the run. When the agent is called again, after a crash or a long wait, a step
    that was done is answered with what was stored, and nothing is done twice.
    """

    def __init__(self, sent: Mapping[str, Any], write: Callable[[str, Mapping[str, Any]], None]) -> None:
        self.request_id: str = sent.get("request_id", "")
        self.attempt: int = sent.get("attempt", 1)
        self.message: str = sent["message"]
        #: What the caller sent: `user_id` and `session_id`, if they are known, and fields of its own.
        self.context: Dict[str, Any] = sent.get("context") or {}
        #: The session so far: `{"role", "content"}`, as models take it.
        self.history: List[Dict[str, str]] = sent.get("history") or []
        self.summary: Optional[str] = sent.get("summary")
        self.recalled: List[Dict[str, Any]] = sent.get("recalled") or []
        self.attachments: List[Dict[str, Any]] = sent.get("attachments") or []
        self.instructions: Optional[str] = sent.get("instructions")
        self.model: Union[str, List[str]] = sent.get("model") or ""
        self.temperature: Optional[float] = sent.get("temperature")
        #: `{"schema"}` if the answer must match it: then return `{"output": …}`.
        self.output: Optional[Dict[str, Any]] = sent.get("output")
        #: `{"answer", "problem"}` if the answer before did not match.
        self.unfit: Optional[Dict[str, str]] = sent.get("unfit")
        self.tools: List[Dict[str, Any]] = sent.get("tools") or []
        self.deadline: Optional[str] = sent.get("deadline")
        #: Set when the service ends the call: the run was cancelled, waits, or its time is over.
        self.ended = threading.Event()
        self._write = write
        self._url: str = sent.get("steps_url", "")
        self._token: str = sent.get("steps_token", "")
        self._known: Dict[str, Mapping[str, Any]] = {step["id"]: step for step in sent.get("steps") or []}
        # Known steps that the agent has not come to again, and what is stored of what it said.
        self._unseen = set(self._known)
        self._stored: str = sent.get("said") or ""

    def say(self, text: str) -> None:
        """Says a piece of the answer."""
        self._check()
        # What is stored is not said again. Words may reach the service after the step that they came before, so not all
        # that was said before a known step is stored. An agent that now says something else had its say before that step.
        stored = self._stored
        if stored.startswith(text):
            self._stored = stored[len(text) :]
            return
        if not text.startswith(stored) and self._unseen:
            return
        self._stored = ""
        self._write("delta", {"text": text[len(stored) :] if text.startswith(stored) else text})

    def log(self, level: str, message: str) -> None:
        """Writes to the agent's log: `debug`, `info`, `warn` or `error`."""
        self._write("log", {"level": level, "message": message})

    def usage(self, *, input_tokens: int, output_tokens: int, model: Optional[str] = None) -> None:
        """Reports what the agent has spent by itself. `model` is `provider/model`."""
        spent: Dict[str, Any] = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        self._write("usage", spent if model is None else {"model": model, **spent})

    def read(self, attachment: Mapping[str, Any]) -> bytes:
        """The bytes of an attachment, whether they came along or not."""
        if attachment.get("data") is not None:
            return base64.b64decode(attachment["data"])
        name = attachment["file_id"]
        if not attachment.get("url"):
            raise FileNotFoundError(f"The file {name} no longer exists.")
        request = urllib.request.Request(attachment["url"], headers={"authorization": f"Bearer {self._token}"})
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    def tool(self, id: str, tool: str, arguments: Optional[Mapping[str, Any]] = None) -> str:
        """Calls a tool of the agent. Raises a `StepError` with what the tool said if it failed."""
        return str(self.step(id, type="tool", tool=tool, arguments=dict(arguments or {})))

    def keep(self, id: str, make: Callable[[], Any]) -> Any:
        """Does something once: what `make` returns is kept."""
        self._check()
        value = None if id in self._known else make()
        return self.step(id, type="keep", value=value)

    def sleep(self, id: str, until: Union[float, datetime]) -> None:
        """Goes on after some seconds, or at a time, however far. The process need not wait."""
        if isinstance(until, datetime):
            self.step(id, type="sleep", until=until.astimezone(timezone.utc).isoformat().replace("+00:00", "Z"))
        else:
            self.step(id, type="sleep", seconds=until)

    def ask_person(self, id: str, question: str, options: Optional[Sequence[str]] = None) -> str:
        return str(self.step(id, type="ask_person", question=question, **({"options": options} if options else {})))

    def ask_model(self, id: str, message: str, **fields: Any) -> Any:
        """Asks a model of the service: the answer as text, or the value if `output` has a schema.

        `fields` are `model`, `instructions`, `history`, `temperature`, `max_output_tokens` and `output`.
        """
        return self.step(id, type="model", message=message, **fields)

    def search_memory(self, id: str, query: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        more = {} if limit is None else {"limit": limit}
        return self.step(id, type="memory_search", query=query, **more)

    def write_memory(self, id: str, content: str) -> Dict[str, str]:
        return self.step(id, type="memory_write", content=content)

    def step(self, id: str, **fields: Any) -> Any:
        """Any step, by its `type` and fields in the protocol. Returns its result."""
        return self.steps([{"id": id, **fields}])[0]

    def steps(self, asked: Sequence[Mapping[str, Any]]) -> List[Any]:
        """Several steps at once, which run in parallel. Raises a `StepError` if one of them failed."""
        self._check()
        unknown = [step for step in asked if step["id"] not in self._known]
        if unknown:
            for told in self._post(unknown):
                self._known[told["id"]] = told
        return [self._result(step["id"]) for step in asked]

    def _result(self, id: str) -> Any:
        told = self._known.get(id)
        if told is None:
            raise StepError(f"The service did not return the result of the step {id}.")
        self._unseen.discard(id)
        if told.get("error") is not None:
            raise StepError(told["error"])
        return told.get("result")

    def _check(self) -> None:
        if self.ended.is_set():
            raise CallOver

    def _post(self, steps: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
        """A step that is asked for again is done once, so a lost reply, or a service that is busy, is no failure."""
        body = json.dumps({"steps": list(steps)}).encode()
        for tries in range(MOST_TRIES):
            try:
                return self._post_once(body)
            except (_Busy, OSError, http.client.HTTPException) as problem:
                asked = problem.pause if isinstance(problem, _Busy) else None
                pause = FIRST_PAUSE * 2.0**tries if asked is None else asked
                if tries == MOST_TRIES - 1 or pause > LONGEST_PAUSE:
                    raise StepError(str(problem)) from problem
                if self.ended.wait(pause):
                    raise CallOver from problem
        raise AssertionError("not reached")

    def _post_once(self, body: bytes) -> List[Dict[str, Any]]:
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        request = urllib.request.Request(self._url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=STEP_TIMEOUT) as reply:
                data = json.load(reply)["data"]
        except (ValueError, LookupError, TypeError):
            raise _Busy("The service's reply can't be read.") from None
        except urllib.error.HTTPError as refusal:
            with refusal:
                reason = _reason(refusal)
            if refusal.code == 409:
                self.ended.set()
                raise CallOver from None
            if refusal.code == 429 or refusal.code >= 500:
                after = seconds(refusal.headers.get("retry-after"))
                said = f": {reason}" if reason else "."
                raise _Busy(f"The service answered {refusal.code}{said}", after) from None
            raise StepError(reason or f"The service answered {refusal.code}.") from None
        if data["status"] != "done":
            self.ended.set()
            raise CallOver
        return data["steps"]


def _reason(refusal: urllib.error.HTTPError) -> Optional[str]:
    try:
        return str(json.load(refusal)["error"]["message"])
    except (ValueError, LookupError, TypeError, OSError, http.client.HTTPException):
        return None


def agent_app(handler: Handler, secret: Secrets) -> Callable[..., Iterable[bytes]]:
    """A WSGI application that answers the service's calls: for gunicorn, or to mount in Flask or Django.

    `secret` is the secret with which calls are signed (`whsec_…`), or several during a rotation.
    """
    # Without one, everybody could call the agent.
    if not secret:
        raise ValueError("secret must not be empty: it is the secret that signs the service's calls")

    def app(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def refuse(status: str, message: str) -> List[bytes]:
            start_response(status, [("Content-Type", "application/json")])
            return [json.dumps({"error": {"message": message}}).encode()]

        if environ["REQUEST_METHOD"] != "POST":
            return refuse("405 Method Not Allowed", "Send runs as POST requests.")
        size = environ.get("CONTENT_LENGTH") or ""
        if not (size.isascii() and size.isdigit()):
            return refuse("411 Length Required", "The length is missing.")
        if int(size) > MOST_BYTES:
            return refuse("413 Content Too Large", f"The body can be at most {MOST_BYTES} bytes.")
        body = environ["wsgi.input"].read(int(size))
        headers = {
            name[len("HTTP_") :].replace("_", "-"): value
            for name, value in environ.items()
            if name.startswith("HTTP_WEBHOOK_")
        }
        try:
            sent = verify_webhook(body, headers, secret)
        except WebhookVerificationError as error:
            return refuse("401 Unauthorized", str(error))
        except ValueError:
            return refuse("400 Bad Request", "The body is not valid JSON.")
        start_response("200 OK", [("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-store")])
        return _answer(handler, sent)

    return app


def _answer(handler: Handler, sent: Mapping[str, Any]) -> Iterator[bytes]:
    """What is said, as it is said. The agent has a thread of its own, because it may say and ask at any time."""
    said: "queue.SimpleQueue[Optional[bytes]]" = queue.SimpleQueue()

    def write(event: str, data: Mapping[str, Any]) -> None:
        if not run.ended.is_set():
            said.put(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())

    run = Run(sent, write)

    def work() -> None:
        try:
            _finish(handler(run), run, write)
        except CallOver:
            pass
        except Exception as error:
            write("error", {"message": str(error) or type(error).__name__})
        finally:
            said.put(None)

    try:
        # Servers send the head of a reply with its first bytes.
        yield b": called\n\n"
        threading.Thread(target=work, daemon=True, name=f"run {run.request_id}").start()
        while True:
            try:
                piece = said.get(timeout=PING_SECONDS)
            except queue.Empty:
                piece = b": ping\n\n"
            if piece is None:
                return
            yield piece
    finally:
        run.ended.set()


def _finish(answer: Answer, run: Run, write: Callable[[str, Mapping[str, Any]], None]) -> None:
    """As the protocol takes an answer in JSON, or the rest of the text, or pieces one by one, or nothing more than was said."""
    rest: Mapping[str, Any] = {}
    if isinstance(answer, (str, Mapping)):
        told: Mapping[str, Any] = {"response": answer} if isinstance(answer, str) else answer
        if told.get("response"):
            write("delta", {"text": told["response"]})
        rest = {name: value for name, value in told.items() if name not in ("response", "usage", "logs")}
        for spent in told.get("usage") or []:
            write("usage", spent)
        for line in told.get("logs") or []:
            write("log", line)
    elif answer is not None:
        for piece in answer:
            run.say(piece)
    write("done", rest)


class AgentServer(ThreadingMixIn, WSGIServer):
    """A server of one agent: each call has a thread. `serve_forever` and `shutdown` are those of `socketserver`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: Handler, secret: Secrets, *, host: str = "127.0.0.1", port: int = 4000) -> None:
        super().__init__((host, port), _Requests)
        self.set_app(agent_app(handler, secret))

    @property
    def url(self) -> str:
        return f"http://{self.server_name}:{self.server_port}"

    def server_bind(self) -> None:
        # WSGIServer would look the name of the address up, which takes seconds where there is no DNS.
        self.socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that hangs up is no error of the agent.
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Requests(WSGIRequestHandler):
    # For a client that sends nothing, or does not read.
    timeout = 120

    def address_string(self) -> str:
        return str(self.client_address[0])


def serve(handler: Handler, secret: Secrets, *, host: str = "127.0.0.1", port: int = 4000) -> None:
    """Serves an agent until the process is stopped. `port` 0 chooses a free one."""
    server = AgentServer(handler, secret, host=host, port=port)
    print(f"The agent listens at {server.url}, port: {server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
