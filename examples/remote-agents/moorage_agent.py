"""Serves an agent to Moorage, with the standard library only. Copy this file into your project."""
import base64, hashlib, hmac, json, sys, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_BYTES = 64 * 1024 * 1024
PAUSES = (0.25, 0.5, 1, 2, 4, 8, 16, 32)


class CallOver(Exception):
    """The service has ended this call. The agent is called again if the run goes on."""


class Run(dict):
    """What the call says, and the steps that the service does for the agent."""

    def step(self, id, **asked):
        if self.done(id) is None:
            reply = self.ask({'steps': [{'id': id, **asked}]})
            if reply['status'] != 'done':
                raise CallOver
            self['steps'] += reply['steps']
        done = self.done(id)
        if 'error' in done:
            raise RuntimeError(done['error'])
        return done['result']

    def ask(self, data):
        # A step that is asked for again is done once, so no reply, 429 and 5xx are no failure.
        for pause in (*PAUSES, None):
            try:
                return post(self['steps_url'], self['steps_token'], data)['data']
            except urllib.error.HTTPError as refusal:
                if refusal.code == 409:
                    raise CallOver
                problem = reason(refusal)
                if pause is None or refusal.code < 500 and refusal.code != 429:
                    raise RuntimeError(problem)
                after = refusal.headers.get('retry-after', '')
                pause = int(after) if after.isdecimal() else pause
                if pause > 60:
                    raise RuntimeError(problem)
            except OSError:
                if pause is None:
                    raise
            time.sleep(pause)

    def keep(self, id, make):
        return self.step(id, type='keep', value=make() if self.done(id) is None else None)

    def done(self, id):
        return next((step for step in self['steps'] if step['id'] == id), None)


def reason(refusal):
    try:
        return json.load(refusal)['error']['message']
    except (ValueError, LookupError, TypeError):
        return f'The service answered {refusal.code}'


def post(url, token, data):
    headers = {'authorization': f'Bearer {token}', 'content-type': 'application/json'}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(data).encode(), headers)) as reply:
        return json.load(reply)


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A client that hangs up is no error of the agent.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(answer, secret, port):
    key = base64.b64decode(secret.removeprefix('whsec_'))

    class Agent(BaseHTTPRequestHandler):
        def do_POST(self):
            size, at = self.headers.get('content-length', ''), self.headers.get('webhook-timestamp', '')
            if not size.isdecimal():
                return self.refuse(411, 'The length is missing')
            if int(size) > MOST_BYTES:
                return self.refuse(413, 'The body is too large')
            body = self.rfile.read(int(size))
            signed = f'{self.headers["webhook-id"]}.{at}.'.encode() + body
            expected = b'v1,' + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
            given = self.headers.get('webhook-signature', '').encode().split()
            fits = any(hmac.compare_digest(one, expected) for one in given)
            if not fits or abs(time.time() - int(at)) > 300:
                return self.refuse(401, 'The signature does not fit')
            try:
                said = answer(Run(json.loads(body)))
            except CallOver:
                said = {}
            except Exception as error:
                said = {'error': {'message': str(error)}}
            self.reply(200, said)

        def refuse(self, status, message):
            self.reply(status, {'error': {'message': message}})

        def reply(self, status, data):
            self.send_response(status)
            self.send_header('content-type', 'application/json')
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

    server = Server(('127.0.0.1', port), Agent)
    print(f'The agent listens, port: {server.server_port}', flush=True)
    server.serve_forever()
