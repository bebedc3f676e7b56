"""WEBHOOK_SECRET=whsec_... python3 receiver.py"""

import base64
import hashlib
import hmac
import json
import os
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
MAX_BODY = 1024 * 1024
REMEMBERED = 10_000


def is_genuine(headers, body, secrets, now=None):
    """Whether Moorage sent this, recently, with one of these secrets.

    `body` must be the raw bytes of the request: parsed and written out again, it has another signature.
    During a rotation pass the new and the old secret.
    """
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs((now or time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return False

    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = []
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected.append(b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()))
    given = [part.encode() for part in headers.get("webhook-signature", "").split(" ")]
    return matches_any(given, expected)


def is_signed(signature, body, secrets):
    """The plain header alone. It covers neither id nor time, so it cannot tell a replay: prefer `is_genuine`."""
    expected = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode() for secret in secrets]
    return matches_any([signature.lower().encode()], expected)


def matches_any(given, expected):
    """In constant time: how long it takes tells nothing about where two signatures differ."""
    return any([hmac.compare_digest(a, b) for a in given for b in expected])


class Receiver(BaseHTTPRequestHandler):
    secrets = []
    # A delivery may come twice; its id stays the same. A real receiver keeps this in its database.
    seen = OrderedDict()

    def do_POST(self):
        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdigit()):
            return self.answer(411)
        if int(size) > MAX_BODY:
            return self.answer(413)
        body = self.rfile.read(int(size))
        if not is_genuine(self.headers, body, self.secrets):
            return self.answer(401)

        event = json.loads(body)
        if event["id"] not in self.seen:
            self.seen[event["id"]] = True
            if len(self.seen) > REMEMBERED:
                self.seen.popitem(last=False)
            # Queue slow work and answer at once: after 15 seconds the delivery counts as failed and comes again.
            print(event["type"], event["id"], json.dumps(event["data"]), flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    # Separated by commas during a rotation.
    Receiver.secrets = [secret for secret in os.environ.get("WEBHOOK_SECRET", "").split(",") if secret]
    if not Receiver.secrets:
        raise SystemExit("set WEBHOOK_SECRET to the secret that Create Webhook returned")
    server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", 8080))), Receiver)
    print(f"listening on http://{server.server_address[0]}:{server.server_address[1]}", flush=True)
    server.serve_forever()
