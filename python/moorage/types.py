# Made from the OpenAPI document by `npm run sdk:types`; not to be edited.
"""The shapes of requests and replies, for type checkers. At run time they are plain dictionaries."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union

Json = Any


class ErrorReply(TypedDict):
    success: Literal[False]
    error: Dict[str, Any]
    request_id: str


class _Pagination(TypedDict):
    limit: int
    offset: int
    total: int
    has_more: bool


class Pagination(_Pagination, total=False):
    searched_to: str
    next_after: str


class _InvocationResult(TypedDict):
    response: str
    request_id: str
    tokens_used: int
    duration_ms: int


class InvocationResult(_InvocationResult, total=False):
    output: Any
    files: List[Dict[str, Any]]


class _InvocationQueued(TypedDict):
    request_id: str
    status: Literal["queued", "waiting"]


class InvocationQueued(_InvocationQueued, total=False):
    approvals: List[PendingApproval]
    reason: str


class _PendingApproval(TypedDict):
    call_id: str
    kind: Literal["tool", "question", "retry", "connection"]
    tool: str
    arguments: Dict[str, Any]
    created_at: str
    expires_at: str


class PendingApproval(_PendingApproval, total=False):
    connection: Dict[str, Any]
    child: ChildRun


class ChildRun(TypedDict):
    request_id: str
    agent_id: str
    agent: str


class _Invoke(TypedDict):
    message: str


class Invoke(_Invoke, total=False):
    context: Dict[str, Any]
    environment: str
    on_budget: Literal["fail", "wait"]
    output: Dict[str, Any]
    attachments: List[Dict[str, Any]]
    priority: Literal["interactive", "normal", "batch"]
    callback: NewCallback


class _NewCallback(TypedDict):
    url: str


class NewCallback(_NewCallback, total=False):
    name: str
    format: Literal["event", "a2a"]
    token: str
    authorization: str


class _Invocation(TypedDict):
    request_id: str
    agent_id: str
    status: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]
    door: Literal["api", "openai", "mcp", "a2a", "ag-ui", "cli", "schedule", "trigger", "console", "link"]
    background: bool
    environment: str
    version: Union[str, None]
    deployment_id: Union[str, None]
    message: str
    context: Dict[str, Any]
    attachments: List[InvocationAttachment]
    response: Union[str, None]
    calls: List[Dict[str, Any]]
    error: Union[Dict[str, Any], None]
    model: Union[str, None]
    tokens_used: int
    usage: Dict[str, Any]
    cost_usd: Union[float, None]
    steps: List[InvocationStep]
    attempts: List[Dict[str, Any]]
    duration_ms: Union[int, None]
    schedule_id: Union[str, None]
    scheduled_at: Union[str, None]
    parent_request_id: Union[str, None]
    created_by: str
    created_at: str
    started_at: Union[str, None]
    finished_at: Union[str, None]
    erased_at: Union[str, None]


class Invocation(_Invocation, total=False):
    asks_people: bool
    queue: InvocationQueue
    output: Any
    output_wanted: Dict[str, Any]
    feedback: List[Feedback]
    created_by_name: Union[str, None]


class InvocationQueue(TypedDict):
    reason: Literal["session", "pause", "limit", "order"]
    position: int
    message: str


class InvocationAttachment(TypedDict):
    file_id: str
    name: str
    media_type: str
    size: int
    shown_as: Union[Literal["image", "text", "omitted"], None]
    note: Union[str, None]


class _Feedback(TypedDict):
    id: str
    agent_id: str
    request_id: str
    key: str
    score: float
    comment: Union[str, None]
    user_id: Union[str, None]
    session_id: Union[str, None]
    environment: str
    version: Union[str, None]
    deployment_id: Union[str, None]
    created_by: str
    created_at: str
    updated_at: str


class Feedback(_Feedback, total=False):
    created_by_name: Union[str, None]


InvocationStep = Dict[str, Any]


class StepsResult(TypedDict):
    status: Literal["done", "waiting"]
    steps: List[DoneStep]


class _DoneStep(TypedDict):
    id: str


class DoneStep(_DoneStep, total=False):
    result: Any
    error: str


class AskSteps(TypedDict):
    steps: List[AskedStep]


AskedStep = Dict[str, Any]


class Prompt(TypedDict):
    step: int
    model: str
    temperature: Union[float, None]
    messages: List[Dict[str, Any]]
    memories: List[Dict[str, Any]]
    left_out: Union[Dict[str, Any], None]
    output_schema: Union[Dict[str, Any], None]
    tools: List[Dict[str, Any]]
    notes: List[str]


class Effects(TypedDict):
    memories: List[Memory]
    deliveries: List[Delivery]


class Memory(TypedDict):
    id: str
    content: str
    kind: Literal["turn", "fact", "note"]
    role: Union[Literal["user", "assistant"], None]
    user_id: Union[str, None]
    session_id: Union[str, None]
    created_at: str
    metadata: Dict[str, Any]
    version: Union[str, None]
    deployment_id: Union[str, None]
    superseded_by: Union[str, None]


class Delivery(TypedDict):
    id: str
    webhook_id: str
    event_id: str
    event: Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping"]
    status: Literal["pending", "delivered", "failed"]
    attempt_count: int
    attempts: List[DeliveryAttempt]
    next_attempt_at: Union[str, None]
    created_at: str
    delivered_at: Union[str, None]


class DeliveryAttempt(TypedDict):
    attempt: int
    at: str
    duration_ms: int
    response_status: Union[int, None]
    error: Union[Literal["http_error", "redirect", "timeout", "dns_failed", "connect_failed", "tls_failed", "reset", "invalid_response", "too_large", "blocked_address", "invalid_url", "agent_closed", "internal"], None]


class _Approval(TypedDict):
    id: str
    agent_id: str
    request_id: str
    call_id: str
    kind: Literal["tool", "question", "retry", "connection"]
    tool: str
    arguments: Dict[str, Any]
    created_at: str
    expires_at: str
    status: Literal["pending", "approved", "rejected", "expired", "cancelled"]
    user_id: Union[str, None]
    session_id: Union[str, None]
    started_by: str
    decided_at: Union[str, None]
    decided_by: Union[str, None]
    changed_arguments: Union[Dict[str, Any], None]
    note: Union[str, None]
    answer: Union[str, None]
    not_for_you: Union[str, None]


class Approval(_Approval, total=False):
    connection: Dict[str, Any]
    child: ChildRun
    started_by_name: Union[str, None]
    decided_by_name: Union[str, None]


class _DecideApproval(TypedDict):
    decision: Literal["approve", "reject"]


class DecideApproval(_DecideApproval, total=False):
    arguments: Dict[str, Any]
    note: str
    answer: str


class _GiveFeedback(TypedDict):
    score: float


class GiveFeedback(_GiveFeedback, total=False):
    comment: Union[str, None]
    key: str


class CallbackWithSecret(TypedDict):
    id: str
    request_id: str
    name: Union[str, None]
    url: str
    format: Literal["event", "a2a"]
    status: Literal["enabled", "disabled"]
    disabled_reason: Union[Literal["requested", "gone", "failing"], None]
    secret_hint: str
    created_at: str
    secret: str


class Callback(TypedDict):
    id: str
    request_id: str
    name: Union[str, None]
    url: str
    format: Literal["event", "a2a"]
    status: Literal["enabled", "disabled"]
    disabled_reason: Union[Literal["requested", "gone", "failing"], None]
    secret_hint: str
    created_at: str


class _StoredFile(TypedDict):
    id: str
    name: str
    media_type: str
    size: int
    sha256: str
    user_id: Union[str, None]
    created_by: str
    created_at: str
    expires_at: Union[str, None]


class StoredFile(_StoredFile, total=False):
    created_by_name: Union[str, None]


class Agent(TypedDict):
    id: str
    name: str
    status: Literal["running", "paused"]
    created_at: str
    kind: Literal["model", "remote"]
    remote: Union[Dict[str, Any], None]
    description: Union[str, None]
    model: Union[str, List[str]]
    temperature: Union[float, None]
    instructions: Union[str, None]
    tools: List[Dict[str, Any]]
    script: Union[Dict[str, Any], None]
    output: Union[Dict[str, Any], None]
    memory: Dict[str, Any]
    limits: Dict[str, Any]
    sessions: Dict[str, Any]
    approvals: Dict[str, Any]
    metadata: Dict[str, Any]
    security: Union[Dict[str, Any], None]
    auth: Union[Dict[str, Any], None]
    updated_at: str
    digest: str


class _CreateAgent(TypedDict):
    name: str


class CreateAgent(_CreateAgent, total=False):
    kind: Literal["model", "remote"]
    remote: Union[Dict[str, Any], None]
    description: Union[str, None]
    model: Union[str, List[str]]
    temperature: Union[float, None]
    instructions: Union[str, None]
    tools: List[Dict[str, Any]]
    script: Union[Dict[str, Any], None]
    output: Union[Dict[str, Any], None]
    memory: Dict[str, Any]
    limits: Dict[str, Any]
    sessions: Dict[str, Any]
    approvals: Dict[str, Any]
    metadata: Dict[str, Any]
    security: Union[Dict[str, Any], None]
    auth: Union[Dict[str, Any], None]


class AgentSummary(TypedDict):
    id: str
    name: str
    status: Literal["running", "paused"]
    created_at: str


class AgentOverview(TypedDict):
    id: str
    name: str
    status: Literal["running", "paused"]
    created_at: str
    kind: Literal["model", "remote"]
    version: Union[str, None]
    requests: int
    errors: int
    p95_ms: Union[float, None]
    hours: List[int]


class InvocableAgent(TypedDict):
    id: str
    name: str
    status: Literal["running", "paused"]
    created_at: str
    description: Union[str, None]
    output_schema: Union[Dict[str, Any], None]


class UpdateAgent(TypedDict, total=False):
    name: str
    status: Literal["running", "paused"]
    kind: Literal["model", "remote"]
    remote: Union[Dict[str, Any], None]
    description: Union[str, None]
    model: Union[str, List[str]]
    temperature: Union[float, None]
    instructions: Union[str, None]
    tools: List[Dict[str, Any]]
    script: Union[Dict[str, Any], None]
    output: Union[Dict[str, Any], None]
    memory: Dict[str, Any]
    limits: Dict[str, Any]
    sessions: Dict[str, Any]
    approvals: Dict[str, Any]
    metadata: Dict[str, Any]
    security: Union[Dict[str, Any], None]
    auth: Union[Dict[str, Any], None]
    digest: str


class ToolTest(TypedDict):
    tools: List[Dict[str, Any]]
    result: Union[str, None]
    error: Union[str, None]
    duration_ms: int


class _TestTool(TypedDict):
    tool: Dict[str, Any]


class TestTool(_TestTool, total=False):
    call: Dict[str, Any]


class RemoteCheck(TypedDict):
    points: List[CheckedPoint]
    error: Union[str, None]
    duration_ms: int


class CheckedPoint(TypedDict):
    point: str
    status: Literal["ok", "failed", "not_tried"]
    detail: Union[str, None]


class CheckRemote(TypedDict, total=False):
    message: str
    timeout_ms: int


class _NewDeployment(TypedDict):
    id: str
    agent_id: str
    environment: str
    version: str
    status: Literal["active", "superseded", "rolled_back", "rolling_out", "paused", "aborted"]
    digest: str
    message: Union[str, None]
    created_by: str
    created_at: str
    replaces: Union[str, None]
    rollback_of: Union[str, None]
    forgotten: Union[int, None]
    strategy: Union[RolloutStrategy, None]
    require_replay: Union[RequiredReplay, None]
    progress: Union[RolloutProgress, None]
    evidence: Union[RolloutEvidence, None]


class NewDeployment(_NewDeployment, total=False):
    created_by_name: Union[str, None]
    warnings: List[str]


class RolloutStrategy(TypedDict):
    steps: List[Dict[str, Any]]
    guard: Dict[str, Any]
    on_bad: Literal["rollback", "pause"]


class RequiredReplay(TypedDict):
    set: str
    min_pass: float


class RolloutProgress(TypedDict):
    step: int
    percent: float
    minutes_left: float
    waits_for: Union[Literal["replay", "time", "answers", "person"], None]
    replay_id: Union[str, None]
    candidate: Union[Dict[str, Any], None]
    serving: Union[Dict[str, Any], None]
    looked_at: Union[str, None]


class RolloutEvidence(TypedDict):
    verdict: Literal["failures", "latency", "tokens", "cost", "feedback", "replay", "tools"]
    reason: str
    candidate: Union[Dict[str, Any], None]
    serving: Union[Dict[str, Any], None]
    examples: List[str]


class _CreateDeployment(TypedDict):
    environment: str
    version: str


class CreateDeployment(_CreateDeployment, total=False):
    message: Union[str, None]
    digest: str
    strategy: Dict[str, Any]
    require_replay: Dict[str, Any]


class _Deployment(TypedDict):
    id: str
    agent_id: str
    environment: str
    version: str
    status: Literal["active", "superseded", "rolled_back", "rolling_out", "paused", "aborted"]
    digest: str
    message: Union[str, None]
    created_by: str
    created_at: str
    replaces: Union[str, None]
    rollback_of: Union[str, None]
    forgotten: Union[int, None]
    strategy: Union[RolloutStrategy, None]
    require_replay: Union[RequiredReplay, None]
    progress: Union[RolloutProgress, None]
    evidence: Union[RolloutEvidence, None]


class Deployment(_Deployment, total=False):
    created_by_name: Union[str, None]


class _DeploymentWithDefinition(TypedDict):
    id: str
    agent_id: str
    environment: str
    version: str
    status: Literal["active", "superseded", "rolled_back", "rolling_out", "paused", "aborted"]
    digest: str
    message: Union[str, None]
    created_by: str
    created_at: str
    replaces: Union[str, None]
    rollback_of: Union[str, None]
    forgotten: Union[int, None]
    strategy: Union[RolloutStrategy, None]
    require_replay: Union[RequiredReplay, None]
    progress: Union[RolloutProgress, None]
    evidence: Union[RolloutEvidence, None]
    definition: Dict[str, Any]


class DeploymentWithDefinition(_DeploymentWithDefinition, total=False):
    created_by_name: Union[str, None]


DeploymentDiff = TypedDict("DeploymentDiff", {"from": 'Dict[str, Any]', "to": 'Dict[str, Any]', "diff": 'List[Dict[str, Any]]'}, total=False)


RollbackPreview = TypedDict("RollbackPreview", {"dry_run": 'Literal[True]', "from": 'Dict[str, Any]', "to": 'Dict[str, Any]', "diff": 'List[Dict[str, Any]]', "memories": 'int'}, total=False)


class _CaseSet(TypedDict):
    name: str
    agent_id: str
    description: Union[str, None]
    digest: str
    case_count: int
    created_by: str
    created_at: str
    updated_at: str


class CaseSet(_CaseSet, total=False):
    created_by_name: Union[str, None]


PutSet = TypedDict("PutSet", {"description": 'Union[str, None]', "cases": 'List[Dict[str, Any]]', "from": 'Dict[str, Any]'}, total=False)


class _CaseSetWithCases(TypedDict):
    name: str
    agent_id: str
    description: Union[str, None]
    digest: str
    case_count: int
    created_by: str
    created_at: str
    updated_at: str
    cases: List[Dict[str, Any]]


class CaseSetWithCases(_CaseSetWithCases, total=False):
    created_by_name: Union[str, None]


class _Replay(TypedDict):
    id: str
    agent_id: str
    status: Literal["running", "completed", "cancelled"]
    version: Union[str, None]
    digest: str
    set: Union[Dict[str, Any], None]
    filter: Union[Dict[str, Any], None]
    baseline: Literal["deployed", "recorded"]
    baseline_version: Union[str, None]
    baseline_digest: Union[str, None]
    checks: List[Dict[str, Any]]
    limits: Dict[str, Any]
    spent: Dict[str, Any]
    case_count: int
    finished_cases: int
    waits_for: Union[str, None]
    reached_limit: Union[Literal["cost_usd", "tokens"], None]
    verdict: Union[Literal["passed", "regression", "inconclusive"], None]
    report: Union[Dict[str, Any], None]
    durations_ms: Union[Dict[str, Any], None]
    created_by: str
    created_at: str
    finished_at: Union[str, None]


class Replay(_Replay, total=False):
    created_by_name: Union[str, None]


class CreateReplay(TypedDict, total=False):
    version: str
    working_copy: Literal[True]
    set: str
    filter: Dict[str, Any]
    last: int
    baseline: Literal["deployed", "recorded"]
    checks: List[Dict[str, Any]]
    limits: Dict[str, Any]


class ReplayCase(TypedDict):
    position: int
    name: Union[str, None]
    request_id: Union[str, None]
    erased: bool
    message: str
    outcome: Union[Literal["regressed", "improved", "passed", "failed", "unknown"], None]
    recorded: Union[Dict[str, Any], None]
    baseline: Union[Dict[str, Any], None]
    candidate: Union[Dict[str, Any], None]


class ScheduleWithRuns(TypedDict):
    id: str
    agent_id: str
    name: Union[str, None]
    cron: Union[str, None]
    timezone: Union[str, None]
    every: Union[str, None]
    at: Union[str, None]
    message: str
    attachments: List[Dict[str, Any]]
    context: Dict[str, Any]
    environment: str
    overlap: Literal["skip", "queue"]
    catch_up: Literal["none", "one"]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    enabled: bool
    disabled_reason: Union[Literal["requested", "key_revoked", "key_expired"], None]
    next_at: Union[str, None]
    last_tick_at: Union[str, None]
    last_request_id: Union[str, None]
    missed: int
    last_missed_at: Union[str, None]
    last_missed_reason: Union[Literal["late", "agent_paused"], None]
    skipped: int
    last_skipped_at: Union[str, None]
    created_by: str
    updated_by: str
    created_at: str
    updated_at: str
    next_runs: List[str]


class _CreateSchedule(TypedDict):
    message: str


class CreateSchedule(_CreateSchedule, total=False):
    cron: str
    timezone: str
    every: str
    at: str
    name: Union[str, None]
    attachments: List[Dict[str, Any]]
    context: Dict[str, Any]
    environment: str
    overlap: Literal["skip", "queue"]
    catch_up: Literal["none", "one"]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    enabled: bool


class Schedule(TypedDict):
    id: str
    agent_id: str
    name: Union[str, None]
    cron: Union[str, None]
    timezone: Union[str, None]
    every: Union[str, None]
    at: Union[str, None]
    message: str
    attachments: List[Dict[str, Any]]
    context: Dict[str, Any]
    environment: str
    overlap: Literal["skip", "queue"]
    catch_up: Literal["none", "one"]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    enabled: bool
    disabled_reason: Union[Literal["requested", "key_revoked", "key_expired"], None]
    next_at: Union[str, None]
    last_tick_at: Union[str, None]
    last_request_id: Union[str, None]
    missed: int
    last_missed_at: Union[str, None]
    last_missed_reason: Union[Literal["late", "agent_paused"], None]
    skipped: int
    last_skipped_at: Union[str, None]
    created_by: str
    updated_by: str
    created_at: str
    updated_at: str


class UpdateSchedule(TypedDict, total=False):
    cron: str
    timezone: str
    every: str
    at: str
    name: Union[str, None]
    message: str
    attachments: List[Dict[str, Any]]
    context: Dict[str, Any]
    environment: str
    overlap: Literal["skip", "queue"]
    catch_up: Literal["none", "one"]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    enabled: bool


class Trigger(TypedDict):
    id: str
    agent_id: str
    kind: Literal["webhook", "slack", "telegram", "email"]
    name: Union[str, None]
    environment: str
    enabled: bool
    verify: Dict[str, Any]
    filter: List[Dict[str, Any]]
    message: str
    user_from: Union[str, None]
    session_from: Union[str, None]
    dedupe_from: Union[str, None]
    user_prefix: str
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    slack: Union[Dict[str, Any], None]
    telegram: Union[Dict[str, Any], None]
    email: Union[Dict[str, Any], None]
    reply: Union[bool, None]
    disabled_reason: Union[Literal["requested", "key_revoked", "key_expired"], None]
    address: str
    last_delivery_at: Union[str, None]
    created_by: str
    updated_by: str
    created_at: str
    updated_at: str


class _CreateTrigger(TypedDict):
    verify: Dict[str, Any]


class CreateTrigger(_CreateTrigger, total=False):
    kind: Literal["webhook", "slack", "telegram", "email"]
    name: Union[str, None]
    environment: str
    enabled: bool
    filter: List[Dict[str, Any]]
    message: str
    user_from: Union[str, None]
    session_from: Union[str, None]
    dedupe_from: Union[str, None]
    user_prefix: Union[str, None]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    slack: Union[Dict[str, Any], None]
    telegram: Union[Dict[str, Any], None]
    email: Union[Dict[str, Any], None]
    reply: Union[bool, None]


class UpdateTrigger(TypedDict, total=False):
    name: Union[str, None]
    environment: str
    enabled: bool
    verify: Dict[str, Any]
    filter: List[Dict[str, Any]]
    message: str
    user_from: Union[str, None]
    session_from: Union[str, None]
    dedupe_from: Union[str, None]
    user_prefix: Union[str, None]
    on_budget: Literal["fail", "wait"]
    priority: Literal["interactive", "normal", "batch"]
    slack: Union[Dict[str, Any], None]
    telegram: Union[Dict[str, Any], None]
    email: Union[Dict[str, Any], None]
    reply: Union[bool, None]


class TestedTrigger(TypedDict):
    outcome: Literal["accepted", "filtered", "failed"]
    reason: Union[str, None]
    message: Union[str, None]
    user_id: Union[str, None]
    session_id: Union[str, None]
    secret_found: bool
    payload: Any
    headers: Dict[str, str]
    request_id: Union[str, None]
    delivery_id: Union[str, None]


class TestTrigger(TypedDict, total=False):
    payload: Any
    headers: Dict[str, str]
    delivery_id: str
    run: bool


class IncomingDelivery(TypedDict):
    id: str
    trigger_id: str
    outcome: Literal["accepted", "filtered", "failed", "refused"]
    code: Union[str, None]
    reason: Union[str, None]
    request_id: Union[str, None]
    user_id: Union[str, None]
    session_id: Union[str, None]
    repeats: int
    replay_of: Union[str, None]
    has_payload: bool
    answer: Union[ChatAnswer, None]
    created_at: str


class ChatAnswer(TypedDict):
    status: Literal["pending", "sent", "failed"]
    tries: int
    error: Union[str, None]
    next_attempt_at: Union[str, None]
    sent_at: Union[str, None]


class IncomingDeliveryWithPayload(TypedDict):
    id: str
    trigger_id: str
    outcome: Literal["accepted", "filtered", "failed", "refused"]
    code: Union[str, None]
    reason: Union[str, None]
    request_id: Union[str, None]
    user_id: Union[str, None]
    session_id: Union[str, None]
    repeats: int
    replay_of: Union[str, None]
    has_payload: bool
    answer: Union[ChatAnswer, None]
    created_at: str
    headers: Dict[str, str]
    payload: Union[str, None]


class _ReplayedDelivery(TypedDict):
    request_id: str
    status: Literal["queued", "waiting"]
    delivery_id: str


class ReplayedDelivery(_ReplayedDelivery, total=False):
    approvals: List[PendingApproval]
    reason: str


class _Link(TypedDict):
    id: str
    agent_id: str
    name: Union[str, None]
    environment: str
    url: Union[str, None]
    origins: List[str]
    status: Literal["active", "expired"]
    expires_at: Union[str, None]
    limits: Dict[str, Any]
    welcome: Union[str, None]
    starters: List[str]
    budget_id: Union[str, None]
    used: Dict[str, Any]
    created_by: str
    created_at: str


class Link(_Link, total=False):
    warnings: List[str]
    created_by_name: Union[str, None]


class CreateLink(TypedDict, total=False):
    name: Union[str, None]
    environment: str
    origins: List[str]
    expires_at: Union[str, None]
    limits: Dict[str, Any]
    welcome: Union[str, None]
    starters: List[str]


class LogEntry(TypedDict):
    id: str
    timestamp: str
    level: Literal["debug", "info", "warn", "error"]
    message: str
    metadata: Dict[str, Any]


class _MetricSeries(TypedDict):
    metric: Literal["response_time", "throughput", "error_rate", "tokens", "cost", "feedback"]
    granularity: Literal["1m", "5m", "1h", "1d"]
    values: List[Dict[str, Any]]


class MetricSeries(_MetricSeries, total=False):
    aggregation: Literal["avg", "p50", "p95", "p99", "max", "sum"]


class Performance(TypedDict):
    granularity: Literal["1m", "5m", "1h", "1d"]
    buckets: List[Dict[str, Any]]


Usage = TypedDict("Usage", {"from": 'str', "to": 'str', "timezone": 'str', "totals": 'Dict[str, Any]', "rows": 'List[UsageRow]'}, total=False)


class _UsageRow(TypedDict):
    calls: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    total_tokens: int
    cost_usd: Union[float, None]
    priced_cost_usd: float
    unpriced_calls: int
    lost_calls: int


class UsageRow(_UsageRow, total=False):
    time: str
    project_id: Union[str, None]
    agent_id: Union[str, None]
    version: Union[str, None]
    environment: Union[str, None]
    key_id: Union[str, None]
    person_id: Union[str, None]
    user_id: Union[str, None]
    door: Union[str, None]
    model: str
    purpose: Literal["run", "facts", "summary", "memory", "search", "test", "replay"]


class RepricedUsage(TypedDict):
    looked_at: int
    changed: int
    priced: int
    change_usd: float
    next: Union[str, None]


RepriceUsage = TypedDict("RepriceUsage", {"from": 'str', "to": 'str', "after": 'str', "scope": 'Literal["project", "service"]'}, total=False)


class Price(TypedDict):
    model: str
    source: Literal["configuration", "api", "genai-prices", "builtin", "unknown"]
    set_for: Union[str, None]
    version: Union[str, None]
    input: Union[float, None]
    cached_input: Union[float, None]
    cache_write: Union[float, None]
    output: Union[float, None]
    reasoning: Union[float, None]
    request: Union[float, None]
    tiers: List[Dict[str, Any]]


class _SetPrice(TypedDict):
    input: float
    output: float


class SetPrice(_SetPrice, total=False):
    cached_input: float
    cache_write: float
    reasoning: float
    request: float


class FoundMemory(TypedDict):
    id: str
    content: str
    kind: Literal["turn", "fact", "note"]
    role: Union[Literal["user", "assistant"], None]
    score: float
    matched: List[Literal["words", "meaning", "date"]]
    user_id: Union[str, None]
    session_id: Union[str, None]
    created_at: str
    metadata: Dict[str, Any]
    version: Union[str, None]
    deployment_id: Union[str, None]


class _SearchMemory(TypedDict):
    query: str


class SearchMemory(_SearchMemory, total=False):
    limit: int
    offset: int
    context: Dict[str, Any]
    min_score: float


class WriteMemory(TypedDict):
    items: List[Dict[str, Any]]


class UpdateMemory(TypedDict, total=False):
    content: str
    kind: Literal["turn", "fact", "note"]
    role: Union[Literal["user", "assistant"], None]
    metadata: Dict[str, Any]
    created_at: str


class MemoryStatus(TypedDict):
    embedding: Union[Dict[str, Any], None]


class AgentUser(TypedDict):
    user_id: str
    turns: int
    notes: int
    last_used_at: str


class AgentSession(TypedDict):
    session_id: str
    user_id: Union[str, None]
    turns: int
    notes: int
    last_used_at: str


class SessionSummary(TypedDict):
    session_id: str
    user_id: Union[str, None]
    content: str
    turns: int
    model: Union[str, None]
    tokens_used: int
    updated_at: str


class ReplaceSummary(TypedDict):
    content: str


UserLine = Dict[str, Any]


class ErasedUser(TypedDict):
    memories: int
    invocations: int
    logs: int
    events: int
    files: int
    deliveries: int
    schedules: int
    grants: int
    replies: int
    unfinished: int
    unfinished_runs: List[Dict[str, Any]]


class WebhookWithSecret(TypedDict):
    id: str
    agent_id: Union[str, None]
    url: str
    events: List[str]
    status: Literal["enabled", "disabled"]
    disabled_reason: Union[Literal["requested", "gone", "failing"], None]
    description: Union[str, None]
    secret_hint: str
    previous_secret_expires_at: Union[str, None]
    failing_since: Union[str, None]
    created_by: Union[str, None]
    created_at: str
    updated_at: str
    secret: str


class _CreateWebhook(TypedDict):
    url: str
    events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]]


class CreateWebhook(_CreateWebhook, total=False):
    agent_id: Union[str, None]
    description: Union[str, None]


class Webhook(TypedDict):
    id: str
    agent_id: Union[str, None]
    url: str
    events: List[str]
    status: Literal["enabled", "disabled"]
    disabled_reason: Union[Literal["requested", "gone", "failing"], None]
    description: Union[str, None]
    secret_hint: str
    previous_secret_expires_at: Union[str, None]
    failing_since: Union[str, None]
    created_by: Union[str, None]
    created_at: str
    updated_at: str


class UpdateWebhook(TypedDict, total=False):
    url: str
    events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]]
    description: Union[str, None]
    status: Literal["enabled", "disabled"]


class WebhookTest(TypedDict):
    event_id: str
    delivered: bool
    response_status: Union[int, None]
    error: Union[Literal["http_error", "redirect", "timeout", "dns_failed", "connect_failed", "tls_failed", "reset", "invalid_response", "too_large", "blocked_address", "invalid_url", "agent_closed", "internal"], None]
    duration_ms: int


class DeliveryWithBody(TypedDict):
    id: str
    webhook_id: str
    event_id: str
    event: Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping"]
    status: Literal["pending", "delivered", "failed"]
    attempt_count: int
    attempts: List[DeliveryAttempt]
    next_attempt_at: Union[str, None]
    created_at: str
    delivered_at: Union[str, None]
    body: str


class Listener(TypedDict):
    id: str
    agent_id: Union[str, None]
    events: List[str]
    created_at: str
    expires_at: str
    deliveries: List[HeardEvent]


class HeardEvent(TypedDict):
    id: str
    event_id: str
    event: Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping"]
    body: str
    created_at: str


class _CreateListener(TypedDict):
    events: List[Literal["agent.completed", "agent.failed", "agent.cancelled", "agent.waiting", "feedback.given", "connection.granted", "connection.ended", "deployment.created", "deployment.rolled_back", "webhook.disabled", "project.deleted", "project.paused", "project.resumed", "service.paused", "service.resumed", "budget.threshold", "budget.exceeded", "ping", "*"]]


class CreateListener(_CreateListener, total=False):
    agent_id: Union[str, None]


class _KeyWithSecret(TypedDict):
    id: str
    name: str
    project_id: Union[str, None]
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    role: Union[str, None]
    tier: str
    hint: str
    status: Literal["active", "expired", "revoked"]
    created_at: str
    created_by: str
    person_id: Union[str, None]
    expires_at: Union[str, None]
    last_used_at: Union[str, None]
    previous_secret_expires_at: Union[str, None]
    revoked_at: Union[str, None]
    secret: str


class KeyWithSecret(_KeyWithSecret, total=False):
    created_by_name: Union[str, None]
    person_name: Union[str, None]


class _CreateKey(TypedDict):
    name: str


class CreateKey(_CreateKey, total=False):
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    role: str
    tier: str
    expires_at: Union[str, None]
    all_projects: bool


class _Key(TypedDict):
    id: str
    name: str
    project_id: Union[str, None]
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    role: Union[str, None]
    tier: str
    hint: str
    status: Literal["active", "expired", "revoked"]
    created_at: str
    created_by: str
    person_id: Union[str, None]
    expires_at: Union[str, None]
    last_used_at: Union[str, None]
    previous_secret_expires_at: Union[str, None]
    revoked_at: Union[str, None]


class Key(_Key, total=False):
    created_by_name: Union[str, None]
    person_name: Union[str, None]


class Self(TypedDict):
    id: str
    kind: Literal["key", "token", "local", "person"]
    person_id: Union[str, None]
    name: Union[str, None]
    project_id: str
    reach: Literal["project", "service"]
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    tier: str
    tiers: List[Dict[str, Any]]
    default_tier: str
    roles: List[Dict[str, Any]]
    expires_at: Union[str, None]


class _CreatePersonalKey(TypedDict):
    name: str


class CreatePersonalKey(_CreatePersonalKey, total=False):
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    role: str
    tier: str
    expires_at: Union[str, None]


class NewKeyFactor(TypedDict):
    key_id: str
    status: Literal["pending"]
    secret: str
    uri: str


class KeyFactor(TypedDict):
    key_id: str
    status: Literal["none", "pending", "active"]
    locked_until: Union[str, None]
    created_at: Union[str, None]
    created_by: Union[str, None]


class ConsoleLink(TypedDict):
    token: str
    key_id: str
    expires_at: str


class ConsoleSession(TypedDict):
    id: str
    key_id: Union[str, None]
    key_name: Union[str, None]
    person_id: Union[str, None]
    person_name: Union[str, None]
    issuer: Union[str, None]
    agent_id: Union[str, None]
    address: str
    browser: str
    current: bool
    created_at: str
    last_used_at: str
    expires_at: str


class Person(TypedDict):
    id: str
    name: str
    email: Union[str, None]
    email_verified: bool
    identities: List[Dict[str, Any]]
    roles: List[Dict[str, Any]]
    created_at: str
    last_seen_at: str


class PersonWithLostKeys(TypedDict):
    id: str
    name: str
    email: Union[str, None]
    email_verified: bool
    identities: List[Dict[str, Any]]
    roles: List[Dict[str, Any]]
    created_at: str
    last_seen_at: str
    narrowed_keys: List[str]
    revoked_keys: List[str]


class _SetPersonRole(TypedDict):
    role: Union[str, None]


class SetPersonRole(_SetPersonRole, total=False):
    all_projects: bool


class RemovedPerson(TypedDict):
    id: str
    deleted: Literal[True]
    revoked_keys: List[str]
    kept_keys: List[str]
    kept_webhooks: List[str]


class InvitationWithToken(TypedDict):
    id: str
    email: str
    role: str
    project_id: Union[str, None]
    status: Literal["pending", "accepted", "expired", "ended"]
    created_at: str
    created_by: str
    expires_at: str
    accepted_at: Union[str, None]
    accepted_by: Union[str, None]
    token: str


class _CreateInvitation(TypedDict):
    email: str
    role: str


class CreateInvitation(_CreateInvitation, total=False):
    all_projects: bool
    expires_in_hours: int


class Invitation(TypedDict):
    id: str
    email: str
    role: str
    project_id: Union[str, None]
    status: Literal["pending", "accepted", "expired", "ended"]
    created_at: str
    created_by: str
    expires_at: str
    accepted_at: Union[str, None]
    accepted_by: Union[str, None]


class Project(TypedDict):
    id: str
    name: str
    description: Union[str, None]
    limits: ProjectLimits
    stored_bytes: Union[int, None]
    is_default: bool
    created_at: str
    updated_at: str


class ProjectLimits(TypedDict):
    requests_per_minute: Union[int, None]
    concurrent_runs: Union[int, None]
    stored_bytes: Union[int, None]
    file_bytes: Union[int, None]
    retention_days: Union[int, None]


class _CreateProject(TypedDict):
    name: str


class CreateProject(_CreateProject, total=False):
    description: Union[str, None]
    limits: SetProjectLimits


class SetProjectLimits(TypedDict, total=False):
    requests_per_minute: Union[int, None]
    concurrent_runs: Union[int, None]
    stored_bytes: Union[int, None]
    file_bytes: Union[int, None]
    retention_days: Union[int, None]


class UpdateProject(TypedDict, total=False):
    name: str
    description: Union[str, None]
    limits: SetProjectLimits


class MovedAgent(TypedDict):
    id: str
    project_id: str
    revoked_keys: List[str]


class MoveAgent(TypedDict):
    project: str


class Pause(TypedDict):
    paused: bool
    project: Union[Dict[str, Any], None]
    service: Union[Dict[str, Any], None]


class _BeginPause(TypedDict):
    reason: str


class BeginPause(_BeginPause, total=False):
    scope: Literal["project", "service"]


class EndPause(TypedDict, total=False):
    scope: Literal["project", "service"]


class Secret(TypedDict):
    name: str
    hosts: List[str]
    overridden: bool
    created_at: str
    updated_at: str


class SetSecret(TypedDict):
    value: str
    hosts: List[str]


Connection = TypedDict("Connection", {"id": 'str', "name": 'str', "kind": 'Literal["mcp", "oauth2"]', "as": 'Literal["user", "service"]', "url": 'Union[str, None]', "issuer": 'Union[str, None]', "authorize_url": 'Union[str, None]', "token_url": 'Union[str, None]', "revoke_url": 'Union[str, None]', "client_id": 'Union[str, None]', "scopes": 'List[str]', "hosts": 'List[str]', "return_origins": 'List[str]', "has_client_secret": 'bool', "redirect_uri": 'Union[str, None]', "created_at": 'str', "updated_at": 'str'}, total=False)


SetConnection = TypedDict("SetConnection", {"kind": 'Literal["mcp", "oauth2"]', "as": 'Literal["user", "service"]', "url": 'Union[str, None]', "issuer": 'Union[str, None]', "authorize_url": 'Union[str, None]', "token_url": 'Union[str, None]', "revoke_url": 'Union[str, None]', "client_id": 'Union[str, None]', "client_secret": 'Union[str, None]', "scopes": 'List[str]', "hosts": 'List[str]', "return_origins": 'List[str]'}, total=False)


class ConnectionTest(TypedDict):
    ok: bool
    error: Union[str, None]
    warnings: List[str]
    issuer: Union[str, None]
    authorize_url: Union[str, None]
    client: Union[Literal["given", "metadata_document", "registered"], None]
    client_id: Union[str, None]
    scopes: List[str]
    can_revoke: bool
    duration_ms: int


class ConnectionLink(TypedDict):
    link_id: str
    url: str
    expires_at: str


class CreateConnectionLink(TypedDict, total=False):
    user_id: str
    return_to: str


class ConnectionGrant(TypedDict):
    id: str
    connection: str
    user_id: Union[str, None]
    status: Literal["pending", "active", "expired", "revoked"]
    link_id: Union[str, None]
    scopes: List[str]
    confirmed_by: Union[str, None]
    ended_reason: Union[str, None]
    created_at: str
    updated_at: str


class ConfirmConnectionLink(TypedDict, total=False):
    user_id: str


class _ConnectedApplication(TypedDict):
    id: str
    name: str
    client_id: str
    redirect_uri: str
    resource: str
    agent_id: Union[str, None]
    permissions: List[Literal["read", "invoke", "write", "delete", "manage", "approve"]]
    person_id: Union[str, None]
    user_id: str
    created_by: str
    created_at: str
    last_used_at: Union[str, None]
    expires_at: str


class ConnectedApplication(_ConnectedApplication, total=False):
    created_by_name: Union[str, None]


class Provider(TypedDict):
    name: str
    type: Literal["openai-compatible", "openai", "anthropic"]
    base_url: Union[str, None]
    has_key: bool
    vision: Union[Union[bool, Dict[str, bool]], None]
    cache: bool
    source: Literal["api", "configuration"]
    overridden: bool
    created_at: Union[str, None]
    updated_at: Union[str, None]


class SetProvider(TypedDict, total=False):
    type: Literal["openai-compatible", "openai", "anthropic"]
    base_url: Union[str, None]
    api_key: Union[str, None]
    vision: Union[Union[bool, Dict[str, bool]], None]
    cache: bool


class ProviderModels(TypedDict):
    models: List[Dict[str, Any]]
    error: Union[str, None]


class ProviderTest(TypedDict):
    ok: bool
    error: Union[str, None]
    key: Literal["accepted", "untested", "none"]
    models: int
    duration_ms: int


class TestProvider(TypedDict, total=False):
    model: str


class _Budget(TypedDict):
    id: str
    project_id: Union[str, None]
    name: str
    scope: Dict[str, Any]
    limit: Dict[str, Any]
    per: Literal["hour", "day", "month", "ever"]
    timezone: str
    thresholds: List[int]
    action: Literal["refuse", "notify"]
    subject: Union[str, None]
    used: float
    reserved: float
    resets_at: Union[str, None]
    created_by: str
    created_at: str
    updated_at: str


class Budget(_Budget, total=False):
    warnings: List[str]


class _CreateBudget(TypedDict):
    name: str
    limit: Dict[str, Any]
    scope: Dict[str, Any]
    per: Literal["hour", "day", "month", "ever"]


class CreateBudget(_CreateBudget, total=False):
    thresholds: List[int]
    action: Literal["refuse", "notify"]
    timezone: str


class UpdateBudget(TypedDict, total=False):
    name: str
    limit: Dict[str, Any]
    thresholds: List[int]
    action: Literal["refuse", "notify"]


class _AuditEntry(TypedDict):
    id: str
    seq: Union[int, None]
    created_at: str
    actor_kind: Union[Literal["key", "token", "local", "console", "person"], None]
    actor: Union[str, None]
    key_id: Union[str, None]
    action: Union[str, None]
    project_id: str
    agent_id: Union[str, None]
    target: Union[str, None]
    outcome: Literal["success", "started", "refused"]
    code: Union[str, None]
    fields: List[str]
    times: int
    request_id: str
    address: Union[str, None]
    prev_hash: Union[str, None]
    hash: Union[str, None]


class AuditEntry(_AuditEntry, total=False):
    actor_name: Union[str, None]


class AuditHead(TypedDict):
    seq: int
    hash: str


class System(TypedDict):
    version: str
    commit: Union[str, None]
    schema: Dict[str, Any]
    node: str
    engine: Literal["sqlite", "postgres"]
    started_at: str
    now: str
    runs_live: int
    nodes: List[Dict[str, Any]]
    queues: List[Dict[str, Any]]
    storage: Dict[str, Any]
    settings: List[Dict[str, Any]]


class InvokeFields(TypedDict, total=False):
    context: Dict[str, Any]
    environment: str
    on_budget: Literal["fail", "wait"]
    output: Dict[str, Any]
    priority: Literal["interactive", "normal", "batch"]
    callback: NewCallback


STATUS_OF: Dict[str, int] = {
    "invalid_request": 400,
    "unauthorized": 401,
    "mfa_required": 401,
    "forbidden": 403,
    "https_required": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "conflict": 409,
    "agent_paused": 409,
    "session_busy": 409,
    "idempotency_key_in_use": 409,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "idempotency_key_reused": 422,
    "rate_limited": 429,
    "budget_exceeded": 429,
    "headers_too_large": 431,
    "server_error": 500,
    "output_invalid": 500,
    "unavailable": 503,
    "timeout": 504
}
