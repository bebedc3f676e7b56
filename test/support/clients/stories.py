"""The stories of sdk-stories.ts, told with the Python package. Prints what happened as JSON."""

import copy
import io
import json
import os
import pathlib
import pickle

from moorage import Moorage, MoorageError, WebhookVerificationError, agent_app, verify_signature, verify_webhook

given = json.loads(os.environ["GIVEN"])
moorage = Moorage(given["url"], given["key"])
broken = Moorage(given["broken"], "a-key", idle_timeout=5)


def failed(act):
    try:
        return act()
    except MoorageError as raised:
        # Pools of processes send errors on.
        error = copy.copy(pickle.loads(pickle.dumps(raised)))
        assert str(error) == str(raised) and vars(error) == vars(raised)
        fields = [detail["field"] for detail in error.details]
        return {
            "code": error.code,
            "status": error.status,
            "fields": fields,
            "retry_after": error.retry_after,
            "should_retry": error.should_retry,
        }


def agents():
    name = given["name"]
    script = {"rules": [{"match": {"contains": "tide"}, "reply": "High water"}], "fallback": "Ask me"}
    made = moorage.agents.create(name=name, model="builtin/script", script=script)
    changed = moorage.agents.update(made["id"], description="Knows the tide")
    names = [agent["name"] for agent in moorage.agents.list(limit=1, sort="name")]
    return [made["name"], changed["description"], names]


def answers():
    name = given["name"]
    context = {"user_id": "ada", "session_id": "1"}
    invoked = moorage.agents.invoke(name, "the tide?", context=context)["response"]
    events = list(moorage.agents.stream(name, "the tide?", context=context))
    with moorage.agents.stream(name, "what?") as stream:
        text = "".join(stream.text())
    queued = moorage.agents.start(name, "the tide?")
    waited = moorage.invocations.wait(name, queued["request_id"])["response"]
    receipt = moorage.invocations.get(name, queued["request_id"])["status"]
    kinds = [event["type"] for event in events]
    return [invoked, kinds, events[-1]["data"]["response"], text, queued["status"], waited, receipt]


def once():
    def invoke(message):
        return moorage.agents.invoke(given["name"], message, idempotency_key=given["once"])["request_id"]

    ids = {invoke("the tide?"), invoke("the tide?")}
    return [len(ids), failed(lambda: invoke("other"))]


def errors():
    refused = Moorage(given["url"], "mrg_wrong")
    return [
        failed(lambda: moorage.agents.get("nobody-has-this")),
        failed(lambda: moorage.agents.create(name="", model="builtin/echo")),
        failed(lambda: refused.agents.list().data),
        failed(lambda: Moorage("http://127.0.0.1:2", "x", retries=0).agents.list().data),
    ]


def memories():
    name = given["name"]
    notes = ["Her ship is the Nightingale", "She likes tea on her ship"]
    moorage.memory.write(name, items=[{"content": note, "context": {"user_id": "ada"}} for note in notes])
    found = list(moorage.memory.search(name, query="ship", context={"user_id": "ada"}, limit=1, idempotency_key="once"))
    assert len(found) == 2, found
    return [memory["content"] for memory in found if "Nightingale" in memory["content"]]


def files():
    stored = moorage.files.create(b"Rope, 8.00", name="receipt.txt", type="text/plain")
    bytes_ = moorage.files.content(stored["id"])
    sent = moorage.agents.invoke(given["name"], "the tide?", attachments=[b"Lunch"])["response"]
    return [stored["name"], stored["size"], bytes_.decode(), sent, moorage.files.delete(stored["id"])["deleted"]]


def retries():
    return {name: failed(lambda: broken.agents.get(name)) for name in given["retried"]}


def broken_calls():
    kinds, text = [], ""
    for event in broken.agents.stream("streamed", "Go"):
        kinds.append(event["type"])
        text += event.get("text", "")
    return [
        failed(lambda: broken.agents.invoke("failing", "Go")),
        failed(lambda: broken.agents.invoke("busy", "Go")),
        broken.agents.delete("lost"),
        kinds,
        text,
    ]


def cut_short():
    told = []
    for user in ["between", "within"]:
        lines = []

        def read():
            for line in broken.users.export(user):
                lines.append(line)

        told.append([failed(read), len(lines)])
    return told


def dots():
    told = []
    for word in [".", "..", ""]:
        try:
            moorage.memory.delete(given["name"], word)
        except ValueError:
            told.append(word)
    return told


def left_out():
    return [webhook["id"] for webhook in broken.webhooks.list(limit=1)]


def sent_again():
    return broken.files.create(pathlib.Path(given["path"]))["name"]


def served():
    call = given["call"]
    body = call["body"].encode()
    environ = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    environ.update({"HTTP_" + name.upper().replace("-", "_"): value for name, value in call["headers"].items()})
    app = agent_app(lambda run: run.tool("look", "look"), given["webhook"]["secret"])
    text = b"".join(app(environ, lambda *_: None)).decode()
    return [line for line in text.split("\n") if line.startswith("event")]


def redirected():
    error = failed(lambda: broken.agents.get("elsewhere"))
    return [error["code"], error["status"]]


def webhooks():
    vector = given["webhook"]

    def verified(**changes):
        asked = {**vector, **changes}
        try:
            return verify_webhook(asked["body"], asked["headers"], asked["secret"], now=asked["now"])["type"]
        except WebhookVerificationError:
            return "refused"

    return [
        verified(),
        verified(secret=["whsec_AAAA", vector["secret"]]),
        verified(body=vector["body"] + " "),
        verified(now=vector["now"] + 301),
        verified(secret="whsec_AAAA"),
        verified(headers={}),
        verify_signature(vector["body"], vector["signature"], vector["secret"]),
        verify_signature(vector["body"], "00", vector["secret"]),
    ]


def ends():
    deleted = moorage.agents.delete(given["name"])
    return [deleted["deleted"], failed(lambda: moorage.agents.get(given["name"]))]


TOLD = [agents, answers, once, errors, memories, files, retries, broken_calls, cut_short, dots, left_out, sent_again, served, redirected, webhooks, ends]
print(json.dumps({story.__name__: story() for story in TOLD}))
