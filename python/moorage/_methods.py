# Made from the OpenAPI document by `npm run sdk:types`; not to be edited.
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Union

from ._request import UNSET, Caller, fill, given
from ._pages import Pages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import types as t
    from ._request import RequestOptions


class Group:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller


class Invocations(Group):
    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at", "duration_ms", "-duration_ms", "tokens_used", "-tokens_used", "status", "-status", "id", "-id"] = UNSET,
        status: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"] = UNSET,
        activity: Literal["working", "asking"] = UNSET,
        door: Literal["api", "openai", "mcp", "a2a", "ag-ui", "cli", "schedule", "trigger", "console", "link"] = UNSET,
        session_id: str = UNSET,
        user_id: str = UNSET,
        schedule_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Invocation]:
        """List invocations. With only the permission `invoke`, the list contains the invocations that the key started itself."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/invocations", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "status": status, "activity": activity, "door": door, "session_id": session_id, "user_id": user_id, "schedule_id": schedule_id}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        request_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Invocation:
        """Get an invocation. Returns the receipt: the message, the version that answered, the tools and tokens it used, and how it ended."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}", agent_id=agent_id, request_id=request_id),
            options=options,
        )

    def erase(
        self,
        agent_id: str,
        request_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Invocation:
        """Erase an invocation. Deletes the content of an invocation that has ended: its message, context, response and tool results, its log entries, callbacks and webhook events, the payload of the trigger delivery that started it, and the comments in its feedback. Replies kept for an Idempotency-Key are deleted too, so a repeated request returns 404, and so are files that came with the message or from its tools. The receipt is kept for accounting, without content and without the user; the scores of its feedback are kept too. Memories are not affected."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/invocations/{request_id}", agent_id=agent_id, request_id=request_id),
            options=options,
        )

    def cancel(
        self,
        agent_id: str,
        request_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Invocation:
        """Cancel an invocation. Returns the receipt when the run has actually stopped. Runs that it called as tools are cancelled too. If the invocation was already cancelled, returns 200 with the receipt; if it ended otherwise, 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/cancel", agent_id=agent_id, request_id=request_id),
            options=options,
        )

    def prompt(
        self,
        agent_id: str,
        request_id: str,
        *,
        step: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Prompt:
        """Get an invocation's prompt. Returns what was sent to the model: instructions, history, recalled memories with their scores, the message, and the answers and tool results of earlier steps. Memories are read as they are now, so deleted ones are missing. `notes` lists how the reply differs from the original prompt. `left_out` lists what did not fit into the model's context window. Messages of more than 20,000 characters are cut; `characters` is the full length. The values of secrets are never returned."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/prompt", agent_id=agent_id, request_id=request_id),
            query=given({"step": step}),
            options=options,
        )

    def effects(
        self,
        agent_id: str,
        request_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Effects:
        """Get an invocation's memories and deliveries. Returns the memories that the invocation wrote, and the webhook deliveries of the event sent when it ended. For its log entries, use `GET …/logs?request_id=`."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/effects", agent_id=agent_id, request_id=request_id),
            options=options,
        )

    def list_all(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at"] = UNSET,
        agent_id: str = UNSET,
        status: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"] = UNSET,
        door: Literal["api", "openai", "mcp", "a2a", "ag-ui", "cli", "schedule", "trigger", "console", "link"] = UNSET,
        session_id: str = UNSET,
        user_id: str = UNSET,
        request_id: str = UNSET,
        parent_request_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Invocation]:
        """List invocations of all agents. Lists the receipts of all agents that the key has access to, ordered by creation time."""
        return self._caller.list(
            "GET",
            fill("/v1/invocations"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id, "status": status, "door": door, "session_id": session_id, "user_id": user_id, "request_id": request_id, "parent_request_id": parent_request_id}),
            options=options,
        )


class Approvals(Group):
    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "expires_at", "-expires_at", "decided_at", "-decided_at", "status", "-status", "id", "-id"] = UNSET,
        agent_id: str = UNSET,
        status: Literal["pending", "approved", "rejected", "expired", "cancelled"] = UNSET,
        kind: Literal["tool", "question", "retry", "connection"] = UNSET,
        request_id: str = UNSET,
        user_id: str = UNSET,
        session_id: str = UNSET,
        start_time: str = UNSET,
        end_time: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Approval]:
        """List approvals. Lists what people are asked to decide, and their decisions. With only the permission `invoke`, the list contains the approvals of runs that the key started itself."""
        return self._caller.list(
            "GET",
            fill("/v1/approvals"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id, "status": status, "kind": kind, "request_id": request_id, "user_id": user_id, "session_id": session_id, "start_time": start_time, "end_time": end_time}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        request_id: str,
        call_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Approval:
        """Get an approval. If people were asked about a call twice, returns the later approval."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}", agent_id=agent_id, request_id=request_id, call_id=call_id),
            options=options,
        )

    def decide(
        self,
        agent_id: str,
        request_id: str,
        call_id: str,
        *,
        decision: Literal["approve", "reject"],
        arguments: Dict[str, Any] = UNSET,
        note: str = UNSET,
        answer: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Approval:
        """Decide an approval. Approves or rejects a tool call, or answers a question. With an approval, you can change the arguments of the call. Each approval is decided once; later requests get 409. The key that started the run can decide only if the agent sets `approvals.self`."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}", agent_id=agent_id, request_id=request_id, call_id=call_id),
            body=given({"decision": decision, "arguments": arguments, "note": note, "answer": answer}),
            options=options,
        )


class Feedback(Group):
    def give(
        self,
        agent_id: str,
        request_id: str,
        *,
        score: float,
        comment: Union[str, None] = UNSET,
        key: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Feedback:
        """Give feedback. Rates the answer of an invocation that has ended. An invocation has one feedback for each `key`; giving it again replaces the score and the comment. With only the permission `invoke`, a key can rate the invocations that it started itself, and a user token can rate those of its user. An invocation can have feedback with up to 10 keys. If it's still running or was erased, the request fails with 409."""
        return self._caller.call(
            "PUT",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/feedback", agent_id=agent_id, request_id=request_id),
            body=given({"score": score, "comment": comment, "key": key}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        request_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Feedback]:
        """Get an invocation's feedback. Lists the feedback that an invocation has, one item for each key."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/feedback", agent_id=agent_id, request_id=request_id),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        request_id: str,
        *,
        key: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete feedback. Deletes the feedback with one key, including its score."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/feedback", agent_id=agent_id, request_id=request_id),
            query=given({"key": key}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "score", "-score", "id", "-id"] = UNSET,
        agent_id: str = UNSET,
        request_id: str = UNSET,
        environment: str = UNSET,
        version: str = UNSET,
        deployment_id: str = UNSET,
        key: str = UNSET,
        user_id: str = UNSET,
        session_id: str = UNSET,
        score_below: float = UNSET,
        score_above: float = UNSET,
        commented: Literal["true", "false"] = UNSET,
        start_time: str = UNSET,
        end_time: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Feedback]:
        """List feedback. Lists the feedback of all agents that the key has access to. With only the permission `invoke`, the list contains the feedback of invocations that the key started itself."""
        return self._caller.list(
            "GET",
            fill("/v1/feedback"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id, "request_id": request_id, "environment": environment, "version": version, "deployment_id": deployment_id, "key": key, "user_id": user_id, "session_id": session_id, "score_below": score_below, "score_above": score_above, "commented": commented, "start_time": start_time, "end_time": end_time}),
            options=options,
        )


class Callbacks(Group):
    def create(
        self,
        agent_id: str,
        request_id: str,
        *,
        url: str,
        name: str = UNSET,
        format: Literal["event", "a2a"] = UNSET,
        token: str = UNSET,
        authorization: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.CallbackWithSecret:
        """Create a callback. Creates a webhook for a single run. It is called when the run waits for a person and when it ends, or immediately if the run has already ended. Requests are signed, retried and limited like those of webhooks. The callback is deleted with the receipt. A run can have up to 10."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/callbacks", agent_id=agent_id, request_id=request_id),
            body=given({"url": url, "name": name, "format": format, "token": token, "authorization": authorization}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        request_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Callback]:
        """List callbacks. Lists the run's callbacks. The list doesn't include a callback's secret and the headers that it sends."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/callbacks", agent_id=agent_id, request_id=request_id),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        request_id: str,
        callback_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Callback:
        """Get a callback. Returns a callback by its ID or name."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}", agent_id=agent_id, request_id=request_id, callback_id=callback_id),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        request_id: str,
        callback_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a callback. Deletes a callback by its ID or name. No further events are sent to it."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}", agent_id=agent_id, request_id=request_id, callback_id=callback_id),
            deleted={"id": callback_id, "deleted": True},
            options=options,
        )


class Files(Group):
    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "name", "-name", "size", "-size", "id", "-id"] = UNSET,
        user_id: str = UNSET,
        media_type: str = UNSET,
        after: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.StoredFile]:
        """List files. With only the permission `invoke`, or with a key limited to one agent, the list contains the files that the key uploaded. With a user token, it contains that user's files."""
        return self._caller.list(
            "GET",
            fill("/v1/files"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "user_id": user_id, "media_type": media_type, "after": after}),
            options=options,
        )

    def get(
        self,
        file_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.StoredFile:
        """Get a file. With only the permission `invoke`, a key has access to the files it uploaded itself."""
        return self._caller.call(
            "GET",
            fill("/v1/files/{file_id}", file_id=file_id),
            options=options,
        )

    def delete(
        self,
        file_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a file. The file's bytes are deleted in the background, unless another file in the project has the same content."""
        return self._caller.call(
            "DELETE",
            fill("/v1/files/{file_id}", file_id=file_id),
            deleted={"id": file_id, "deleted": True},
            options=options,
        )


class Agents(Group):
    def create(
        self,
        *,
        name: str,
        kind: Literal["model", "remote"] = UNSET,
        remote: Union[Dict[str, Any], None] = UNSET,
        description: Union[str, None] = UNSET,
        model: Union[str, List[str]] = UNSET,
        temperature: Union[float, None] = UNSET,
        instructions: Union[str, None] = UNSET,
        tools: List[Dict[str, Any]] = UNSET,
        script: Union[Dict[str, Any], None] = UNSET,
        output: Union[Dict[str, Any], None] = UNSET,
        memory: Dict[str, Any] = UNSET,
        limits: Dict[str, Any] = UNSET,
        sessions: Dict[str, Any] = UNSET,
        approvals: Dict[str, Any] = UNSET,
        metadata: Dict[str, Any] = UNSET,
        security: Union[Dict[str, Any], None] = UNSET,
        auth: Union[Dict[str, Any], None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Agent:
        """Create an agent. Only `name` is required: a new agent uses the built-in echo model. Setting `security` or `auth` requires the permission `manage`. If the name is taken, the request fails with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents"),
            body=given({"name": name, "kind": kind, "remote": remote, "description": description, "model": model, "temperature": temperature, "instructions": instructions, "tools": tools, "script": script, "output": output, "memory": memory, "limits": limits, "sessions": sessions, "approvals": approvals, "metadata": metadata, "security": security, "auth": auth}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name", "status", "-status", "id", "-id"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.AgentSummary]:
        """List agents. A key limited to one agent sees only that agent. Agents whose own `security` refuses this request are left out."""
        return self._caller.list(
            "GET",
            fill("/v1/agents"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def overview(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name", "status", "-status", "id", "-id"] = UNSET,
        failing: Literal["true"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.AgentOverview]:
        """List agents with their activity in the last 24 hours. Lists the agents of `GET /v1/agents` with the version they serve and their activity in the last 24 hours, in one request, for a dashboard's first page. With a user token, only that user's invocations are counted."""
        return self._caller.list(
            "GET",
            fill("/v1/overview"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "failing": failing}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Agent:
        """Get an agent. Returns the agent's draft. Secrets in `auth` are returned as hints. `digest` is the SHA-256 hash of the fields that a deployment would save."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}", agent_id=agent_id),
            options=options,
        )

    def update(
        self,
        agent_id: str,
        *,
        name: str = UNSET,
        status: Literal["running", "paused"] = UNSET,
        kind: Literal["model", "remote"] = UNSET,
        remote: Union[Dict[str, Any], None] = UNSET,
        description: Union[str, None] = UNSET,
        model: Union[str, List[str]] = UNSET,
        temperature: Union[float, None] = UNSET,
        instructions: Union[str, None] = UNSET,
        tools: List[Dict[str, Any]] = UNSET,
        script: Union[Dict[str, Any], None] = UNSET,
        output: Union[Dict[str, Any], None] = UNSET,
        memory: Dict[str, Any] = UNSET,
        limits: Dict[str, Any] = UNSET,
        sessions: Dict[str, Any] = UNSET,
        approvals: Dict[str, Any] = UNSET,
        metadata: Dict[str, Any] = UNSET,
        security: Union[Dict[str, Any], None] = UNSET,
        auth: Union[Dict[str, Any], None] = UNSET,
        digest: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Agent:
        """Update an agent. Changes only the fields you send; an object such as `limits` is replaced as a whole. With `digest`, the request fails with 409 if the agent has changed since you read it. `status: paused` cancels active runs and refuses new invocations. Changing `security` or `auth` requires the permission `manage`."""
        return self._caller.call(
            "PATCH",
            fill("/v1/agents/{agent_id}", agent_id=agent_id),
            body=given({"name": name, "status": status, "kind": kind, "remote": remote, "description": description, "model": model, "temperature": temperature, "instructions": instructions, "tools": tools, "script": script, "output": output, "memory": memory, "limits": limits, "sessions": sessions, "approvals": approvals, "metadata": metadata, "security": security, "auth": auth, "digest": digest}),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete an agent. Cancels the active runs of the agent, and sends the event `agent.cancelled` for up to 500 of them. Then deletes the agent with its deployments, invocations, memory, logs, schedules, triggers and links, and everything that is limited to it: keys, webhooks and budgets."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}", agent_id=agent_id),
            deleted={"id": agent_id, "deleted": True},
            options=options,
        )

    def test_tool(
        self,
        agent_id: str,
        *,
        tool: Dict[str, Any],
        call: Dict[str, Any] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ToolTest:
        """Test a tool. Calls a tool once, as a run of the agent would: with its secrets, under the rules of `outgoing`, and with checked arguments. The call has real effects, and needs no approval. Nothing is stored except an entry in the audit log."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/tools/test", agent_id=agent_id),
            body=given({"tool": tool, "call": call}),
            options=options,
        )

    def check_remote(
        self,
        agent_id: str,
        *,
        message: str = UNSET,
        timeout_ms: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.RemoteCheck:
        """Check a remote agent. Checks whether a remote agent follows the contract, point by point. The check uses the draft's URL, headers and secret, and follows the rules of `outgoing`. The agent is called up to eight times; tools, models and people are simulated. For an A2A agent, only the agent card is read and no message is sent. Nothing is stored except an entry in the audit log. Allow up to 10 minutes for the whole check. If the agent isn't remote, the request fails with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/remote/check", agent_id=agent_id),
            body=given({"message": message, "timeout_ms": timeout_ms}),
            default_timeout=610.0,
            default_retries=0,
            options=options,
        )

    def move(
        self,
        agent_id: str,
        *,
        project: str,
        **options: Unpack[RequestOptions],
    ) -> t.MovedAgent:
        """Move an agent to another project. Moves the agent with its versions, history, memory and schedules, the files of its runs and schedules, and the keys, webhooks and budgets limited to it. Personal keys that were created with a role in the old project stop working. From its next run on, the agent uses the new project's secrets and providers. Requires a key with access to all projects. If the other project has an agent with the same name, the request fails with 409; if it lacks the model's provider, with 400."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/move", agent_id=agent_id),
            body=given({"project": project}),
            options=options,
        )


class Keys(Group):
    def agents(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "name", "-name", "id", "-id"] = UNSET,
        agent_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.InvocableAgent]:
        """List agents you can invoke. Returns each agent with its description. Agents whose own `security` refuses this request are left out; paused agents are included. A page can contain fewer agents than `limit` if their output schemas are large."""
        return self._caller.list(
            "GET",
            fill("/v1/keys/self/agents"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id}),
            options=options,
        )

    def create(
        self,
        *,
        name: str,
        agent_id: Union[str, None] = UNSET,
        permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]] = UNSET,
        role: str = UNSET,
        tier: str = UNSET,
        expires_at: Union[str, None] = UNSET,
        all_projects: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.KeyWithSecret:
        """Create an API key. The secret is returned only in this reply. A key can't grant more than it has: permissions, scope, tier and expiry."""
        return self._caller.call(
            "POST",
            fill("/v1/keys"),
            body=given({"name": name, "agent_id": agent_id, "permissions": permissions, "role": role, "tier": tier, "expires_at": expires_at, "all_projects": all_projects}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "name", "-name", "expires_at", "-expires_at", "last_used_at", "-last_used_at", "id", "-id"] = UNSET,
        agent_id: str = UNSET,
        status: Literal["active", "expired", "revoked"] = UNSET,
        person_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Key]:
        """List API keys. Secrets are never returned. A key limited to one agent sees only that agent's keys."""
        return self._caller.list(
            "GET",
            fill("/v1/keys"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id, "status": status, "person_id": person_id}),
            options=options,
        )

    def self(
        self,
        **options: Unpack[RequestOptions],
    ) -> t.Self:
        """Get your own permissions. Returns the key's permissions, scope, tier and expiry. `tiers`, `default_tier` and `roles` list what it can grant to keys that it creates."""
        return self._caller.call(
            "GET",
            fill("/v1/keys/self"),
            options=options,
        )

    def get(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Key:
        """Get an API key. Returns the key's permissions and when it was last used, never its secret."""
        return self._caller.call(
            "GET",
            fill("/v1/keys/{key_id}", key_id=key_id),
            options=options,
        )

    def revoke(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Revoke an API key. The key stops working immediately, including a secret in its grace period. Revoking it again has no effect. The last key with `manage` in all projects can't be revoked (409), unless a person was granted that role directly and not through a group."""
        return self._caller.call(
            "DELETE",
            fill("/v1/keys/{key_id}", key_id=key_id),
            options=options,
        )

    def rotate(
        self,
        key_id: str,
        *,
        grace_period_seconds: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.KeyWithSecret:
        """Rotate an API key. The key keeps its ID and gets a new secret, returned only in this reply. The old secret works until the grace period ends, with exceptions: it can't create keys, roles, sessions, webhooks, schedules or triggers. It can't set an agent's `auth` or rotate the key again either. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately."""
        return self._caller.call(
            "POST",
            fill("/v1/keys/{key_id}/rotate", key_id=key_id),
            body=given({"grace_period_seconds": grace_period_seconds}),
            options=options,
        )


class Deployments(Group):
    def create(
        self,
        agent_id: str,
        *,
        environment: str,
        version: str,
        message: Union[str, None] = UNSET,
        digest: str = UNSET,
        strategy: Dict[str, Any] = UNSET,
        require_replay: Dict[str, Any] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.NewDeployment:
        """Deploy a version to an environment. Saves a snapshot of the agent as `version` and serves it in `environment`. A version never changes: if the label exists, its snapshot is deployed again. Active invocations finish on the version they started with. With `digest`, the request fails with 409 if the agent has changed since you read it. `warnings` lists what will fail in this version, such as a tool whose secret is not configured. With `strategy`, the version gets a growing share of the messages. With `require_replay`, nothing is served before the replay has passed. While such a deployment is in progress, others to the environment fail with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments", agent_id=agent_id),
            body=given({"environment": environment, "version": version, "message": message, "digest": digest, "strategy": strategy, "require_replay": require_replay}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "environment", "-environment", "version", "-version", "status", "-status", "id", "-id"] = UNSET,
        environment: str = UNSET,
        version: str = UNSET,
        status: Literal["active", "superseded", "rolled_back", "rolling_out", "paused", "aborted"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Deployment]:
        """List deployments. Lists what each environment serves, and what it served before."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/deployments", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "environment": environment, "version": version, "status": status}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        deployment_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.DeploymentWithDefinition:
        """Get a deployment. Returns the deployment with the agent's definition in that version."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}", agent_id=agent_id, deployment_id=deployment_id),
            options=options,
        )

    def find(
        self,
        deployment_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.DeploymentWithDefinition:
        """Get a deployment by ID. Use this if you know the deployment's ID but not its agent."""
        return self._caller.call(
            "GET",
            fill("/v1/deployments/{deployment_id}", deployment_id=deployment_id),
            options=options,
        )

    def diff(
        self,
        agent_id: str,
        deployment_id: str,
        *,
        from_: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.DeploymentDiff:
        """Compare a deployment. Shows what a deployment changed compared to the one it replaced, or to another deployment of the agent. With `from=working_copy`, it shows how the deployment differs from the agent's draft."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/diff", agent_id=agent_id, deployment_id=deployment_id),
            query=given({"from": from_}),
            options=options,
        )

    def rollback(
        self,
        agent_id: str,
        deployment_id: str,
        *,
        message: Union[str, None] = UNSET,
        forget: bool = UNSET,
        dry_run: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Union[t.Deployment, t.RollbackPreview]:
        """Roll back a deployment. With the ID of the active deployment, the environment returns to the version it served before. Versions that were rolled back since are skipped, even where an earlier deployment served them, so rolling back again goes further back. With the ID of an earlier deployment, the environment returns to that deployment. The request fails with 409 if there is nothing to return to. A rollback appends a new active deployment, and the reply is 200. `forget: true` also removes the memories that runs of the undone deployment have written, in the background; it requires the permission `delete`. `dry_run: true` changes nothing and shows what would change, with the number of those memories."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/rollback", agent_id=agent_id, deployment_id=deployment_id),
            body=given({"message": message, "forget": forget, "dry_run": dry_run}),
            options=options,
        )

    def promote(
        self,
        agent_id: str,
        deployment_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Deployment:
        """Promote a gradual deployment. Serves the version for all messages now, without the remaining steps. The request fails with 409 while the deployment waits for its replay, and once it has ended."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/promote", agent_id=agent_id, deployment_id=deployment_id),
            options=options,
        )

    def pause(
        self,
        agent_id: str,
        deployment_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Deployment:
        """Pause a gradual deployment. Stops the step's clock. The version keeps its share of the messages, and the guard still aborts the deployment if the version is worse."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/pause", agent_id=agent_id, deployment_id=deployment_id),
            options=options,
        )

    def resume(
        self,
        agent_id: str,
        deployment_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Deployment:
        """Resume a gradual deployment. Starts the step's clock again. If the guard has paused the deployment, the comparison starts over with new answers."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/resume", agent_id=agent_id, deployment_id=deployment_id),
            options=options,
        )

    def abort(
        self,
        agent_id: str,
        deployment_id: str,
        *,
        forget: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Deployment:
        """Abort a gradual deployment. Serves the previous version for all messages again. Active invocations finish on the version they started with. `forget: true` also removes the memories that runs of the version have written, in the background; it requires the permission `delete`."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/deployments/{deployment_id}/abort", agent_id=agent_id, deployment_id=deployment_id),
            body=given({"forget": forget}),
            options=options,
        )


class Sets(Group):
    def put(
        self,
        agent_id: str,
        name: str,
        *,
        description: Union[str, None] = UNSET,
        cases: List[Dict[str, Any]] = UNSET,
        from_: Dict[str, Any] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.CaseSet:
        """Set up a set. Saves messages that the agent should answer well, in place of a set with the same name. Write the cases yourself, or copy past invocations with `from`. A copy includes the answer, the results of tool calls, and the history and memories that the model saw, so it stays usable when the invocation is deleted. If an invocation or its user is erased, so is the copy. A set has at most 1,000 cases, and an agent at most 100 sets."""
        return self._caller.call(
            "PUT",
            fill("/v1/agents/{agent_id}/sets/{name}", agent_id=agent_id, name=name),
            body=given({"description": description, "cases": cases, "from": from_}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> t.CaseSetWithCases:
        """Get a set. Returns the set with its cases."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/sets/{name}", agent_id=agent_id, name=name),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a set. Deletes the set with its cases. Replays of the set keep their own copies."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/sets/{name}", agent_id=agent_id, name=name),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.CaseSet]:
        """List sets. Lists the agent's sets, without their cases."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/sets", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )


class Replays(Group):
    def create(
        self,
        agent_id: str,
        *,
        version: str = UNSET,
        working_copy: Literal[True] = UNSET,
        set: str = UNSET,
        filter: Dict[str, Any] = UNSET,
        last: int = UNSET,
        baseline: Literal["deployed", "recorded"] = UNSET,
        checks: List[Dict[str, Any]] = UNSET,
        limits: Dict[str, Any] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Replay:
        """Start a replay. Sends the cases of a set, or past invocations, to a version or the draft, and compares the answers with those of the deployed version or with the recorded ones. It runs in the background. Tools aren't called: results come from the recorded invocations, and a call that was never recorded is reported. Nothing is remembered, no webhook is sent, and no metric changes. Model calls cost the same as in runs, and count toward usage and budgets. An agent can have 10 running replays."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/replays", agent_id=agent_id),
            body=given({"version": version, "working_copy": working_copy, "set": set, "filter": filter, "last": last, "baseline": baseline, "checks": checks, "limits": limits}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at"] = UNSET,
        status: Literal["running", "completed", "cancelled"] = UNSET,
        set: str = UNSET,
        version: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Replay]:
        """List replays. Lists the agent's replays with their verdicts."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/replays", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "status": status, "set": set, "version": version}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        replay_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Replay:
        """Get a replay. Returns the progress, and when it has completed, the verdict and the report."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/replays/{replay_id}", agent_id=agent_id, replay_id=replay_id),
            options=options,
        )

    def cases(
        self,
        agent_id: str,
        replay_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["position", "-position"] = UNSET,
        outcome: Literal["regressed", "improved", "passed", "failed", "unknown"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.ReplayCase]:
        """List a replay's cases. Lists the cases with their answers in three columns: recorded, by the baseline, and by the candidate."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/replays/{replay_id}/cases", agent_id=agent_id, replay_id=replay_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "outcome": outcome}),
            options=options,
        )

    def cancel(
        self,
        agent_id: str,
        replay_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Replay:
        """Cancel a replay. Stops the replay. Answers that it already has are kept. If it was already cancelled, returns 200."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/replays/{replay_id}/cancel", agent_id=agent_id, replay_id=replay_id),
            options=options,
        )


class Schedules(Group):
    def create(
        self,
        agent_id: str,
        *,
        message: str,
        cron: str = UNSET,
        timezone: str = UNSET,
        every: str = UNSET,
        at: str = UNSET,
        name: Union[str, None] = UNSET,
        attachments: List[Dict[str, Any]] = UNSET,
        context: Dict[str, Any] = UNSET,
        environment: str = UNSET,
        overlap: Literal["skip", "queue"] = UNSET,
        catch_up: Literal["none", "one"] = UNSET,
        on_budget: Literal["fail", "wait"] = UNSET,
        priority: Literal["interactive", "normal", "batch"] = UNSET,
        enabled: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ScheduleWithRuns:
        """Create a schedule. Sends `message` to the agent at each scheduled time, in the background. Set the times with `cron` in a `timezone`, an interval (`every`) or a single time (`at`). Runs have the permissions of the key that last changed the schedule. If that key is revoked or expires, the schedule is disabled. Tokens can't create schedules, because a schedule would outlive its token."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/schedules", agent_id=agent_id),
            body=given({"cron": cron, "timezone": timezone, "every": every, "at": at, "name": name, "message": message, "attachments": attachments, "context": context, "environment": environment, "overlap": overlap, "catch_up": catch_up, "on_budget": on_budget, "priority": priority, "enabled": enabled}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "next_at", "-next_at", "name", "-name", "id", "-id"] = UNSET,
        enabled: Literal["true", "false"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Schedule]:
        """List schedules. Lists the agent's schedules with their next run and the number of runs that were missed or skipped."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/schedules", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "enabled": enabled}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        schedule_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.ScheduleWithRuns:
        """Get a schedule. Returns the schedule with its next five times, and with the runs it missed or skipped."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/schedules/{schedule_id}", agent_id=agent_id, schedule_id=schedule_id),
            options=options,
        )

    def update(
        self,
        agent_id: str,
        schedule_id: str,
        *,
        cron: str = UNSET,
        timezone: str = UNSET,
        every: str = UNSET,
        at: str = UNSET,
        name: Union[str, None] = UNSET,
        message: str = UNSET,
        attachments: List[Dict[str, Any]] = UNSET,
        context: Dict[str, Any] = UNSET,
        environment: str = UNSET,
        overlap: Literal["skip", "queue"] = UNSET,
        catch_up: Literal["none", "one"] = UNSET,
        on_budget: Literal["fail", "wait"] = UNSET,
        priority: Literal["interactive", "normal", "batch"] = UNSET,
        enabled: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ScheduleWithRuns:
        """Update a schedule. Changes only the fields you send. `cron`, `every` and `at` replace each other; sending the current value doesn't change the next run. From then on, runs have the permissions of the key that sends this request. A disabled schedule starts no runs and doesn't make up for them later."""
        return self._caller.call(
            "PATCH",
            fill("/v1/agents/{agent_id}/schedules/{schedule_id}", agent_id=agent_id, schedule_id=schedule_id),
            body=given({"cron": cron, "timezone": timezone, "every": every, "at": at, "name": name, "message": message, "attachments": attachments, "context": context, "environment": environment, "overlap": overlap, "catch_up": catch_up, "on_budget": on_budget, "priority": priority, "enabled": enabled}),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        schedule_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a schedule. The schedule starts no more runs. Runs it has already started continue, and their receipts are kept."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/schedules/{schedule_id}", agent_id=agent_id, schedule_id=schedule_id),
            deleted={"id": schedule_id, "deleted": True},
            options=options,
        )

    def run(
        self,
        agent_id: str,
        schedule_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.InvocationQueued:
        """Run a schedule now. Starts a background run like a scheduled one, with the permissions of the key that sends this request. This works even if the schedule is disabled or an earlier run is still active. The schedule's times don't change. While the agent is paused, the request fails with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/schedules/{schedule_id}/run", agent_id=agent_id, schedule_id=schedule_id),
            options=options,
        )


class Triggers(Group):
    def create(
        self,
        agent_id: str,
        *,
        verify: Dict[str, Any],
        kind: Literal["webhook", "slack", "telegram", "email"] = UNSET,
        name: Union[str, None] = UNSET,
        environment: str = UNSET,
        enabled: bool = UNSET,
        filter: List[Dict[str, Any]] = UNSET,
        message: str = UNSET,
        user_from: Union[str, None] = UNSET,
        session_from: Union[str, None] = UNSET,
        dedupe_from: Union[str, None] = UNSET,
        user_prefix: Union[str, None] = UNSET,
        on_budget: Literal["fail", "wait"] = UNSET,
        priority: Literal["interactive", "normal", "batch"] = UNSET,
        slack: Union[Dict[str, Any], None] = UNSET,
        telegram: Union[Dict[str, Any], None] = UNSET,
        email: Union[Dict[str, Any], None] = UNSET,
        reply: Union[bool, None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Trigger:
        """Create a trigger. Creates a URL (`address`) to which another service sends its events. Each verified request starts a background run. Runs have the permissions of the key that last changed the trigger. If that key is revoked or expires, the trigger is disabled. Tokens can't create triggers, because a trigger would outlive its token."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/triggers", agent_id=agent_id),
            body=given({"kind": kind, "name": name, "environment": environment, "enabled": enabled, "verify": verify, "filter": filter, "message": message, "user_from": user_from, "session_from": session_from, "dedupe_from": dedupe_from, "user_prefix": user_prefix, "on_budget": on_budget, "priority": priority, "slack": slack, "telegram": telegram, "email": email, "reply": reply}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name", "id", "-id"] = UNSET,
        enabled: Literal["true", "false"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Trigger]:
        """List triggers. Lists the agent's triggers with their URLs. Requires `write`, because a URL can be enough to start runs."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/triggers", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "enabled": enabled}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        trigger_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Trigger:
        """Get a trigger. Requires `write`, because its URL can be enough to start runs."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}", agent_id=agent_id, trigger_id=trigger_id),
            options=options,
        )

    def update(
        self,
        agent_id: str,
        trigger_id: str,
        *,
        name: Union[str, None] = UNSET,
        environment: str = UNSET,
        enabled: bool = UNSET,
        verify: Dict[str, Any] = UNSET,
        filter: List[Dict[str, Any]] = UNSET,
        message: str = UNSET,
        user_from: Union[str, None] = UNSET,
        session_from: Union[str, None] = UNSET,
        dedupe_from: Union[str, None] = UNSET,
        user_prefix: Union[str, None] = UNSET,
        on_budget: Literal["fail", "wait"] = UNSET,
        priority: Literal["interactive", "normal", "batch"] = UNSET,
        slack: Union[Dict[str, Any], None] = UNSET,
        telegram: Union[Dict[str, Any], None] = UNSET,
        email: Union[Dict[str, Any], None] = UNSET,
        reply: Union[bool, None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Trigger:
        """Update a trigger. Changes only the fields you send. From then on, runs have the permissions of the key that sends this request. A disabled trigger answers every request with 404. Its URL doesn't change."""
        return self._caller.call(
            "PATCH",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}", agent_id=agent_id, trigger_id=trigger_id),
            body=given({"name": name, "environment": environment, "enabled": enabled, "verify": verify, "filter": filter, "message": message, "user_from": user_from, "session_from": session_from, "dedupe_from": dedupe_from, "user_prefix": user_prefix, "on_budget": on_budget, "priority": priority, "slack": slack, "telegram": telegram, "email": email, "reply": reply}),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        trigger_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a trigger. Its URL returns 404 from then on, and its deliveries are deleted. Runs it has already started continue, and their receipts are kept."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}", agent_id=agent_id, trigger_id=trigger_id),
            deleted={"id": trigger_id, "deleted": True},
            options=options,
        )

    def test(
        self,
        agent_id: str,
        trigger_id: str,
        *,
        payload: Any = UNSET,
        headers: Dict[str, str] = UNSET,
        delivery_id: str = UNSET,
        run: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.TestedTrigger:
        """Test a trigger. Shows the message, user and session that a payload would lead to. With `run: true`, a payload that isn't filtered also starts a background run, with the permissions of the key that sends this request. Signatures and repeated events aren't checked."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}/test", agent_id=agent_id, trigger_id=trigger_id),
            body=given({"payload": payload, "headers": headers, "delivery_id": delivery_id, "run": run}),
            options=options,
        )

    def deliveries(
        self,
        agent_id: str,
        trigger_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "id", "-id"] = UNSET,
        outcome: Literal["accepted", "filtered", "failed", "refused"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.IncomingDelivery]:
        """List a trigger's deliveries. Lists what the trigger received, and what became of it. Deliveries are kept for `retention.deliveries`. Of refused requests, at most 10 per minute are listed."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries", agent_id=agent_id, trigger_id=trigger_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "outcome": outcome}),
            options=options,
        )

    def delivery(
        self,
        agent_id: str,
        trigger_id: str,
        delivery_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.IncomingDeliveryWithPayload:
        """Get a trigger's delivery. Returns the delivery with its payload and headers. Headers that can contain secrets are not stored."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}", agent_id=agent_id, trigger_id=trigger_id, delivery_id=delivery_id),
            options=options,
        )

    def replay(
        self,
        agent_id: str,
        trigger_id: str,
        delivery_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.ReplayedDelivery:
        """Replay a delivery. Starts another background run with the delivery's payload and the trigger's current message template, with the permissions of the key that sends this request. The trigger's filter isn't applied, and the trigger can be disabled. If the payload isn't stored, the request fails with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}/replay", agent_id=agent_id, trigger_id=trigger_id, delivery_id=delivery_id),
            options=options,
        )


class Links(Group):
    def create(
        self,
        agent_id: str,
        *,
        name: Union[str, None] = UNSET,
        environment: str = UNSET,
        origins: List[str] = UNSET,
        expires_at: Union[str, None] = UNSET,
        limits: Dict[str, Any] = UNSET,
        welcome: Union[str, None] = UNSET,
        starters: List[str] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Link:
        """Create a link. Creates a URL at which everyone who has it can chat with the agent, without a key. Each visitor is a separate user and sees only their own conversation. If the agent has deployments, the environment's version answers, never the draft. Visitors can decide what their own runs ask only if the agent sets `approvals.self` and the link's creator has the permission `approve`."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/links", agent_id=agent_id),
            body=given({"name": name, "environment": environment, "origins": origins, "expires_at": expires_at, "limits": limits, "welcome": welcome, "starters": starters}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "expires_at", "-expires_at", "name", "-name", "id", "-id"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Link]:
        """List links. Lists the agent's links with their limits and how much of them was used."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/links", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        link_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Link:
        """Get a link. Returns the link, with its limits and how much of them was used."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/links/{link_id}", agent_id=agent_id, link_id=link_id),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        link_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a link. The URL stops working. The runs that its visitors have started are cancelled and their streams end. The visitors' conversations are kept under invocations."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/links/{link_id}", agent_id=agent_id, link_id=link_id),
            options=options,
        )


class Logs(Group):
    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["timestamp", "-timestamp"] = UNSET,
        level: str = UNSET,
        start_time: str = UNSET,
        end_time: str = UNSET,
        request_id: str = UNSET,
        after: str = UNSET,
        search: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.LogEntry]:
        """Get an agent's log entries. Lists entries of the runtime and the tools, newest first. Secrets are redacted before an entry is stored. With `search`, the service looks through up to 10,000 entries that match the other filters. If there are more, the reply has `pagination.searched_to`: send it as `end_time`, or as `start_time` with `sort=timestamp`. To follow a log, request `after=latest` first. Then send each `pagination.next_after` as `after`. Every entry is returned once, including entries stored late."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/logs", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "level": level, "start_time": start_time, "end_time": end_time, "request_id": request_id, "after": after, "search": search}),
            options=options,
        )


class Metrics(Group):
    def get(
        self,
        agent_id: str,
        *,
        metric: Literal["response_time", "throughput", "error_rate", "tokens", "cost", "feedback"],
        start_time: str = UNSET,
        end_time: str = UNSET,
        granularity: Literal["1m", "5m", "1h", "1d"] = UNSET,
        environment: str = UNSET,
        version: str = UNSET,
        deployment_id: str = UNSET,
        aggregation: Literal["avg", "p50", "p95", "p99", "max", "sum"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.MetricSeries:
        """Get a metric of an agent over time. Counts each completed or failed invocation in the interval in which it ended. Intervals are whole and aligned to UTC: `start_time` is rounded down and `end_time` up. In an interval without invocations, throughput and sums are 0; other metrics have no value and are left out. `cost` leaves out invocations whose cost is not known. `feedback` is the average score given in the interval. With `environment`, `version` or `deployment_id`, only matching invocations are counted. With a user token, only that user's invocations are counted."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/metrics", agent_id=agent_id),
            query=given({"metric": metric, "start_time": start_time, "end_time": end_time, "granularity": granularity, "environment": environment, "version": version, "deployment_id": deployment_id, "aggregation": aggregation}),
            options=options,
        )

    def performance(
        self,
        agent_id: str,
        *,
        start_time: str = UNSET,
        end_time: str = UNSET,
        granularity: Literal["1m", "5m", "1h", "1d"] = UNSET,
        environment: str = UNSET,
        version: str = UNSET,
        deployment_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Performance:
        """Get all metrics of an agent over time. Returns requests, errors, response times, tokens, cost and feedback per interval, for a dashboard. With `environment`, `version` or `deployment_id`, only matching invocations are counted. Intervals are the same as for single metrics. Intervals without invocations are included, except those that have not started yet. With a user token, only that user's invocations are counted."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/performance", agent_id=agent_id),
            query=given({"start_time": start_time, "end_time": end_time, "granularity": granularity, "environment": environment, "version": version, "deployment_id": deployment_id}),
            options=options,
        )


class Usage(Group):
    def get(
        self,
        *,
        group_by: str = UNSET,
        from_: str = UNSET,
        to: str = UNSET,
        granularity: Literal["hour", "day", "month"] = UNSET,
        timezone: str = UNSET,
        scope: Literal["project", "service"] = UNSET,
        agent_id: str = UNSET,
        version: str = UNSET,
        environment: str = UNSET,
        key_id: str = UNSET,
        person_id: str = UNSET,
        user_id: str = UNSET,
        request_id: str = UNSET,
        model: str = UNSET,
        door: Literal["api", "openai", "mcp", "a2a", "ag-ui", "cli", "schedule", "trigger", "console", "link"] = UNSET,
        purpose: Literal["run", "facts", "summary", "memory", "search", "test", "replay"] = UNSET,
        format: Literal["json", "csv"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Usage:
        """Get usage and costs. Sums up every call of a model or an embedder: in runs, including failed, retried and cancelled ones, in summaries, facts and memory, and in provider tests. With `Accept: text/csv`, returns the rows as CSV. A request that would return more than 5,000 rows is refused."""
        return self._caller.call(
            "GET",
            fill("/v1/usage"),
            query=given({"group_by": group_by, "from": from_, "to": to, "granularity": granularity, "timezone": timezone, "scope": scope, "agent_id": agent_id, "version": version, "environment": environment, "key_id": key_id, "person_id": person_id, "user_id": user_id, "request_id": request_id, "model": model, "door": door, "purpose": purpose, "format": format}),
            options=options,
        )

    def reprice(
        self,
        *,
        from_: str,
        to: str = UNSET,
        after: str = UNSET,
        scope: Literal["project", "service"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.RepricedUsage:
        """Reprice past usage. Applies current prices to past calls, if prices were missing or wrong. Each request handles 200 calls and returns where to continue; `moorage usage reprice` repeats it until nothing is left. Sums and receipts change with the calls; budgets don't. A call whose model has no price now keeps its cost. If the request is interrupted, send it again."""
        return self._caller.call(
            "POST",
            fill("/v1/usage/reprice"),
            body=given({"from": from_, "to": to, "after": after, "scope": scope}),
            options=options,
        )


class Prices(Group):
    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["model", "-model"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Price]:
        """List model prices. Lists models by name: those that the project's agents use or have used in the last 31 days, the embedder, and those with a price from `moorage.yaml` or the API. `source` shows where a price comes from. If a model has no price, the price is null, never 0."""
        return self._caller.list(
            "GET",
            fill("/v1/prices"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def set(
        self,
        provider: str,
        model: str,
        *,
        input: float,
        output: float,
        cached_input: float = UNSET,
        cache_write: float = UNSET,
        reasoning: float = UNSET,
        request: float = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Price:
        """Set a model price. Sets the project's price of a model, for calls from now on. With `*` as the model, it applies to all other models of the provider. URL-encode the model: a slash in its name is `%2F`. Setting a price again replaces it as a whole. If `moorage.yaml` has a price for the model, the request fails with 409. If the operator pays for the model, because its provider is in `moorage.yaml` or uses the operator's key, this requires a key with access to all projects."""
        return self._caller.call(
            "PUT",
            fill("/v1/prices/{provider}/{model}", provider=provider, model=model),
            body=given({"input": input, "cached_input": cached_input, "cache_write": cache_write, "output": output, "reasoning": reasoning, "request": request}),
            options=options,
        )

    def delete(
        self,
        provider: str,
        model: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a model price. Deletes a price that was set through the API. The model then has the price from the built-in list of vendors, or no price. Prices in `moorage.yaml` stay. If the operator pays for the model, this requires a key with access to all projects."""
        return self._caller.call(
            "DELETE",
            fill("/v1/prices/{provider}/{model}", provider=provider, model=model),
            options=options,
        )


class Memory(Group):
    def search(
        self,
        agent_id: str,
        *,
        query: str,
        limit: int = UNSET,
        offset: int = UNSET,
        context: Dict[str, Any] = UNSET,
        min_score: float = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.FoundMemory]:
        """Search memory. Returns the best matches first. `context` limits the search to one user, one session or both. Without it, all of the agent's memories are searched."""
        return self._caller.list(
            "POST",
            fill("/v1/agents/{agent_id}/memory/search", agent_id=agent_id),
            body=given({"query": query, "limit": limit, "offset": offset, "context": context, "min_score": min_score}),
            options=options,
        )

    def write(
        self,
        agent_id: str,
        *,
        items: List[Dict[str, Any]],
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Write memories. Adds notes and facts, or turns of conversations that took place elsewhere. Either all items are written, or none."""
        return self._caller.call(
            "POST",
            fill("/v1/agents/{agent_id}/memory", agent_id=agent_id),
            body=given({"items": items}),
            options=options,
        )

    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "id", "-id"] = UNSET,
        user_id: str = UNSET,
        session_id: str = UNSET,
        kind: Literal["turn", "fact", "note"] = UNSET,
        before: str = UNSET,
        after: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Memory]:
        """List memories. Lists the agent's memories, newest first. Filter by user, session, kind or time."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/memory", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "user_id": user_id, "session_id": session_id, "kind": kind, "before": before, "after": after}),
            options=options,
        )

    def clear(
        self,
        agent_id: str,
        *,
        user_id: str = UNSET,
        session_id: str = UNSET,
        before: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Clear memory. Deletes the agent's memories up to now: all of them, or those of one user, of one session, or from before a given time. If the request is interrupted, send it again."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/memory", agent_id=agent_id),
            query=given({"user_id": user_id, "session_id": session_id, "before": before}),
            options=options,
        )

    def get(
        self,
        agent_id: str,
        memory_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Memory:
        """Get a memory. Returns the memory's content, kind, owner and time."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/memory/{memory_id}", agent_id=agent_id, memory_id=memory_id),
            options=options,
        )

    def update(
        self,
        agent_id: str,
        memory_id: str,
        *,
        content: str = UNSET,
        kind: Literal["turn", "fact", "note"] = UNSET,
        role: Union[Literal["user", "assistant"], None] = UNSET,
        metadata: Dict[str, Any] = UNSET,
        created_at: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Memory:
        """Update a memory. Changes only the fields you send; `metadata` is replaced as a whole. Search then uses the new content. The memory's user and session can't change."""
        return self._caller.call(
            "PATCH",
            fill("/v1/agents/{agent_id}/memory/{memory_id}", agent_id=agent_id, memory_id=memory_id),
            body=given({"content": content, "kind": kind, "role": role, "metadata": metadata, "created_at": created_at}),
            options=options,
        )

    def delete(
        self,
        agent_id: str,
        memory_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a memory. Search and recall no longer return the memory."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/memory/{memory_id}", agent_id=agent_id, memory_id=memory_id),
            options=options,
        )

    def status(
        self,
        **options: Unpack[RequestOptions],
    ) -> t.MemoryStatus:
        """Get memory status. Returns the embedder's progress. When the embedding model changes, all memories of all agents get new vectors in the background."""
        return self._caller.call(
            "GET",
            fill("/v1/memory"),
            options=options,
        )

    def replace_summary(
        self,
        agent_id: str,
        session_id: str,
        *,
        content: str,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.SessionSummary:
        """Replace a session's summary. If the agent keeps summaries, the model sees this text from the next message on. The text replaces the summary of everything said so far. The model adds later turns to it."""
        return self._caller.call(
            "PUT",
            fill("/v1/agents/{agent_id}/sessions/{session_id}/summary", agent_id=agent_id, session_id=session_id),
            query=given({"user_id": user_id}),
            body=given({"content": content}),
            options=options,
        )

    def summary(
        self,
        agent_id: str,
        session_id: str,
        *,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.SessionSummary:
        """Get a session's summary. Returns the summary of turns that no longer fit in the session history. The model sees it if the agent keeps summaries."""
        return self._caller.call(
            "GET",
            fill("/v1/agents/{agent_id}/sessions/{session_id}/summary", agent_id=agent_id, session_id=session_id),
            query=given({"user_id": user_id}),
            options=options,
        )

    def delete_summary(
        self,
        agent_id: str,
        session_id: str,
        *,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a session's summary. The session's turns are kept. If the agent keeps summaries, its model writes a new one from the first turn on."""
        return self._caller.call(
            "DELETE",
            fill("/v1/agents/{agent_id}/sessions/{session_id}/summary", agent_id=agent_id, session_id=session_id),
            query=given({"user_id": user_id}),
            options=options,
        )


class Users(Group):
    def list(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["last_used_at", "-last_used_at", "user_id", "-user_id"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.AgentUser]:
        """List users. Lists the users the agent has memories of, most recent first, with the number of their turns and notes and the time of the newest."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/users", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def sessions(
        self,
        agent_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["last_used_at", "-last_used_at", "session_id", "-session_id"] = UNSET,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.AgentSession]:
        """List sessions. Lists the conversations in the agent's memory, of all users or of one, most recent first."""
        return self._caller.list(
            "GET",
            fill("/v1/agents/{agent_id}/sessions", agent_id=agent_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "user_id": user_id}),
            options=options,
        )

    def export(
        self,
        user_id: str,
        **options: Unpack[RequestOptions],
    ) -> Iterator[t.UserLine]:
        """Export a user. Returns a user's data for all agents that the key has access to, as JSON lines: files (download their bytes by ID), sign-ins to connections (without tokens), memories, session summaries, schedules, deliveries of triggers, receipts with people's decisions and feedback, and their log entries. A reply that breaks off is incomplete."""
        return self._caller.lines(
            "GET",
            fill("/v1/users/{user_id}/export", user_id=user_id),
            options=options,
        )

    def erase(
        self,
        user_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.ErasedUser:
        """Erase a user. Erases a user's data for all agents that the key has access to: memories and session summaries, schedules, payloads of triggers, files, sign-ins to connections, the content of receipts and of their copies in sets and replays, comments in feedback, log entries, events and stored replies. A key limited to one agent deletes the files that came with that agent's runs; other files belong to the project. Receipts are kept for accounting, without content and without the user; the scores of their feedback are kept too. If the request is interrupted, send it again. It requires a one-time code if one of these agents requires one for `delete` or `clear_memory`."""
        return self._caller.call(
            "DELETE",
            fill("/v1/users/{user_id}", user_id=user_id),
            default_timeout=610.0,
            options=options,
        )


class Webhooks(Group):
    def create(
        self,
        *,
        url: str,
        events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]],
        agent_id: Union[str, None] = UNSET,
        description: Union[str, None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.WebhookWithSecret:
        """Create a webhook. Events are sent to `url`, signed with the secret, which is returned only in this reply. A key limited to one agent must name that agent. Tokens can't create webhooks, because a webhook outlives its token."""
        return self._caller.call(
            "POST",
            fill("/v1/webhooks"),
            body=given({"agent_id": agent_id, "url": url, "events": events, "description": description}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "url", "-url", "status", "-status", "id", "-id"] = UNSET,
        agent_id: str = UNSET,
        event: Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping"] = UNSET,
        status: Literal["enabled", "disabled"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Webhook]:
        """List webhooks. Secrets are never returned. A key limited to one agent sees only that agent's webhooks."""
        return self._caller.list(
            "GET",
            fill("/v1/webhooks"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "agent_id": agent_id, "event": event, "status": status}),
            options=options,
        )

    def get(
        self,
        webhook_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Webhook:
        """Get a webhook. Returns the webhook with a hint of its secret, and shows whether it is failing and since when."""
        return self._caller.call(
            "GET",
            fill("/v1/webhooks/{webhook_id}", webhook_id=webhook_id),
            options=options,
        )

    def update(
        self,
        webhook_id: str,
        *,
        url: str = UNSET,
        events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]] = UNSET,
        description: Union[str, None] = UNSET,
        status: Literal["enabled", "disabled"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Webhook:
        """Update a webhook. Changes only the fields you send. While the webhook is disabled, nothing is sent and new events are skipped; deliveries that were already waiting are sent when you enable it again."""
        return self._caller.call(
            "PATCH",
            fill("/v1/webhooks/{webhook_id}", webhook_id=webhook_id),
            body=given({"url": url, "events": events, "description": description, "status": status}),
            options=options,
        )

    def delete(
        self,
        webhook_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a webhook. Deletes the webhook with its deliveries. Nothing more is sent to it."""
        return self._caller.call(
            "DELETE",
            fill("/v1/webhooks/{webhook_id}", webhook_id=webhook_id),
            deleted={"id": webhook_id, "deleted": True},
            options=options,
        )

    def rotate_secret(
        self,
        webhook_id: str,
        *,
        grace_period_seconds: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.WebhookWithSecret:
        """Rotate a webhook's secret. The new secret is returned only in this reply. Until the grace period ends, `webhook-signature` contains a signature with each secret; `X-Service-Signature` contains one, and uses the new secret immediately. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately."""
        return self._caller.call(
            "POST",
            fill("/v1/webhooks/{webhook_id}/rotate-secret", webhook_id=webhook_id),
            body=given({"grace_period_seconds": grace_period_seconds}),
            options=options,
        )

    def test(
        self,
        webhook_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.WebhookTest:
        """Send a test event. Sends a signed `ping` immediately, even to a disabled webhook, and returns the result. It is tried once and not recorded as a delivery."""
        return self._caller.call(
            "POST",
            fill("/v1/webhooks/{webhook_id}/test", webhook_id=webhook_id),
            options=options,
        )

    def deliveries(
        self,
        webhook_id: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "id", "-id"] = UNSET,
        status: Literal["pending", "delivered", "failed"] = UNSET,
        event: Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Delivery]:
        """List a webhook's deliveries. Lists deliveries with their latest attempts. Deliveries are kept for `retention.deliveries`."""
        return self._caller.list(
            "GET",
            fill("/v1/webhooks/{webhook_id}/deliveries", webhook_id=webhook_id),
            query=given({"limit": limit, "offset": offset, "sort": sort, "status": status, "event": event}),
            options=options,
        )

    def delivery(
        self,
        webhook_id: str,
        delivery_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.DeliveryWithBody:
        """Get a delivery. Returns the delivery with its body."""
        return self._caller.call(
            "GET",
            fill("/v1/webhooks/{webhook_id}/deliveries/{delivery_id}", webhook_id=webhook_id, delivery_id=delivery_id),
            options=options,
        )

    def find_delivery(
        self,
        delivery_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.DeliveryWithBody:
        """Get a delivery by ID. Use this if you know the delivery's ID but not its webhook."""
        return self._caller.call(
            "GET",
            fill("/v1/deliveries/{delivery_id}", delivery_id=delivery_id),
            options=options,
        )

    def redeliver(
        self,
        webhook_id: str,
        delivery_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Delivery:
        """Redeliver an event. Sends the same event again immediately, with the same ID, body and retries, even if it was delivered before."""
        return self._caller.call(
            "POST",
            fill("/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", webhook_id=webhook_id, delivery_id=delivery_id),
            options=options,
        )


class Listeners(Group):
    def create(
        self,
        *,
        events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]],
        agent_id: Union[str, None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Listener:
        """Listen for events. Creates a listener for a receiver without a public URL. The listener collects the events that a webhook would receive, and keeps them until you fetch them. It expires two minutes after its last request. `moorage webhooks listen` uses it to forward events to a server on your machine."""
        return self._caller.call(
            "POST",
            fill("/v1/listeners"),
            body=given({"agent_id": agent_id, "events": events}),
            options=options,
        )

    def get(
        self,
        listener_id: str,
        *,
        received: str = UNSET,
        wait_ms: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Listener:
        """Get a listener's events. Returns at most ten events at a time. Each is returned again until you list it in `received`. Every request extends the listener's lifetime. Only the key that created the listener can use it."""
        return self._caller.call(
            "GET",
            fill("/v1/listeners/{listener_id}", listener_id=listener_id),
            query=given({"received": received, "wait_ms": wait_ms}),
            options=options,
        )


class People(Group):
    def create_personal_key(
        self,
        *,
        name: str,
        agent_id: Union[str, None] = UNSET,
        permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]] = UNSET,
        role: str = UNSET,
        tier: str = UNSET,
        expires_at: Union[str, None] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.KeyWithSecret:
        """Create a personal key. For people who are signed in. The key never has more permissions than your role in this project, and stops working when your role ends. The secret is returned only in this reply."""
        return self._caller.call(
            "POST",
            fill("/v1/personal-keys"),
            body=given({"name": name, "agent_id": agent_id, "permissions": permissions, "role": role, "tier": tier, "expires_at": expires_at}),
            options=options,
        )

    def personal_keys(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "name", "-name", "expires_at", "-expires_at", "last_used_at", "-last_used_at", "id", "-id"] = UNSET,
        status: Literal["active", "expired", "revoked"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Key]:
        """List your personal keys. For people who are signed in. Lists the keys that you created in this project."""
        return self._caller.list(
            "GET",
            fill("/v1/personal-keys"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "status": status}),
            options=options,
        )

    def revoke_personal_key(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Revoke a personal key. For people who are signed in. The key stops working immediately. Revoking it again has no effect."""
        return self._caller.call(
            "DELETE",
            fill("/v1/personal-keys/{key_id}", key_id=key_id),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "last_seen_at", "-last_seen_at", "name", "-name", "email", "-email", "id", "-id"] = UNSET,
        email: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Person]:
        """List people. Lists the people with a role in this project. With access to all projects and no project named, lists everybody, including people who have signed in but have no role yet."""
        return self._caller.list(
            "GET",
            fill("/v1/people"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "email": email}),
            options=options,
        )

    def get(
        self,
        person_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Person:
        """Get a person. Returns the person with their identities and their roles: in this project or, with access to all projects, everywhere. `email_verified` shows whether an identity provider has verified the address. Without access to all projects, people without a role in the project are not found."""
        return self._caller.call(
            "GET",
            fill("/v1/people/{person_id}", person_id=person_id),
            options=options,
        )

    def delete(
        self,
        person_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.RemovedPerson:
        """Delete a person. Deletes the person with their roles, personal keys and sessions, immediately. Their name and email address are erased; their ID stays in the audit log. If an identity provider still knows the person, they can sign in again with the same ID and the roles of their groups. Webhooks and service keys that they created belong to the project and keep working; the reply lists them for review. Requires access to all projects. The last service administrator can't be deleted: 409."""
        return self._caller.call(
            "DELETE",
            fill("/v1/people/{person_id}", person_id=person_id),
            options=options,
        )

    def set_role(
        self,
        person_id: str,
        *,
        role: Union[str, None],
        all_projects: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.PersonWithLostKeys:
        """Set or remove a person's role. Sets the person's role in this project, or in all projects. A role set here overrides roles from groups until it is removed. Keys that the person created lose the permissions that the new role doesn't have, and don't get them back later. Tokens, keys that expire and rotated secrets can't grant roles. The last service administrator's role can't be removed: 409."""
        return self._caller.call(
            "PUT",
            fill("/v1/people/{person_id}/role", person_id=person_id),
            body=given({"role": role, "all_projects": all_projects}),
            options=options,
        )


class Mfa(Group):
    def enrol(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.NewKeyFactor:
        """Set up a second factor for a key. Creates a TOTP secret for an authenticator app, returned only in this reply. It takes effect once you confirm a first code. Requires another key with a second factor and its code in `X-Service-OTP`, so a stolen key can't set up its own. Set up the first second factor on the server with `moorage mfa enrol --local`."""
        return self._caller.call(
            "POST",
            fill("/v1/keys/{key_id}/mfa", key_id=key_id),
            options=options,
        )

    def get(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.KeyFactor:
        """Get a key's second factor status. Returns whether the key has a second factor, and since when. Its secret is never returned."""
        return self._caller.call(
            "GET",
            fill("/v1/keys/{key_id}/mfa", key_id=key_id),
            options=options,
        )

    def remove(
        self,
        key_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Remove a key's second factor. Requires another key with a second factor and its code in `X-Service-OTP`."""
        return self._caller.call(
            "DELETE",
            fill("/v1/keys/{key_id}/mfa", key_id=key_id),
            options=options,
        )

    def confirm(
        self,
        key_id: str,
        *,
        code: str,
        **options: Unpack[RequestOptions],
    ) -> t.KeyFactor:
        """Confirm a second factor. Sends the first code of a new second factor, which proves that the authenticator app has the secret. The factor then takes effect and replaces the earlier one."""
        return self._caller.call(
            "POST",
            fill("/v1/keys/{key_id}/mfa/confirm", key_id=key_id),
            body=given({"code": code}),
            options=options,
        )


class Console(Group):
    def create_link(
        self,
        *,
        key_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ConsoleLink:
        """Create a sign-in link. Creates a token that signs a browser in to the console once, within ten minutes, with the key that sent the request. Put the token after `#link=` in the console's URL: what follows a `#` is not sent to servers. With `--local` on the server, the link is for the oldest admin key, or for `key_id`. A secret in its grace period can't create links: 403."""
        return self._caller.call(
            "POST",
            fill("/v1/console-links"),
            body=given({"key_id": key_id}),
            options=options,
        )

    def sessions(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "last_used_at", "-last_used_at", "expires_at", "-expires_at"] = UNSET,
        key_id: str = UNSET,
        person_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.ConsoleSession]:
        """List console sessions. Lists who is signed in to the console, with which key or as which person, and from where. Without the permission `manage`, the list contains only your own sessions."""
        return self._caller.list(
            "GET",
            fill("/v1/console-sessions"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "key_id": key_id, "person_id": person_id}),
            options=options,
        )

    def end_session(
        self,
        session_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """End a console session. Signs the browser out immediately, on every node. Without the permission `manage`, you can only end your own sessions."""
        return self._caller.call(
            "DELETE",
            fill("/v1/console-sessions/{session_id}", session_id=session_id),
            options=options,
        )


class Invitations(Group):
    def create(
        self,
        *,
        email: str,
        role: str,
        all_projects: bool = UNSET,
        expires_in_hours: int = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.InvitationWithToken:
        """Invite a person. Creates a one-time link that grants a role in this project to the person with this verified email address. The link stops working when the key or role that created it does. Tokens, keys that expire and rotated secrets can't create invitations. Put the token after `#invitation=` in the console's URL, and send the link yourself: the service sends no email. Without an identity provider in `console.oidc`, the request fails with 409."""
        return self._caller.call(
            "POST",
            fill("/v1/invitations"),
            body=given({"email": email, "role": role, "all_projects": all_projects, "expires_in_hours": expires_in_hours}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "expires_at", "-expires_at", "email", "-email", "id", "-id"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Invitation]:
        """List invitations. Lists this project's invitations. With access to all projects, invitations to all projects are included. Tokens are not returned."""
        return self._caller.list(
            "GET",
            fill("/v1/invitations"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def get(
        self,
        invitation_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Invitation:
        """Get an invitation. The token is not returned."""
        return self._caller.call(
            "GET",
            fill("/v1/invitations/{invitation_id}", invitation_id=invitation_id),
            options=options,
        )

    def revoke(
        self,
        invitation_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Revoke an invitation. The link stops working. A role it has already granted is kept."""
        return self._caller.call(
            "DELETE",
            fill("/v1/invitations/{invitation_id}", invitation_id=invitation_id),
            options=options,
        )


class Projects(Group):
    def create(
        self,
        *,
        name: str,
        description: Union[str, None] = UNSET,
        limits: t.SetProjectLimits = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Project:
        """Create a project. Creates an isolated project. Agents, keys, webhooks, secrets, providers and audit entries belong to one project and can't be seen from others. Requires a key with access to all projects. To work in the project, name it in the header `Moorage-Project`."""
        return self._caller.call(
            "POST",
            fill("/v1/projects"),
            body=given({"name": name, "description": description, "limits": limits}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name", "id", "-id"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Project]:
        """List projects. A key limited to one project sees only that project."""
        return self._caller.list(
            "GET",
            fill("/v1/projects"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def get(
        self,
        project_id: str,
        **options: Unpack[RequestOptions],
    ) -> t.Project:
        """Get a project. Identify the project by ID or name."""
        return self._caller.call(
            "GET",
            fill("/v1/projects/{project_id}", project_id=project_id),
            options=options,
        )

    def update(
        self,
        project_id: str,
        *,
        name: str = UNSET,
        description: Union[str, None] = UNSET,
        limits: t.SetProjectLimits = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Project:
        """Update a project. Changes only the fields you send, including the fields of `limits`. A project that `console.oidc[].roles` refers to by name can't be renamed: 409. Requires access to all projects. The default project keeps its name."""
        return self._caller.call(
            "PATCH",
            fill("/v1/projects/{project_id}", project_id=project_id),
            body=given({"name": name, "description": description, "limits": limits}),
            options=options,
        )

    def delete(
        self,
        project_id: str,
        *,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a project. Cancels the project's active runs and deletes its agents, keys, webhooks, secrets and providers immediately. Logs, metrics and memories are deleted in the background. Audit entries are kept. The event `project.deleted` is sent to webhooks of the default project. Requires access to all projects. The `security` of every agent in the project applies as if that agent were deleted: the request can fail with 403, or require a one-time code. The default project can't be deleted: 409."""
        return self._caller.call(
            "DELETE",
            fill("/v1/projects/{project_id}", project_id=project_id),
            query=given({"name": name}),
            options=options,
        )


class Pauses(Group):
    def begin(
        self,
        *,
        reason: str,
        scope: Literal["project", "service"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Pause:
        """Pause everything. Pauses all work in this project, or in the whole service, within a second and on every node. Active runs wait: their model calls are interrupted, and tool calls in progress can finish. Background runs, schedules and work on memory wait too. New messages get 409 `agent_paused` with the reason. `POST /v1/resume` continues all of it; scheduled runs that are more than a minute late are missed, unless their schedule catches up. Pausing again changes the reason. The event `project.paused` is sent to the project's webhooks, `service.paused` to those of the default project."""
        return self._caller.call(
            "POST",
            fill("/v1/pause"),
            body=given({"reason": reason, "scope": scope}),
            options=options,
        )

    def get(
        self,
        **options: Unpack[RequestOptions],
    ) -> t.Pause:
        """Get the pause status. `project` and `service` are the current pauses, or null."""
        return self._caller.call(
            "GET",
            fill("/v1/pause"),
            options=options,
        )

    def end(
        self,
        *,
        scope: Literal["project", "service"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Pause:
        """Resume. Ends the pause of this project, or of the whole service. Waiting runs resume after their last step, on any node. A project with a pause of its own stays paused when the service resumes."""
        return self._caller.call(
            "POST",
            fill("/v1/resume"),
            body=given({"scope": scope}),
            options=options,
        )


class Secrets(Group):
    def set(
        self,
        name: str,
        *,
        value: str,
        hosts: List[str],
        **options: Unpack[RequestOptions],
    ) -> t.Secret:
        """Set a secret. From their next call on, tools can use the secret as `{{secret.NAME}}` in a header. The value is stored encrypted and never returned. Setting the secret again replaces the value. If `moorage.yaml` defines a secret with the same name, that one is used. Requires a key that is not limited to one agent."""
        return self._caller.call(
            "PUT",
            fill("/v1/secrets/{name}", name=name),
            body=given({"value": value, "hosts": hosts}),
            options=options,
        )

    def delete(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a secret. Tools that use the secret fail from their next call on."""
        return self._caller.call(
            "DELETE",
            fill("/v1/secrets/{name}", name=name),
            deleted={"name": name, "deleted": True},
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Secret]:
        """List secrets. Returns names and hosts, never values. Secrets from `moorage.yaml` are not listed."""
        return self._caller.list(
            "GET",
            fill("/v1/secrets"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )


class Connections(Group):
    def set(
        self,
        name: str,
        *,
        kind: Literal["mcp", "oauth2"],
        as_: Literal["user", "service"] = UNSET,
        url: Union[str, None] = UNSET,
        issuer: Union[str, None] = UNSET,
        authorize_url: Union[str, None] = UNSET,
        token_url: Union[str, None] = UNSET,
        revoke_url: Union[str, None] = UNSET,
        client_id: Union[str, None] = UNSET,
        client_secret: Union[str, None] = UNSET,
        scopes: List[str] = UNSET,
        hosts: List[str] = UNSET,
        return_origins: List[str] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Connection:
        """Set a connection. Tools use it as `connection` of an MCP tool, or as `{{connection.NAME}}` in a header of an HTTP tool, from their next call on. The client secret is stored encrypted and never returned. Setting it again replaces it. Users stay signed in, unless the provider, the client, the scopes or `as` change. Requires a key that is not limited to one agent."""
        return self._caller.call(
            "PUT",
            fill("/v1/connections/{name}", name=name),
            body=given({"kind": kind, "as": as_, "url": url, "issuer": issuer, "authorize_url": authorize_url, "token_url": token_url, "revoke_url": revoke_url, "client_id": client_id, "client_secret": client_secret, "scopes": scopes, "hosts": hosts, "return_origins": return_origins}),
            options=options,
        )

    def get(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> t.Connection:
        """Get a connection. Its `redirect_uri` is what you enter at the provider. The client secret is never returned."""
        return self._caller.call(
            "GET",
            fill("/v1/connections/{name}", name=name),
            options=options,
        )

    def delete(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a connection. Ends every sign-in, here and at the provider if it supports revocation and responds. Tools that use the connection fail from their next call on, and runs that wait for a sign-in continue without it. If the request is interrupted, send it again."""
        return self._caller.call(
            "DELETE",
            fill("/v1/connections/{name}", name=name),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Connection]:
        """List connections. Client secrets are never returned."""
        return self._caller.list(
            "GET",
            fill("/v1/connections"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def test(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> t.ConnectionTest:
        """Test a connection. Does what a sign-in does before it sends a browser to the provider, and reports the result: finds the authorization server, and registers the service there if necessary. If you have set a `client_id`, it also checks whether the provider accepts the client, by refreshing a token that doesn't exist. No user is signed in."""
        return self._caller.call(
            "POST",
            fill("/v1/connections/{name}/test", name=name),
            options=options,
        )

    def create_link(
        self,
        name: str,
        *,
        user_id: str = UNSET,
        return_to: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ConnectionLink:
        """Create a connection's sign-in link. Returns a URL where the user signs in with the provider. It's valid for ten minutes and one sign-in. Afterwards your application confirms who was signed in to it (`…/links/{link_id}/confirm`); until then, the sign-in isn't used. Requires `server.publicUrl`. For `as: service`, it requires the permission `manage`."""
        return self._caller.call(
            "POST",
            fill("/v1/connections/{name}/links", name=name),
            body=given({"user_id": user_id, "return_to": return_to}),
            options=options,
        )

    def confirm_link(
        self,
        name: str,
        link_id: str,
        *,
        user_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ConnectionGrant:
        """Confirm a sign-in. Says which user of your application opened the link, and so has signed in. If it was the link's user, the sign-in is used from now on, in place of an earlier one, and runs that wait for it continue. For another user, the request fails with 403, and the sign-in stays pending; after three such requests it is discarded. Get the user from your own session, never from the URL."""
        return self._caller.call(
            "POST",
            fill("/v1/connections/{name}/links/{link_id}/confirm", name=name, link_id=link_id),
            body=given({"user_id": user_id}),
            options=options,
        )

    def grants(
        self,
        name: str,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "id", "-id"] = UNSET,
        user_id: str = UNSET,
        status: Literal["pending", "active", "expired", "revoked"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.ConnectionGrant]:
        """List a connection's grants. Lists who has signed in. Tokens are never returned. With only the permission `invoke`, `user_id` is required."""
        return self._caller.list(
            "GET",
            fill("/v1/connections/{name}/grants", name=name),
            query=given({"limit": limit, "offset": offset, "sort": sort, "user_id": user_id, "status": status}),
            options=options,
        )

    def revoke_grant(
        self,
        name: str,
        user_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Revoke a user's grant. Ends the user's sign-in, here and at the provider if it supports revocation and responds. If the connection has `as: service`, use `service` as the user ID; this requires the permission `manage`."""
        return self._caller.call(
            "DELETE",
            fill("/v1/connections/{name}/grants/{user_id}", name=name, user_id=user_id),
            options=options,
        )


class Applications(Group):
    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "last_used_at", "-last_used_at", "expires_at", "-expires_at", "name", "-name", "id", "-id"] = UNSET,
        person_id: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.ConnectedApplication]:
        """List connected applications. Lists the MCP clients that people have connected by signing in, such as claude.ai or Cursor. Without the permission `manage`, the list contains only the ones you connected."""
        return self._caller.list(
            "GET",
            fill("/v1/connected-applications"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "person_id": person_id}),
            options=options,
        )

    def revoke(
        self,
        application_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Revoke a connected application. The application's tokens stop working and its streams end within seconds, on every node. Revoking it again has no effect. Without the permission `manage`, you can only revoke the ones you connected."""
        return self._caller.call(
            "DELETE",
            fill("/v1/connected-applications/{application_id}", application_id=application_id),
            options=options,
        )


class Providers(Group):
    def set(
        self,
        name: str,
        *,
        type: Literal["openai-compatible", "openai", "anthropic"] = UNSET,
        base_url: Union[str, None] = UNSET,
        api_key: Union[str, None] = UNSET,
        vision: Union[Union[bool, Dict[str, bool]], None] = UNSET,
        cache: bool = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Provider:
        """Set a model provider. From their next run on, agents can use models of this provider as `name/model`. The API key is stored encrypted and never returned. Setting the provider again replaces it as a whole; without `api_key`, the stored key is kept. If the origin of `base_url` changes, the request must contain `api_key`, or it fails with 400. Calls to the provider follow the rules of `outgoing`, like those of tools. If `moorage.yaml` defines the name, the request fails with 409. Requires a key that is not limited to one agent."""
        return self._caller.call(
            "PUT",
            fill("/v1/providers/{name}", name=name),
            body=given({"type": type, "base_url": base_url, "api_key": api_key, "vision": vision, "cache": cache}),
            options=options,
        )

    def delete(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a model provider. Agents that use the provider fail from their next run on. Only providers set through the API can be deleted; a provider with the same name in `moorage.yaml` stays."""
        return self._caller.call(
            "DELETE",
            fill("/v1/providers/{name}", name=name),
            deleted={"name": name, "deleted": True},
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["name", "-name"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Provider]:
        """List model providers. Lists the providers from `moorage.yaml` and those set through the API, by name. API keys are never returned."""
        return self._caller.list(
            "GET",
            fill("/v1/providers"),
            query=given({"limit": limit, "offset": offset, "sort": sort}),
            options=options,
        )

    def models(
        self,
        name: str,
        **options: Unpack[RequestOptions],
    ) -> t.ProviderModels:
        """List a provider's models. Asks the provider for its current list, and waits up to 15 seconds. If there is no list, `error` says why."""
        return self._caller.call(
            "GET",
            fill("/v1/providers/{name}/models", name=name),
            options=options,
        )

    def test(
        self,
        name: str,
        *,
        model: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.ProviderTest:
        """Test a model provider. Asks the provider for its list of models, which costs nothing, and reports the result. If the provider has a key, the list is also requested without it, because a public list doesn't prove that the key works. With `model`, that model also answers one short message."""
        return self._caller.call(
            "POST",
            fill("/v1/providers/{name}/test", name=name),
            body=given({"model": model}),
            options=options,
        )


class Budgets(Group):
    def create(
        self,
        *,
        name: str,
        limit: Dict[str, Any],
        scope: Dict[str, Any],
        per: Literal["hour", "day", "month", "ever"],
        thresholds: List[int] = UNSET,
        action: Literal["refuse", "notify"] = UNSET,
        timezone: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Budget:
        """Create a budget. Limits spending on model and embedder calls. Each call first reserves the most it could use in every budget that applies; when it ends, its actual usage is counted. A call that doesn't fit in a budget is refused with 429 `budget_exceeded`. Earlier spending is not counted. The scope `service` requires access to all projects."""
        return self._caller.call(
            "POST",
            fill("/v1/budgets"),
            body=given({"name": name, "limit": limit, "thresholds": thresholds, "action": action, "scope": scope, "per": per, "timezone": timezone}),
            options=options,
        )

    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "updated_at", "-updated_at", "name", "-name", "id", "-id"] = UNSET,
        scope: Literal["service", "project", "agent", "key", "user"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.Budget]:
        """List budgets. Lists this project's budgets with what was spent in the current period. With access to all projects, budgets of the service are included."""
        return self._caller.list(
            "GET",
            fill("/v1/budgets"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "scope": scope}),
            options=options,
        )

    def get(
        self,
        budget_id: str,
        *,
        subject: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Budget:
        """Get a budget. If each key or user has its own limit, `subject` selects whose usage is returned."""
        return self._caller.call(
            "GET",
            fill("/v1/budgets/{budget_id}", budget_id=budget_id),
            query=given({"subject": subject}),
            options=options,
        )

    def update(
        self,
        budget_id: str,
        *,
        name: str = UNSET,
        limit: Dict[str, Any] = UNSET,
        thresholds: List[int] = UNSET,
        action: Literal["refuse", "notify"] = UNSET,
        **options: Unpack[RequestOptions],
    ) -> t.Budget:
        """Update a budget. Changes only the fields you send; what was spent stays counted. To change the kind of limit, the scope or the period, create a new budget."""
        return self._caller.call(
            "PATCH",
            fill("/v1/budgets/{budget_id}", budget_id=budget_id),
            body=given({"name": name, "limit": limit, "thresholds": thresholds, "action": action}),
            options=options,
        )

    def delete(
        self,
        budget_id: str,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Delete a budget. The budget no longer limits anything. Usage records are kept."""
        return self._caller.call(
            "DELETE",
            fill("/v1/budgets/{budget_id}", budget_id=budget_id),
            deleted={"id": budget_id, "deleted": True},
            options=options,
        )


class Audit(Group):
    def list(
        self,
        *,
        limit: int = UNSET,
        offset: int = UNSET,
        sort: Literal["created_at", "-created_at", "id", "-id"] = UNSET,
        action: str = UNSET,
        actor: str = UNSET,
        agent_id: str = UNSET,
        outcome: Literal["success", "started", "refused"] = UNSET,
        deleted_project_id: str = UNSET,
        since: str = UNSET,
        until: str = UNSET,
        **options: Unpack[RequestOptions],
    ) -> Pages[t.AuditEntry]:
        """List the audit log. Lists every change and every refusal. Invocations have receipts instead. A key limited to one agent sees only that agent's entries."""
        return self._caller.list(
            "GET",
            fill("/v1/audit-log"),
            query=given({"limit": limit, "offset": offset, "sort": sort, "action": action, "actor": actor, "agent_id": agent_id, "outcome": outcome, "deleted_project_id": deleted_project_id, "since": since, "until": until}),
            options=options,
        )

    def head(
        self,
        **options: Unpack[RequestOptions],
    ) -> t.AuditHead:
        """Get the latest audit log entry's hash. Store the hash and its `seq` outside the service. `moorage audit verify --pinned SEQ:HASH` can then prove that no entry up to this one was changed."""
        return self._caller.call(
            "GET",
            fill("/v1/audit-log/head"),
            options=options,
        )


class System(Group):
    def get(
        self,
        **options: Unpack[RequestOptions],
    ) -> t.System:
        """Get service status. Returns the version, nodes, queues, the database's size and growth, and the current configuration without its secrets. Requires access to all projects."""
        return self._caller.call(
            "GET",
            fill("/v1/system"),
            options=options,
        )


class Telemetry(Group):
    def get(
        self,
        **options: Unpack[RequestOptions],
    ) -> Dict[str, Any]:
        """Get telemetry. Returns this node's own counters: requests, runs, queues, commits, caches, outgoing calls and memory. Prometheus scrapes the same data at `/metrics`."""
        return self._caller.call(
            "GET",
            fill("/v1/telemetry"),
            options=options,
        )
