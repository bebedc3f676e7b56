// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export type ErrorReply = {
  success: false
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'session_busy' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
    message: string
    /** Seconds */
    retry_after?: number | undefined
    details?: ({
      field: string
      error: string
    })[] | undefined
  }
  request_id: string
}

export type Pagination = {
  limit: number
  offset: number
  total: number
  has_more: boolean
  /** Returned when a search stopped before it had looked at everything; `total` counts the matches so far. To continue, send this time as `end_time`, or as `start_time` if the oldest come first */
  searched_to?: string | undefined
  /** With `after`: send it as the next `after`. `total` counts the entries up to here */
  next_after?: string | undefined
}

export type InvocationResult = {
  response: string
  /** The structured output, if a JSON Schema was set. `response` contains it as text */
  output?: unknown | undefined
  /** What its tools returned in addition to text */
  files?: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[] | undefined
  request_id: string
  tokens_used: number
  duration_ms: number
}

export type InvocationQueued = {
  request_id: string
  status: 'queued' | 'waiting'
  /** What people must decide before it continues */
  approvals?: PendingApproval[] | undefined
  /** Why it waits, if not for people: for example because its project or the service is paused */
  reason?: string | undefined
}

export type PendingApproval = {
  /** Identifies the call within its run */
  call_id: string
  /** `tool`: whether the tool can be called. `question`: the agent needs an answer. `retry`: the call was in progress when the service stopped; whether to make it again. `connection`: a user must sign in; the run continues by itself when they have */
  kind: 'tool' | 'question' | 'retry' | 'connection'
  tool: string
  /** The call's arguments, without secrets; for a question, its `question` and any `options` */
  arguments: Record<string, unknown>
  /** When the run started waiting for it */
  created_at: string
  /** When it is rejected automatically */
  expires_at: string
  /** What to sign in to, and where. The link is null for a sign-in of the project, except for keys with `manage`, and if `server.publicUrl` is not set */
  connection?: {
    name: string
    link_id: string | null
    url: string | null
  } | undefined
  /** The run that asks, if it was called as a tool by this run */
  child?: ChildRun | undefined
}

export type ChildRun = {
  request_id: string
  agent_id: string
  /** The agent's name */
  agent: string
}

export type Invoke = {
  message: string
  context?: {
    user_id?: string | undefined
    session_id?: string | undefined
    [name: string]: unknown
  } | undefined
  environment?: string | undefined
  /** What to do when a budget is used up: `fail`, or `wait` until it resets. Only background runs can wait */
  on_budget?: 'fail' | 'wait' | undefined
  /** The JSON Schema that this answer must match. Overrides the agent's own `output` */
  output?: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries?: number | undefined
  } | undefined
  /** Files to send to the model with the message: images, PDFs and text files. `url` is downloaded, and `data` is base64. Both are stored as files */
  attachments?: ({
    file_id: string
  } | {
    url: string
  } | {
    /** Base64 */
    data: string
    media_type?: string | undefined
    name?: string | undefined
  })[] | undefined
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority?: 'interactive' | 'normal' | 'batch' | undefined
  /** Called when a background run waits for a person, and when it ends */
  callback?: NewCallback | undefined
}

export type NewCallback = {
  /** A public https URL; the operator can allow others */
  url: string
  /** Your own name for the callback. Creating another one with the same name in this run replaces it */
  name?: string | undefined
  /** What to send: an event in the webhook format, or an A2A task */
  format?: 'event' | 'a2a' | undefined
  /** Sent in the X-A2A-Notification-Token header; never returned */
  token?: string | undefined
  /** Sent in the Authorization header; never returned */
  authorization?: string | undefined
}

export type Invocation = {
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** While it waits: whether people must decide something first */
  asks_people?: boolean | undefined
  /** While it is queued: why it has not started. Only in the receipt of one invocation, not in lists */
  queue?: InvocationQueue | undefined
  /** Where the request came from: the API, another client protocol, a command on the server, a schedule, or the console */
  door: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link'
  background: boolean
  environment: string
  /** null: the draft */
  version: string | null
  deployment_id: string | null
  message: string
  context: Record<string, unknown>
  /** The files that came with the message */
  attachments: InvocationAttachment[]
  response: string | null
  /** The structured output, if a JSON Schema was set. `response` contains it as text */
  output?: unknown | undefined
  /** The request's own `output`, if it had one. Only in the receipt of one invocation, not in lists */
  output_wanted?: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries: number
  } | undefined
  /** What users and applications said about the answer; missing if no one has rated it */
  feedback?: Feedback[] | undefined
  /** The calls of the client's own tools that the answer ended with */
  calls: ({
    id: string
    name: string
    arguments: unknown
  })[]
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'session_busy' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
    message: string
    /** When to try again, in seconds, if the model's provider or a budget reported it */
    retry_after?: number | undefined
    /** With `budget_exceeded`: the budget, what was used, and the limit. With `output_invalid`: what doesn't match, as JSON pointers */
    details?: ({
      field: string
      error: string
    })[] | undefined
  } | null
  /** The last model that answered; null if none has yet */
  model: string | null
  tokens_used: number
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Input tokens read from the provider's cache, if the provider reports them */
    cached_tokens?: number | undefined
    /** Input tokens written to the provider's cache, if the provider reports them */
    cache_write_tokens?: number | undefined
    /** Reasoning tokens, included in the output, if the provider reports them */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if a model has no price */
  cost_usd: number | null
  /** The run's steps, in the order in which they ended */
  steps: InvocationStep[]
  /** How many times the run was started, and why. Each time a run resumes, a new attempt starts */
  attempts: ({
    number: number
    began_at: string
    /** `start`: the run started. `wait`: it continued after waiting. `lost`: the node that ran it stopped or failed */
    after: 'start' | 'wait' | 'lost'
  })[]
  duration_ms: number | null
  /** The schedule that started it */
  schedule_id: string | null
  /** The time of the schedule that it was started for; null if a client started it */
  scheduled_at: string | null
  /** The run that called this agent as a tool */
  parent_request_id: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** When its content was erased */
  erased_at: string | null
}

export type InvocationQueue = {
  /** `session`: another run of its session comes first. `pause`: its project or the service is paused. `limit`: the agent's or the project's limit of concurrent runs is reached. `order`: other runs of the agent start first */
  reason: 'session' | 'pause' | 'limit' | 'order'
  /** 1: it starts next */
  position: number
  /** Both as a sentence */
  message: string
}

export type InvocationAttachment = {
  file_id: string
  name: string
  media_type: string
  /** In bytes */
  size: number
  /** How the file was last sent to a model; null if it wasn't yet */
  shown_as: 'image' | 'text' | 'omitted' | null
  /** What part of the file was not sent to the model, and why */
  note: string | null
}

export type Feedback = {
  id: string
  agent_id: string
  request_id: string
  key: string
  score: number
  comment: string | null
  /** The user of the invocation */
  user_id: string | null
  session_id: string | null
  environment: string
  /** The version that answered; null: the draft */
  version: string | null
  deployment_id: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** When the score and the comment were last replaced */
  updated_at: string
}

export type InvocationStep = {
  /** The attempt of the run that this step belongs to */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'recall'
  /** How many turns of the session were found */
  turns: number
  /** How many memories were recalled */
  memories: number
  /** Whether the session had a summary */
  summary: boolean
} | {
  /** The attempt of the run that this step belongs to */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'model'
  /** The model that answered */
  model: string
  /** The models that were tried before this one, and why they didn't answer */
  passed_over?: ({
    model: string
    error: string
  })[] | undefined
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Input tokens read from the provider's cache, if the provider reports them */
    cached_tokens?: number | undefined
    /** Input tokens written to the provider's cache, if the provider reports them */
    cache_write_tokens?: number | undefined
    /** Reasoning tokens, included in the output, if the provider reports them */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if a model has no price */
  cost_usd: number | null
  /** How many characters of the response came from this step */
  characters: number
  /** Why the model stopped early */
  finish?: 'length' | 'filtered' | undefined
  /** Present if the answer doesn't match the output schema. The answer is then not part of the response */
  unfit?: {
    /** Its beginning */
    answer: string
    problems: ({
      /** JSON pointer */
      field: string
      error: string
    })[]
    /** Whether the model was asked for JSON; otherwise it answered in plain text, after calling tools */
    asked: boolean
  } | undefined
  /** What was left out because the prompt was too long */
  left_out?: {
    /** The oldest turns of the session, left out */
    turns: number
    memories: number
    /** Turns that were shortened to their beginning */
    shortened: number
  } | undefined
} | {
  /** The attempt of the run that this step belongs to */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'tool'
  id: string
  name: string
  arguments: unknown
  result?: string | undefined
  /** What the tool returned in addition to text */
  files?: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[] | undefined
  error?: string | undefined
  /** The run that the call started, if the tool is an agent */
  child?: ChildRun | undefined
  /** Tokens used by the models that were called for it */
  usage?: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Input tokens read from the provider's cache, if the provider reports them */
    cached_tokens?: number | undefined
    /** Input tokens written to the provider's cache, if the provider reports them */
    cache_write_tokens?: number | undefined
    /** Reasoning tokens, included in the output, if the provider reports them */
    reasoning_tokens?: number | undefined
  } | undefined
  /** What these models cost */
  cost_usd?: number | null | undefined
} | {
  /** The attempt of the run that this step belongs to */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'wait'
  reason: string
  /** Tokens of an answer that a pause or a stop of the service interrupted; the model was called again */
  usage?: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Input tokens read from the provider's cache, if the provider reports them */
    cached_tokens?: number | undefined
    /** Input tokens written to the provider's cache, if the provider reports them */
    cache_write_tokens?: number | undefined
    /** Reasoning tokens, included in the output, if the provider reports them */
    reasoning_tokens?: number | undefined
  } | undefined
  /** The cost of that answer */
  cost_usd?: number | null | undefined
} | {
  /** The attempt of the run that this step belongs to */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'approval'
  call_id: string
  name: string
  decision: 'approved' | 'rejected' | 'expired'
  /** Who decided */
  by: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  by_name?: string | null | undefined
  /** The changed arguments that the tool was called with */
  arguments?: unknown | undefined
  note?: string | undefined
  answer?: string | undefined
}

export type StepsResult = {
  /** `waiting`: end this call; the agent is called again when the run continues */
  status: 'done' | 'waiting'
  /** The results, in the order of the request */
  steps: DoneStep[]
}

export type DoneStep = {
  id: string
  /** Text for a tool or a person; a JSON value for the others */
  result?: unknown | undefined
  /** Present instead of a result if the step failed */
  error?: string | undefined
}

export type AskSteps = {
  steps: AskedStep[]
}

export type AskedStep = {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Calls one of the agent's tools */
  type: 'tool'
  tool: string
  arguments?: Record<string, unknown> | undefined
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Stores a value. A later call gets it back */
  type: 'keep'
  value: unknown
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Waits until that time, or for that many seconds */
  type: 'sleep'
  until?: string | undefined
  seconds?: number | undefined
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Asks a person; the run waits for the answer */
  type: 'ask_person'
  question: string
  options?: string[] | undefined
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Searches the memories that this run has access to */
  type: 'memory_search'
  query: string
  limit?: number | undefined
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Stores a note for this run's user */
  type: 'memory_write'
  content: string
} | {
  /** Identifies the step within its run. If the same ID is requested again, the stored result is returned */
  id: string
  /** Calls a model by its name in this service; usage is counted and limited by budgets */
  type: 'model'
  /** Default: the agent's own */
  model?: string | undefined
  instructions?: string | undefined
  history?: ({
    role: 'user' | 'assistant'
    content: string
  })[] | undefined
  message: string
  temperature?: number | undefined
  /** At most the agent's own limit */
  max_output_tokens?: number | undefined
  /** The JSON Schema that the answer must match */
  output?: {
    schema: Record<string, unknown>
  } | undefined
}

export type Prompt = {
  /** The position of the model step in the receipt */
  step: number
  model: string
  temperature: number | null
  messages: ({
    role: 'system' | 'user' | 'assistant' | 'tool'
    /** The beginning, if the text is long */
    content: string
    /** The length of the whole text */
    characters: number
    /** The tools that the model called in this answer */
    calls?: ({
      id: string
      name: string
      arguments: unknown
    })[] | undefined
    /** The tool that returned this result */
    name?: string | undefined
    /** The files of the message, and how they were sent to the model */
    attachments?: InvocationAttachment[] | undefined
    /** What the tool returned in addition to text */
    files?: ({
      file_id: string
      name: string
      media_type: string
      /** In bytes */
      size: number
    })[] | undefined
  })[]
  /** The recalled memories, best matches first */
  memories: ({
    id: string
    content: string
    kind: 'turn' | 'fact' | 'note'
    role: 'user' | 'assistant' | null
    user_id: string | null
    session_id: string | null
    created_at: string
    metadata: Record<string, unknown>
    /** The version whose run wrote it; null if the draft or a client wrote it */
    version: string | null
    /** The deployment whose run wrote it */
    deployment_id: string | null
    /** The newer fact that replaced this one; null while this one is current */
    superseded_by: string | null
    score: number
    /** false if it was left out because the prompt was too long */
    shown: boolean
  })[]
  /** What was left out because the prompt was too long */
  left_out: {
    /** The oldest turns of the session, left out */
    turns: number
    memories: number
    /** Turns that were shortened to their beginning */
    shortened: number
  } | null
  /** The JSON Schema that the answer had to match */
  output_schema: Record<string, unknown> | null
  /** The tools that the model could call; for an MCP server, its URL */
  tools: ({
    type: 'http' | 'mcp' | 'ask_person' | 'agent' | 'caller'
    name: string
  })[]
  /** How this differs from the original prompt */
  notes: string[]
}

export type Effects = {
  memories: Memory[]
  deliveries: Delivery[]
}

export type Memory = {
  id: string
  content: string
  kind: 'turn' | 'fact' | 'note'
  role: 'user' | 'assistant' | null
  user_id: string | null
  session_id: string | null
  created_at: string
  metadata: Record<string, unknown>
  /** The version whose run wrote it; null if the draft or a client wrote it */
  version: string | null
  /** The deployment whose run wrote it */
  deployment_id: string | null
  /** The newer fact that replaced this one; null while this one is current */
  superseded_by: string | null
}

export type Delivery = {
  id: string
  webhook_id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  status: 'pending' | 'delivered' | 'failed'
  attempt_count: number
  /** The latest attempts, oldest first */
  attempts: DeliveryAttempt[]
  /** null: no attempt is planned, or one is in progress */
  next_attempt_at: string | null
  created_at: string
  delivered_at: string | null
}

export type DeliveryAttempt = {
  /** Starts at 1, as in `X-Service-Attempt` */
  attempt: number
  at: string
  duration_ms: number
  response_status: number | null
  /** null: the receiver accepted it */
  error: 'http_error' | 'redirect' | 'timeout' | 'dns_failed' | 'connect_failed' | 'tls_failed' | 'reset' | 'invalid_response' | 'too_large' | 'blocked_address' | 'invalid_url' | 'agent_closed' | 'internal' | null
}

export type Approval = {
  id: string
  agent_id: string
  request_id: string
  /** Identifies the call within its run */
  call_id: string
  /** `tool`: whether the tool can be called. `question`: the agent needs an answer. `retry`: the call was in progress when the service stopped; whether to make it again. `connection`: a user must sign in; the run continues by itself when they have */
  kind: 'tool' | 'question' | 'retry' | 'connection'
  tool: string
  /** The call's arguments, without secrets; for a question, its `question` and any `options` */
  arguments: Record<string, unknown>
  /** When the run started waiting for it */
  created_at: string
  /** When it is rejected automatically */
  expires_at: string
  /** What to sign in to, and where. The link is null for a sign-in of the project, except for keys with `manage`, and if `server.publicUrl` is not set */
  connection?: {
    name: string
    link_id: string | null
    url: string | null
  } | undefined
  /** The run that asks, if it was called as a tool by this run */
  child?: ChildRun | undefined
  status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled'
  user_id: string | null
  session_id: string | null
  /** Who started the run */
  started_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  started_by_name?: string | null | undefined
  decided_at: string | null
  /** null if no person decided: the approval expired, or its run was cancelled */
  decided_by: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  decided_by_name?: string | null | undefined
  /** The changed arguments that the tool is called with */
  changed_arguments: Record<string, unknown> | null
  note: string | null
  answer: string | null
  /** While it is pending: why you can't decide it, and who can; null if you can decide it */
  not_for_you: string | null
}

export type DecideApproval = {
  decision: 'approve' | 'reject'
  /** With `approve`: calls the tool with these arguments instead. They must match the tool's schema */
  arguments?: Record<string, unknown> | undefined
  /** With `reject`, the note is sent to the model */
  note?: string | undefined
  /** With `approve` of a question: the answer */
  answer?: string | undefined
}

export type GiveFeedback = {
  /** From -1 (bad) to 1 (good), rounded to six decimal places */
  score: number
  /** Why, in the words of the user */
  comment?: string | null | undefined
  /** What the score is about, such as `helpful` or `correct`. Feedback with the same key replaces the earlier one */
  key?: string | undefined
}

export type CallbackWithSecret = {
  id: string
  request_id: string
  name: string | null
  url: string
  format: 'event' | 'a2a'
  status: 'enabled' | 'disabled'
  disabled_reason: 'requested' | 'gone' | 'failing' | null
  secret_hint: string
  created_at: string
  /** Signs the requests. Returned only in this reply */
  secret: string
}

export type Callback = {
  id: string
  request_id: string
  name: string | null
  url: string
  format: 'event' | 'a2a'
  status: 'enabled' | 'disabled'
  disabled_reason: 'requested' | 'gone' | 'failing' | null
  secret_hint: string
  created_at: string
}

export type StoredFile = {
  id: string
  name: string
  /** The type that was sent, or the type detected from the content */
  media_type: string
  /** In bytes */
  size: number
  sha256: string
  /** The user that the file belongs to. It is erased and exported with that user's data */
  user_id: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** When the file is deleted; null if only the service's retention applies */
  expires_at: string | null
}

export type Agent = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
  /** `model`: a model with instructions and tools. `remote`: your own server, which Moorage calls */
  kind: 'model' | 'remote'
  /** Where a `remote` agent runs; null for other agents */
  remote: {
    /** Receives a signed POST request for each message */
    url: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers: Record<string, string>
    /** Timeout of one call; null: the run's timeout */
    timeout_ms: number | null
    /** The project's secret that signs calls: `whsec_` and base64, as for webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which receives each message */
    a2a: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers: Record<string, string>
    /** Timeout of one call; null: the run's timeout */
    timeout_ms: number | null
  } | null
  /** A description for people. The model doesn't see it */
  description: string | null
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or a model of a configured provider. In a list, each model is a fallback for the one before it */
  model: string | string[]
  /** null: the model's default */
  temperature: number | null
  /** The system prompt. Sent to the model with every message */
  instructions: string | null
  /** The tools that the model can call */
  tools: ({
    type: 'http'
    name: string
    description: string
    input_schema: {
      type: 'object'
      [name: string]: unknown
    }
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    url: string
    headers: Record<string, string>
    timeout_ms: number
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for GET, otherwise `never` */
    retry: 'safe' | 'ask' | 'never' | null
    /** Whether a person must approve a call before it is made */
    approval: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[]
      /** null: the agent's setting */
      expires_after_seconds: number | null
    }
  } | {
    type: 'mcp'
    url: string
    headers: Record<string, string>
    allow: string[] | null
    /** Its token is sent as `Authorization: Bearer` */
    connection?: string | undefined
    timeout_ms: number
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for tools that the server declares read-only or idempotent, otherwise `never` */
    retry: 'safe' | 'ask' | 'never' | null
    /** Applies to every tool of the server */
    approval: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[]
      /** null: the agent's setting */
      expires_after_seconds: number | null
    }
  } | {
    type: 'ask_person'
    name: string
    description: string
    /** null: the agent's setting */
    expires_after_seconds: number | null
  } | {
    type: 'agent'
    name: string
    description: string
    /** Another agent of the project: ID or name */
    agent: string
    /** The environment whose version is called */
    environment: string
    /** `own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered */
    memory: 'own' | 'none' | 'shared'
  })[]
  /** Rules for answers of `builtin/script`; other models ignore them */
  script: {
    rules: ({
      match?: {
        equals?: string | undefined
        contains?: string | undefined
        starts_with?: string | undefined
      } | undefined
      call?: {
        tool: string
        arguments: Record<string, unknown>
      } | undefined
      reply?: string | undefined
      output?: unknown | undefined
      fail?: string | undefined
      delay_ms?: number | undefined
    })[]
    fallback: string
  } | null
  /** The JSON Schema that every answer must match. null: plain text answers */
  output: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries: number
  } | null
  /** What is remembered, and which memories are sent to the model */
  memory: {
    /** Whether messages and answers are remembered */
    remember: boolean
    /** How many of the session's latest turns are sent to the model */
    history: number
    /** How many recalled memories are sent to the model */
    recall: number
    /** `model`: when a conversation has been idle, the agent's own model extracts lasting facts */
    facts: 'off' | 'model'
    /** Whether the agent's own model keeps a summary of long sessions. A number sets after how many new turns it is updated; `true`: after 10 */
    summarize: boolean | number
    /** Older memories are deleted; null: never */
    retention_days: number | null
  }
  /** Timeouts, sizes and concurrency */
  limits: {
    /** null: the service's limit */
    timeout_ms: number | null
    /** How many times the model can be called in one run. If its last answer still calls tools, the run fails */
    max_steps: number
    /** The approximate maximum length of a prompt; older turns are left out. null: the model's context window */
    max_input_tokens: number | null
    /** null: the model's limit */
    max_output_tokens: number | null
    /** Concurrent invocations; null: no limit */
    max_concurrency: number | null
    /** If a budget is too low for the longest answer, request a shorter one instead of failing */
    cut_to_budget: boolean
    /** Tool calls in one run; null: no limit */
    max_tool_calls: number | null
    /** Tokens in one run. Once they are used, the run makes no more model or tool calls. null: no limit */
    max_tokens_per_run: number | null
    /** US dollars in one run. Once they are spent, the run makes no more model or tool calls. null: no limit */
    max_cost_per_run: number | null
  }
  /** What happens when several messages of a session arrive at once */
  sessions: {
    /** What happens to a message while another run of its session is in progress. `queue`: it waits for its turn. `reject`: it fails with `session_busy`. `cancel`: the other run is cancelled. `parallel`: both run at the same time */
    while_busy: 'queue' | 'reject' | 'cancel' | 'parallel'
  }
  /** How people approve tool calls and answer questions */
  approvals: {
    /** Whether the key that started a run can also decide for it */
    self: boolean
    /** Rejected automatically after this time if no one has decided */
    expires_after_seconds: number
  }
  /** Your own data; the service only stores it */
  metadata: Record<string, unknown>
  security: {
    ipWhitelist: {
      /** Refuse IP addresses that are not listed */
      enabled: boolean
      /** IP addresses and CIDR ranges; an empty list refuses every client */
      addresses: string[]
    }
    mtls: {
      /** Require a client certificate in addition to the key */
      enabled: boolean
      /** PEM file: certificate for clients on this machine. The service only checks that it matches its key */
      clientCert?: string | undefined
      /** PEM file: key of that certificate */
      clientKey?: string | undefined
      /** PEM file: authority that signs client certificates */
      caCert?: string | undefined
    }
    /** Refuse plain HTTP with 403. The service never redirects */
    enforceHttps: boolean
    hsts: {
      /** Send `Strict-Transport-Security` on TLS replies */
      enabled: boolean
      /** Its `max-age`, in seconds */
      maxAge: number
    }
    rateLimit: {
      /** Limit requests in addition to the tiers */
      enabled: boolean
      /** Requests allowed per window */
      requests: number
      /** Length of the window, 1s to 1d */
      window: string
    }
    mfa: {
      /** Require a one-time code */
      enabled: boolean
      /** Operations that require the code: delete, update, deploy, rollback, clear_memory, webhooks, keys, secrets, approve, invoke */
      requiredFor: ('delete' | 'update' | 'deploy' | 'rollback' | 'clear_memory' | 'webhooks' | 'keys' | 'secrets' | 'approve' | 'invoke')[]
    }
    cors?: {
      /** Origins whose web pages can call the API, exactly as browsers send them. None by default */
      origins: string[]
      /** How long browsers can cache the reply to a preflight request, in seconds */
      maxAge: number
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard: boolean
    /** The agents (IDs or names) that can call this agent as a tool. Default: every agent, unless `security` requires an address, a certificate, HTTPS or a one-time code from callers: then none */
    callers?: string[] | undefined
  } | null
  /** Secrets are returned as a hint */
  auth: Record<string, unknown> | null
  updated_at: string
  /** SHA-256 hash of the fields that a deployment would save */
  digest: string
}

export type CreateAgent = {
  name: string
  /** `model`: a model with instructions and tools. `remote`: your own server, which Moorage calls */
  kind?: 'model' | 'remote' | undefined
  /** Where a `remote` agent runs; null for other agents */
  remote?: {
    /** Receives a signed POST request for each message */
    url: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers?: Record<string, string> | undefined
    /** Timeout of one call; null: the run's timeout */
    timeout_ms?: number | null | undefined
    /** The project's secret that signs calls: `whsec_` and base64, as for webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which receives each message */
    a2a: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers?: Record<string, string> | undefined
    /** Timeout of one call; null: the run's timeout */
    timeout_ms?: number | null | undefined
  } | null | undefined
  /** A description for people. The model doesn't see it */
  description?: string | null | undefined
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or a model of a configured provider. In a list, each model is a fallback for the one before it */
  model?: string | string[] | undefined
  /** null: the model's default */
  temperature?: number | null | undefined
  /** The system prompt. Sent to the model with every message */
  instructions?: string | null | undefined
  /** The tools that the model can call */
  tools?: ({
    type: 'http'
    name: string
    description?: string | undefined
    input_schema?: {
      type: 'object'
      [name: string]: unknown
    } | undefined
    method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
    url: string
    headers?: Record<string, string> | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for GET, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    /** Its token is sent as `Authorization: Bearer` */
    connection?: string | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for tools that the server declares read-only or idempotent, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Applies to every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's setting */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: ID or name */
    agent: string
    /** The environment whose version is called */
    environment?: string | undefined
    /** `own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  })[] | undefined
  /** Rules for answers of `builtin/script`; other models ignore them */
  script?: {
    rules?: ({
      match?: {
        equals?: string | undefined
        contains?: string | undefined
        starts_with?: string | undefined
      } | undefined
      call?: {
        tool: string
        arguments?: Record<string, unknown> | undefined
      } | undefined
      reply?: string | undefined
      output?: unknown | undefined
      fail?: string | undefined
      delay_ms?: number | undefined
    })[] | undefined
    fallback?: string | undefined
  } | null | undefined
  /** The JSON Schema that every answer must match. null: plain text answers */
  output?: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries?: number | undefined
  } | null | undefined
  /** What is remembered, and which memories are sent to the model */
  memory?: {
    /** Whether messages and answers are remembered */
    remember?: boolean | undefined
    /** How many of the session's latest turns are sent to the model */
    history?: number | undefined
    /** How many recalled memories are sent to the model */
    recall?: number | undefined
    /** `model`: when a conversation has been idle, the agent's own model extracts lasting facts */
    facts?: 'off' | 'model' | undefined
    /** Whether the agent's own model keeps a summary of long sessions. A number sets after how many new turns it is updated; `true`: after 10 */
    summarize?: boolean | number | undefined
    /** Older memories are deleted; null: never */
    retention_days?: number | null | undefined
  } | undefined
  /** Timeouts, sizes and concurrency */
  limits?: {
    /** null: the service's limit */
    timeout_ms?: number | null | undefined
    /** How many times the model can be called in one run. If its last answer still calls tools, the run fails */
    max_steps?: number | undefined
    /** The approximate maximum length of a prompt; older turns are left out. null: the model's context window */
    max_input_tokens?: number | null | undefined
    /** null: the model's limit */
    max_output_tokens?: number | null | undefined
    /** Concurrent invocations; null: no limit */
    max_concurrency?: number | null | undefined
    /** If a budget is too low for the longest answer, request a shorter one instead of failing */
    cut_to_budget?: boolean | undefined
    /** Tool calls in one run; null: no limit */
    max_tool_calls?: number | null | undefined
    /** Tokens in one run. Once they are used, the run makes no more model or tool calls. null: no limit */
    max_tokens_per_run?: number | null | undefined
    /** US dollars in one run. Once they are spent, the run makes no more model or tool calls. null: no limit */
    max_cost_per_run?: number | null | undefined
  } | undefined
  /** What happens when several messages of a session arrive at once */
  sessions?: {
    /** What happens to a message while another run of its session is in progress. `queue`: it waits for its turn. `reject`: it fails with `session_busy`. `cancel`: the other run is cancelled. `parallel`: both run at the same time */
    while_busy?: 'queue' | 'reject' | 'cancel' | 'parallel' | undefined
  } | undefined
  /** How people approve tool calls and answer questions */
  approvals?: {
    /** Whether the key that started a run can also decide for it */
    self?: boolean | undefined
    /** Rejected automatically after this time if no one has decided */
    expires_after_seconds?: number | undefined
  } | undefined
  /** Your own data; the service only stores it */
  metadata?: Record<string, unknown> | undefined
  /** Who can reach the agent, and how */
  security?: {
    ipWhitelist?: {
      /** Refuse IP addresses that are not listed */
      enabled?: boolean | undefined
      /** IP addresses and CIDR ranges; an empty list refuses every client */
      addresses?: string[] | undefined
    } | undefined
    mtls?: {
      /** Require a client certificate in addition to the key */
      enabled?: boolean | undefined
      /** PEM file: certificate for clients on this machine. The service only checks that it matches its key */
      clientCert?: string | undefined
      /** PEM file: key of that certificate */
      clientKey?: string | undefined
      /** PEM file: authority that signs client certificates */
      caCert?: string | undefined
    } | undefined
    /** Refuse plain HTTP with 403. The service never redirects */
    enforceHttps?: boolean | undefined
    hsts?: {
      /** Send `Strict-Transport-Security` on TLS replies */
      enabled?: boolean | undefined
      /** Its `max-age`, in seconds */
      maxAge?: number | undefined
    } | undefined
    rateLimit?: {
      /** Limit requests in addition to the tiers */
      enabled?: boolean | undefined
      /** Requests allowed per window */
      requests?: number | undefined
      /** Length of the window, 1s to 1d */
      window?: string | undefined
    } | undefined
    mfa?: {
      /** Require a one-time code */
      enabled?: boolean | undefined
      /** Operations that require the code: delete, update, deploy, rollback, clear_memory, webhooks, keys, secrets, approve, invoke */
      requiredFor?: ('delete' | 'update' | 'deploy' | 'rollback' | 'clear_memory' | 'webhooks' | 'keys' | 'secrets' | 'approve' | 'invoke')[] | undefined
    } | undefined
    cors?: {
      /** Origins whose web pages can call the API, exactly as browsers send them. None by default */
      origins: string[]
      /** How long browsers can cache the reply to a preflight request, in seconds */
      maxAge?: number | undefined
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard?: boolean | undefined
    /** The agents (IDs or names) that can call this agent as a tool. Default: every agent, unless `security` requires an address, a certificate, HTTPS or a one-time code from callers: then none */
    callers?: string[] | undefined
  } | null | undefined
  /** Tokens that are accepted for this agent in addition to keys */
  auth?: {
    /** How bearer tokens other than API keys are verified: `oauth2` or `jwt` */
    type: 'oauth2'
    /** oauth2: issuer URL */
    provider: string
    /** oauth2: client ID that tokens are issued for */
    clientId: string
    /** oauth2: client secret, for introspection */
    clientSecret?: string | undefined
    /** oauth2: list of scopes. Of the agent scopes, only those in the list are accepted (if not set: all of them). Every token must have all other scopes in the list */
    scopes?: string[] | undefined
    /** oauth2: which tokens are checked at the provider (RFC 7662): only `opaque` tokens, or `always` */
    introspection?: 'opaque' | 'always' | undefined
  } | {
    type: 'jwt'
    /** jwt: HS256 secret of at least 32 bytes */
    secret: string
    /** jwt: required `iss` claim */
    issuer?: string | undefined
    /** jwt: required `aud` claim */
    audience?: string | undefined
  } | null | undefined
}

export type AgentSummary = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
}

export type AgentOverview = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
  /** `model`: a model with instructions and tools. `remote`: your own server, which Moorage calls */
  kind: 'model' | 'remote'
  /** The version in `production`; null for the draft */
  version: string | null
  /** Invocations that completed or failed in the last 24 hours, including this hour */
  requests: number
  /** Invocations that failed */
  errors: number
  /** The response time that 95% of them did not exceed; null if there were none */
  p95_ms: number | null
  /** Requests per hour in UTC: 24 numbers, the last one is this hour */
  hours: number[]
}

export type InvocableAgent = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
  /** A description for people. The model doesn't see it */
  description: string | null
  /** The JSON Schema of the output in `production`; null for plain text answers */
  output_schema: Record<string, unknown> | null
}

export type UpdateAgent = {
  name?: string | undefined
  status?: 'running' | 'paused' | undefined
  /** `model`: a model with instructions and tools. `remote`: your own server, which Moorage calls */
  kind?: 'model' | 'remote' | undefined
  /** Where a `remote` agent runs; null for other agents */
  remote?: {
    /** Receives a signed POST request for each message */
    url: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers?: Record<string, string> | undefined
    /** Timeout of one call; null: the run's timeout */
    timeout_ms?: number | null | undefined
    /** The project's secret that signs calls: `whsec_` and base64, as for webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which receives each message */
    a2a: string
    /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
    headers?: Record<string, string> | undefined
    /** Timeout of one call; null: the run's timeout */
    timeout_ms?: number | null | undefined
  } | null | undefined
  /** A description for people. The model doesn't see it */
  description?: string | null | undefined
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or a model of a configured provider. In a list, each model is a fallback for the one before it */
  model?: string | string[] | undefined
  /** null: the model's default */
  temperature?: number | null | undefined
  /** The system prompt. Sent to the model with every message */
  instructions?: string | null | undefined
  /** The tools that the model can call */
  tools?: ({
    type: 'http'
    name: string
    description?: string | undefined
    input_schema?: {
      type: 'object'
      [name: string]: unknown
    } | undefined
    method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
    url: string
    headers?: Record<string, string> | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for GET, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    /** Its token is sent as `Authorization: Bearer` */
    connection?: string | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for tools that the server declares read-only or idempotent, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Applies to every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's setting */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: ID or name */
    agent: string
    /** The environment whose version is called */
    environment?: string | undefined
    /** `own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  })[] | undefined
  /** Rules for answers of `builtin/script`; other models ignore them */
  script?: {
    rules?: ({
      match?: {
        equals?: string | undefined
        contains?: string | undefined
        starts_with?: string | undefined
      } | undefined
      call?: {
        tool: string
        arguments?: Record<string, unknown> | undefined
      } | undefined
      reply?: string | undefined
      output?: unknown | undefined
      fail?: string | undefined
      delay_ms?: number | undefined
    })[] | undefined
    fallback?: string | undefined
  } | null | undefined
  /** The JSON Schema that every answer must match. null: plain text answers */
  output?: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries?: number | undefined
  } | null | undefined
  /** What is remembered, and which memories are sent to the model */
  memory?: {
    /** Whether messages and answers are remembered */
    remember?: boolean | undefined
    /** How many of the session's latest turns are sent to the model */
    history?: number | undefined
    /** How many recalled memories are sent to the model */
    recall?: number | undefined
    /** `model`: when a conversation has been idle, the agent's own model extracts lasting facts */
    facts?: 'off' | 'model' | undefined
    /** Whether the agent's own model keeps a summary of long sessions. A number sets after how many new turns it is updated; `true`: after 10 */
    summarize?: boolean | number | undefined
    /** Older memories are deleted; null: never */
    retention_days?: number | null | undefined
  } | undefined
  /** Timeouts, sizes and concurrency */
  limits?: {
    /** null: the service's limit */
    timeout_ms?: number | null | undefined
    /** How many times the model can be called in one run. If its last answer still calls tools, the run fails */
    max_steps?: number | undefined
    /** The approximate maximum length of a prompt; older turns are left out. null: the model's context window */
    max_input_tokens?: number | null | undefined
    /** null: the model's limit */
    max_output_tokens?: number | null | undefined
    /** Concurrent invocations; null: no limit */
    max_concurrency?: number | null | undefined
    /** If a budget is too low for the longest answer, request a shorter one instead of failing */
    cut_to_budget?: boolean | undefined
    /** Tool calls in one run; null: no limit */
    max_tool_calls?: number | null | undefined
    /** Tokens in one run. Once they are used, the run makes no more model or tool calls. null: no limit */
    max_tokens_per_run?: number | null | undefined
    /** US dollars in one run. Once they are spent, the run makes no more model or tool calls. null: no limit */
    max_cost_per_run?: number | null | undefined
  } | undefined
  /** What happens when several messages of a session arrive at once */
  sessions?: {
    /** What happens to a message while another run of its session is in progress. `queue`: it waits for its turn. `reject`: it fails with `session_busy`. `cancel`: the other run is cancelled. `parallel`: both run at the same time */
    while_busy?: 'queue' | 'reject' | 'cancel' | 'parallel' | undefined
  } | undefined
  /** How people approve tool calls and answer questions */
  approvals?: {
    /** Whether the key that started a run can also decide for it */
    self?: boolean | undefined
    /** Rejected automatically after this time if no one has decided */
    expires_after_seconds?: number | undefined
  } | undefined
  /** Your own data; the service only stores it */
  metadata?: Record<string, unknown> | undefined
  /** Who can reach the agent, and how */
  security?: {
    ipWhitelist?: {
      /** Refuse IP addresses that are not listed */
      enabled?: boolean | undefined
      /** IP addresses and CIDR ranges; an empty list refuses every client */
      addresses?: string[] | undefined
    } | undefined
    mtls?: {
      /** Require a client certificate in addition to the key */
      enabled?: boolean | undefined
      /** PEM file: certificate for clients on this machine. The service only checks that it matches its key */
      clientCert?: string | undefined
      /** PEM file: key of that certificate */
      clientKey?: string | undefined
      /** PEM file: authority that signs client certificates */
      caCert?: string | undefined
    } | undefined
    /** Refuse plain HTTP with 403. The service never redirects */
    enforceHttps?: boolean | undefined
    hsts?: {
      /** Send `Strict-Transport-Security` on TLS replies */
      enabled?: boolean | undefined
      /** Its `max-age`, in seconds */
      maxAge?: number | undefined
    } | undefined
    rateLimit?: {
      /** Limit requests in addition to the tiers */
      enabled?: boolean | undefined
      /** Requests allowed per window */
      requests?: number | undefined
      /** Length of the window, 1s to 1d */
      window?: string | undefined
    } | undefined
    mfa?: {
      /** Require a one-time code */
      enabled?: boolean | undefined
      /** Operations that require the code: delete, update, deploy, rollback, clear_memory, webhooks, keys, secrets, approve, invoke */
      requiredFor?: ('delete' | 'update' | 'deploy' | 'rollback' | 'clear_memory' | 'webhooks' | 'keys' | 'secrets' | 'approve' | 'invoke')[] | undefined
    } | undefined
    cors?: {
      /** Origins whose web pages can call the API, exactly as browsers send them. None by default */
      origins: string[]
      /** How long browsers can cache the reply to a preflight request, in seconds */
      maxAge?: number | undefined
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard?: boolean | undefined
    /** The agents (IDs or names) that can call this agent as a tool. Default: every agent, unless `security` requires an address, a certificate, HTTPS or a one-time code from callers: then none */
    callers?: string[] | undefined
  } | null | undefined
  /** Tokens that are accepted for this agent in addition to keys */
  auth?: {
    /** How bearer tokens other than API keys are verified: `oauth2` or `jwt` */
    type: 'oauth2'
    /** oauth2: issuer URL */
    provider: string
    /** oauth2: client ID that tokens are issued for */
    clientId: string
    /** oauth2: client secret, for introspection */
    clientSecret?: string | undefined
    /** oauth2: list of scopes. Of the agent scopes, only those in the list are accepted (if not set: all of them). Every token must have all other scopes in the list */
    scopes?: string[] | undefined
    /** oauth2: which tokens are checked at the provider (RFC 7662): only `opaque` tokens, or `always` */
    introspection?: 'opaque' | 'always' | undefined
  } | {
    type: 'jwt'
    /** jwt: HS256 secret of at least 32 bytes */
    secret: string
    /** jwt: required `iss` claim */
    issuer?: string | undefined
    /** jwt: required `aud` claim */
    audience?: string | undefined
  } | null | undefined
  /** The agent's `digest` as you last read it. If the agent has changed since, the request fails with 409 */
  digest?: string | undefined
}

export type ToolTest = {
  /** The tools that the model would be offered */
  tools: ({
    name: string
    description: string
    input_schema: Record<string, unknown>
  })[]
  /** The result as the model would see it */
  result: string | null
  /** Why the tool could not be used or called */
  error: string | null
  duration_ms: number
}

export type TestTool = {
  /** A tool, in the same form as in an agent's `tools`. The agent doesn't have to use it yet */
  tool: {
    type: 'http'
    name: string
    description?: string | undefined
    input_schema?: {
      type: 'object'
      [name: string]: unknown
    } | undefined
    method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
    url: string
    headers?: Record<string, string> | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for GET, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    /** Its token is sent as `Authorization: Bearer` */
    connection?: string | undefined
    timeout_ms?: number | undefined
    /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for tools that the server declares read-only or idempotent, otherwise `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Applies to every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions, of which at least one must be true */
      when?: 'always' | ({
        /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's setting */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's setting */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: ID or name */
    agent: string
    /** The environment whose version is called */
    environment?: string | undefined
    /** `own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  }
  /** The call to make. If absent, the reply lists the tools that the model would be offered */
  call?: {
    /** Which tool of an MCP server to call; not needed for other kinds of tools */
    name?: string | undefined
    arguments?: Record<string, unknown> | undefined
  } | undefined
}

export type RemoteCheck = {
  points: CheckedPoint[]
  /** Why the check stopped early, if it did */
  error: string | null
  duration_ms: number
}

export type CheckedPoint = {
  /** What the agent should do */
  point: string
  status: 'ok' | 'failed' | 'not_tried'
  /** Why it failed or was skipped, or what was found */
  detail: string | null
}

export type CheckRemote = {
  /** The message sent to the agent */
  message?: string | undefined
  /** Timeout of each call, in milliseconds. `remote.timeout_ms` is the upper limit. The whole check ends after 10 minutes */
  timeout_ms?: number | undefined
}

export type NewDeployment = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back' | 'rolling_out' | 'paused' | 'aborted'
  /** SHA-256 hash of the snapshot. Equal digests mean equal content */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** For a rollback: the deployment it undid */
  rollback_of: string | null
  /** How many memories its rollback has removed so far; null if they are kept */
  forgotten: number | null
  /** How a gradual deployment proceeds; null for others */
  strategy: RolloutStrategy | null
  require_replay: RequiredReplay | null
  /** Where a deployment with `strategy` or `require_replay` is; null for others */
  progress: RolloutProgress | null
  /** Why the guard aborted or paused it */
  evidence: RolloutEvidence | null
  /** What will fail with the current configuration: for example a tool whose URL `outgoing` does not allow, or a secret that is missing or not allowed for the tool's host */
  warnings?: string[] | undefined
}

export type RolloutStrategy = {
  steps: ({
    /** The share of the messages that the candidate answers */
    percent: number
    /** How long the step lasts at least */
    minutes: number
  })[]
  guard: {
    min_answers: number
    confidence: number
    max_failure_ratio: number
    /** The candidate's average duration can be at most this many times as high */
    max_latency_ratio?: number | undefined
    /** The candidate's average number of tokens can be at most this many times as high */
    max_tokens_ratio?: number | undefined
    /** The candidate's average cost can be at most this many times as high */
    max_cost_ratio?: number | undefined
    /** The candidate's average score must be at least this high, or at least as high as the other version's */
    min_feedback?: number | undefined
  }
  on_bad: 'rollback' | 'pause'
}

export type RequiredReplay = {
  /** The name of a set of the agent */
  set: string
  min_pass: number
}

export type RolloutProgress = {
  /** The current step, from 1. 0 while the deployment waits for its replay */
  step: number
  /** The share of the messages that the candidate answers now */
  percent: number
  /** How long the step lasts at least */
  minutes_left: number
  /** What the next step waits for: the replay, the end of the minutes, more answers of both versions, or a person who resumes it. Null once the deployment has ended */
  waits_for: 'replay' | 'time' | 'answers' | 'person' | null
  replay_id: string | null
  candidate: {
    /** The first answers that senders got in a step */
    answers: number
    /** Failures that the caller didn't cause */
    failures: number
    avg_ms: number | null
    avg_tokens: number | null
    /** In US dollars; null if a model has no price */
    avg_cost_usd: number | null
    /** How often the answers were rated */
    scores: number
    avg_score: number | null
  } | null
  /** The version that serves the other messages, since the deployment began */
  serving: {
    /** The first answers that senders got in a step */
    answers: number
    /** Failures that the caller didn't cause */
    failures: number
    avg_ms: number | null
    avg_tokens: number | null
    /** In US dollars; null if a model has no price */
    avg_cost_usd: number | null
    /** How often the answers were rated */
    scores: number
    avg_score: number | null
  } | null
  /** When the guard last compared them */
  looked_at: string | null
}

export type RolloutEvidence = {
  /** What was worse; `replay` if the required replay did not pass; `tools` if the version can no longer call the agents that its tools name */
  verdict: 'failures' | 'latency' | 'tokens' | 'cost' | 'feedback' | 'replay' | 'tools'
  /** The verdict in words */
  reason: string
  candidate: {
    /** The first answers that senders got in a step */
    answers: number
    /** Failures that the caller didn't cause */
    failures: number
    avg_ms: number | null
    avg_tokens: number | null
    /** In US dollars; null if a model has no price */
    avg_cost_usd: number | null
    /** How often the answers were rated */
    scores: number
    avg_score: number | null
  } | null
  serving: {
    /** The first answers that senders got in a step */
    answers: number
    /** Failures that the caller didn't cause */
    failures: number
    avg_ms: number | null
    avg_tokens: number | null
    /** In US dollars; null if a model has no price */
    avg_cost_usd: number | null
    /** How often the answers were rated */
    scores: number
    avg_score: number | null
  } | null
  /** Invocations of the candidate that show it */
  examples: string[]
}

export type CreateDeployment = {
  environment: string
  version: string
  message?: string | null | undefined
  /** The agent's `digest` as you last read it. If the agent, or the version with this label, has different content, the request fails with 409 */
  digest?: string | undefined
  /** Deploy gradually: the version gets a growing share of the messages and is compared with the version that serves the others */
  strategy?: {
    steps: ({
      /** The share of the messages that the candidate answers */
      percent: number
      /** How long the step lasts at least */
      minutes: number
    })[]
    /** When the candidate is worse than the version that serves the other messages */
    guard?: {
      /** A step ends only when both versions have answered this number of senders in it. A sender is a session, or else a user, or else a request */
      min_answers?: number | undefined
      /** How sure the guard must be that the candidate is worse */
      confidence?: number | undefined
      /** The candidate's odds of failing can be at most this many times as high. For rare failures, that's the ratio of the failure rates */
      max_failure_ratio?: number | undefined
      /** The candidate's average duration can be at most this many times as high */
      max_latency_ratio?: number | undefined
      /** The candidate's average number of tokens can be at most this many times as high */
      max_tokens_ratio?: number | undefined
      /** The candidate's average cost can be at most this many times as high */
      max_cost_ratio?: number | undefined
      /** The candidate's average score must be at least this high, or at least as high as the other version's */
      min_feedback?: number | undefined
    } | undefined
    /** If the candidate is worse: `rollback` aborts the deployment, `pause` waits for a person */
    on_bad?: 'rollback' | 'pause' | undefined
  } | undefined
  /** Serve the version only after a replay of this set has passed. If it does not pass, the deployment is aborted */
  require_replay?: {
    /** The name of a set of the agent */
    set: string
    /** The share of the cases that must pass */
    min_pass?: number | undefined
  } | undefined
}

export type Deployment = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back' | 'rolling_out' | 'paused' | 'aborted'
  /** SHA-256 hash of the snapshot. Equal digests mean equal content */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** For a rollback: the deployment it undid */
  rollback_of: string | null
  /** How many memories its rollback has removed so far; null if they are kept */
  forgotten: number | null
  /** How a gradual deployment proceeds; null for others */
  strategy: RolloutStrategy | null
  require_replay: RequiredReplay | null
  /** Where a deployment with `strategy` or `require_replay` is; null for others */
  progress: RolloutProgress | null
  /** Why the guard aborted or paused it */
  evidence: RolloutEvidence | null
}

export type DeploymentWithDefinition = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back' | 'rolling_out' | 'paused' | 'aborted'
  /** SHA-256 hash of the snapshot. Equal digests mean equal content */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** For a rollback: the deployment it undid */
  rollback_of: string | null
  /** How many memories its rollback has removed so far; null if they are kept */
  forgotten: number | null
  /** How a gradual deployment proceeds; null for others */
  strategy: RolloutStrategy | null
  require_replay: RequiredReplay | null
  /** Where a deployment with `strategy` or `require_replay` is; null for others */
  progress: RolloutProgress | null
  /** Why the guard aborted or paused it */
  evidence: RolloutEvidence | null
  /** The agent as it was when the version was created */
  definition: {
    /** `model`: a model with instructions and tools. `remote`: your own server, which Moorage calls */
    kind: 'model' | 'remote'
    /** Where a `remote` agent runs; null for other agents */
    remote: {
      /** Receives a signed POST request for each message */
      url: string
      /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
      headers: Record<string, string>
      /** Timeout of one call; null: the run's timeout */
      timeout_ms: number | null
      /** The project's secret that signs calls: `whsec_` and base64, as for webhooks */
      secret: string
    } | {
      /** The agent card of an A2A agent, which receives each message */
      a2a: string
      /** Headers to send; `{{secret.NAME}}` is replaced as in tools */
      headers: Record<string, string>
      /** Timeout of one call; null: the run's timeout */
      timeout_ms: number | null
    } | null
    /** A description for people. The model doesn't see it */
    description: string | null
    /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or a model of a configured provider. In a list, each model is a fallback for the one before it */
    model: string | string[]
    /** null: the model's default */
    temperature: number | null
    /** The system prompt. Sent to the model with every message */
    instructions: string | null
    /** The tools that the model can call */
    tools: ({
      type: 'http'
      name: string
      description: string
      input_schema: {
        type: 'object'
        [name: string]: unknown
      }
      method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
      url: string
      headers: Record<string, string>
      timeout_ms: number
      /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for GET, otherwise `never` */
      retry: 'safe' | 'ask' | 'never' | null
      /** Whether a person must approve a call before it is made */
      approval: 'always' | 'never' | {
        /** `always`, or conditions, of which at least one must be true */
        when: 'always' | ({
          /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
          argument: string
          equals?: string | number | boolean | null | undefined
          not_equals?: string | number | boolean | null | undefined
          in?: (string | number | boolean | null)[] | undefined
          not_in?: (string | number | boolean | null)[] | undefined
          greater_than?: number | undefined
          less_than?: number | undefined
        })[]
        /** null: the agent's setting */
        expires_after_seconds: number | null
      }
    } | {
      type: 'mcp'
      url: string
      headers: Record<string, string>
      allow: string[] | null
      /** Its token is sent as `Authorization: Bearer` */
      connection?: string | undefined
      timeout_ms: number
      /** What to do with a call that was in progress when the service stopped. `safe`: make it again with the same Idempotency-Key. `ask`: ask a person. `never`: tell the model that its outcome is unknown. null: `safe` for tools that the server declares read-only or idempotent, otherwise `never` */
      retry: 'safe' | 'ask' | 'never' | null
      /** Applies to every tool of the server */
      approval: 'always' | 'never' | {
        /** `always`, or conditions, of which at least one must be true */
        when: 'always' | ({
          /** An argument's name; `order.amount` is the field `amount` of the argument `order` */
          argument: string
          equals?: string | number | boolean | null | undefined
          not_equals?: string | number | boolean | null | undefined
          in?: (string | number | boolean | null)[] | undefined
          not_in?: (string | number | boolean | null)[] | undefined
          greater_than?: number | undefined
          less_than?: number | undefined
        })[]
        /** null: the agent's setting */
        expires_after_seconds: number | null
      }
    } | {
      type: 'ask_person'
      name: string
      description: string
      /** null: the agent's setting */
      expires_after_seconds: number | null
    } | {
      type: 'agent'
      name: string
      description: string
      /** Another agent of the project: ID or name */
      agent: string
      /** The environment whose version is called */
      environment: string
      /** `own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered */
      memory: 'own' | 'none' | 'shared'
    })[]
    /** Rules for answers of `builtin/script`; other models ignore them */
    script: {
      rules: ({
        match?: {
          equals?: string | undefined
          contains?: string | undefined
          starts_with?: string | undefined
        } | undefined
        call?: {
          tool: string
          arguments: Record<string, unknown>
        } | undefined
        reply?: string | undefined
        output?: unknown | undefined
        fail?: string | undefined
        delay_ms?: number | undefined
      })[]
      fallback: string
    } | null
    /** The JSON Schema that every answer must match. null: plain text answers */
    output: {
      /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
      schema: Record<string, unknown>
      /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
      retries: number
    } | null
    /** What is remembered, and which memories are sent to the model */
    memory: {
      /** Whether messages and answers are remembered */
      remember: boolean
      /** How many of the session's latest turns are sent to the model */
      history: number
      /** How many recalled memories are sent to the model */
      recall: number
      /** `model`: when a conversation has been idle, the agent's own model extracts lasting facts */
      facts: 'off' | 'model'
      /** Whether the agent's own model keeps a summary of long sessions. A number sets after how many new turns it is updated; `true`: after 10 */
      summarize: boolean | number
      /** Older memories are deleted; null: never */
      retention_days: number | null
    }
    /** Timeouts, sizes and concurrency */
    limits: {
      /** null: the service's limit */
      timeout_ms: number | null
      /** How many times the model can be called in one run. If its last answer still calls tools, the run fails */
      max_steps: number
      /** The approximate maximum length of a prompt; older turns are left out. null: the model's context window */
      max_input_tokens: number | null
      /** null: the model's limit */
      max_output_tokens: number | null
      /** Concurrent invocations; null: no limit */
      max_concurrency: number | null
      /** If a budget is too low for the longest answer, request a shorter one instead of failing */
      cut_to_budget: boolean
      /** Tool calls in one run; null: no limit */
      max_tool_calls: number | null
      /** Tokens in one run. Once they are used, the run makes no more model or tool calls. null: no limit */
      max_tokens_per_run: number | null
      /** US dollars in one run. Once they are spent, the run makes no more model or tool calls. null: no limit */
      max_cost_per_run: number | null
    }
    /** What happens when several messages of a session arrive at once */
    sessions: {
      /** What happens to a message while another run of its session is in progress. `queue`: it waits for its turn. `reject`: it fails with `session_busy`. `cancel`: the other run is cancelled. `parallel`: both run at the same time */
      while_busy: 'queue' | 'reject' | 'cancel' | 'parallel'
    }
    /** How people approve tool calls and answer questions */
    approvals: {
      /** Whether the key that started a run can also decide for it */
      self: boolean
      /** Rejected automatically after this time if no one has decided */
      expires_after_seconds: number
    }
    /** Your own data; the service only stores it */
    metadata: Record<string, unknown>
  }
}

export type DeploymentDiff = {
  from: {
    deployment_id: string | null
    /** Null if nothing was deployed before, or for the draft */
    version: string | null
  }
  to: {
    deployment_id: string | null
    /** Null if nothing was deployed before, or for the draft */
    version: string | null
  }
  diff: ({
    field: string
    from: unknown
    to: unknown
  })[]
}

export type RollbackPreview = {
  dry_run: true
  from: {
    deployment_id: string
    version: string
  }
  to: {
    deployment_id: string
    version: string
  }
  diff: ({
    field: string
    from: unknown
    to: unknown
  })[]
  /** How many memories runs of the deployment have written, which `forget` would remove */
  memories: number
}

export type CaseSet = {
  name: string
  agent_id: string
  description: string | null
  /** SHA-256 hash of the cases. It changes whenever a case changes */
  digest: string
  case_count: number
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  updated_at: string
}

export type PutSet = {
  description?: string | null | undefined
  cases?: ({
    name?: string | undefined
    message: string
    context?: {
      user_id?: string | undefined
      session_id?: string | undefined
      [name: string]: unknown
    } | undefined
    /** The turns before the message, oldest first */
    history?: ({
      role: 'user' | 'assistant'
      content: string
    })[] | undefined
    /** Stored files that come with the message */
    attachments?: ({
      file_id: string
    })[] | undefined
    /** What the answer must be like. An answer passes if all checks do */
    checks?: ({
      type: 'contains' | 'not_contains'
      value: string
    } | {
      type: 'matches'
      /** A regular expression (JavaScript, `u` flag) */
      value: string
    } | {
      type: 'schema'
      /** JSON Schema that the answer must match as JSON */
      value: Record<string, unknown>
    } | {
      type: 'max_tokens' | 'max_ms'
      value: number
    } | {
      type: 'max_cost_usd'
      value: number
    } | {
      type: 'same_tools'
      /** The tools that must be called, in this order. `true`: those of the recorded invocation */
      value?: true | string[] | undefined
    } | {
      type: 'judge'
      /** What a model should check, in words */
      value: string
      /** The model that judges. Default: the tested version's first model */
      model?: string | undefined
    })[] | undefined
  })[] | undefined
  /** Copies past invocations, with their answers and the results of their tool calls */
  from?: {
    request_ids: string[]
  } | {
    /** The query fields of the list of invocations. Only completed and failed invocations are used */
    filter?: {
      status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined
      /** `asking`: waiting for people to decide. `working`: running, or waiting for anything else */
      activity?: 'working' | 'asking' | undefined
      /** Only invocations that came through this channel */
      door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined
      session_id?: string | undefined
      user_id?: string | undefined
      /** Only invocations started by this schedule */
      schedule_id?: string | undefined
    } | undefined
    /** How many of these invocations, most recent first */
    last?: number | undefined
  } | undefined
}

export type CaseSetWithCases = {
  name: string
  agent_id: string
  description: string | null
  /** SHA-256 hash of the cases. It changes whenever a case changes */
  digest: string
  case_count: number
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  updated_at: string
  cases: ({
    name: string | null
    /** The invocation that the case is a copy of */
    request_id: string | null
    /** Whether its content was erased, with the invocation or the user */
    erased: boolean
    message: string
    context: Record<string, unknown>
    history: ({
      role: 'user' | 'assistant'
      content: string
    })[]
    attachments: ({
      file_id: string
      name: string
      media_type: string
      /** In bytes */
      size: number
    })[]
    /** What the answer must be like. An answer passes if all checks do */
    checks: ({
      type: 'contains' | 'not_contains'
      value: string
    } | {
      type: 'matches'
      /** A regular expression (JavaScript, `u` flag) */
      value: string
    } | {
      type: 'schema'
      /** JSON Schema that the answer must match as JSON */
      value: Record<string, unknown>
    } | {
      type: 'max_tokens' | 'max_ms'
      value: number
    } | {
      type: 'max_cost_usd'
      value: number
    } | {
      type: 'same_tools'
      /** The tools that must be called, in this order. `true`: those of the recorded invocation */
      value: true | string[]
    } | {
      type: 'judge'
      /** What a model should check, in words */
      value: string
      /** The model that judges. Default: the tested version's first model */
      model?: string | undefined
    })[]
  })[]
}

export type Replay = {
  id: string
  agent_id: string
  status: 'running' | 'completed' | 'cancelled'
  /** The tested version; null: the draft */
  version: string | null
  /** Of the tested definition */
  digest: string
  set: {
    name: string
    digest: string
  } | null
  filter: {
    status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined
    /** `asking`: waiting for people to decide. `working`: running, or waiting for anything else */
    activity?: 'working' | 'asking' | undefined
    /** Only invocations that came through this channel */
    door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined
    session_id?: string | undefined
    user_id?: string | undefined
    /** Only invocations started by this schedule */
    schedule_id?: string | undefined
  } | null
  baseline: 'deployed' | 'recorded'
  baseline_version: string | null
  baseline_digest: string | null
  /** What the answer must be like. An answer passes if all checks do */
  checks: ({
    type: 'contains' | 'not_contains'
    value: string
  } | {
    type: 'matches'
    /** A regular expression (JavaScript, `u` flag) */
    value: string
  } | {
    type: 'schema'
    /** JSON Schema that the answer must match as JSON */
    value: Record<string, unknown>
  } | {
    type: 'max_tokens' | 'max_ms'
    value: number
  } | {
    type: 'max_cost_usd'
    value: number
  } | {
    type: 'same_tools'
    /** The tools that must be called, in this order. `true`: those of the recorded invocation */
    value: true | string[]
  } | {
    type: 'judge'
    /** What a model should check, in words */
    value: string
    /** The model that judges. Default: the tested version's first model */
    model?: string | undefined
  })[]
  limits: {
    cost_usd: number | null
    tokens: number | null
  }
  spent: {
    /** In US dollars; null if a model has no price */
    cost_usd: number | null
    tokens: number
  }
  case_count: number
  finished_cases: number
  /** Why cases can't be sent now, for example because of a budget */
  waits_for: string | null
  /** The limit that ended it early */
  reached_limit: 'cost_usd' | 'tokens' | null
  /** Null while it is running, and if it was cancelled */
  verdict: 'passed' | 'regression' | 'inconclusive' | null
  report: {
    /** The verdict in words */
    reason: string
    /** Cases whose content was erased. They count nowhere else */
    erased_cases: number
    columns: {
      /** The answers of the invocations that the cases are copies of */
      recorded: {
        passed: number
        failed: number
        /** Cases without a result that can be compared */
        unknown: number
        /** The share of passed cases with its Wilson interval */
        pass_rate: {
          value: number
          low: number
          high: number
        } | null
        tokens: number
        /** In US dollars; null if a model has no price */
        cost_usd: number | null
      } | null
      /** The deployed version's answers; null if the baseline is `recorded` */
      baseline: {
        passed: number
        failed: number
        /** Cases without a result that can be compared */
        unknown: number
        /** The share of passed cases with its Wilson interval */
        pass_rate: {
          value: number
          low: number
          high: number
        } | null
        tokens: number
        /** In US dollars; null if a model has no price */
        cost_usd: number | null
      } | null
      candidate: {
        passed: number
        failed: number
        /** Cases without a result that can be compared */
        unknown: number
        /** The share of passed cases with its Wilson interval */
        pass_rate: {
          value: number
          low: number
          high: number
        } | null
        tokens: number
        /** In US dollars; null if a model has no price */
        cost_usd: number | null
      }
    }
    /** The candidate compared with the baseline; null if no case has a baseline */
    comparison: {
      /** Cases with a result on both sides */
      pairs: number
      regressed: number
      improved: number
      /** McNemar's exact test, two-sided */
      p_value: number
      /** The change of the pass rate, from a paired bootstrap */
      pass_rate: {
        value: number
        low: number
        high: number
      } | null
      /** The change of the tokens of one answer */
      tokens: {
        value: number
        low: number
        high: number
      } | null
      /** The change of the cost of one answer */
      cost_usd: {
        value: number
        low: number
        high: number
      } | null
    } | null
    /** Tools that the candidate called in a way that was never recorded, and in how many cases */
    unrecorded_calls: ({
      name: string
      cases: number
    })[]
    /** Groups of cases that got worse, worst first */
    worst: ({
      slice: string
      cases: number
      regressed: number
      improved: number
    })[]
  } | null
  /** The median time of an answer */
  durations_ms: {
    recorded: number | null
    baseline: number | null
    candidate: number | null
  } | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  finished_at: string | null
}

export type CreateReplay = {
  /** The version to test */
  version?: string | undefined
  /** Test the draft instead of a version */
  working_copy?: true | undefined
  /** The set whose cases are sent */
  set?: string | undefined
  /** Past invocations to send instead of a set */
  filter?: {
    status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined
    /** `asking`: waiting for people to decide. `working`: running, or waiting for anything else */
    activity?: 'working' | 'asking' | undefined
    /** Only invocations that came through this channel */
    door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined
    session_id?: string | undefined
    user_id?: string | undefined
    /** Only invocations started by this schedule */
    schedule_id?: string | undefined
  } | undefined
  /** With `filter`: how many invocations, most recent first. Default: 100 */
  last?: number | undefined
  /** `deployed`: the version that `production` serves gets the same messages. `recorded`: the answers that the invocations gave. If nothing is deployed, `recorded` is used */
  baseline?: 'deployed' | 'recorded' | undefined
  /** Checks for every case, in addition to the case's own */
  checks?: ({
    type: 'contains' | 'not_contains'
    value: string
  } | {
    type: 'matches'
    /** A regular expression (JavaScript, `u` flag) */
    value: string
  } | {
    type: 'schema'
    /** JSON Schema that the answer must match as JSON */
    value: Record<string, unknown>
  } | {
    type: 'max_tokens' | 'max_ms'
    value: number
  } | {
    type: 'max_cost_usd'
    value: number
  } | {
    type: 'same_tools'
    /** The tools that must be called, in this order. `true`: those of the recorded invocation */
    value?: true | string[] | undefined
  } | {
    type: 'judge'
    /** What a model should check, in words */
    value: string
    /** The model that judges. Default: the tested version's first model */
    model?: string | undefined
  })[] | undefined
  /** How much the replay can spend. A call that could exceed the limit is not made */
  limits?: {
    /** What the model calls can cost in total, in US dollars. Requires a price for every model. null: no limit */
    cost_usd?: number | null | undefined
    /** Input plus output tokens in total. null: no limit */
    tokens?: number | null | undefined
  } | undefined
}

export type ReplayCase = {
  position: number
  name: string | null
  /** The invocation that the case is a copy of */
  request_id: string | null
  /** Whether its content was erased, with the invocation or the user */
  erased: boolean
  message: string
  /** Null until all columns have answered */
  outcome: 'regressed' | 'improved' | 'passed' | 'failed' | 'unknown' | null
  recorded: {
    status: 'completed' | 'failed' | 'not_run'
    /** Whether it was answered and all checks passed; null: unknown */
    passed: boolean | null
    response: string | null
    error: string | null
    checks: ({
      type: string
      /** null: the check couldn't be decided */
      passed: boolean | null
      note: string | null
    })[]
    /** The tool calls, in order */
    tools: ({
      name: string
      arguments: unknown
    })[]
    /** Calls that were not made, because no result was recorded for them */
    unrecorded_calls: ({
      name: string
      arguments: unknown
    })[]
    tokens: number
    /** In US dollars; null if a model has no price */
    cost_usd: number | null
    duration_ms: number
  } | null
  baseline: {
    status: 'completed' | 'failed' | 'not_run'
    /** Whether it was answered and all checks passed; null: unknown */
    passed: boolean | null
    response: string | null
    error: string | null
    checks: ({
      type: string
      /** null: the check couldn't be decided */
      passed: boolean | null
      note: string | null
    })[]
    /** The tool calls, in order */
    tools: ({
      name: string
      arguments: unknown
    })[]
    /** Calls that were not made, because no result was recorded for them */
    unrecorded_calls: ({
      name: string
      arguments: unknown
    })[]
    tokens: number
    /** In US dollars; null if a model has no price */
    cost_usd: number | null
    duration_ms: number
  } | null
  candidate: {
    status: 'completed' | 'failed' | 'not_run'
    /** Whether it was answered and all checks passed; null: unknown */
    passed: boolean | null
    response: string | null
    error: string | null
    checks: ({
      type: string
      /** null: the check couldn't be decided */
      passed: boolean | null
      note: string | null
    })[]
    /** The tool calls, in order */
    tools: ({
      name: string
      arguments: unknown
    })[]
    /** Calls that were not made, because no result was recorded for them */
    unrecorded_calls: ({
      name: string
      arguments: unknown
    })[]
    tokens: number
    /** In US dollars; null if a model has no price */
    cost_usd: number | null
    duration_ms: number
  } | null
}

export type ScheduleWithRuns = {
  id: string
  agent_id: string
  name: string | null
  cron: string | null
  timezone: string | null
  every: string | null
  at: string | null
  message: string
  attachments: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[]
  context: Record<string, unknown>
  environment: string
  overlap: 'skip' | 'queue'
  catch_up: 'none' | 'one'
  on_budget: 'fail' | 'wait'
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority: 'interactive' | 'normal' | 'batch'
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while the schedule is disabled or its agent is paused, and after its last run */
  next_at: string | null
  /** The scheduled time of the latest run */
  last_tick_at: string | null
  /** The latest run */
  last_request_id: string | null
  /** How many runs were not started, because no node was available in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many runs were not started, because an earlier one was still active or the project had reached its storage limit */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that last changed it. Runs have this key's permissions */
  updated_by: string
  created_at: string
  updated_at: string
  /** The next scheduled times, at most five */
  next_runs: string[]
}

export type CreateSchedule = {
  /** Five fields, such as `0 9 * * MON-FRI`, or a name such as `@daily` */
  cron?: string | undefined
  /** For `cron`, such as `Europe/Berlin`. Default: UTC */
  timezone?: string | undefined
  /** A duration, such as `15m` or `2h` */
  every?: string | undefined
  /** A single time */
  at?: string | undefined
  name?: string | null | undefined
  /** The message sent to the agent each time */
  message: string
  /** Files to send to the model with the message each time. `url` is downloaded once, now. `data` is base64. Both are stored as the schedule's files */
  attachments?: ({
    file_id: string
  } | {
    url: string
  } | {
    /** Base64 */
    data: string
    media_type?: string | undefined
    name?: string | undefined
  })[] | undefined
  context?: {
    user_id?: string | undefined
    session_id?: string | undefined
    [name: string]: unknown
  } | undefined
  environment?: string | undefined
  /** What to do if the previous run is still active */
  overlap?: 'skip' | 'queue' | undefined
  /** `one`: if scheduled times were missed, one run makes up for all of them */
  catch_up?: 'none' | 'one' | undefined
  /** What to do when a budget is used up: `fail`, or `wait` until it resets. Only background runs can wait */
  on_budget?: 'fail' | 'wait' | undefined
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority?: 'interactive' | 'normal' | 'batch' | undefined
  enabled?: boolean | undefined
}

export type Schedule = {
  id: string
  agent_id: string
  name: string | null
  cron: string | null
  timezone: string | null
  every: string | null
  at: string | null
  message: string
  attachments: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[]
  context: Record<string, unknown>
  environment: string
  overlap: 'skip' | 'queue'
  catch_up: 'none' | 'one'
  on_budget: 'fail' | 'wait'
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority: 'interactive' | 'normal' | 'batch'
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while the schedule is disabled or its agent is paused, and after its last run */
  next_at: string | null
  /** The scheduled time of the latest run */
  last_tick_at: string | null
  /** The latest run */
  last_request_id: string | null
  /** How many runs were not started, because no node was available in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many runs were not started, because an earlier one was still active or the project had reached its storage limit */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that last changed it. Runs have this key's permissions */
  updated_by: string
  created_at: string
  updated_at: string
}

export type UpdateSchedule = {
  /** Five fields, such as `0 9 * * MON-FRI`, or a name such as `@daily` */
  cron?: string | undefined
  /** For `cron`, such as `Europe/Berlin`. Default: UTC */
  timezone?: string | undefined
  /** A duration, such as `15m` or `2h` */
  every?: string | undefined
  /** A single time */
  at?: string | undefined
  name?: string | null | undefined
  /** The message sent to the agent each time */
  message?: string | undefined
  attachments?: ({
    file_id: string
  } | {
    url: string
  } | {
    /** Base64 */
    data: string
    media_type?: string | undefined
    name?: string | undefined
  })[] | undefined
  context?: {
    user_id?: string | undefined
    session_id?: string | undefined
    [name: string]: unknown
  } | undefined
  environment?: string | undefined
  overlap?: 'skip' | 'queue' | undefined
  catch_up?: 'none' | 'one' | undefined
  on_budget?: 'fail' | 'wait' | undefined
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority?: 'interactive' | 'normal' | 'batch' | undefined
  enabled?: boolean | undefined
}

export type Trigger = {
  id: string
  agent_id: string
  /** `webhook`: events from any sender. `slack`, `telegram`: messages to a bot, which are answered in the conversation. `email`: messages to an email address, which are answered by email */
  kind: 'webhook' | 'slack' | 'telegram' | 'email'
  name: string | null
  environment: string
  enabled: boolean
  /** How the sender proves that a request is from it. With `none`, everybody who knows the URL can start runs */
  verify: {
    scheme: 'github' | 'telegram' | 'bearer' | 'basic'
    /** The name of the project's secret with which the sender signs */
    secret: string
  } | {
    scheme: 'stripe' | 'slack' | 'standard'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds: number
  } | {
    scheme: 'hmac'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** Contains the signature */
    header: string
    algorithm: 'sha256' | 'sha512' | 'sha1'
    encoding: 'hex' | 'base64'
    /** What the header has before the signature, such as `sha256=` */
    prefix: string
    /** Contains the signed timestamp; the signature then covers it, a period and the body */
    timestamp_header: string | null
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds: number
  } | {
    scheme: 'ed25519'
    /** The name of the project's secret that contains the sender's public key: 32 bytes in hexadecimal or base64 */
    secret: string
    header: string
    encoding: 'hex' | 'base64'
    /** Contains the signed timestamp; the signature then covers it and the body */
    timestamp_header: string | null
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds: number
  } | {
    scheme: 'none'
  }
  filter: ({
    /** A JSON pointer such as `/action`, or `{{header.X-GitHub-Event}}` */
    path: string
    equals?: string | number | boolean | null | undefined
    in?: (string | number | boolean | null)[] | undefined
    exists?: boolean | undefined
  })[]
  /** The message to the agent. `{{/issue/title}}` inserts a value from the body (a JSON pointer), `{{header.X-GitHub-Event}}` a header, and `{{body}}` the whole body. In conversations and email, `{{text}}` inserts what the person wrote. Default: `{{body}}`, or `{{text}}` in conversations and email */
  message: string
  user_from: string | null
  session_from: string | null
  dedupe_from: string | null
  user_prefix: string
  on_budget: 'fail' | 'wait'
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority: 'interactive' | 'normal' | 'batch'
  slack: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Slack's API. The secret's hosts must include it */
    api_url: string
  } | null
  telegram: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Telegram's API. The secret's hosts must include it */
    api_url: string
  } | null
  email: {
    /** The address that people write to, from which answers are sent */
    address: string
    /** The sender's name in answers */
    name: string | null
    /** The provider that sends answers */
    provider: 'postmark' | 'resend' | 'sendgrid'
    /** The name of the project's secret with the provider's API key */
    api_key: string
    /** The URL of the provider's API. The secret's hosts must include it. Default: the usual one */
    api_url: string | null
    /** The mail server whose `Authentication-Results` prove who has written, such as `mx.example.com`. It must remove such headers of its name from incoming mail. Messages without its proof are ignored. Default: none; then each thread has a user of its own */
    authserv_id: string | null
  } | null
  reply: boolean | null
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Where senders post to. It is a URL if `server.publicUrl` is set, and otherwise a path */
  address: string
  last_delivery_at: string | null
  created_by: string
  /** The key that last changed it. Runs have this key's permissions */
  updated_by: string
  created_at: string
  updated_at: string
}

export type CreateTrigger = {
  /** `webhook`: events from any sender. `slack`, `telegram`: messages to a bot, which are answered in the conversation. `email`: messages to an email address, which are answered by email */
  kind?: 'webhook' | 'slack' | 'telegram' | 'email' | undefined
  name?: string | null | undefined
  environment?: string | undefined
  enabled?: boolean | undefined
  /** How the sender proves that a request is from it. With `none`, everybody who knows the URL can start runs */
  verify: {
    scheme: 'github' | 'telegram' | 'bearer' | 'basic'
    /** The name of the project's secret with which the sender signs */
    secret: string
  } | {
    scheme: 'stripe' | 'slack' | 'standard'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'hmac'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** Contains the signature */
    header?: string | undefined
    algorithm?: 'sha256' | 'sha512' | 'sha1' | undefined
    encoding?: 'hex' | 'base64' | undefined
    /** What the header has before the signature, such as `sha256=` */
    prefix?: string | undefined
    /** Contains the signed timestamp; the signature then covers it, a period and the body */
    timestamp_header?: string | null | undefined
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'ed25519'
    /** The name of the project's secret that contains the sender's public key: 32 bytes in hexadecimal or base64 */
    secret: string
    header?: string | undefined
    encoding?: 'hex' | 'base64' | undefined
    /** Contains the signed timestamp; the signature then covers it and the body */
    timestamp_header?: string | null | undefined
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'none'
  }
  /** Conditions that an event must meet. Other events get 200 and start no run */
  filter?: ({
    /** A JSON pointer such as `/action`, or `{{header.X-GitHub-Event}}` */
    path: string
    equals?: string | number | boolean | null | undefined
    in?: (string | number | boolean | null)[] | undefined
    exists?: boolean | undefined
  })[] | undefined
  /** The message to the agent. `{{/issue/title}}` inserts a value from the body (a JSON pointer), `{{header.X-GitHub-Event}}` a header, and `{{body}}` the whole body. In conversations and email, `{{text}}` inserts what the person wrote. Default: `{{body}}`, or `{{text}}` in conversations and email */
  message?: string | undefined
  /** Where the `user_id` is: a JSON pointer such as `/sender/login`, or a text with placeholders */
  user_from?: string | null | undefined
  /** Where the `session_id` is */
  session_from?: string | null | undefined
  /** What identifies an event, so that it starts only one run even if it arrives several times. Default: depends on the scheme, for example the event's ID */
  dedupe_from?: string | null | undefined
  /** Text in front of every `user_id`. Default: the scheme or the kind, followed by a colon, such as `github:` */
  user_prefix?: string | null | undefined
  /** What to do when a budget is used up: `fail`, or `wait` until it resets. Only background runs can wait */
  on_budget?: 'fail' | 'wait' | undefined
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority?: 'interactive' | 'normal' | 'batch' | undefined
  /** With the kind `slack`: its bot */
  slack?: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Slack's API. The secret's hosts must include it */
    api_url?: string | undefined
  } | null | undefined
  /** With the kind `telegram`: its bot */
  telegram?: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Telegram's API. The secret's hosts must include it */
    api_url?: string | undefined
  } | null | undefined
  /** With the kind `email`: the address, and the provider that sends answers */
  email?: {
    /** The address that people write to, from which answers are sent */
    address: string
    /** The sender's name in answers */
    name?: string | null | undefined
    /** The provider that sends answers */
    provider: 'postmark' | 'resend' | 'sendgrid'
    /** The name of the project's secret with the provider's API key */
    api_key: string
    /** The URL of the provider's API. The secret's hosts must include it. Default: the usual one */
    api_url?: string | null | undefined
    /** The mail server whose `Authentication-Results` prove who has written, such as `mx.example.com`. It must remove such headers of its name from incoming mail. Messages without its proof are ignored. Default: none; then each thread has a user of its own */
    authserv_id?: string | null | undefined
  } | null | undefined
  /** Whether answers are sent to the conversation. Default: `true`; null for the kind `webhook` */
  reply?: boolean | null | undefined
}

export type UpdateTrigger = {
  name?: string | null | undefined
  environment?: string | undefined
  enabled?: boolean | undefined
  /** How the sender proves that a request is from it. With `none`, everybody who knows the URL can start runs */
  verify?: {
    scheme: 'github' | 'telegram' | 'bearer' | 'basic'
    /** The name of the project's secret with which the sender signs */
    secret: string
  } | {
    scheme: 'stripe' | 'slack' | 'standard'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'hmac'
    /** The name of the project's secret with which the sender signs */
    secret: string
    /** Contains the signature */
    header?: string | undefined
    algorithm?: 'sha256' | 'sha512' | 'sha1' | undefined
    encoding?: 'hex' | 'base64' | undefined
    /** What the header has before the signature, such as `sha256=` */
    prefix?: string | undefined
    /** Contains the signed timestamp; the signature then covers it, a period and the body */
    timestamp_header?: string | null | undefined
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'ed25519'
    /** The name of the project's secret that contains the sender's public key: 32 bytes in hexadecimal or base64 */
    secret: string
    header?: string | undefined
    encoding?: 'hex' | 'base64' | undefined
    /** Contains the signed timestamp; the signature then covers it and the body */
    timestamp_header?: string | null | undefined
    /** How far the signed timestamp can be from now, in seconds */
    tolerance_seconds?: number | undefined
  } | {
    scheme: 'none'
  } | undefined
  filter?: ({
    /** A JSON pointer such as `/action`, or `{{header.X-GitHub-Event}}` */
    path: string
    equals?: string | number | boolean | null | undefined
    in?: (string | number | boolean | null)[] | undefined
    exists?: boolean | undefined
  })[] | undefined
  /** The message to the agent. `{{/issue/title}}` inserts a value from the body (a JSON pointer), `{{header.X-GitHub-Event}}` a header, and `{{body}}` the whole body. In conversations and email, `{{text}}` inserts what the person wrote. Default: `{{body}}`, or `{{text}}` in conversations and email */
  message?: string | undefined
  user_from?: string | null | undefined
  session_from?: string | null | undefined
  dedupe_from?: string | null | undefined
  user_prefix?: string | null | undefined
  on_budget?: 'fail' | 'wait' | undefined
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority?: 'interactive' | 'normal' | 'batch' | undefined
  slack?: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Slack's API. The secret's hosts must include it */
    api_url?: string | undefined
  } | null | undefined
  telegram?: {
    /** The name of the project's secret with the bot's token */
    bot_token: string
    /** The URL of Telegram's API. The secret's hosts must include it */
    api_url?: string | undefined
  } | null | undefined
  email?: {
    /** The address that people write to, from which answers are sent */
    address: string
    /** The sender's name in answers */
    name?: string | null | undefined
    /** The provider that sends answers */
    provider: 'postmark' | 'resend' | 'sendgrid'
    /** The name of the project's secret with the provider's API key */
    api_key: string
    /** The URL of the provider's API. The secret's hosts must include it. Default: the usual one */
    api_url?: string | null | undefined
    /** The mail server whose `Authentication-Results` prove who has written, such as `mx.example.com`. It must remove such headers of its name from incoming mail. Messages without its proof are ignored. Default: none; then each thread has a user of its own */
    authserv_id?: string | null | undefined
  } | null | undefined
  reply?: boolean | null | undefined
}

export type TestedTrigger = {
  /** What would become of this payload */
  outcome: 'accepted' | 'filtered' | 'failed'
  /** Why it would fail */
  reason: string | null
  message: string | null
  user_id: string | null
  session_id: string | null
  /** Whether the secret that verifies requests exists */
  secret_found: boolean
  /** What was tested */
  payload: unknown
  headers: Record<string, string>
  /** With `run`: the run */
  request_id: string | null
  /** With `run`: its delivery */
  delivery_id: string | null
}

export type TestTrigger = {
  /** A body to test with. Default: an example from the trigger's provider */
  payload?: unknown | undefined
  headers?: Record<string, string> | undefined
  /** Test with the payload of this delivery instead */
  delivery_id?: string | undefined
  /** Also start a run */
  run?: boolean | undefined
}

export type IncomingDelivery = {
  id: string
  trigger_id: string
  outcome: 'accepted' | 'filtered' | 'failed' | 'refused'
  /** Why it was refused or failed, for programs */
  code: string | null
  /** Why it was refused or failed, for people */
  reason: string | null
  /** The run that it started */
  request_id: string | null
  user_id: string | null
  session_id: string | null
  /** How often the same event arrived again. It started no other run */
  repeats: number
  /** The delivery that was replayed */
  replay_of: string | null
  /** Whether the payload is stored, so that the delivery can be replayed */
  has_payload: boolean
  /** The answer that is sent to the conversation, after the run has ended */
  answer: ChatAnswer | null
  created_at: string
}

export type ChatAnswer = {
  status: 'pending' | 'sent' | 'failed'
  /** How often the platform was asked to accept it */
  tries: number
  /** Why the latest attempt failed */
  error: string | null
  /** When it is sent again */
  next_attempt_at: string | null
  sent_at: string | null
}

export type IncomingDeliveryWithPayload = {
  id: string
  trigger_id: string
  outcome: 'accepted' | 'filtered' | 'failed' | 'refused'
  /** Why it was refused or failed, for programs */
  code: string | null
  /** Why it was refused or failed, for people */
  reason: string | null
  /** The run that it started */
  request_id: string | null
  user_id: string | null
  session_id: string | null
  /** How often the same event arrived again. It started no other run */
  repeats: number
  /** The delivery that was replayed */
  replay_of: string | null
  /** Whether the payload is stored, so that the delivery can be replayed */
  has_payload: boolean
  /** The answer that is sent to the conversation, after the run has ended */
  answer: ChatAnswer | null
  created_at: string
  /** Without headers that can contain secrets */
  headers: Record<string, string>
  /** The body of the request as JSON */
  payload: string | null
}

export type ReplayedDelivery = {
  request_id: string
  status: 'queued' | 'waiting'
  /** What people must decide before it continues */
  approvals?: PendingApproval[] | undefined
  /** Why it waits, if not for people: for example because its project or the service is paused */
  reason?: string | undefined
  delivery_id: string
}

export type Link = {
  id: string
  agent_id: string
  name: string | null
  environment: string
  /** Where the chat is: absolute if `server.publicUrl` is set, otherwise a path. Null without the permission `invoke` */
  url: string | null
  origins: string[]
  status: 'active' | 'expired'
  expires_at: string | null
  limits: {
    messages_per_visitor: number | null
    cost_usd: number | null
  }
  welcome: string | null
  starters: string[]
  /** The budget that limits its cost */
  budget_id: string | null
  used: {
    /** Visitors who have sent a message */
    visitors: number
    messages: number
    /** Null without a cost limit */
    cost_usd: number | null
  }
  /** Why its cost limit refuses every message, such as a model without a price. Only in the reply to create */
  warnings?: string[] | undefined
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
}

export type CreateLink = {
  /** The title that visitors see. null: the agent's name */
  name?: string | null | undefined
  /** The environment that answers */
  environment?: string | undefined
  /** Origins whose pages can embed the chat and call it, such as `https://www.example.com`. Empty: only its own page */
  origins?: string[] | undefined
  expires_at?: string | null | undefined
  /** When a limit is reached, the chat says so and accepts no more messages */
  limits?: {
    /** How many messages one visitor can send in total; null for any number */
    messages_per_visitor?: number | null | undefined
    /** How much all visitors together can spend on model calls, in US dollars; null for any amount. The limit is a budget, which you can change under budgets */
    cost_usd?: number | null | undefined
  } | undefined
  /** The first text on the page */
  welcome?: string | null | undefined
  /** Messages that visitors can send with one click */
  starters?: string[] | undefined
}

export type LogEntry = {
  id: string
  timestamp: string
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  metadata: {
    request_id: string
    [name: string]: unknown
  }
}

export type MetricSeries = {
  metric: 'response_time' | 'throughput' | 'error_rate' | 'tokens' | 'cost' | 'feedback'
  granularity: '1m' | '5m' | '1h' | '1d'
  aggregation?: 'avg' | 'p50' | 'p95' | 'p99' | 'max' | 'sum' | undefined
  values: ({
    timestamp: string
    value: number
    unit: 'ms' | 'requests_per_minute' | 'percent' | 'tokens' | 'usd' | 'score'
  })[]
}

export type Performance = {
  granularity: '1m' | '5m' | '1h' | '1d'
  buckets: ({
    /** The start of the interval */
    timestamp: string
    requests: number
    errors: number
    /** null: no invocation ended in it */
    avg_ms: number | null
    /** null: no invocation ended in it */
    p50_ms: number | null
    /** null: no invocation ended in it */
    p95_ms: number | null
    /** null: no invocation ended in it */
    p99_ms: number | null
    /** null: no invocation ended in it */
    max_ms: number | null
    tokens: number
    /** Without invocations whose cost is not known */
    cost_usd: number
    /** Invocations whose cost is not known, because a model has no price */
    unpriced: number
    /** How many scores were given */
    feedback: number
    /** null: no feedback was given */
    avg_score: number | null
  })[]
}

export type Usage = {
  /** Rounded down to the hour, or to `granularity` */
  from: string
  /** Rounded up */
  to: string
  timezone: string
  totals: {
    /** Calls of models and embedders */
    calls: number
    input_tokens: number
    /** Part of the input, read from the provider's cache */
    cached_tokens: number
    /** Part of the input, written to the provider's cache */
    cache_write_tokens: number
    output_tokens: number
    /** Part of the output */
    reasoning_tokens: number
    total_tokens: number
    /** In US dollars; null if a call has no known price */
    cost_usd: number | null
    /** Cost of the calls with a known price */
    priced_cost_usd: number
    /** Calls without a known price */
    unpriced_calls: number
    /** Calls under a budget whose node stopped. They are counted with the most they could have used */
    lost_calls: number
  }
  /** Sorted by time, then by the grouped fields */
  rows: UsageRow[]
}

export type UsageRow = {
  /** The start of the hour, day or month */
  time?: string | undefined
  /** Present if `group_by` contains `project`; likewise for the fields below. null: no project */
  project_id?: string | null | undefined
  /** null: no agent, as in provider tests */
  agent_id?: string | null | undefined
  /** null: the draft */
  version?: string | null | undefined
  environment?: string | null | undefined
  /** null: a token, or a command on the server */
  key_id?: string | null | undefined
  person_id?: string | null | undefined
  user_id?: string | null | undefined
  /** null: the service itself, in the background */
  door?: string | null | undefined
  model?: string | undefined
  purpose?: 'run' | 'facts' | 'summary' | 'memory' | 'search' | 'test' | 'replay' | undefined
  /** Calls of models and embedders */
  calls: number
  input_tokens: number
  /** Part of the input, read from the provider's cache */
  cached_tokens: number
  /** Part of the input, written to the provider's cache */
  cache_write_tokens: number
  output_tokens: number
  /** Part of the output */
  reasoning_tokens: number
  total_tokens: number
  /** In US dollars; null if a call has no known price */
  cost_usd: number | null
  /** Cost of the calls with a known price */
  priced_cost_usd: number
  /** Calls without a known price */
  unpriced_calls: number
  /** Calls under a budget whose node stopped. They are counted with the most they could have used */
  lost_calls: number
}

export type RepricedUsage = {
  /** Calls */
  looked_at: number
  /** Calls whose cost changed */
  changed: number
  /** Of these, calls that had no price before */
  priced: number
  /** How much more all calls cost than before; negative if less */
  change_usd: number
  /** Send it as `after`; null: nothing is left */
  next: string | null
}

export type RepriceUsage = {
  /** Calls from this time on */
  from: string
  /** Calls before this time. Default: now */
  to?: string | undefined
  /** `next` from the previous reply */
  after?: string | undefined
  /** `service`: all projects; requires a key with access to all projects */
  scope?: 'project' | 'service' | undefined
}

export type Price = {
  /** `provider/model`, `provider/*` for the provider's other models, or `embedder/model` */
  model: string
  /** `configuration`: `prices` in `moorage.yaml`, which overrides the others. `api`: set with `PUT /v1/prices/{provider}/{model}`. `genai-prices`: the built-in list of vendors. `unknown`: no price; set one */
  source: 'configuration' | 'api' | 'genai-prices' | 'builtin' | 'unknown'
  /** The name that the price was set for: the model, or `provider/*`. Null if it was not set */
  set_for: string | null
  /** The date of the built-in list, if the price comes from it */
  version: string | null
  /** Input, in USD per million tokens */
  input: number | null
  /** Input tokens read from the provider's cache, in USD per million tokens */
  cached_input: number | null
  /** Input tokens written to the provider's cache, in USD per million tokens */
  cache_write: number | null
  /** Output, in USD per million tokens */
  output: number | null
  /** Reasoning tokens, in USD per million tokens */
  reasoning: number | null
  /** Per request, in USD */
  request: number | null
  /** The price of long prompts, if it differs */
  tiers: ({
    /** Prompts with more input tokens than this */
    above: number
    /** Input, in USD per million tokens */
    input: number | null
    /** Input tokens read from the provider's cache, in USD per million tokens */
    cached_input: number | null
    /** Input tokens written to the provider's cache, in USD per million tokens */
    cache_write: number | null
    /** Output, in USD per million tokens */
    output: number | null
    /** Reasoning tokens, in USD per million tokens */
    reasoning: number | null
    /** Per request, in USD */
    request: number | null
  })[]
}

export type SetPrice = {
  /** Input, in USD per million tokens */
  input: number
  /** Cached input, in USD per million tokens */
  cached_input?: number | undefined
  /** Input written to the cache, in USD per million tokens */
  cache_write?: number | undefined
  /** Output, in USD per million tokens */
  output: number
  /** Reasoning output, in USD per million tokens */
  reasoning?: number | undefined
  /** Per request, in USD */
  request?: number | undefined
}

export type FoundMemory = {
  id: string
  content: string
  kind: 'turn' | 'fact' | 'note'
  role: 'user' | 'assistant' | null
  score: number
  /** How the memory was found */
  matched: ('words' | 'meaning' | 'date')[]
  user_id: string | null
  session_id: string | null
  created_at: string
  metadata: Record<string, unknown>
  /** The version whose run wrote it; null if the draft or a client wrote it */
  version: string | null
  /** The deployment whose run wrote it */
  deployment_id: string | null
}

export type SearchMemory = {
  query: string
  limit?: number | undefined
  offset?: number | undefined
  /** Only memories of this user, this session, or both */
  context?: {
    user_id?: string | undefined
    session_id?: string | undefined
  } | undefined
  min_score?: number | undefined
}

export type WriteMemory = {
  items: ({
    content: string
    kind?: 'turn' | 'fact' | 'note' | undefined
    /** Who said it; required for a turn */
    role?: 'user' | 'assistant' | null | undefined
    context?: {
      user_id?: string | undefined
      session_id?: string | undefined
    } | undefined
    metadata?: Record<string, unknown> | undefined
    /** When it was said. Default: now */
    created_at?: string | undefined
  })[]
}

export type UpdateMemory = {
  content?: string | undefined
  kind?: 'turn' | 'fact' | 'note' | undefined
  /** Who said it; required for a turn */
  role?: 'user' | 'assistant' | null | undefined
  metadata?: Record<string, unknown> | undefined
  created_at?: string | undefined
}

export type MemoryStatus = {
  /** null without an embedder */
  embedding: {
    /** The model, with the length of its vectors if one is configured */
    model: string
    /** How many memories have a vector of this model */
    embedded: number
    /** How many memories have no vector yet, including texts that the embedder refuses */
    waiting: number
  } | null
}

export type AgentUser = {
  user_id: string
  /** Turns of conversations */
  turns: number
  /** Notes and facts */
  notes: number
  /** The time of the newest memory ever written; deleting memories doesn't change it */
  last_used_at: string
}

export type AgentSession = {
  session_id: string
  user_id: string | null
  /** Turns of conversations */
  turns: number
  /** Notes and facts */
  notes: number
  /** The time of the newest memory ever written; deleting memories doesn't change it */
  last_used_at: string
}

export type SessionSummary = {
  session_id: string
  user_id: string | null
  content: string
  /** How many turns of the session it covers */
  turns: number
  /** The model that last wrote it; null if a client did */
  model: string | null
  /** Tokens that the model has used for it so far */
  tokens_used: number
  updated_at: string
}

export type ReplaceSummary = {
  content: string
}

export type UserLine = {
  type: 'file'
  id: string
  name: string
  /** The type that was sent, or the type detected from the content */
  media_type: string
  /** In bytes */
  size: number
  sha256: string
  /** The user that the file belongs to. It is erased and exported with that user's data */
  user_id: string | null
  created_by: string
  created_at: string
  /** When the file is deleted; null if only the service's retention applies */
  expires_at: string | null
} | {
  type: 'memory'
  agent_id: string
  id: string
  content: string
  kind: 'turn' | 'fact' | 'note'
  role: 'user' | 'assistant' | null
  user_id: string | null
  session_id: string | null
  created_at: string
  metadata: Record<string, unknown>
  /** The version whose run wrote it; null if the draft or a client wrote it */
  version: string | null
  /** The deployment whose run wrote it */
  deployment_id: string | null
  /** The newer fact that replaced this one; null while this one is current */
  superseded_by: string | null
} | {
  type: 'summary'
  agent_id: string
  session_id: string
  user_id: string | null
  content: string
  /** How many turns of the session it covers */
  turns: number
  /** The model that last wrote it; null if a client did */
  model: string | null
  /** Tokens that the model has used for it so far */
  tokens_used: number
  updated_at: string
} | {
  type: 'invocation'
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** While it waits: whether people must decide something first */
  asks_people?: boolean | undefined
  /** While it is queued: why it has not started. Only in the receipt of one invocation, not in lists */
  queue?: InvocationQueue | undefined
  /** Where the request came from: the API, another client protocol, a command on the server, a schedule, or the console */
  door: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link'
  background: boolean
  environment: string
  /** null: the draft */
  version: string | null
  deployment_id: string | null
  message: string
  context: Record<string, unknown>
  /** The files that came with the message */
  attachments: InvocationAttachment[]
  response: string | null
  /** The structured output, if a JSON Schema was set. `response` contains it as text */
  output?: unknown | undefined
  /** The request's own `output`, if it had one. Only in the receipt of one invocation, not in lists */
  output_wanted?: {
    /** JSON Schema (2020-12, or draft 7 if `$schema` names it) */
    schema: Record<string, unknown>
    /** How many times to ask the model again, and tell it what is wrong, when its answer doesn't match */
    retries: number
  } | undefined
  /** What users and applications said about the answer; missing if no one has rated it */
  feedback?: Feedback[] | undefined
  /** The calls of the client's own tools that the answer ended with */
  calls: ({
    id: string
    name: string
    arguments: unknown
  })[]
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'session_busy' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
    message: string
    /** When to try again, in seconds, if the model's provider or a budget reported it */
    retry_after?: number | undefined
    /** With `budget_exceeded`: the budget, what was used, and the limit. With `output_invalid`: what doesn't match, as JSON pointers */
    details?: ({
      field: string
      error: string
    })[] | undefined
  } | null
  /** The last model that answered; null if none has yet */
  model: string | null
  tokens_used: number
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Input tokens read from the provider's cache, if the provider reports them */
    cached_tokens?: number | undefined
    /** Input tokens written to the provider's cache, if the provider reports them */
    cache_write_tokens?: number | undefined
    /** Reasoning tokens, included in the output, if the provider reports them */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if a model has no price */
  cost_usd: number | null
  /** The run's steps, in the order in which they ended */
  steps: InvocationStep[]
  /** How many times the run was started, and why. Each time a run resumes, a new attempt starts */
  attempts: ({
    number: number
    began_at: string
    /** `start`: the run started. `wait`: it continued after waiting. `lost`: the node that ran it stopped or failed */
    after: 'start' | 'wait' | 'lost'
  })[]
  duration_ms: number | null
  /** The schedule that started it */
  schedule_id: string | null
  /** The time of the schedule that it was started for; null if a client started it */
  scheduled_at: string | null
  /** The run that called this agent as a tool */
  parent_request_id: string | null
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** When its content was erased */
  erased_at: string | null
  /** What its caller sent in addition to the message, through a channel other than the API */
  given?: unknown | undefined
} | {
  type: 'approval'
  id: string
  agent_id: string
  request_id: string
  /** Identifies the call within its run */
  call_id: string
  /** `tool`: whether the tool can be called. `question`: the agent needs an answer. `retry`: the call was in progress when the service stopped; whether to make it again. `connection`: a user must sign in; the run continues by itself when they have */
  kind: 'tool' | 'question' | 'retry' | 'connection'
  tool: string
  /** The call's arguments, without secrets; for a question, its `question` and any `options` */
  arguments: Record<string, unknown>
  /** When the run started waiting for it */
  created_at: string
  /** When it is rejected automatically */
  expires_at: string
  /** What to sign in to, and where. The link is null for a sign-in of the project, except for keys with `manage`, and if `server.publicUrl` is not set */
  connection?: {
    name: string
    link_id: string | null
    url: string | null
  } | undefined
  /** The run that asks, if it was called as a tool by this run */
  child?: ChildRun | undefined
  status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled'
  user_id: string | null
  session_id: string | null
  /** Who started the run */
  started_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  started_by_name?: string | null | undefined
  decided_at: string | null
  /** null if no person decided: the approval expired, or its run was cancelled */
  decided_by: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  decided_by_name?: string | null | undefined
  /** The changed arguments that the tool is called with */
  changed_arguments: Record<string, unknown> | null
  note: string | null
  answer: string | null
} | {
  type: 'grant'
  id: string
  /** The connection's name */
  connection: string
  /** null: the grant of the project */
  user_id: string | null
  /** `pending`: the user has signed in, and your application has not confirmed it. `expired`: the provider no longer accepts it. `revoked`: it was ended here */
  status: 'pending' | 'active' | 'expired' | 'revoked'
  link_id: string | null
  scopes: string[]
  confirmed_by: string | null
  ended_reason: string | null
  created_at: string
  updated_at: string
} | {
  type: 'feedback'
  id: string
  agent_id: string
  request_id: string
  key: string
  score: number
  comment: string | null
  /** The user of the invocation */
  user_id: string | null
  session_id: string | null
  environment: string
  /** The version that answered; null: the draft */
  version: string | null
  deployment_id: string | null
  created_by: string
  created_at: string
  /** When the score and the comment were last replaced */
  updated_at: string
} | {
  type: 'schedule'
  id: string
  agent_id: string
  name: string | null
  cron: string | null
  timezone: string | null
  every: string | null
  at: string | null
  message: string
  attachments: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[]
  context: Record<string, unknown>
  environment: string
  overlap: 'skip' | 'queue'
  catch_up: 'none' | 'one'
  on_budget: 'fail' | 'wait'
  /** Which background runs of the agent start first. A run that has waited 15 minutes starts before newer ones of the next higher priority */
  priority: 'interactive' | 'normal' | 'batch'
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while the schedule is disabled or its agent is paused, and after its last run */
  next_at: string | null
  /** The scheduled time of the latest run */
  last_tick_at: string | null
  /** The latest run */
  last_request_id: string | null
  /** How many runs were not started, because no node was available in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many runs were not started, because an earlier one was still active or the project had reached its storage limit */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that last changed it. Runs have this key's permissions */
  updated_by: string
  created_at: string
  updated_at: string
} | {
  type: 'delivery'
  agent_id: string
  id: string
  trigger_id: string
  outcome: 'accepted' | 'filtered' | 'failed' | 'refused'
  /** Why it was refused or failed, for programs */
  code: string | null
  /** Why it was refused or failed, for people */
  reason: string | null
  /** The run that it started */
  request_id: string | null
  user_id: string | null
  session_id: string | null
  /** How often the same event arrived again. It started no other run */
  repeats: number
  /** The delivery that was replayed */
  replay_of: string | null
  /** Whether the payload is stored, so that the delivery can be replayed */
  has_payload: boolean
  /** The answer that is sent to the conversation, after the run has ended */
  answer: ChatAnswer | null
  created_at: string
  /** Without headers that can contain secrets */
  headers: Record<string, string>
  /** The body of the request as JSON */
  payload: string | null
} | {
  type: 'log'
  agent_id: string
  id: string
  timestamp: string
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  metadata: {
    request_id: string
    [name: string]: unknown
  }
}

export type ErasedUser = {
  /** Forgotten */
  memories: number
  /** Receipts whose content was erased */
  invocations: number
  /** Deleted log entries */
  logs: number
  /** Events whose content was erased */
  events: number
  /** Deleted files */
  files: number
  /** Deliveries of triggers whose payload was erased */
  deliveries: number
  /** Deleted schedules that ran for this user */
  schedules: number
  /** Sign-ins to connections that were ended, also at the provider if it responds */
  grants: number
  /** Deleted replies for an Idempotency-Key; a retry gets 404 */
  replies: number
  /** Runs that are still active. Cancel them or wait, then send the request again */
  unfinished: number
  /** The first 100 of them */
  unfinished_runs: ({
    agent_id: string
    request_id: string
    status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  })[]
}

export type WebhookWithSecret = {
  id: string
  agent_id: string | null
  url: string
  events: string[]
  status: 'enabled' | 'disabled'
  disabled_reason: 'requested' | 'gone' | 'failing' | null
  description: string | null
  secret_hint: string
  /** Until this time, deliveries are also signed with an old secret */
  previous_secret_expires_at: string | null
  /** The first failed attempt since the last success */
  failing_since: string | null
  /** The key, or a person's role. The webhook belongs to the project and keeps working when they end. Null: a callback */
  created_by: string | null
  created_at: string
  updated_at: string
  /** Returned only in this reply */
  secret: string
}

export type CreateWebhook = {
  /** Only events of this agent (ID or name). null: all agents, except those whose `security` restricts IP addresses or requires client certificates or one-time codes. Those agents need their own webhooks */
  agent_id?: string | null | undefined
  /** A public https URL; the operator can allow others */
  url: string
  /** `*` means every event */
  events: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[]
  description?: string | null | undefined
}

export type Webhook = {
  id: string
  agent_id: string | null
  url: string
  events: string[]
  status: 'enabled' | 'disabled'
  disabled_reason: 'requested' | 'gone' | 'failing' | null
  description: string | null
  secret_hint: string
  /** Until this time, deliveries are also signed with an old secret */
  previous_secret_expires_at: string | null
  /** The first failed attempt since the last success */
  failing_since: string | null
  /** The key, or a person's role. The webhook belongs to the project and keeps working when they end. Null: a callback */
  created_by: string | null
  created_at: string
  updated_at: string
}

export type UpdateWebhook = {
  /** A public https URL; the operator can allow others */
  url?: string | undefined
  /** `*` means every event */
  events?: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[] | undefined
  description?: string | null | undefined
  status?: 'enabled' | 'disabled' | undefined
}

export type WebhookTest = {
  event_id: string
  delivered: boolean
  response_status: number | null
  /** null: the receiver accepted it */
  error: 'http_error' | 'redirect' | 'timeout' | 'dns_failed' | 'connect_failed' | 'tls_failed' | 'reset' | 'invalid_response' | 'too_large' | 'blocked_address' | 'invalid_url' | 'agent_closed' | 'internal' | null
  duration_ms: number
}

export type DeliveryWithBody = {
  id: string
  webhook_id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  status: 'pending' | 'delivered' | 'failed'
  attempt_count: number
  /** The latest attempts, oldest first */
  attempts: DeliveryAttempt[]
  /** null: no attempt is planned, or one is in progress */
  next_attempt_at: string | null
  created_at: string
  delivered_at: string | null
  /** The exact body that is sent */
  body: string
}

export type Listener = {
  id: string
  agent_id: string | null
  events: string[]
  created_at: string
  /** When it expires; every request extends it */
  expires_at: string
  /** Events that you have not confirmed in `received`, oldest first */
  deliveries: HeardEvent[]
}

export type HeardEvent = {
  id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  /** The exact body that is sent */
  body: string
  created_at: string
}

export type CreateListener = {
  /** Only events of this agent (ID or name). null: all agents, except those whose `security` restricts IP addresses or requires client certificates or one-time codes. Those agents need their own webhooks */
  agent_id?: string | null | undefined
  /** `*` means every event */
  events: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[]
}

export type KeyWithSecret = {
  id: string
  name: string
  /** null: it has access to all projects */
  project_id: string | null
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  role: string | null
  tier: string
  hint: string
  status: 'active' | 'expired' | 'revoked'
  created_at: string
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  /** The person whom the key belongs to. It never has more permissions than they do, and stops working when their role ends. null: the key belongs to no person */
  person_id: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  person_name?: string | null | undefined
  expires_at: string | null
  last_used_at: string | null
  previous_secret_expires_at: string | null
  revoked_at: string | null
  /** Returned only in this reply */
  secret: string
}

export type CreateKey = {
  name: string
  /** Limits the key to one agent (ID or name); with null, the key has access to the whole project */
  agent_id?: string | null | undefined
  permissions?: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[] | undefined
  /** `admin`, `developer`, `viewer`, `caller`, or a role from the configuration, instead of `permissions` */
  role?: string | undefined
  /** A rate-limit tier from the configuration. Default: `limits.defaultTier`, or your own tier if that is slower */
  tier?: string | undefined
  expires_at?: string | null | undefined
  /** Whether the key has access to all projects. Only a key with access to all projects can create one. Default: true if the new key has the permission `manage`, the key that creates it has access to all projects, and the request names no project */
  all_projects?: boolean | undefined
}

export type Key = {
  id: string
  name: string
  /** null: it has access to all projects */
  project_id: string | null
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  role: string | null
  tier: string
  hint: string
  status: 'active' | 'expired' | 'revoked'
  created_at: string
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  /** The person whom the key belongs to. It never has more permissions than they do, and stops working when their role ends. null: the key belongs to no person */
  person_id: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  person_name?: string | null | undefined
  expires_at: string | null
  last_used_at: string | null
  previous_secret_expires_at: string | null
  revoked_at: string | null
}

export type Self = {
  id: string
  kind: 'key' | 'token' | 'local' | 'person'
  /** The person who is signed in, or whom the key belongs to */
  person_id: string | null
  name: string | null
  /** The project of this request */
  project_id: string
  /** `service`: it has access to all projects */
  reach: 'project' | 'service'
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  /** Its rate-limit tier */
  tier: string
  /** The tiers you can give to keys you create, slowest first */
  tiers: ({
    name: string
    requests_per_minute: number
    burst: number
  })[]
  /** The tier of keys you create without naming one */
  default_tier: string
  /** The roles you can give to keys you create */
  roles: ({
    name: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  })[]
  expires_at: string | null
}

export type CreatePersonalKey = {
  name: string
  /** Limits the key to one agent (ID or name); with null, the key has access to the whole project */
  agent_id?: string | null | undefined
  permissions?: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[] | undefined
  /** `admin`, `developer`, `viewer`, `caller`, or a role from the configuration, instead of `permissions` */
  role?: string | undefined
  /** A rate-limit tier from the configuration. Default: `limits.defaultTier`, or your own tier if that is slower */
  tier?: string | undefined
  expires_at?: string | null | undefined
}

export type NewKeyFactor = {
  key_id: string
  status: 'pending'
  /** Base32, for typing in */
  secret: string
  /** `otpauth://…`, for the QR code */
  uri: string
}

export type KeyFactor = {
  key_id: string
  status: 'none' | 'pending' | 'active'
  locked_until: string | null
  created_at: string | null
  created_by: string | null
}

export type ConsoleLink = {
  /** Returned only in this reply */
  token: string
  key_id: string
  expires_at: string
}

export type ConsoleSession = {
  id: string
  key_id: string | null
  key_name: string | null
  /** The person who signed in; null if a key was used */
  person_id: string | null
  person_name: string | null
  /** The identity provider's name in the configuration */
  issuer: string | null
  /** The agent that the key is limited to */
  agent_id: string | null
  /** The IP address of the sign-in */
  address: string
  /** The browser's user agent */
  browser: string
  /** Whether this request uses the session */
  current: boolean
  created_at: string
  /** Accurate to the minute */
  last_used_at: string
  /** When the session expires. It expires earlier if it is not used */
  expires_at: string
}

export type Person = {
  id: string
  name: string
  email: string | null
  email_verified: boolean
  /** The person's accounts at identity providers */
  identities: ({
    issuer: string
    subject: string
  })[]
  /** Their roles in this project; in all projects if the request names none and the key has access to all projects */
  roles: ({
    id: string
    /** null: all projects */
    project_id: string | null
    role: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
    /** `granted`, or `group:` and the identity provider's name */
    source: string
    created_at: string
  })[]
  created_at: string
  /** When an identity provider last confirmed the person */
  last_seen_at: string
}

export type PersonWithLostKeys = {
  id: string
  name: string
  email: string | null
  email_verified: boolean
  /** The person's accounts at identity providers */
  identities: ({
    issuer: string
    subject: string
  })[]
  /** Their roles in this project; in all projects if the request names none and the key has access to all projects */
  roles: ({
    id: string
    /** null: all projects */
    project_id: string | null
    role: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
    /** `granted`, or `group:` and the identity provider's name */
    source: string
    created_at: string
  })[]
  created_at: string
  /** When an identity provider last confirmed the person */
  last_seen_at: string
  /** Their keys whose permissions were reduced; the permissions don't come back on their own */
  narrowed_keys: string[]
  /** Their keys that no longer work */
  revoked_keys: string[]
}

export type SetPersonRole = {
  /** `admin`, `developer`, `viewer`, `caller`, or a role from the configuration. null: remove the role */
  role: string | null
  /** In all projects. A service administrator has the role admin in all projects */
  all_projects?: boolean | undefined
}

export type RemovedPerson = {
  id: string
  deleted: true
  /** Their personal keys, which no longer work */
  revoked_keys: string[]
  /** Service keys they created, which keep working */
  kept_keys: string[]
  /** Webhooks they created, which keep working */
  kept_webhooks: string[]
}

export type InvitationWithToken = {
  id: string
  email: string
  role: string
  /** null: all projects */
  project_id: string | null
  /** `ended`: its creator's key or role has ended, or no longer has enough permissions */
  status: 'pending' | 'accepted' | 'expired' | 'ended'
  created_at: string
  created_by: string
  expires_at: string
  accepted_at: string | null
  /** The person who accepted it */
  accepted_by: string | null
  /** Returned only in this reply */
  token: string
}

export type CreateInvitation = {
  /** The invited person's email address, which the identity provider must have verified */
  email: string
  /** `admin`, `developer`, `viewer`, `caller`, or a role from the configuration */
  role: string
  /** For all projects instead of this one. Requires access to all projects */
  all_projects?: boolean | undefined
  /** Hours until the invitation expires */
  expires_in_hours?: number | undefined
}

export type Invitation = {
  id: string
  email: string
  role: string
  /** null: all projects */
  project_id: string | null
  /** `ended`: its creator's key or role has ended, or no longer has enough permissions */
  status: 'pending' | 'accepted' | 'expired' | 'ended'
  created_at: string
  created_by: string
  expires_at: string
  accepted_at: string | null
  /** The person who accepted it */
  accepted_by: string | null
}

export type Project = {
  id: string
  name: string
  description: string | null
  limits: ProjectLimits
  /** What it stores, as last measured; null if it has no limit or was not measured yet */
  stored_bytes: number | null
  /** Whether requests that name no project use this one */
  is_default: boolean
  created_at: string
  updated_at: string
}

export type ProjectLimits = {
  /** For all of the project's callers together. null: no limit */
  requests_per_minute: number | null
  /** Concurrent runs of all its agents, on all nodes. Above it, requests get 429 and background runs wait. null: no limit */
  concurrent_runs: number | null
  /** Bytes of receipts, logs, memories and files, measured about once per minute. Above it, the project accepts no new messages, memories or files (409), and its schedules skip their runs. null: no limit */
  stored_bytes: number | null
  /** Total bytes of its files. An upload that would exceed it gets 409. null: no limit */
  file_bytes: number | null
  /** Receipts, approvals, logs, memories, deliveries, replays and files are deleted after this many days. null: the service's retention applies */
  retention_days: number | null
}

export type CreateProject = {
  name: string
  description?: string | null | undefined
  limits?: SetProjectLimits | undefined
}

export type SetProjectLimits = {
  /** For all of the project's callers together. null: no limit */
  requests_per_minute?: number | null | undefined
  /** Concurrent runs of all its agents, on all nodes. Above it, requests get 429 and background runs wait. null: no limit */
  concurrent_runs?: number | null | undefined
  /** Bytes of receipts, logs, memories and files, measured about once per minute. Above it, the project accepts no new messages, memories or files (409), and its schedules skip their runs. null: no limit */
  stored_bytes?: number | null | undefined
  /** Total bytes of its files. An upload that would exceed it gets 409. null: no limit */
  file_bytes?: number | null | undefined
  /** Receipts, approvals, logs, memories, deliveries, replays and files are deleted after this many days. null: the service's retention applies */
  retention_days?: number | null | undefined
}

export type UpdateProject = {
  name?: string | undefined
  description?: string | null | undefined
  limits?: SetProjectLimits | undefined
}

export type MovedAgent = {
  id: string
  project_id: string
  /** The personal keys that stopped working with the move */
  revoked_keys: string[]
}

export type MoveAgent = {
  /** ID or name */
  project: string
}

export type Pause = {
  /** Whether this project is paused, by its own pause or by the service's */
  paused: boolean
  /** This project's pause */
  project: {
    reason: string
    /** A key, a person or another actor. For a pause of the service, only returned to keys with access to all projects */
    paused_by: string | null
    paused_at: string
  } | null
  /** The whole service's pause */
  service: {
    reason: string
    /** A key, a person or another actor. For a pause of the service, only returned to keys with access to all projects */
    paused_by: string | null
    paused_at: string
  } | null
}

export type BeginPause = {
  /** Shown to clients whose messages are refused */
  reason: string
  /** `service`: every project; requires access to all projects */
  scope?: 'project' | 'service' | undefined
}

export type EndPause = {
  /** `service`: every project; requires access to all projects */
  scope?: 'project' | 'service' | undefined
}

export type Secret = {
  name: string
  hosts: string[]
  /** A secret with this name is also in `moorage.yaml`, which is used instead */
  overridden: boolean
  created_at: string
  updated_at: string
}

export type SetSecret = {
  /** The secret value, never returned */
  value: string
  /** Hosts that it can be sent to: `api.example.com` on any port, `api.example.com:8443` on that one */
  hosts: string[]
}

export type Connection = {
  id: string
  name: string
  /** `mcp`: an MCP server that asks for OAuth. `oauth2`: any OAuth 2.0 provider */
  kind: 'mcp' | 'oauth2'
  /** `user`: each user signs in, and a run uses its own user's token. `service`: one sign-in for the project */
  as: 'user' | 'service'
  /** For `mcp`: the URL of the MCP server */
  url: string | null
  /** For `oauth2`: the provider's issuer URL. The service reads its metadata there */
  issuer: string | null
  /** For `oauth2` without `issuer`: where users sign in */
  authorize_url: string | null
  /** For `oauth2` without `issuer`: where the service gets tokens */
  token_url: string | null
  /** For `oauth2` without `issuer`: where the service revokes tokens, if possible */
  revoke_url: string | null
  /** The client ID that the provider gave you. `mcp` doesn't need one if the server registers clients */
  client_id: string | null
  /** The scopes to ask for. Empty: those that the MCP server names */
  scopes: string[]
  /** Hosts that tokens can be sent to */
  hosts: string[]
  /** Origins of your application. A link can send the browser back to them */
  return_origins: string[]
  has_client_secret: boolean
  /** The redirect URI to enter at the provider. null: `server.publicUrl` is not set */
  redirect_uri: string | null
  created_at: string
  updated_at: string
}

export type SetConnection = {
  /** `mcp`: an MCP server that asks for OAuth. `oauth2`: any OAuth 2.0 provider */
  kind: 'mcp' | 'oauth2'
  /** `user`: each user signs in, and a run uses its own user's token. `service`: one sign-in for the project */
  as?: 'user' | 'service' | undefined
  /** For `mcp`: the URL of the MCP server */
  url?: string | null | undefined
  /** For `oauth2`: the provider's issuer URL. The service reads its metadata there */
  issuer?: string | null | undefined
  /** For `oauth2` without `issuer`: where users sign in */
  authorize_url?: string | null | undefined
  /** For `oauth2` without `issuer`: where the service gets tokens */
  token_url?: string | null | undefined
  /** For `oauth2` without `issuer`: where the service revokes tokens, if possible */
  revoke_url?: string | null | undefined
  /** The client ID that the provider gave you. `mcp` doesn't need one if the server registers clients */
  client_id?: string | null | undefined
  /** The client secret, never returned. null: the client has none. If absent, the stored secret is kept, unless the provider or the client changes */
  client_secret?: string | null | undefined
  /** The scopes to ask for. Empty: those that the MCP server names */
  scopes?: string[] | undefined
  /** Hosts that tokens can be sent to: `api.example.com` on any port, `api.example.com:8443` on that one. Required for `oauth2`. Default for `mcp`: the MCP server's host */
  hosts?: string[] | undefined
  /** Origins of your application. A link can send the browser back to them */
  return_origins?: string[] | undefined
}

export type ConnectionTest = {
  ok: boolean
  /** What the operator should check */
  error: string | null
  /** What the test could not check, or what is unusual */
  warnings: string[]
  /** The authorization server. null: it was not found, or it has no known name */
  issuer: string | null
  /** Where users sign in */
  authorize_url: string | null
  /** `given`: the `client_id` that you set. `metadata_document`: the provider reads the document at the URL that is the client ID. `registered`: the service has registered itself */
  client: 'given' | 'metadata_document' | 'registered' | null
  client_id: string | null
  /** The scopes that users are asked for */
  scopes: string[]
  /** Whether sign-ins also end at the provider (RFC 7009) */
  can_revoke: boolean
  duration_ms: number
}

export type ConnectionLink = {
  link_id: string
  /** Open it in the browser of this user. It can be used for one sign-in */
  url: string
  expires_at: string
}

export type CreateConnectionLink = {
  /** Who signs in. Required for `as: user`, not allowed for `as: service` */
  user_id?: string | undefined
  /** Where the browser goes afterwards, with `connection`, `link_id` and `status` (`ok` or `denied`) in the query. Its origin must be one of the connection's `return_origins`. Default: a page of this service */
  return_to?: string | undefined
}

export type ConnectionGrant = {
  id: string
  /** The connection's name */
  connection: string
  /** null: the grant of the project */
  user_id: string | null
  /** `pending`: the user has signed in, and your application has not confirmed it. `expired`: the provider no longer accepts it. `revoked`: it was ended here */
  status: 'pending' | 'active' | 'expired' | 'revoked'
  link_id: string | null
  scopes: string[]
  confirmed_by: string | null
  ended_reason: string | null
  created_at: string
  updated_at: string
}

export type ConfirmConnectionLink = {
  /** Required for `as: user`, not allowed for `as: service` */
  user_id?: string | undefined
}

export type ConnectedApplication = {
  id: string
  /** The name that the application gave itself */
  name: string
  /** The URL of the application's metadata document. Its host is the application's owner */
  client_id: string
  /** Where the application received its code */
  redirect_uri: string
  /** The MCP server's URL that the application can use */
  resource: string
  /** The only agent it can use; null for the whole project */
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  /** The person who connected it; null if a key was used to sign in */
  person_id: string | null
  /** The user of its runs: the ID of the person or the key that connected it */
  user_id: string
  /** The role or key that connected it. The application ends with it */
  created_by: string
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  created_by_name?: string | null | undefined
  created_at: string
  /** Accurate to a few seconds */
  last_used_at: string | null
  /** When its access ends, unless it refreshes its token earlier */
  expires_at: string
}

export type Provider = {
  /** The first part of a model name, as in `name/model` */
  name: string
  type: 'openai-compatible' | 'openai' | 'anthropic'
  /** null: the vendor's own endpoint */
  base_url: string | null
  has_key: boolean
  vision: boolean | Record<string, boolean> | null
  /** With `anthropic`: mark the start of prompts for the provider to cache. Other protocols have no such marks. Set it to `false` if an endpoint refuses `cache_control` */
  cache: boolean
  /** `configuration`: defined in `moorage.yaml`, and changed there */
  source: 'api' | 'configuration'
  /** A provider with this name was also set through the API. The one from `moorage.yaml` is used */
  overridden: boolean
  created_at: string | null
  updated_at: string | null
}

export type SetProvider = {
  /** The API protocol */
  type?: 'openai-compatible' | 'openai' | 'anthropic' | undefined
  /** The endpoint up to `/v1`; required for `openai-compatible`. null: the vendor's own endpoint */
  base_url?: string | null | undefined
  /** The provider's API key, never returned. null: the provider needs no key. If absent, the stored key is kept, unless the origin of `base_url` changes */
  api_key?: string | null | undefined
  /** Whether its models accept images: `true`, `false`, or per model name. null: images are sent until a model refuses them */
  vision?: boolean | Record<string, boolean> | null | undefined
  /** With `anthropic`: mark the start of prompts for the provider to cache. Other protocols have no such marks. Set it to `false` if an endpoint refuses `cache_control` */
  cache?: boolean | undefined
}

export type ProviderModels = {
  models: ({
    id: string
    /** The name that agents use: `provider/id` */
    model: string
  })[]
  /** Why the provider returned no list */
  error: string | null
}

export type ProviderTest = {
  ok: boolean
  /** What the operator should check */
  error: string | null
  /** `untested`: the list of models is public, so test a `model`. `none`: the provider has no key */
  key: 'accepted' | 'untested' | 'none'
  /** How many models it has, if it reports them */
  models: number
  duration_ms: number
}

export type TestProvider = {
  /** A model of the provider, without the provider's name */
  model?: string | undefined
}

export type Budget = {
  id: string
  /** null: the budget is for the whole service */
  project_id: string | null
  name: string
  scope: {
    type: 'service' | 'project' | 'agent' | 'key' | 'user'
    id: string | null
  }
  limit: {
    cost_usd?: number | undefined
    tokens?: number | undefined
    runs?: number | undefined
  }
  per: 'hour' | 'day' | 'month' | 'ever'
  timezone: string
  thresholds: number[]
  action: 'refuse' | 'notify'
  /** The key or user that these sums are for, if each has its own limit: the one that has used the most */
  subject: string | null
  /** Spent in this period, in the unit of the limit: dollars, tokens or runs */
  used: number
  /** Reserved by calls in progress, in the unit of the limit: dollars, tokens or runs */
  reserved: number
  /** When the budget resets; null: never */
  resets_at: string | null
  /** Why the budget refuses every call of a model or an agent, such as a model without a price. Not included in lists */
  warnings?: string[] | undefined
  created_by: string
  created_at: string
  updated_at: string
}

export type CreateBudget = {
  name: string
  /** Exactly one of `cost_usd`, `tokens` or `runs`. Tokens are input plus output tokens */
  limit: {
    cost_usd?: number | undefined
    tokens?: number | undefined
    runs?: number | undefined
  }
  /** Percentages of the limit at which the event `budget.threshold` is sent, once each per period */
  thresholds?: number[] | undefined
  /** `refuse`: calls that could exceed the limit are refused. `notify`: only events are sent */
  action?: 'refuse' | 'notify' | undefined
  /** Whose spending is limited */
  scope: {
    type: 'service' | 'project' | 'agent' | 'key' | 'user'
    /** An agent (ID or name), a key or a user. Null with the scope `key` or `user` means that each key or user has its own limit */
    id?: string | null | undefined
  }
  /** When the budget resets: every hour, day or month, or never */
  per: 'hour' | 'day' | 'month' | 'ever'
  /** The time zone in which days and months begin, such as `Europe/Berlin` */
  timezone?: string | undefined
}

export type UpdateBudget = {
  name?: string | undefined
  /** Exactly one of `cost_usd`, `tokens` or `runs`. Tokens are input plus output tokens */
  limit?: {
    cost_usd?: number | undefined
    tokens?: number | undefined
    runs?: number | undefined
  } | undefined
  /** Percentages of the limit at which the event `budget.threshold` is sent, once each per period */
  thresholds?: number[] | undefined
  action?: 'refuse' | 'notify' | undefined
}

export type AuditEntry = {
  id: string
  /** The entry's position in the chain; null until it has one, shortly after it is written */
  seq: number | null
  created_at: string
  /** `console`: from a console session. `local`: a command on the server, or the service itself */
  actor_kind: 'key' | 'token' | 'local' | 'console' | 'person' | null
  /** For example a key or a person. Null if the credentials were not recognized */
  actor: string | null
  /** The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists */
  actor_name?: string | null | undefined
  /** The personal key that was used */
  key_id: string | null
  /** The operation's `operationId`; null if the path matches no operation */
  action: string | null
  project_id: string
  agent_id: string | null
  /** The ID of what was changed */
  target: string | null
  /** `started`: written before a change that takes several transactions. A second entry follows when the change is complete */
  outcome: 'success' | 'started' | 'refused'
  /** The error code, if the request was refused */
  code: string | null
  /** The names of the fields in the request, never their values */
  fields: string[]
  /** How many refusals of the same kind this entry stands for */
  times: number
  /** When the first of them happened */
  request_id: string
  /** Null for commands on the server, and for refusals from several addresses */
  address: string | null
  prev_hash: string | null
  hash: string | null
}

export type AuditHead = {
  /** 0 if there are no entries */
  seq: number
  hash: string
}

export type System = {
  version: string
  /** The git commit that it was built from, if known */
  commit: string | null
  /** Versions of the database's schema, by the names of migrations */
  schema: {
    /** The database's latest migration */
    current: string
    /** The oldest schema that this version can migrate */
    supported_from: string
  }
  /** The process that answered, one of those that share the database */
  node: string
  engine: 'sqlite' | 'postgres'
  /** When this process started */
  started_at: string
  /** The service's clock */
  now: string
  /** Active runs on this node */
  runs_live: number
  /** The processes that use this database, including those that stopped unexpectedly in the last hour */
  nodes: ({
    node: string
    /** silent: it has not reported for 7 seconds, and other nodes take over its work */
    status: 'live' | 'silent'
    version: string
    /** The git commit that it was built from, if known */
    commit: string | null
    started_at: string
    /** When it last reported; every second */
    seen_at: string
    runs_live: number
    /** The share of the last half minute in which its event loop was busy */
    busy_percent: number
    memory_bytes: number
  })[]
  /** On all nodes */
  queues: ({
    queue: 'runs' | 'deliveries' | 'jobs'
    waiting: number
    /** In progress on a node */
    leased: number
    /** When the oldest of them started waiting */
    oldest: string | null
  })[]
  storage: {
    /** When the sizes were measured. In a large database, this happens every hour, and when they are requested and older than a minute */
    measured_at: string
    /** Database size */
    bytes: number
    /** How many rows there are of each kind of data */
    rows: Record<string, number>
    /** How many of these rows are from each of the last 30 days in UTC, oldest first */
    days: ({
      day: string
      invocations: number
      logs: number
      audit_log: number
    })[]
  }
  /** This node's current configuration; secrets appear as `(set)` */
  settings: ({
    setting: string
    value: unknown
    origin: string | null
  })[]
}

export type ErrorCode = ErrorReply['error']['code']

export const STATUS_OF: Record<ErrorCode, number> = {"invalid_request":400,"unauthorized":401,"mfa_required":401,"forbidden":403,"https_required":403,"not_found":404,"method_not_allowed":405,"request_timeout":408,"conflict":409,"agent_paused":409,"session_busy":409,"idempotency_key_in_use":409,"payload_too_large":413,"unsupported_media_type":415,"range_not_satisfiable":416,"idempotency_key_reused":422,"rate_limited":429,"budget_exceeded":429,"headers_too_large":431,"server_error":500,"output_invalid":500,"unavailable":503,"timeout":504}

export type Operations = {
  /** Invoke an agent */
  invokeAgent: {
    params: { agent_id: string }
    body: Invoke
    data: InvocationResult
  }
  /** List invocations */
  listInvocations: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'finished_at' | '-finished_at' | 'duration_ms' | '-duration_ms' | 'tokens_used' | '-tokens_used' | 'status' | '-status' | 'id' | '-id' | undefined; status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined; activity?: 'working' | 'asking' | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined; session_id?: string | undefined; user_id?: string | undefined; schedule_id?: string | undefined }
    item: Invocation
  }
  /** Get an invocation */
  getInvocation: {
    params: { agent_id: string; request_id: string }
    data: Invocation
  }
  /** Erase an invocation */
  eraseInvocation: {
    params: { agent_id: string; request_id: string }
    data: Invocation
  }
  /** Stream an invocation */
  streamInvocation: {
    params: { agent_id: string; request_id: string }
    data: InvocationResult
  }
  /** Cancel an invocation */
  cancelInvocation: {
    params: { agent_id: string; request_id: string }
    data: Invocation
  }
  /** Run steps (remote agents) */
  takeSteps: {
    params: { agent_id: string; request_id: string }
    body: AskSteps
    data: StepsResult
  }
  /** Download a run's file (remote agents) */
  getRunFile: {
    params: { agent_id: string; request_id: string; file_id: string }
    data: unknown
  }
  /** Get an invocation's prompt */
  getPrompt: {
    params: { agent_id: string; request_id: string }
    query: { step?: number | undefined }
    data: Prompt
  }
  /** Get an invocation's memories and deliveries */
  getEffects: {
    params: { agent_id: string; request_id: string }
    data: Effects
  }
  /** List invocations of all agents */
  listAllInvocations: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | undefined; agent_id?: string | undefined; status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined; session_id?: string | undefined; user_id?: string | undefined; request_id?: string | undefined; parent_request_id?: string | undefined }
    item: Invocation
  }
  /** List approvals */
  listApprovals: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'expires_at' | '-expires_at' | 'decided_at' | '-decided_at' | 'status' | '-status' | 'id' | '-id' | undefined; agent_id?: string | undefined; status?: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | undefined; kind?: 'tool' | 'question' | 'retry' | 'connection' | undefined; request_id?: string | undefined; user_id?: string | undefined; session_id?: string | undefined; start_time?: string | undefined; end_time?: string | undefined }
    item: Approval
  }
  /** Get an approval */
  getApproval: {
    params: { agent_id: string; request_id: string; call_id: string }
    data: Approval
  }
  /** Decide an approval */
  decideApproval: {
    params: { agent_id: string; request_id: string; call_id: string }
    body: DecideApproval
    data: Approval
  }
  /** Give feedback */
  giveFeedback: {
    params: { agent_id: string; request_id: string }
    body: GiveFeedback
    data: Feedback
  }
  /** Get an invocation's feedback */
  getFeedback: {
    params: { agent_id: string; request_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | undefined }
    item: Feedback
  }
  /** Delete feedback */
  deleteFeedback: {
    params: { agent_id: string; request_id: string }
    query: { key?: string | undefined }
    data: {
      request_id: string
      key: string
      deleted: true
    }
  }
  /** List feedback */
  listFeedback: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'score' | '-score' | 'id' | '-id' | undefined; agent_id?: string | undefined; request_id?: string | undefined; environment?: string | undefined; version?: string | undefined; deployment_id?: string | undefined; key?: string | undefined; user_id?: string | undefined; session_id?: string | undefined; score_below?: number | undefined; score_above?: number | undefined; commented?: 'true' | 'false' | undefined; start_time?: string | undefined; end_time?: string | undefined }
    item: Feedback
  }
  /** Create a callback */
  createCallback: {
    params: { agent_id: string; request_id: string }
    body: NewCallback
    data: CallbackWithSecret
  }
  /** List callbacks */
  listCallbacks: {
    params: { agent_id: string; request_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | undefined }
    item: Callback
  }
  /** Get a callback */
  getCallback: {
    params: { agent_id: string; request_id: string; callback_id: string }
    data: Callback
  }
  /** Delete a callback */
  deleteCallback: {
    params: { agent_id: string; request_id: string; callback_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Upload a file */
  createFile: {
    query: { name?: string | undefined; user_id?: string | undefined; expires_in_seconds?: number | undefined }
    data: StoredFile
  }
  /** List files */
  listFiles: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'size' | '-size' | 'id' | '-id' | undefined; user_id?: string | undefined; media_type?: string | undefined; after?: string | undefined }
    item: StoredFile
  }
  /** Get a file */
  getFile: {
    params: { file_id: string }
    data: StoredFile
  }
  /** Delete a file */
  deleteFile: {
    params: { file_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Download a file */
  getFileContent: {
    params: { file_id: string }
    data: unknown
  }
  /** Create an agent */
  createAgent: {
    body: CreateAgent
    data: Agent
  }
  /** List agents */
  listAgents: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'status' | '-status' | 'id' | '-id' | undefined }
    item: AgentSummary
  }
  /** List agents with their activity in the last 24 hours */
  listOverview: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'status' | '-status' | 'id' | '-id' | undefined; failing?: 'true' | undefined }
    item: AgentOverview
  }
  /** List agents you can invoke */
  listInvocable: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'id' | '-id' | undefined; agent_id?: string | undefined }
    item: InvocableAgent
  }
  /** Get an agent */
  getAgent: {
    params: { agent_id: string }
    data: Agent
  }
  /** Update an agent */
  updateAgent: {
    params: { agent_id: string }
    body: UpdateAgent
    data: Agent
  }
  /** Delete an agent */
  deleteAgent: {
    params: { agent_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Test a tool */
  testTool: {
    params: { agent_id: string }
    body: TestTool
    data: ToolTest
  }
  /** Check a remote agent */
  checkRemote: {
    params: { agent_id: string }
    body: CheckRemote
    data: RemoteCheck
  }
  /** Deploy a version to an environment */
  createDeployment: {
    params: { agent_id: string }
    body: CreateDeployment
    data: NewDeployment
  }
  /** List deployments */
  listDeployments: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'environment' | '-environment' | 'version' | '-version' | 'status' | '-status' | 'id' | '-id' | undefined; environment?: string | undefined; version?: string | undefined; status?: 'active' | 'superseded' | 'rolled_back' | 'rolling_out' | 'paused' | 'aborted' | undefined }
    item: Deployment
  }
  /** Get a deployment */
  getDeployment: {
    params: { agent_id: string; deployment_id: string }
    data: DeploymentWithDefinition
  }
  /** Get a deployment by ID */
  findDeployment: {
    params: { deployment_id: string }
    data: DeploymentWithDefinition
  }
  /** Compare a deployment */
  diffDeployment: {
    params: { agent_id: string; deployment_id: string }
    query: { from?: string | undefined }
    data: DeploymentDiff
  }
  /** Roll back a deployment */
  rollbackDeployment: {
    params: { agent_id: string; deployment_id: string }
    body?: {
      message?: string | null | undefined
      /** Also removes the memories that runs of the undone deployment have written */
      forget?: boolean | undefined
      dry_run?: boolean | undefined
    }
    data: Deployment | RollbackPreview
  }
  /** Promote a gradual deployment */
  promoteDeployment: {
    params: { agent_id: string; deployment_id: string }
    data: Deployment
  }
  /** Pause a gradual deployment */
  pauseDeployment: {
    params: { agent_id: string; deployment_id: string }
    data: Deployment
  }
  /** Resume a gradual deployment */
  resumeDeployment: {
    params: { agent_id: string; deployment_id: string }
    data: Deployment
  }
  /** Abort a gradual deployment */
  abortDeployment: {
    params: { agent_id: string; deployment_id: string }
    body?: {
      /** Also removes the memories that runs of the deployment have written */
      forget?: boolean | undefined
    }
    data: Deployment
  }
  /** Set up a set */
  putSet: {
    params: { agent_id: string; name: string }
    body: PutSet
    data: CaseSet
  }
  /** Get a set */
  getSet: {
    params: { agent_id: string; name: string }
    data: CaseSetWithCases
  }
  /** Delete a set */
  deleteSet: {
    params: { agent_id: string; name: string }
    data: {
      name: string
      deleted: true
    }
  }
  /** List sets */
  listSets: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | undefined }
    item: CaseSet
  }
  /** Start a replay */
  createReplay: {
    params: { agent_id: string }
    body: CreateReplay
    data: Replay
  }
  /** List replays */
  listReplays: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'finished_at' | '-finished_at' | undefined; status?: 'running' | 'completed' | 'cancelled' | undefined; set?: string | undefined; version?: string | undefined }
    item: Replay
  }
  /** Get a replay */
  getReplay: {
    params: { agent_id: string; replay_id: string }
    data: Replay
  }
  /** List a replay's cases */
  listReplayCases: {
    params: { agent_id: string; replay_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'position' | '-position' | undefined; outcome?: 'regressed' | 'improved' | 'passed' | 'failed' | 'unknown' | undefined }
    item: ReplayCase
  }
  /** Cancel a replay */
  cancelReplay: {
    params: { agent_id: string; replay_id: string }
    data: Replay
  }
  /** Create a schedule */
  createSchedule: {
    params: { agent_id: string }
    body: CreateSchedule
    data: ScheduleWithRuns
  }
  /** List schedules */
  listSchedules: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'next_at' | '-next_at' | 'name' | '-name' | 'id' | '-id' | undefined; enabled?: 'true' | 'false' | undefined }
    item: Schedule
  }
  /** Get a schedule */
  getSchedule: {
    params: { agent_id: string; schedule_id: string }
    data: ScheduleWithRuns
  }
  /** Update a schedule */
  updateSchedule: {
    params: { agent_id: string; schedule_id: string }
    body: UpdateSchedule
    data: ScheduleWithRuns
  }
  /** Delete a schedule */
  deleteSchedule: {
    params: { agent_id: string; schedule_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Run a schedule now */
  runSchedule: {
    params: { agent_id: string; schedule_id: string }
    data: InvocationQueued
  }
  /** Create a trigger */
  createTrigger: {
    params: { agent_id: string }
    body: CreateTrigger
    data: Trigger
  }
  /** List triggers */
  listTriggers: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'id' | '-id' | undefined; enabled?: 'true' | 'false' | undefined }
    item: Trigger
  }
  /** Get a trigger */
  getTrigger: {
    params: { agent_id: string; trigger_id: string }
    data: Trigger
  }
  /** Update a trigger */
  updateTrigger: {
    params: { agent_id: string; trigger_id: string }
    body: UpdateTrigger
    data: Trigger
  }
  /** Delete a trigger */
  deleteTrigger: {
    params: { agent_id: string; trigger_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Test a trigger */
  testTrigger: {
    params: { agent_id: string; trigger_id: string }
    body?: TestTrigger
    data: TestedTrigger
  }
  /** List a trigger's deliveries */
  listTriggerDeliveries: {
    params: { agent_id: string; trigger_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'id' | '-id' | undefined; outcome?: 'accepted' | 'filtered' | 'failed' | 'refused' | undefined }
    item: IncomingDelivery
  }
  /** Get a trigger's delivery */
  getTriggerDelivery: {
    params: { agent_id: string; trigger_id: string; delivery_id: string }
    data: IncomingDeliveryWithPayload
  }
  /** Replay a delivery */
  replayTriggerDelivery: {
    params: { agent_id: string; trigger_id: string; delivery_id: string }
    data: ReplayedDelivery
  }
  /** Create a link */
  createLink: {
    params: { agent_id: string }
    body: CreateLink
    data: Link
  }
  /** List links */
  listLinks: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'expires_at' | '-expires_at' | 'name' | '-name' | 'id' | '-id' | undefined }
    item: Link
  }
  /** Get a link */
  getLink: {
    params: { agent_id: string; link_id: string }
    data: Link
  }
  /** Delete a link */
  deleteLink: {
    params: { agent_id: string; link_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Get an agent's log entries */
  getLogs: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'timestamp' | '-timestamp' | undefined; level?: string | undefined; start_time?: string | undefined; end_time?: string | undefined; request_id?: string | undefined; after?: string | undefined; search?: string | undefined }
    item: LogEntry
  }
  /** Get a metric of an agent over time */
  getMetrics: {
    params: { agent_id: string }
    query: { metric: 'response_time' | 'throughput' | 'error_rate' | 'tokens' | 'cost' | 'feedback'; start_time?: string | undefined; end_time?: string | undefined; granularity?: '1m' | '5m' | '1h' | '1d' | undefined; environment?: string | undefined; version?: string | undefined; deployment_id?: string | undefined; aggregation?: 'avg' | 'p50' | 'p95' | 'p99' | 'max' | 'sum' | undefined }
    data: MetricSeries
  }
  /** Get all metrics of an agent over time */
  getPerformance: {
    params: { agent_id: string }
    query: { start_time?: string | undefined; end_time?: string | undefined; granularity?: '1m' | '5m' | '1h' | '1d' | undefined; environment?: string | undefined; version?: string | undefined; deployment_id?: string | undefined }
    data: Performance
  }
  /** Get usage and costs */
  getUsage: {
    query: { group_by?: string | undefined; from?: string | undefined; to?: string | undefined; granularity?: 'hour' | 'day' | 'month' | undefined; timezone?: string | undefined; scope?: 'project' | 'service' | undefined; agent_id?: string | undefined; version?: string | undefined; environment?: string | undefined; key_id?: string | undefined; person_id?: string | undefined; user_id?: string | undefined; request_id?: string | undefined; model?: string | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'ag-ui' | 'cli' | 'schedule' | 'trigger' | 'console' | 'link' | undefined; purpose?: 'run' | 'facts' | 'summary' | 'memory' | 'search' | 'test' | 'replay' | undefined; format?: 'json' | 'csv' | undefined }
    data: Usage
  }
  /** Reprice past usage */
  repriceUsage: {
    body: RepriceUsage
    data: RepricedUsage
  }
  /** List model prices */
  listPrices: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'model' | '-model' | undefined }
    item: Price
  }
  /** Set a model price */
  setPrice: {
    params: { provider: string; model: string }
    body: SetPrice
    data: Price
  }
  /** Delete a model price */
  deletePrice: {
    params: { provider: string; model: string }
    data: {
      model: string
      deleted: true
    }
  }
  /** Search memory */
  searchMemory: {
    params: { agent_id: string }
    body: SearchMemory
    item: FoundMemory
  }
  /** Write memories */
  writeMemory: {
    params: { agent_id: string }
    body: WriteMemory
    data: {
      items: Memory[]
    }
  }
  /** List memories */
  listMemory: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'id' | '-id' | undefined; user_id?: string | undefined; session_id?: string | undefined; kind?: 'turn' | 'fact' | 'note' | undefined; before?: string | undefined; after?: string | undefined }
    item: Memory
  }
  /** Clear memory */
  clearMemory: {
    params: { agent_id: string }
    query: { user_id?: string | undefined; session_id?: string | undefined; before?: string | undefined }
    data: {
      deleted: number
    }
  }
  /** Get a memory */
  getMemory: {
    params: { agent_id: string; memory_id: string }
    data: Memory
  }
  /** Update a memory */
  updateMemory: {
    params: { agent_id: string; memory_id: string }
    body: UpdateMemory
    data: Memory
  }
  /** Delete a memory */
  deleteMemory: {
    params: { agent_id: string; memory_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Get memory status */
  getMemoryStatus: {
    data: MemoryStatus
  }
  /** List users */
  listUsers: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'last_used_at' | '-last_used_at' | 'user_id' | '-user_id' | undefined }
    item: AgentUser
  }
  /** List sessions */
  listSessions: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'last_used_at' | '-last_used_at' | 'session_id' | '-session_id' | undefined; user_id?: string | undefined }
    item: AgentSession
  }
  /** Replace a session's summary */
  replaceSummary: {
    params: { agent_id: string; session_id: string }
    query: { user_id?: string | undefined }
    body: ReplaceSummary
    data: SessionSummary
  }
  /** Get a session's summary */
  getSummary: {
    params: { agent_id: string; session_id: string }
    query: { user_id?: string | undefined }
    data: SessionSummary
  }
  /** Delete a session's summary */
  deleteSummary: {
    params: { agent_id: string; session_id: string }
    query: { user_id?: string | undefined }
    data: {
      session_id: string
      deleted: true
    }
  }
  /** Export a user */
  exportUser: {
    params: { user_id: string }
    line: UserLine
  }
  /** Erase a user */
  eraseUser: {
    params: { user_id: string }
    data: ErasedUser
  }
  /** Create a webhook */
  createWebhook: {
    body: CreateWebhook
    data: WebhookWithSecret
  }
  /** List webhooks */
  listWebhooks: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'url' | '-url' | 'status' | '-status' | 'id' | '-id' | undefined; agent_id?: string | undefined; event?: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | undefined; status?: 'enabled' | 'disabled' | undefined }
    item: Webhook
  }
  /** Get a webhook */
  getWebhook: {
    params: { webhook_id: string }
    data: Webhook
  }
  /** Update a webhook */
  updateWebhook: {
    params: { webhook_id: string }
    body: UpdateWebhook
    data: Webhook
  }
  /** Delete a webhook */
  deleteWebhook: {
    params: { webhook_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Rotate a webhook's secret */
  rotateWebhookSecret: {
    params: { webhook_id: string }
    body?: {
      grace_period_seconds?: number | undefined
    }
    data: WebhookWithSecret
  }
  /** Send a test event */
  testWebhook: {
    params: { webhook_id: string }
    data: WebhookTest
  }
  /** List a webhook's deliveries */
  listDeliveries: {
    params: { webhook_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'id' | '-id' | undefined; status?: 'pending' | 'delivered' | 'failed' | undefined; event?: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'feedback.given' | 'connection.granted' | 'connection.ended' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | undefined }
    item: Delivery
  }
  /** Get a delivery */
  getDelivery: {
    params: { webhook_id: string; delivery_id: string }
    data: DeliveryWithBody
  }
  /** Get a delivery by ID */
  findDelivery: {
    params: { delivery_id: string }
    data: DeliveryWithBody
  }
  /** Redeliver an event */
  redeliver: {
    params: { webhook_id: string; delivery_id: string }
    data: Delivery
  }
  /** Listen for events */
  createListener: {
    body: CreateListener
    data: Listener
  }
  /** Get a listener's events */
  getListener: {
    params: { listener_id: string }
    query: { received?: string | undefined; wait_ms?: number | undefined }
    data: Listener
  }
  /** Create an API key */
  createKey: {
    body: CreateKey
    data: KeyWithSecret
  }
  /** List API keys */
  listKeys: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'expires_at' | '-expires_at' | 'last_used_at' | '-last_used_at' | 'id' | '-id' | undefined; agent_id?: string | undefined; status?: 'active' | 'expired' | 'revoked' | undefined; person_id?: string | undefined }
    item: Key
  }
  /** Get your own permissions */
  getSelf: {
    data: Self
  }
  /** Create a personal key */
  createPersonalKey: {
    body: CreatePersonalKey
    data: KeyWithSecret
  }
  /** List your personal keys */
  listPersonalKeys: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'expires_at' | '-expires_at' | 'last_used_at' | '-last_used_at' | 'id' | '-id' | undefined; status?: 'active' | 'expired' | 'revoked' | undefined }
    item: Key
  }
  /** Revoke a personal key */
  revokePersonalKey: {
    params: { key_id: string }
    data: {
      id: string
      revoked: true
      revoked_at: string
    }
  }
  /** Get an API key */
  getKey: {
    params: { key_id: string }
    data: Key
  }
  /** Revoke an API key */
  revokeKey: {
    params: { key_id: string }
    data: {
      id: string
      revoked: true
      revoked_at: string
    }
  }
  /** Rotate an API key */
  rotateKey: {
    params: { key_id: string }
    body?: {
      grace_period_seconds?: number | undefined
    }
    data: KeyWithSecret
  }
  /** Set up a second factor for a key */
  enrolFactor: {
    params: { key_id: string }
    data: NewKeyFactor
  }
  /** Get a key's second factor status */
  getFactor: {
    params: { key_id: string }
    data: KeyFactor
  }
  /** Remove a key's second factor */
  removeFactor: {
    params: { key_id: string }
    data: {
      key_id: string
      deleted: true
    }
  }
  /** Confirm a second factor */
  confirmFactor: {
    params: { key_id: string }
    body: {
      code: string
    }
    data: KeyFactor
  }
  /** Create a sign-in link */
  createConsoleLink: {
    body?: {
      /** A key other than the oldest admin key; only with `--local` on the server */
      key_id?: string | undefined
    }
    data: ConsoleLink
  }
  /** List console sessions */
  listConsoleSessions: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'last_used_at' | '-last_used_at' | 'expires_at' | '-expires_at' | undefined; key_id?: string | undefined; person_id?: string | undefined }
    item: ConsoleSession
  }
  /** End a console session */
  endConsoleSession: {
    params: { session_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** List people */
  listPeople: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'last_seen_at' | '-last_seen_at' | 'name' | '-name' | 'email' | '-email' | 'id' | '-id' | undefined; email?: string | undefined }
    item: Person
  }
  /** Get a person */
  getPerson: {
    params: { person_id: string }
    data: Person
  }
  /** Delete a person */
  deletePerson: {
    params: { person_id: string }
    data: RemovedPerson
  }
  /** Set or remove a person's role */
  setPersonRole: {
    params: { person_id: string }
    body: SetPersonRole
    data: PersonWithLostKeys
  }
  /** Invite a person */
  createInvitation: {
    body: CreateInvitation
    data: InvitationWithToken
  }
  /** List invitations */
  listInvitations: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'expires_at' | '-expires_at' | 'email' | '-email' | 'id' | '-id' | undefined }
    item: Invitation
  }
  /** Get an invitation */
  getInvitation: {
    params: { invitation_id: string }
    data: Invitation
  }
  /** Revoke an invitation */
  revokeInvitation: {
    params: { invitation_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Create a project */
  createProject: {
    body: CreateProject
    data: Project
  }
  /** List projects */
  listProjects: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'id' | '-id' | undefined }
    item: Project
  }
  /** Get a project */
  getProject: {
    params: { project_id: string }
    data: Project
  }
  /** Update a project */
  updateProject: {
    params: { project_id: string }
    body: UpdateProject
    data: Project
  }
  /** Delete a project */
  deleteProject: {
    params: { project_id: string }
    query: { name: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** Move an agent to another project */
  moveAgent: {
    params: { agent_id: string }
    body: MoveAgent
    data: MovedAgent
  }
  /** Pause everything */
  beginPause: {
    body: BeginPause
    data: Pause
  }
  /** Get the pause status */
  getPause: {
    data: Pause
  }
  /** Resume */
  endPause: {
    body?: EndPause
    data: Pause
  }
  /** Set a secret */
  setSecret: {
    params: { name: string }
    body: SetSecret
    data: Secret
  }
  /** Delete a secret */
  deleteSecret: {
    params: { name: string }
    data: {
      name: string
      deleted: true
    }
  }
  /** List secrets */
  listSecrets: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | undefined }
    item: Secret
  }
  /** Set a connection */
  setConnection: {
    params: { name: string }
    body: SetConnection
    data: Connection
  }
  /** Get a connection */
  getConnection: {
    params: { name: string }
    data: Connection
  }
  /** Delete a connection */
  deleteConnection: {
    params: { name: string }
    data: {
      name: string
      deleted: true
    }
  }
  /** List connections */
  listConnections: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | undefined }
    item: Connection
  }
  /** Test a connection */
  testConnection: {
    params: { name: string }
    data: ConnectionTest
  }
  /** Create a connection's sign-in link */
  createConnectionLink: {
    params: { name: string }
    body: CreateConnectionLink
    data: ConnectionLink
  }
  /** Confirm a sign-in */
  confirmConnectionLink: {
    params: { name: string; link_id: string }
    body: ConfirmConnectionLink
    data: ConnectionGrant
  }
  /** List a connection's grants */
  listGrants: {
    params: { name: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'id' | '-id' | undefined; user_id?: string | undefined; status?: 'pending' | 'active' | 'expired' | 'revoked' | undefined }
    item: ConnectionGrant
  }
  /** Revoke a user's grant */
  revokeGrant: {
    params: { name: string; user_id: string }
    data: {
      connection: string
      user_id: string | null
      revoked: true
    }
  }
  /** List connected applications */
  listConnectedApplications: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'last_used_at' | '-last_used_at' | 'expires_at' | '-expires_at' | 'name' | '-name' | 'id' | '-id' | undefined; person_id?: string | undefined }
    item: ConnectedApplication
  }
  /** Revoke a connected application */
  revokeConnectedApplication: {
    params: { application_id: string }
    data: {
      id: string
      revoked: true
      revoked_at: string
    }
  }
  /** Set a model provider */
  setProvider: {
    params: { name: string }
    body: SetProvider
    data: Provider
  }
  /** Delete a model provider */
  deleteProvider: {
    params: { name: string }
    data: {
      name: string
      deleted: true
    }
  }
  /** List model providers */
  listProviders: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'name' | '-name' | undefined }
    item: Provider
  }
  /** List a provider's models */
  listProviderModels: {
    params: { name: string }
    data: ProviderModels
  }
  /** Test a model provider */
  testProvider: {
    params: { name: string }
    body?: TestProvider
    data: ProviderTest
  }
  /** Create a budget */
  createBudget: {
    body: CreateBudget
    data: Budget
  }
  /** List budgets */
  listBudgets: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'id' | '-id' | undefined; scope?: 'service' | 'project' | 'agent' | 'key' | 'user' | undefined }
    item: Budget
  }
  /** Get a budget */
  getBudget: {
    params: { budget_id: string }
    query: { subject?: string | undefined }
    data: Budget
  }
  /** Update a budget */
  updateBudget: {
    params: { budget_id: string }
    body: UpdateBudget
    data: Budget
  }
  /** Delete a budget */
  deleteBudget: {
    params: { budget_id: string }
    data: {
      id: string
      deleted: true
    }
  }
  /** List the audit log */
  listAuditLog: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'id' | '-id' | undefined; action?: string | undefined; actor?: string | undefined; agent_id?: string | undefined; outcome?: 'success' | 'started' | 'refused' | undefined; deleted_project_id?: string | undefined; since?: string | undefined; until?: string | undefined }
    item: AuditEntry
  }
  /** Get the latest audit log entry's hash */
  getAuditHead: {
    data: AuditHead
  }
  /** Get service status */
  getSystem: {
    data: System
  }
  /** Get telemetry */
  getTelemetry: {
    data: {
      readings: ({
        name: string
        help: string
        type: 'counter' | 'gauge' | 'histogram'
        samples: ({
          name: string
          labels: Record<string, string>
          value: number
        })[]
      })[]
    }
  }
}

export const routes = {
  invokeAgent: { method: 'POST', path: '/v1/agents/{agent_id}/invoke' },
  listInvocations: { method: 'GET', path: '/v1/agents/{agent_id}/invocations' },
  getInvocation: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}' },
  eraseInvocation: { method: 'DELETE', path: '/v1/agents/{agent_id}/invocations/{request_id}' },
  streamInvocation: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/stream' },
  cancelInvocation: { method: 'POST', path: '/v1/agents/{agent_id}/invocations/{request_id}/cancel' },
  takeSteps: { method: 'POST', path: '/v1/agents/{agent_id}/invocations/{request_id}/steps' },
  getRunFile: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/files/{file_id}' },
  getPrompt: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/prompt' },
  getEffects: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/effects' },
  listAllInvocations: { method: 'GET', path: '/v1/invocations' },
  listApprovals: { method: 'GET', path: '/v1/approvals' },
  getApproval: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}' },
  decideApproval: { method: 'POST', path: '/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}' },
  giveFeedback: { method: 'PUT', path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback' },
  getFeedback: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback' },
  deleteFeedback: { method: 'DELETE', path: '/v1/agents/{agent_id}/invocations/{request_id}/feedback' },
  listFeedback: { method: 'GET', path: '/v1/feedback' },
  createCallback: { method: 'POST', path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks' },
  listCallbacks: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks' },
  getCallback: { method: 'GET', path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}' },
  deleteCallback: { method: 'DELETE', path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks/{callback_id}' },
  createFile: { method: 'POST', path: '/v1/files' },
  listFiles: { method: 'GET', path: '/v1/files' },
  getFile: { method: 'GET', path: '/v1/files/{file_id}' },
  deleteFile: { method: 'DELETE', path: '/v1/files/{file_id}' },
  getFileContent: { method: 'GET', path: '/v1/files/{file_id}/content' },
  createAgent: { method: 'POST', path: '/v1/agents' },
  listAgents: { method: 'GET', path: '/v1/agents' },
  listOverview: { method: 'GET', path: '/v1/overview' },
  listInvocable: { method: 'GET', path: '/v1/keys/self/agents' },
  getAgent: { method: 'GET', path: '/v1/agents/{agent_id}' },
  updateAgent: { method: 'PATCH', path: '/v1/agents/{agent_id}' },
  deleteAgent: { method: 'DELETE', path: '/v1/agents/{agent_id}' },
  testTool: { method: 'POST', path: '/v1/agents/{agent_id}/tools/test' },
  checkRemote: { method: 'POST', path: '/v1/agents/{agent_id}/remote/check' },
  createDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments' },
  listDeployments: { method: 'GET', path: '/v1/agents/{agent_id}/deployments' },
  getDeployment: { method: 'GET', path: '/v1/agents/{agent_id}/deployments/{deployment_id}' },
  findDeployment: { method: 'GET', path: '/v1/deployments/{deployment_id}' },
  diffDeployment: { method: 'GET', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/diff' },
  rollbackDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/rollback' },
  promoteDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/promote' },
  pauseDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/pause' },
  resumeDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/resume' },
  abortDeployment: { method: 'POST', path: '/v1/agents/{agent_id}/deployments/{deployment_id}/abort' },
  putSet: { method: 'PUT', path: '/v1/agents/{agent_id}/sets/{name}' },
  getSet: { method: 'GET', path: '/v1/agents/{agent_id}/sets/{name}' },
  deleteSet: { method: 'DELETE', path: '/v1/agents/{agent_id}/sets/{name}' },
  listSets: { method: 'GET', path: '/v1/agents/{agent_id}/sets' },
  createReplay: { method: 'POST', path: '/v1/agents/{agent_id}/replays' },
  listReplays: { method: 'GET', path: '/v1/agents/{agent_id}/replays' },
  getReplay: { method: 'GET', path: '/v1/agents/{agent_id}/replays/{replay_id}' },
  listReplayCases: { method: 'GET', path: '/v1/agents/{agent_id}/replays/{replay_id}/cases' },
  cancelReplay: { method: 'POST', path: '/v1/agents/{agent_id}/replays/{replay_id}/cancel' },
  createSchedule: { method: 'POST', path: '/v1/agents/{agent_id}/schedules' },
  listSchedules: { method: 'GET', path: '/v1/agents/{agent_id}/schedules' },
  getSchedule: { method: 'GET', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  updateSchedule: { method: 'PATCH', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  deleteSchedule: { method: 'DELETE', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  runSchedule: { method: 'POST', path: '/v1/agents/{agent_id}/schedules/{schedule_id}/run' },
  createTrigger: { method: 'POST', path: '/v1/agents/{agent_id}/triggers' },
  listTriggers: { method: 'GET', path: '/v1/agents/{agent_id}/triggers' },
  getTrigger: { method: 'GET', path: '/v1/agents/{agent_id}/triggers/{trigger_id}' },
  updateTrigger: { method: 'PATCH', path: '/v1/agents/{agent_id}/triggers/{trigger_id}' },
  deleteTrigger: { method: 'DELETE', path: '/v1/agents/{agent_id}/triggers/{trigger_id}' },
  testTrigger: { method: 'POST', path: '/v1/agents/{agent_id}/triggers/{trigger_id}/test' },
  listTriggerDeliveries: { method: 'GET', path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries' },
  getTriggerDelivery: { method: 'GET', path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}' },
  replayTriggerDelivery: { method: 'POST', path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}/replay' },
  createLink: { method: 'POST', path: '/v1/agents/{agent_id}/links' },
  listLinks: { method: 'GET', path: '/v1/agents/{agent_id}/links' },
  getLink: { method: 'GET', path: '/v1/agents/{agent_id}/links/{link_id}' },
  deleteLink: { method: 'DELETE', path: '/v1/agents/{agent_id}/links/{link_id}' },
  getLogs: { method: 'GET', path: '/v1/agents/{agent_id}/logs' },
  getMetrics: { method: 'GET', path: '/v1/agents/{agent_id}/metrics' },
  getPerformance: { method: 'GET', path: '/v1/agents/{agent_id}/performance' },
  getUsage: { method: 'GET', path: '/v1/usage' },
  repriceUsage: { method: 'POST', path: '/v1/usage/reprice' },
  listPrices: { method: 'GET', path: '/v1/prices' },
  setPrice: { method: 'PUT', path: '/v1/prices/{provider}/{model}' },
  deletePrice: { method: 'DELETE', path: '/v1/prices/{provider}/{model}' },
  searchMemory: { method: 'POST', path: '/v1/agents/{agent_id}/memory/search' },
  writeMemory: { method: 'POST', path: '/v1/agents/{agent_id}/memory' },
  listMemory: { method: 'GET', path: '/v1/agents/{agent_id}/memory' },
  clearMemory: { method: 'DELETE', path: '/v1/agents/{agent_id}/memory' },
  getMemory: { method: 'GET', path: '/v1/agents/{agent_id}/memory/{memory_id}' },
  updateMemory: { method: 'PATCH', path: '/v1/agents/{agent_id}/memory/{memory_id}' },
  deleteMemory: { method: 'DELETE', path: '/v1/agents/{agent_id}/memory/{memory_id}' },
  getMemoryStatus: { method: 'GET', path: '/v1/memory' },
  listUsers: { method: 'GET', path: '/v1/agents/{agent_id}/users' },
  listSessions: { method: 'GET', path: '/v1/agents/{agent_id}/sessions' },
  replaceSummary: { method: 'PUT', path: '/v1/agents/{agent_id}/sessions/{session_id}/summary' },
  getSummary: { method: 'GET', path: '/v1/agents/{agent_id}/sessions/{session_id}/summary' },
  deleteSummary: { method: 'DELETE', path: '/v1/agents/{agent_id}/sessions/{session_id}/summary' },
  exportUser: { method: 'GET', path: '/v1/users/{user_id}/export' },
  eraseUser: { method: 'DELETE', path: '/v1/users/{user_id}' },
  createWebhook: { method: 'POST', path: '/v1/webhooks' },
  listWebhooks: { method: 'GET', path: '/v1/webhooks' },
  getWebhook: { method: 'GET', path: '/v1/webhooks/{webhook_id}' },
  updateWebhook: { method: 'PATCH', path: '/v1/webhooks/{webhook_id}' },
  deleteWebhook: { method: 'DELETE', path: '/v1/webhooks/{webhook_id}' },
  rotateWebhookSecret: { method: 'POST', path: '/v1/webhooks/{webhook_id}/rotate-secret' },
  testWebhook: { method: 'POST', path: '/v1/webhooks/{webhook_id}/test' },
  listDeliveries: { method: 'GET', path: '/v1/webhooks/{webhook_id}/deliveries' },
  getDelivery: { method: 'GET', path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}' },
  findDelivery: { method: 'GET', path: '/v1/deliveries/{delivery_id}' },
  redeliver: { method: 'POST', path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver' },
  createListener: { method: 'POST', path: '/v1/listeners' },
  getListener: { method: 'GET', path: '/v1/listeners/{listener_id}' },
  createKey: { method: 'POST', path: '/v1/keys' },
  listKeys: { method: 'GET', path: '/v1/keys' },
  getSelf: { method: 'GET', path: '/v1/keys/self' },
  createPersonalKey: { method: 'POST', path: '/v1/personal-keys' },
  listPersonalKeys: { method: 'GET', path: '/v1/personal-keys' },
  revokePersonalKey: { method: 'DELETE', path: '/v1/personal-keys/{key_id}' },
  getKey: { method: 'GET', path: '/v1/keys/{key_id}' },
  revokeKey: { method: 'DELETE', path: '/v1/keys/{key_id}' },
  rotateKey: { method: 'POST', path: '/v1/keys/{key_id}/rotate' },
  enrolFactor: { method: 'POST', path: '/v1/keys/{key_id}/mfa' },
  getFactor: { method: 'GET', path: '/v1/keys/{key_id}/mfa' },
  removeFactor: { method: 'DELETE', path: '/v1/keys/{key_id}/mfa' },
  confirmFactor: { method: 'POST', path: '/v1/keys/{key_id}/mfa/confirm' },
  createConsoleLink: { method: 'POST', path: '/v1/console-links' },
  listConsoleSessions: { method: 'GET', path: '/v1/console-sessions' },
  endConsoleSession: { method: 'DELETE', path: '/v1/console-sessions/{session_id}' },
  listPeople: { method: 'GET', path: '/v1/people' },
  getPerson: { method: 'GET', path: '/v1/people/{person_id}' },
  deletePerson: { method: 'DELETE', path: '/v1/people/{person_id}' },
  setPersonRole: { method: 'PUT', path: '/v1/people/{person_id}/role' },
  createInvitation: { method: 'POST', path: '/v1/invitations' },
  listInvitations: { method: 'GET', path: '/v1/invitations' },
  getInvitation: { method: 'GET', path: '/v1/invitations/{invitation_id}' },
  revokeInvitation: { method: 'DELETE', path: '/v1/invitations/{invitation_id}' },
  createProject: { method: 'POST', path: '/v1/projects' },
  listProjects: { method: 'GET', path: '/v1/projects' },
  getProject: { method: 'GET', path: '/v1/projects/{project_id}' },
  updateProject: { method: 'PATCH', path: '/v1/projects/{project_id}' },
  deleteProject: { method: 'DELETE', path: '/v1/projects/{project_id}' },
  moveAgent: { method: 'POST', path: '/v1/agents/{agent_id}/move' },
  beginPause: { method: 'POST', path: '/v1/pause' },
  getPause: { method: 'GET', path: '/v1/pause' },
  endPause: { method: 'POST', path: '/v1/resume' },
  setSecret: { method: 'PUT', path: '/v1/secrets/{name}' },
  deleteSecret: { method: 'DELETE', path: '/v1/secrets/{name}' },
  listSecrets: { method: 'GET', path: '/v1/secrets' },
  setConnection: { method: 'PUT', path: '/v1/connections/{name}' },
  getConnection: { method: 'GET', path: '/v1/connections/{name}' },
  deleteConnection: { method: 'DELETE', path: '/v1/connections/{name}' },
  listConnections: { method: 'GET', path: '/v1/connections' },
  testConnection: { method: 'POST', path: '/v1/connections/{name}/test' },
  createConnectionLink: { method: 'POST', path: '/v1/connections/{name}/links' },
  confirmConnectionLink: { method: 'POST', path: '/v1/connections/{name}/links/{link_id}/confirm' },
  listGrants: { method: 'GET', path: '/v1/connections/{name}/grants' },
  revokeGrant: { method: 'DELETE', path: '/v1/connections/{name}/grants/{user_id}' },
  listConnectedApplications: { method: 'GET', path: '/v1/connected-applications' },
  revokeConnectedApplication: { method: 'DELETE', path: '/v1/connected-applications/{application_id}' },
  setProvider: { method: 'PUT', path: '/v1/providers/{name}' },
  deleteProvider: { method: 'DELETE', path: '/v1/providers/{name}' },
  listProviders: { method: 'GET', path: '/v1/providers' },
  listProviderModels: { method: 'GET', path: '/v1/providers/{name}/models' },
  testProvider: { method: 'POST', path: '/v1/providers/{name}/test' },
  createBudget: { method: 'POST', path: '/v1/budgets' },
  listBudgets: { method: 'GET', path: '/v1/budgets' },
  getBudget: { method: 'GET', path: '/v1/budgets/{budget_id}' },
  updateBudget: { method: 'PATCH', path: '/v1/budgets/{budget_id}' },
  deleteBudget: { method: 'DELETE', path: '/v1/budgets/{budget_id}' },
  listAuditLog: { method: 'GET', path: '/v1/audit-log' },
  getAuditHead: { method: 'GET', path: '/v1/audit-log/head' },
  getSystem: { method: 'GET', path: '/v1/system' },
  getTelemetry: { method: 'GET', path: '/v1/telemetry' },
} as const
