"""Serves an agent to Moorage, with the standard library only. Copy this file into your project."""
import base64, hashlib, hmac, json, sys, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CallOver(Exception):
    """The service has ended this call. The agent is called again if the run goes on."""


class Run(dict):
    """What the call says, and the steps that the service does for the agent."""

    def step(self, id, **asked):
        if self.done(id) is None:
            try:
                reply = post(self['steps_url'], self['steps_token'], {'steps': [{'id': id, **asked}]})['data']
            except urllib.error.HTTPError as refusal:
                if refusal.code == 409:
                    raise CallOver
                raise RuntimeError(json.load(refusal)['error']['message'])
            if reply['status'] != 'done':
                raise CallOver
            self['steps'] += reply['steps']
        done = self.done(id)
        if 'error' in done:
            raise RuntimeError(done['error'])
        return done['result']

    def keep(self, id, make):
        return self.step(id, type='keep', value=make() if self.done(id) is None else None)

    def done(self, id):
        return next((step for step in self['steps'] if step['id'] == id), None)


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
            body = self.rfile.read(int(self.headers['content-length']))
            id, at = self.headers['webhook-id'], self.headers['webhook-timestamp']
            digest = hmac.digest(key, f'{id}.{at}.'.encode() + body, hashlib.sha256)
            signed = 'v1,' + base64.b64encode(digest).decode()
            fits = any(hmac.compare_digest(one, signed) for one in self.headers.get('webhook-signature', '').split())
            if not fits or abs(time.time() - int(at)) > 300:
                return self.reply(401, {'error': {'message': 'The signature does not fit'}})
            try:
                said = answer(Run(json.loads(body)))
            except CallOver:
                said = {}
            except Exception as error:
                said = {'error': {'message': str(error)}}
            self.reply(200, said)

        def reply(self, status, data):
            self.send_response(status)
            self.send_header('content-type', 'application/json')
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

    server = Server(('127.0.0.1', port), Agent)
    print(f'The agent listens, port: {server.server_port}', flush=True)
    server.serve_forever()
