"""The client of Moorage, and a server for remote agents. It needs nothing but Python's standard library."""

from ._errors import MoorageError
from ._pages import Pages
from ._request import UNSET, RequestOptions
from ._stream import Stream
from ._version import __version__
from .client import Moorage
from .serve import AgentServer, Run, StepError, agent_app, serve
from .webhook import WebhookVerificationError, verify_signature, verify_webhook

__all__ = [
    "UNSET",
    "AgentServer",
    "Moorage",
    "MoorageError",
    "Pages",
    "RequestOptions",
    "Run",
    "StepError",
    "Stream",
    "WebhookVerificationError",
    "__version__",
    "agent_app",
    "serve",
    "verify_signature",
    "verify_webhook",
]
