// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export type ErrorReply = {
  success: false
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
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
  /** A search did not look at everything: `total` counts what it found so far. Go on with this time as `end_time`, or as `start_time` where the oldest come first */
  searched_to?: string | undefined
  /** With `after`: what comes next comes after this; `total` counts what was looked through up to here */
  next_after?: string | undefined
}

export type InvocationResult = {
  response: string
  /** The answer as a value, if JSON was wanted: it fits the schema. `response` is its text */
  output?: unknown | undefined
  /** What its tools answered besides text, if anything */
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
  /** What people must decide before it goes on */
  approvals?: PendingApproval[] | undefined
  /** Why it waits, if not for people: its project or the service is paused */
  reason?: string | undefined
}

export type PendingApproval = {
  /** Names the call within its run */
  call_id: string
  /** `tool`: may it be called. `question`: the agent wants an answer. `retry`: it was under way when the service died; may it be called again */
  kind: 'tool' | 'question' | 'retry'
  tool: string
  /** Of the call, without secrets; of a question its `question` and perhaps `options` */
  arguments: Record<string, unknown>
  /** Since when the run waits for it */
  created_at: string
  /** What is not decided by then is rejected */
  expires_at: string
  /** The run that asks, if it is one that this run has called */
  child?: ChildRun | undefined
}

export type ChildRun = {
  request_id: string
  agent_id: string
  /** The name of its agent */
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
  /** When a budget has no room: fail, or wait until it has. Only a run in the background may wait */
  on_budget?: 'fail' | 'wait' | undefined
  /** What this answer has to be: JSON that fits a schema. It counts instead of the agent's own `output` */
  output?: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries?: number | undefined
  } | undefined
  /** Files that the model is shown with the message: images, PDFs and texts. `url` is fetched, `data` is base64; both become files */
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
  /** Hears how a run in the background ends */
  callback?: NewCallback | undefined
}

export type NewCallback = {
  /** Public https address; the operator may allow others */
  url: string
  /** A name of your own within the run; the same name again replaces it */
  name?: string | undefined
  /** What is sent: an event, as webhooks get it, or an A2A task */
  format?: 'event' | 'a2a' | undefined
  /** Sent as X-A2A-Notification-Token, and never shown */
  token?: string | undefined
  /** Sent as Authorization, and never shown */
  authorization?: string | undefined
}

export type Invocation = {
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** There while it waits: whether people must decide something before it goes on */
  asks_people?: boolean | undefined
  /** Where it was asked for: the API, a door for other clients, the host, a schedule, or the console */
  door: 'api' | 'openai' | 'mcp' | 'a2a' | 'cli' | 'schedule' | 'console'
  background: boolean
  environment: string
  /** null: the working copy */
  version: string | null
  deployment_id: string | null
  message: string
  context: Record<string, unknown>
  /** The files that came with the message */
  attachments: InvocationAttachment[]
  response: string | null
  /** The answer as a value, if JSON was wanted: it fits the schema. `response` is its text */
  output?: unknown | undefined
  /** What the request asked the answer to be with its own `output`. Only in the receipt of one invocation, not in lists */
  output_wanted?: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries: number
  } | undefined
  /** The calls of its caller's own tools with which the answer ended */
  calls: ({
    id: string
    name: string
    arguments: unknown
  })[]
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
    message: string
    /** Seconds, where the provider of the model or a budget has said when to try again */
    retry_after?: number | undefined
    /** With budget_exceeded: which budget, what was used, and the limit. With output_invalid: what does not fit, and where (JSON pointers) */
    details?: ({
      field: string
      error: string
    })[] | undefined
  } | null
  /** The model that answered last; null while none has */
  model: string | null
  tokens_used: number
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Part of the input that the provider had in its cache, if it says so */
    cached_tokens?: number | undefined
    /** Part of the output that was thought and not said, if it says so */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if the price of a model is not known */
  cost_usd: number | null
  /** What it has done, in the order in which it ended */
  steps: InvocationStep[]
  /** How often its run has begun, and why. A run that waited is resumed by another attempt */
  attempts: ({
    number: number
    began_at: string
    /** `start`: the run began. `wait`: it had waited. `lost`: the node that ran it stopped or died */
    after: 'start' | 'wait' | 'lost'
  })[]
  duration_ms: number | null
  /** The schedule that began it */
  schedule_id: string | null
  /** The tick of the schedule that it is for; null when a client began it */
  scheduled_at: string | null
  /** The run that called this agent as a tool */
  parent_request_id: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** When its texts were erased */
  erased_at: string | null
}

export type InvocationAttachment = {
  file_id: string
  name: string
  media_type: string
  /** In bytes */
  size: number
  /** How the model that was asked last was shown it; null while none was asked */
  shown_as: 'image' | 'text' | 'omitted' | null
  /** What the model was not shown of it, and why */
  note: string | null
}

export type InvocationStep = {
  /** Which attempt of the run took it */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'recall'
  /** How many turns of the session were found */
  turns: number
  /** How many memories were recalled */
  memories: number
  /** Whether there was a summary of the session */
  summary: boolean
} | {
  /** Which attempt of the run took it */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'model'
  /** The one that answered */
  model: string
  /** The models of the agent that were asked before it, and why they did not answer */
  passed_over?: ({
    model: string
    error: string
  })[] | undefined
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Part of the input that the provider had in its cache, if it says so */
    cached_tokens?: number | undefined
    /** Part of the output that was thought and not said, if it says so */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if the price of a model is not known */
  cost_usd: number | null
  /** How much of the response it said */
  characters: number
  /** Why it stopped early */
  finish?: 'length' | 'filtered' | undefined
  /** There if the answer does not fit the output that was wanted: it is no part of the response */
  unfit?: {
    /** Its beginning */
    answer: string
    problems: ({
      /** JSON pointer */
      field: string
      error: string
    })[]
    /** Whether the model was asked for JSON; else it answered in words, after calling tools */
    asked: boolean
  } | undefined
  /** What the model was not shown, because the prompt would be too long */
  left_out?: {
    /** The oldest turns of the session */
    turns: number
    memories: number
    /** Turns of which only the beginning was shown */
    shortened: number
  } | undefined
} | {
  /** Which attempt of the run took it */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'tool'
  id: string
  name: string
  arguments: unknown
  result?: string | undefined
  /** What the tool answered besides text */
  files?: ({
    file_id: string
    name: string
    media_type: string
    /** In bytes */
    size: number
  })[] | undefined
  error?: string | undefined
  /** The run that the call began, if the tool is an agent */
  child?: ChildRun | undefined
  /** Of the models that were asked for it */
  usage?: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Part of the input that the provider had in its cache, if it says so */
    cached_tokens?: number | undefined
    /** Part of the output that was thought and not said, if it says so */
    reasoning_tokens?: number | undefined
  } | undefined
  /** What they have cost */
  cost_usd?: number | null | undefined
} | {
  /** Which attempt of the run took it */
  attempt: number
  started_at: string | null
  finished_at: string | null
  duration_ms: number
  kind: 'wait'
  reason: string
  /** Of the answer that a pause cut off; the model was asked again */
  usage?: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Part of the input that the provider had in its cache, if it says so */
    cached_tokens?: number | undefined
    /** Part of the output that was thought and not said, if it says so */
    reasoning_tokens?: number | undefined
  } | undefined
  /** What that answer has cost */
  cost_usd?: number | null | undefined
} | {
  /** Which attempt of the run took it */
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
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  by_name?: string | null | undefined
  /** With which the tool was called instead */
  arguments?: unknown | undefined
  note?: string | undefined
  answer?: string | undefined
}

export type StepsResult = {
  /** `waiting`: end this call; the agent is called again when it goes on */
  status: 'done' | 'waiting'
  /** What came of them, in the order in which they were asked for */
  steps: DoneStep[]
}

export type DoneStep = {
  id: string
  /** Of a tool and a person: text; of the others a value */
  result?: unknown | undefined
  /** There instead of a result if the step failed */
  error?: string | undefined
}

export type AskSteps = {
  steps: AskedStep[]
}

export type AskedStep = {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Calls a tool of the agent */
  type: 'tool'
  tool: string
  arguments?: Record<string, unknown> | undefined
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Keeps a value: a later call gets it back */
  type: 'keep'
  value: unknown
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Goes on at that time, or after that many seconds */
  type: 'sleep'
  until?: string | undefined
  seconds?: number | undefined
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Asks a person; the run waits for the answer */
  type: 'ask_person'
  question: string
  options?: string[] | undefined
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Searches the memories that this run may see */
  type: 'memory_search'
  query: string
  limit?: number | undefined
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Notes something for the user of this run */
  type: 'memory_write'
  content: string
} | {
  /** Names the step within its run: asked for again, it is answered with what was stored */
  id: string
  /** Asks a model, by the names of this service; it is metered and budgeted */
  type: 'model'
  /** Absent: the agent's own */
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
  /** The answer is to be JSON that fits */
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
    /** Its beginning, if it is long */
    content: string
    /** The length of the whole */
    characters: number
    /** The tools that the model called with this answer */
    calls?: ({
      id: string
      name: string
      arguments: unknown
    })[] | undefined
    /** The tool whose result it is */
    name?: string | undefined
    /** The files of the message, and how they were shown */
    attachments?: InvocationAttachment[] | undefined
    /** What the tool answered besides text */
    files?: ({
      file_id: string
      name: string
      media_type: string
      /** In bytes */
      size: number
    })[] | undefined
  })[]
  /** What was recalled, best first */
  memories: ({
    id: string
    content: string
    kind: 'turn' | 'fact' | 'note'
    role: 'user' | 'assistant' | null
    user_id: string | null
    session_id: string | null
    created_at: string
    metadata: Record<string, unknown>
    /** The newer fact about the same thing; null while it holds */
    superseded_by: string | null
    score: number
    /** false: it did not fit */
    shown: boolean
  })[]
  /** What did not fit */
  left_out: {
    /** The oldest turns of the session */
    turns: number
    memories: number
    /** Turns of which only the beginning was shown */
    shortened: number
  } | null
  /** What the answer had to fit: the provider was told, or the model in words */
  output_schema: Record<string, unknown> | null
  /** What it could call; of an MCP server its address */
  tools: ({
    type: 'http' | 'mcp' | 'ask_person' | 'agent' | 'caller'
    name: string
  })[]
  /** How this differs from what the model was shown */
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
  /** The newer fact about the same thing; null while it holds */
  superseded_by: string | null
}

export type Delivery = {
  id: string
  webhook_id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  status: 'pending' | 'delivered' | 'failed'
  attempt_count: number
  /** The latest, oldest first */
  attempts: DeliveryAttempt[]
  /** null: none is planned, or one is under way */
  next_attempt_at: string | null
  created_at: string
  delivered_at: string | null
}

export type DeliveryAttempt = {
  /** Counts from 1, as in `X-Service-Attempt` */
  attempt: number
  at: string
  duration_ms: number
  response_status: number | null
  /** null: the receiver took it */
  error: 'http_error' | 'redirect' | 'timeout' | 'dns_failed' | 'connect_failed' | 'tls_failed' | 'reset' | 'invalid_response' | 'too_large' | 'blocked_address' | 'invalid_url' | 'agent_closed' | 'internal' | null
}

export type Approval = {
  id: string
  agent_id: string
  request_id: string
  /** Names the call within its run */
  call_id: string
  /** `tool`: may it be called. `question`: the agent wants an answer. `retry`: it was under way when the service died; may it be called again */
  kind: 'tool' | 'question' | 'retry'
  tool: string
  /** Of the call, without secrets; of a question its `question` and perhaps `options` */
  arguments: Record<string, unknown>
  /** Since when the run waits for it */
  created_at: string
  /** What is not decided by then is rejected */
  expires_at: string
  /** The run that asks, if it is one that this run has called */
  child?: ChildRun | undefined
  status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled'
  user_id: string | null
  session_id: string | null
  /** Who started the run */
  started_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  started_by_name?: string | null | undefined
  decided_at: string | null
  /** null: no person decided, it expired or its run was cancelled */
  decided_by: string | null
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  decided_by_name?: string | null | undefined
  /** With these the tool is called instead */
  changed_arguments: Record<string, unknown> | null
  note: string | null
  answer: string | null
  /** While it is pending: why you may not decide it, and who may; null if you may */
  not_for_you: string | null
}

export type DecideApproval = {
  decision: 'approve' | 'reject'
  /** With `approve`: calls the tool with these instead. They must fit the tool's schema */
  arguments?: Record<string, unknown> | undefined
  /** With `reject` the model is told */
  note?: string | undefined
  /** With `approve` of a question: the answer */
  answer?: string | undefined
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
  /** Signs what is sent. Shown in this reply only */
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
  /** As the client said, unless the bytes say otherwise */
  media_type: string
  /** In bytes */
  size: number
  sha256: string
  /** The user that it belongs to: it is erased and exported with them */
  user_id: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  /** When it is removed; null if that is left to the retention of the service */
  expires_at: string | null
}

export type Agent = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
  /** What answers: `model`, a model with instructions and tools; `remote`, a server of yours that is called */
  kind: 'model' | 'remote'
  /** Where a `remote` agent runs; null for the others */
  remote: {
    /** Is sent a signed POST for each message */
    url: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers: Record<string, string>
    /** How long one call may take; null: as long as the run */
    timeout_ms: number | null
    /** The name of the secret of the project with which calls are signed: `whsec_` and base64, as of webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which is sent each message */
    a2a: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers: Record<string, string>
    /** How long one call may take; null: as long as the run */
    timeout_ms: number | null
  } | null
  /** What the agent is for. People read it, the model does not */
  description: string | null
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or one of a configured provider. Of a list, the next one is asked if the one before it cannot answer now */
  model: string | string[]
  /** null: the model's own */
  temperature: number | null
  /** What the model is told before every message */
  instructions: string | null
  /** What the model may call */
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
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for GET, else `never` */
    retry: 'safe' | 'ask' | 'never' | null
    /** Whether a person must approve a call before it is made */
    approval: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[]
      /** null: the agent's own */
      expires_after_seconds: number | null
    }
  } | {
    type: 'mcp'
    url: string
    headers: Record<string, string>
    allow: string[] | null
    timeout_ms: number
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for tools that the server calls read-only or idempotent, else `never` */
    retry: 'safe' | 'ask' | 'never' | null
    /** For every tool of the server */
    approval: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[]
      /** null: the agent's own */
      expires_after_seconds: number | null
    }
  } | {
    type: 'ask_person'
    name: string
    description: string
    /** null: the agent's own */
    expires_after_seconds: number | null
  } | {
    type: 'agent'
    name: string
    description: string
    /** Another agent of the project: id or name */
    agent: string
    /** Whose version answers */
    environment: string
    /** `own`: it remembers the user as if they had asked it themselves. `none`: it reads and writes no memory. `shared`: it reads the memory of the agent that calls it, and its answers are not remembered */
    memory: 'own' | 'none' | 'shared'
  })[]
  /** Rules that `builtin/script` answers by; other models ignore it */
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
  /** What every answer has to be: JSON that fits a schema. null: it answers in words */
  output: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries: number
  } | null
  /** What is remembered, and what the model is reminded of */
  memory: {
    /** Whether an exchange is remembered at all */
    remember: boolean
    /** How many of the session's latest turns the model is shown */
    history: number
    /** How many recalled memories the model is shown */
    recall: number
    /** `model`: when a conversation has fallen silent, the agent's own model writes down what lasts */
    facts: 'off' | 'model'
    /** Whether the agent's own model keeps a summary of long sessions. A number says after how many new turns it is made; `true`: after 10 */
    summarize: boolean | number
    /** Older memories are forgotten; null: none */
    retention_days: number | null
  }
  /** How long, how much, how many at once */
  limits: {
    /** null: the service's own limit */
    timeout_ms: number | null
    /** How often the model may answer with tool calls */
    max_steps: number
    /** How long a prompt may be, about; older turns are left out. null: what the model takes */
    max_input_tokens: number | null
    /** null: the model's own */
    max_output_tokens: number | null
    /** Invocations at once; null: no limit */
    max_concurrency: number | null
    /** If a budget has no room for the longest answer, ask for a shorter one instead of failing */
    cut_to_budget: boolean
    /** Calls of tools in one run; null: no limit */
    max_tool_calls: number | null
    /** Tokens of one run: when it has used them, it asks no model and calls no tool any more; null: no limit */
    max_tokens_per_run: number | null
    /** US dollars of one run: when it has cost them, it asks no model and calls no tool any more; null: no limit */
    max_cost_per_run: number | null
  }
  /** How people decide what its tools ask them */
  approvals: {
    /** Whether the key that started a run may decide for it */
    self: boolean
    /** What no person has decided after this time is rejected */
    expires_after_seconds: number
  }
  /** Yours; the service only keeps it */
  metadata: Record<string, unknown>
  security: {
    ipWhitelist: {
      /** Refuse IP addresses that are not listed */
      enabled: boolean
      /** IP addresses and CIDR ranges; an empty list admits no client */
      addresses: string[]
    }
    mtls: {
      /** Require a client certificate in addition to the key */
      enabled: boolean
      /** PEM file: certificate that clients on this machine present */
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
      /** How many seconds a browser can cache this */
      maxAge: number
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard: boolean
    /** The agents (ids or names) that can call this one as a tool. Without it every agent can, unless `security` asks callers for an address, a certificate, HTTPS or a one-time code: then none can */
    callers?: string[] | undefined
  } | null
  /** Secrets come back as a hint */
  auth: Record<string, unknown> | null
  updated_at: string
  /** SHA-256 of what a deployment would take a snapshot of */
  digest: string
}

export type CreateAgent = {
  name: string
  /** What answers: `model`, a model with instructions and tools; `remote`, a server of yours that is called */
  kind?: 'model' | 'remote' | undefined
  /** Where a `remote` agent runs; null for the others */
  remote?: {
    /** Is sent a signed POST for each message */
    url: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers?: Record<string, string> | undefined
    /** How long one call may take; null: as long as the run */
    timeout_ms?: number | null | undefined
    /** The name of the secret of the project with which calls are signed: `whsec_` and base64, as of webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which is sent each message */
    a2a: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers?: Record<string, string> | undefined
    /** How long one call may take; null: as long as the run */
    timeout_ms?: number | null | undefined
  } | null | undefined
  /** What the agent is for. People read it, the model does not */
  description?: string | null | undefined
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or one of a configured provider. Of a list, the next one is asked if the one before it cannot answer now */
  model?: string | string[] | undefined
  /** null: the model's own */
  temperature?: number | null | undefined
  /** What the model is told before every message */
  instructions?: string | null | undefined
  /** What the model may call */
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
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for GET, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    timeout_ms?: number | undefined
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for tools that the server calls read-only or idempotent, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** For every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's own */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: id or name */
    agent: string
    /** Whose version answers */
    environment?: string | undefined
    /** `own`: it remembers the user as if they had asked it themselves. `none`: it reads and writes no memory. `shared`: it reads the memory of the agent that calls it, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  })[] | undefined
  /** Rules that `builtin/script` answers by; other models ignore it */
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
  /** What every answer has to be: JSON that fits a schema. null: it answers in words */
  output?: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries?: number | undefined
  } | null | undefined
  /** What is remembered, and what the model is reminded of */
  memory?: {
    /** Whether an exchange is remembered at all */
    remember?: boolean | undefined
    /** How many of the session's latest turns the model is shown */
    history?: number | undefined
    /** How many recalled memories the model is shown */
    recall?: number | undefined
    /** `model`: when a conversation has fallen silent, the agent's own model writes down what lasts */
    facts?: 'off' | 'model' | undefined
    /** Whether the agent's own model keeps a summary of long sessions. A number says after how many new turns it is made; `true`: after 10 */
    summarize?: boolean | number | undefined
    /** Older memories are forgotten; null: none */
    retention_days?: number | null | undefined
  } | undefined
  /** How long, how much, how many at once */
  limits?: {
    /** null: the service's own limit */
    timeout_ms?: number | null | undefined
    /** How often the model may answer with tool calls */
    max_steps?: number | undefined
    /** How long a prompt may be, about; older turns are left out. null: what the model takes */
    max_input_tokens?: number | null | undefined
    /** null: the model's own */
    max_output_tokens?: number | null | undefined
    /** Invocations at once; null: no limit */
    max_concurrency?: number | null | undefined
    /** If a budget has no room for the longest answer, ask for a shorter one instead of failing */
    cut_to_budget?: boolean | undefined
    /** Calls of tools in one run; null: no limit */
    max_tool_calls?: number | null | undefined
    /** Tokens of one run: when it has used them, it asks no model and calls no tool any more; null: no limit */
    max_tokens_per_run?: number | null | undefined
    /** US dollars of one run: when it has cost them, it asks no model and calls no tool any more; null: no limit */
    max_cost_per_run?: number | null | undefined
  } | undefined
  /** How people decide what its tools ask them */
  approvals?: {
    /** Whether the key that started a run may decide for it */
    self?: boolean | undefined
    /** What no person has decided after this time is rejected */
    expires_after_seconds?: number | undefined
  } | undefined
  /** Yours; the service only keeps it */
  metadata?: Record<string, unknown> | undefined
  /** Who may reach the agent, and how */
  security?: {
    ipWhitelist?: {
      /** Refuse IP addresses that are not listed */
      enabled?: boolean | undefined
      /** IP addresses and CIDR ranges; an empty list admits no client */
      addresses?: string[] | undefined
    } | undefined
    mtls?: {
      /** Require a client certificate in addition to the key */
      enabled?: boolean | undefined
      /** PEM file: certificate that clients on this machine present */
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
      /** How many seconds a browser can cache this */
      maxAge?: number | undefined
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard?: boolean | undefined
    /** The agents (ids or names) that can call this one as a tool. Without it every agent can, unless `security` asks callers for an address, a certificate, HTTPS or a one-time code: then none can */
    callers?: string[] | undefined
  } | null | undefined
  /** Tokens that are accepted for this agent besides keys */
  auth?: {
    /** How bearer tokens other than API keys are verified: `oauth2` or `jwt` */
    type: 'oauth2'
    /** oauth2: issuer URL */
    provider: string
    /** oauth2: client ID that tokens are issued for */
    clientId: string
    /** oauth2: client secret, for introspection */
    clientSecret?: string | undefined
    /** oauth2: agent scopes that count. If not set: all. Any other scope must be in every token */
    scopes?: string[] | undefined
    /** oauth2: which tokens the provider is asked about (RFC 7662): `opaque` ones, or `always` */
    introspection?: 'opaque' | 'always' | undefined
  } | {
    type: 'jwt'
    /** jwt: HS256 secret of 32 bytes or more */
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
  /** What answers: `model`, a model with instructions and tools; `remote`, a server of yours that is called */
  kind: 'model' | 'remote'
  /** What `production` serves; null while that is the working copy */
  version: string | null
  /** Invocations that completed or failed in the last 24 hours, this hour included */
  requests: number
  /** Those that failed */
  errors: number
  /** What 95 % of them did not take longer than; null without any */
  p95_ms: number | null
  /** Requests by the hour in UTC: 24 numbers, the last is this hour */
  hours: number[]
}

export type InvocableAgent = {
  id: string
  name: string
  status: 'running' | 'paused'
  created_at: string
  /** What the agent is for. People read it, the model does not */
  description: string | null
  /** The JSON Schema of its answers in `production`; null: it answers in words */
  output_schema: Record<string, unknown> | null
}

export type UpdateAgent = {
  name?: string | undefined
  status?: 'running' | 'paused' | undefined
  /** What answers: `model`, a model with instructions and tools; `remote`, a server of yours that is called */
  kind?: 'model' | 'remote' | undefined
  /** Where a `remote` agent runs; null for the others */
  remote?: {
    /** Is sent a signed POST for each message */
    url: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers?: Record<string, string> | undefined
    /** How long one call may take; null: as long as the run */
    timeout_ms?: number | null | undefined
    /** The name of the secret of the project with which calls are signed: `whsec_` and base64, as of webhooks */
    secret: string
  } | {
    /** The agent card of an A2A agent, which is sent each message */
    a2a: string
    /** Sent along; `{{secret.NAME}}` is filled in as in tools */
    headers?: Record<string, string> | undefined
    /** How long one call may take; null: as long as the run */
    timeout_ms?: number | null | undefined
  } | null | undefined
  /** What the agent is for. People read it, the model does not */
  description?: string | null | undefined
  /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or one of a configured provider. Of a list, the next one is asked if the one before it cannot answer now */
  model?: string | string[] | undefined
  /** null: the model's own */
  temperature?: number | null | undefined
  /** What the model is told before every message */
  instructions?: string | null | undefined
  /** What the model may call */
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
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for GET, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    timeout_ms?: number | undefined
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for tools that the server calls read-only or idempotent, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** For every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's own */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: id or name */
    agent: string
    /** Whose version answers */
    environment?: string | undefined
    /** `own`: it remembers the user as if they had asked it themselves. `none`: it reads and writes no memory. `shared`: it reads the memory of the agent that calls it, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  })[] | undefined
  /** Rules that `builtin/script` answers by; other models ignore it */
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
  /** What every answer has to be: JSON that fits a schema. null: it answers in words */
  output?: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries?: number | undefined
  } | null | undefined
  /** What is remembered, and what the model is reminded of */
  memory?: {
    /** Whether an exchange is remembered at all */
    remember?: boolean | undefined
    /** How many of the session's latest turns the model is shown */
    history?: number | undefined
    /** How many recalled memories the model is shown */
    recall?: number | undefined
    /** `model`: when a conversation has fallen silent, the agent's own model writes down what lasts */
    facts?: 'off' | 'model' | undefined
    /** Whether the agent's own model keeps a summary of long sessions. A number says after how many new turns it is made; `true`: after 10 */
    summarize?: boolean | number | undefined
    /** Older memories are forgotten; null: none */
    retention_days?: number | null | undefined
  } | undefined
  /** How long, how much, how many at once */
  limits?: {
    /** null: the service's own limit */
    timeout_ms?: number | null | undefined
    /** How often the model may answer with tool calls */
    max_steps?: number | undefined
    /** How long a prompt may be, about; older turns are left out. null: what the model takes */
    max_input_tokens?: number | null | undefined
    /** null: the model's own */
    max_output_tokens?: number | null | undefined
    /** Invocations at once; null: no limit */
    max_concurrency?: number | null | undefined
    /** If a budget has no room for the longest answer, ask for a shorter one instead of failing */
    cut_to_budget?: boolean | undefined
    /** Calls of tools in one run; null: no limit */
    max_tool_calls?: number | null | undefined
    /** Tokens of one run: when it has used them, it asks no model and calls no tool any more; null: no limit */
    max_tokens_per_run?: number | null | undefined
    /** US dollars of one run: when it has cost them, it asks no model and calls no tool any more; null: no limit */
    max_cost_per_run?: number | null | undefined
  } | undefined
  /** How people decide what its tools ask them */
  approvals?: {
    /** Whether the key that started a run may decide for it */
    self?: boolean | undefined
    /** What no person has decided after this time is rejected */
    expires_after_seconds?: number | undefined
  } | undefined
  /** Yours; the service only keeps it */
  metadata?: Record<string, unknown> | undefined
  /** Who may reach the agent, and how */
  security?: {
    ipWhitelist?: {
      /** Refuse IP addresses that are not listed */
      enabled?: boolean | undefined
      /** IP addresses and CIDR ranges; an empty list admits no client */
      addresses?: string[] | undefined
    } | undefined
    mtls?: {
      /** Require a client certificate in addition to the key */
      enabled?: boolean | undefined
      /** PEM file: certificate that clients on this machine present */
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
      /** How many seconds a browser can cache this */
      maxAge?: number | undefined
    } | undefined
    /** Show the agent's A2A card to everybody, without a key */
    publicCard?: boolean | undefined
    /** The agents (ids or names) that can call this one as a tool. Without it every agent can, unless `security` asks callers for an address, a certificate, HTTPS or a one-time code: then none can */
    callers?: string[] | undefined
  } | null | undefined
  /** Tokens that are accepted for this agent besides keys */
  auth?: {
    /** How bearer tokens other than API keys are verified: `oauth2` or `jwt` */
    type: 'oauth2'
    /** oauth2: issuer URL */
    provider: string
    /** oauth2: client ID that tokens are issued for */
    clientId: string
    /** oauth2: client secret, for introspection */
    clientSecret?: string | undefined
    /** oauth2: agent scopes that count. If not set: all. Any other scope must be in every token */
    scopes?: string[] | undefined
    /** oauth2: which tokens the provider is asked about (RFC 7662): `opaque` ones, or `always` */
    introspection?: 'opaque' | 'always' | undefined
  } | {
    type: 'jwt'
    /** jwt: HS256 secret of 32 bytes or more */
    secret: string
    /** jwt: required `iss` claim */
    issuer?: string | undefined
    /** jwt: required `aud` claim */
    audience?: string | undefined
  } | null | undefined
  /** The agent's `digest` as you know it: 409 if the agent has become something else */
  digest?: string | undefined
}

export type ToolTest = {
  /** What the model would be offered */
  tools: ({
    name: string
    description: string
    input_schema: Record<string, unknown>
  })[]
  /** The result as the model would read it */
  result: string | null
  /** Why the tool could not be used or called */
  error: string | null
  duration_ms: number
}

export type TestTool = {
  /** A tool as an agent's `tools` have it; the agent need not have it yet */
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
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for GET, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** Whether a person must approve a call before it is made */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'mcp'
    url: string
    headers?: Record<string, string> | undefined
    allow?: string[] | null | undefined
    timeout_ms?: number | undefined
    /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for tools that the server calls read-only or idempotent, else `never` */
    retry?: 'safe' | 'ask' | 'never' | null | undefined
    /** For every tool of the server */
    approval?: 'always' | 'never' | {
      /** `always`, or conditions: one that is true is enough */
      when?: 'always' | ({
        /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
        argument: string
        equals?: string | number | boolean | null | undefined
        not_equals?: string | number | boolean | null | undefined
        in?: (string | number | boolean | null)[] | undefined
        not_in?: (string | number | boolean | null)[] | undefined
        greater_than?: number | undefined
        less_than?: number | undefined
      })[] | undefined
      /** null: the agent's own */
      expires_after_seconds?: number | null | undefined
    } | undefined
  } | {
    type: 'ask_person'
    name?: string | undefined
    description?: string | undefined
    /** null: the agent's own */
    expires_after_seconds?: number | null | undefined
  } | {
    type: 'agent'
    name: string
    description?: string | undefined
    /** Another agent of the project: id or name */
    agent: string
    /** Whose version answers */
    environment?: string | undefined
    /** `own`: it remembers the user as if they had asked it themselves. `none`: it reads and writes no memory. `shared`: it reads the memory of the agent that calls it, and its answers are not remembered */
    memory?: 'own' | 'none' | 'shared' | undefined
  }
  /** The call to make. Without it, the reply says what the model would be offered */
  call?: {
    /** Which of an MCP server's tools; others need no name */
    name?: string | undefined
    arguments?: Record<string, unknown> | undefined
  } | undefined
}

export type RemoteCheck = {
  points: CheckedPoint[]
  /** Why there are no more points, if it could not go on */
  error: string | null
  duration_ms: number
}

export type CheckedPoint = {
  /** What the agent should do */
  point: string
  status: 'ok' | 'failed' | 'not_tried'
  /** Why it failed or was not tried, or what was found */
  detail: string | null
}

export type CheckRemote = {
  /** What the agent is told */
  message?: string | undefined
  /** How long each call may take, and never longer than `remote.timeout_ms`. The whole check ends after 10 min */
  timeout_ms?: number | undefined
}

export type NewDeployment = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back'
  /** SHA-256 of the snapshot: equal digests serve the same thing */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** On a rollback: the deployment it undid */
  rollback_of: string | null
  /** What will fail as things are: a tool has an address that `outgoing` does not allow, or names a secret that is not configured, or not for its host */
  warnings?: string[] | undefined
}

export type CreateDeployment = {
  environment: string
  version: string
  message?: string | null | undefined
  /** The agent's `digest` as you know it: 409 if the agent, or the label, has become something else */
  digest?: string | undefined
}

export type Deployment = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back'
  /** SHA-256 of the snapshot: equal digests serve the same thing */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** On a rollback: the deployment it undid */
  rollback_of: string | null
}

export type DeploymentWithDefinition = {
  id: string
  agent_id: string
  environment: string
  version: string
  status: 'active' | 'superseded' | 'rolled_back'
  /** SHA-256 of the snapshot: equal digests serve the same thing */
  digest: string
  message: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  /** The deployment that was active before */
  replaces: string | null
  /** On a rollback: the deployment it undid */
  rollback_of: string | null
  /** What it serves: the agent as it was then */
  definition: {
    /** What answers: `model`, a model with instructions and tools; `remote`, a server of yours that is called */
    kind: 'model' | 'remote'
    /** Where a `remote` agent runs; null for the others */
    remote: {
      /** Is sent a signed POST for each message */
      url: string
      /** Sent along; `{{secret.NAME}}` is filled in as in tools */
      headers: Record<string, string>
      /** How long one call may take; null: as long as the run */
      timeout_ms: number | null
      /** The name of the secret of the project with which calls are signed: `whsec_` and base64, as of webhooks */
      secret: string
    } | {
      /** The agent card of an A2A agent, which is sent each message */
      a2a: string
      /** Sent along; `{{secret.NAME}}` is filled in as in tools */
      headers: Record<string, string>
      /** How long one call may take; null: as long as the run */
      timeout_ms: number | null
    } | null
    /** What the agent is for. People read it, the model does not */
    description: string | null
    /** `provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or one of a configured provider. Of a list, the next one is asked if the one before it cannot answer now */
    model: string | string[]
    /** null: the model's own */
    temperature: number | null
    /** What the model is told before every message */
    instructions: string | null
    /** What the model may call */
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
      /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for GET, else `never` */
      retry: 'safe' | 'ask' | 'never' | null
      /** Whether a person must approve a call before it is made */
      approval: 'always' | 'never' | {
        /** `always`, or conditions: one that is true is enough */
        when: 'always' | ({
          /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
          argument: string
          equals?: string | number | boolean | null | undefined
          not_equals?: string | number | boolean | null | undefined
          in?: (string | number | boolean | null)[] | undefined
          not_in?: (string | number | boolean | null)[] | undefined
          greater_than?: number | undefined
          less_than?: number | undefined
        })[]
        /** null: the agent's own */
        expires_after_seconds: number | null
      }
    } | {
      type: 'mcp'
      url: string
      headers: Record<string, string>
      allow: string[] | null
      timeout_ms: number
      /** A call that was under way when the service died: `safe` makes it again with the same Idempotency-Key, `ask` asks a person whether to, `never` tells the model that its outcome is unknown. null: `safe` for tools that the server calls read-only or idempotent, else `never` */
      retry: 'safe' | 'ask' | 'never' | null
      /** For every tool of the server */
      approval: 'always' | 'never' | {
        /** `always`, or conditions: one that is true is enough */
        when: 'always' | ({
          /** The name of an argument; `order.amount` is the field `amount` of the argument `order` */
          argument: string
          equals?: string | number | boolean | null | undefined
          not_equals?: string | number | boolean | null | undefined
          in?: (string | number | boolean | null)[] | undefined
          not_in?: (string | number | boolean | null)[] | undefined
          greater_than?: number | undefined
          less_than?: number | undefined
        })[]
        /** null: the agent's own */
        expires_after_seconds: number | null
      }
    } | {
      type: 'ask_person'
      name: string
      description: string
      /** null: the agent's own */
      expires_after_seconds: number | null
    } | {
      type: 'agent'
      name: string
      description: string
      /** Another agent of the project: id or name */
      agent: string
      /** Whose version answers */
      environment: string
      /** `own`: it remembers the user as if they had asked it themselves. `none`: it reads and writes no memory. `shared`: it reads the memory of the agent that calls it, and its answers are not remembered */
      memory: 'own' | 'none' | 'shared'
    })[]
    /** Rules that `builtin/script` answers by; other models ignore it */
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
    /** What every answer has to be: JSON that fits a schema. null: it answers in words */
    output: {
      /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
      schema: Record<string, unknown>
      /** How often the model is shown what is wrong with its answer and asked again */
      retries: number
    } | null
    /** What is remembered, and what the model is reminded of */
    memory: {
      /** Whether an exchange is remembered at all */
      remember: boolean
      /** How many of the session's latest turns the model is shown */
      history: number
      /** How many recalled memories the model is shown */
      recall: number
      /** `model`: when a conversation has fallen silent, the agent's own model writes down what lasts */
      facts: 'off' | 'model'
      /** Whether the agent's own model keeps a summary of long sessions. A number says after how many new turns it is made; `true`: after 10 */
      summarize: boolean | number
      /** Older memories are forgotten; null: none */
      retention_days: number | null
    }
    /** How long, how much, how many at once */
    limits: {
      /** null: the service's own limit */
      timeout_ms: number | null
      /** How often the model may answer with tool calls */
      max_steps: number
      /** How long a prompt may be, about; older turns are left out. null: what the model takes */
      max_input_tokens: number | null
      /** null: the model's own */
      max_output_tokens: number | null
      /** Invocations at once; null: no limit */
      max_concurrency: number | null
      /** If a budget has no room for the longest answer, ask for a shorter one instead of failing */
      cut_to_budget: boolean
      /** Calls of tools in one run; null: no limit */
      max_tool_calls: number | null
      /** Tokens of one run: when it has used them, it asks no model and calls no tool any more; null: no limit */
      max_tokens_per_run: number | null
      /** US dollars of one run: when it has cost them, it asks no model and calls no tool any more; null: no limit */
      max_cost_per_run: number | null
    }
    /** How people decide what its tools ask them */
    approvals: {
      /** Whether the key that started a run may decide for it */
      self: boolean
      /** What no person has decided after this time is rejected */
      expires_after_seconds: number
    }
    /** Yours; the service only keeps it */
    metadata: Record<string, unknown>
  }
}

export type DeploymentDiff = {
  from: {
    deployment_id: string | null
    /** Null: nothing was deployed before, or it is the working copy */
    version: string | null
  }
  to: {
    deployment_id: string | null
    /** Null: nothing was deployed before, or it is the working copy */
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
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while it is disabled or its agent is paused, and after its last tick */
  next_at: string | null
  /** The latest tick that began a run */
  last_tick_at: string | null
  /** That run */
  last_request_id: string | null
  /** How many ticks began no run, because no node came in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many ticks began no run, because an earlier one went on */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that changed it last: its runs have the rights of that key */
  updated_by: string
  created_at: string
  updated_at: string
  /** The next ticks, five at most */
  next_runs: string[]
}

export type CreateSchedule = {
  /** Five fields, such as `0 9 * * MON-FRI`, or a name such as `@daily` */
  cron?: string | undefined
  /** Of `cron`, such as `Europe/Berlin`; UTC when absent */
  timezone?: string | undefined
  /** A duration, such as `15m` or `2h` */
  every?: string | undefined
  /** One tick, at this time */
  at?: string | undefined
  name?: string | null | undefined
  /** What the agent is asked at each tick */
  message: string
  /** Files that the model is shown with the message at each tick. `url` is fetched once, now; `data` is base64; both become files of the schedule */
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
  /** What happens at a tick while the run of an earlier one goes on */
  overlap?: 'skip' | 'queue' | undefined
  /** `one`: if ticks were missed, one run makes up for all of them */
  catch_up?: 'none' | 'one' | undefined
  /** When a budget has no room: fail, or wait until it has. Only a run in the background may wait */
  on_budget?: 'fail' | 'wait' | undefined
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
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while it is disabled or its agent is paused, and after its last tick */
  next_at: string | null
  /** The latest tick that began a run */
  last_tick_at: string | null
  /** That run */
  last_request_id: string | null
  /** How many ticks began no run, because no node came in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many ticks began no run, because an earlier one went on */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that changed it last: its runs have the rights of that key */
  updated_by: string
  created_at: string
  updated_at: string
}

export type UpdateSchedule = {
  /** Five fields, such as `0 9 * * MON-FRI`, or a name such as `@daily` */
  cron?: string | undefined
  /** Of `cron`, such as `Europe/Berlin`; UTC when absent */
  timezone?: string | undefined
  /** A duration, such as `15m` or `2h` */
  every?: string | undefined
  /** One tick, at this time */
  at?: string | undefined
  name?: string | null | undefined
  /** What the agent is asked at each tick */
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
  enabled?: boolean | undefined
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
  metric: 'response_time' | 'throughput' | 'error_rate'
  granularity: '1m' | '5m' | '1h' | '1d'
  aggregation?: 'avg' | 'p50' | 'p95' | 'p99' | 'max' | undefined
  values: ({
    timestamp: string
    value: number
    unit: 'ms' | 'requests_per_minute' | 'percent'
  })[]
}

export type Performance = {
  granularity: '1m' | '5m' | '1h' | '1d'
  buckets: ({
    /** Its beginning */
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
    /** Part of the input */
    cached_tokens: number
    output_tokens: number
    /** Part of the output */
    reasoning_tokens: number
    total_tokens: number
    /** In US dollars; null if one of the calls has no known price */
    cost_usd: number | null
    /** Of the calls whose price is known */
    priced_cost_usd: number
    /** Calls whose price is not known */
    unpriced_calls: number
    /** Calls under a budget whose node died. They count with the most that they may have used */
    lost_calls: number
  }
  /** By time, then by what they are grouped by */
  rows: UsageRow[]
}

export type UsageRow = {
  /** When the hour, the day or the month begins */
  time?: string | undefined
  /** With `project` in `group_by`, and so on. null: there is none */
  project_id?: string | null | undefined
  /** null: no agent, as with tests of a provider */
  agent_id?: string | null | undefined
  /** null: the working copy */
  version?: string | null | undefined
  environment?: string | null | undefined
  /** null: a token, or the command line on the host */
  key_id?: string | null | undefined
  person_id?: string | null | undefined
  user_id?: string | null | undefined
  /** null: the service itself, in the background */
  door?: string | null | undefined
  model?: string | undefined
  purpose?: 'run' | 'facts' | 'summary' | 'memory' | 'search' | 'test' | undefined
  /** Calls of models and embedders */
  calls: number
  input_tokens: number
  /** Part of the input */
  cached_tokens: number
  output_tokens: number
  /** Part of the output */
  reasoning_tokens: number
  total_tokens: number
  /** In US dollars; null if one of the calls has no known price */
  cost_usd: number | null
  /** Of the calls whose price is known */
  priced_cost_usd: number
  /** Calls whose price is not known */
  unpriced_calls: number
  /** Calls under a budget whose node died. They count with the most that they may have used */
  lost_calls: number
}

export type RepricedUsage = {
  /** Calls */
  looked_at: number
  /** Those that cost something else now */
  changed: number
  /** Those of them that had no price */
  priced: number
  /** What all calls cost more than before; less than 0: less */
  change_usd: number
  /** Send it as `after`; null: nothing is left */
  next: string | null
}

export type RepriceUsage = {
  /** Calls from this time on */
  from: string
  /** And before this time; default: now */
  to?: string | undefined
  /** `next` of the reply before */
  after?: string | undefined
  /** `service`: all projects; takes a key of them */
  scope?: 'project' | 'service' | undefined
}

export type Price = {
  /** `provider/model`, `provider/*` for all others of it, or `embedder/model` */
  model: string
  /** `configuration`: `prices` in `moorage.yaml`, which wins. `api`: `PUT /v1/prices/{provider}/{model}`. `genai-prices`: the list of public vendors. `unknown`: set one */
  source: 'configuration' | 'api' | 'genai-prices' | 'builtin' | 'unknown'
  /** The name with which it was set: the model, or `provider/*`. Null if the price was not set */
  set_for: string | null
  /** Of the list that it is from */
  version: string | null
  /** Input, in USD for a million tokens */
  input: number | null
  /** Input that the provider had in its cache, in USD for a million tokens */
  cached_input: number | null
  /** Output, in USD for a million tokens */
  output: number | null
  /** Output that was thought and not said, in USD for a million tokens */
  reasoning: number | null
  /** Each request, in USD */
  request: number | null
  /** What long prompts cost, where that is more */
  tiers: ({
    /** More input tokens than this */
    above: number
    /** Input, in USD for a million tokens */
    input: number | null
    /** Input that the provider had in its cache, in USD for a million tokens */
    cached_input: number | null
    /** Output, in USD for a million tokens */
    output: number | null
    /** Output that was thought and not said, in USD for a million tokens */
    reasoning: number | null
    /** Each request, in USD */
    request: number | null
  })[]
}

export type SetPrice = {
  /** Input, in USD per million tokens */
  input: number
  /** Cached input, in USD per million tokens */
  cached_input?: number | undefined
  /** Output, in USD per million tokens */
  output: number
  /** Reasoning output, in USD per million tokens */
  reasoning?: number | undefined
  /** Each request, in USD */
  request?: number | undefined
}

export type FoundMemory = {
  id: string
  content: string
  kind: 'turn' | 'fact' | 'note'
  role: 'user' | 'assistant' | null
  score: number
  /** The ways in which it was found */
  matched: ('words' | 'meaning' | 'date')[]
  user_id: string | null
  session_id: string | null
  created_at: string
  metadata: Record<string, unknown>
}

export type SearchMemory = {
  query: string
  limit?: number | undefined
  offset?: number | undefined
  /** Only memories of this user, of this session */
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
    /** When it was said; now if absent */
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
    /** The model, with the length of its vectors where one is configured */
    model: string
    /** How many memories have a vector of this model */
    embedded: number
    /** How many have none yet; texts that the embedder refuses stay among them */
    waiting: number
  } | null
}

export type AgentUser = {
  user_id: string
  /** Of conversations */
  turns: number
  /** Notes and facts */
  notes: number
  /** The time of the newest memory there ever was: to forget it does not set this back */
  last_used_at: string
}

export type AgentSession = {
  session_id: string
  user_id: string | null
  /** Of conversations */
  turns: number
  /** Notes and facts */
  notes: number
  /** The time of the newest memory there ever was: to forget it does not set this back */
  last_used_at: string
}

export type SessionSummary = {
  session_id: string
  user_id: string | null
  content: string
  /** How many turns of the session it covers */
  turns: number
  /** The model that wrote it last; null: a client did */
  model: string | null
  /** What the model has spent on it so far */
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
  /** As the client said, unless the bytes say otherwise */
  media_type: string
  /** In bytes */
  size: number
  sha256: string
  /** The user that it belongs to: it is erased and exported with them */
  user_id: string | null
  created_by: string
  created_at: string
  /** When it is removed; null if that is left to the retention of the service */
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
  /** The newer fact about the same thing; null while it holds */
  superseded_by: string | null
} | {
  type: 'summary'
  agent_id: string
  session_id: string
  user_id: string | null
  content: string
  /** How many turns of the session it covers */
  turns: number
  /** The model that wrote it last; null: a client did */
  model: string | null
  /** What the model has spent on it so far */
  tokens_used: number
  updated_at: string
} | {
  type: 'invocation'
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** There while it waits: whether people must decide something before it goes on */
  asks_people?: boolean | undefined
  /** Where it was asked for: the API, a door for other clients, the host, a schedule, or the console */
  door: 'api' | 'openai' | 'mcp' | 'a2a' | 'cli' | 'schedule' | 'console'
  background: boolean
  environment: string
  /** null: the working copy */
  version: string | null
  deployment_id: string | null
  message: string
  context: Record<string, unknown>
  /** The files that came with the message */
  attachments: InvocationAttachment[]
  response: string | null
  /** The answer as a value, if JSON was wanted: it fits the schema. `response` is its text */
  output?: unknown | undefined
  /** What the request asked the answer to be with its own `output`. Only in the receipt of one invocation, not in lists */
  output_wanted?: {
    /** JSON Schema (2020-12; draft 7 if its `$schema` says so) */
    schema: Record<string, unknown>
    /** How often the model is shown what is wrong with its answer and asked again */
    retries: number
  } | undefined
  /** The calls of its caller's own tools with which the answer ended */
  calls: ({
    id: string
    name: string
    arguments: unknown
  })[]
  error: {
    code: 'invalid_request' | 'unauthorized' | 'mfa_required' | 'forbidden' | 'https_required' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'agent_paused' | 'idempotency_key_in_use' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'budget_exceeded' | 'headers_too_large' | 'server_error' | 'output_invalid' | 'unavailable' | 'timeout'
    message: string
    /** Seconds, where the provider of the model or a budget has said when to try again */
    retry_after?: number | undefined
    /** With budget_exceeded: which budget, what was used, and the limit. With output_invalid: what does not fit, and where (JSON pointers) */
    details?: ({
      field: string
      error: string
    })[] | undefined
  } | null
  /** The model that answered last; null while none has */
  model: string | null
  tokens_used: number
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    /** Part of the input that the provider had in its cache, if it says so */
    cached_tokens?: number | undefined
    /** Part of the output that was thought and not said, if it says so */
    reasoning_tokens?: number | undefined
  }
  /** In US dollars; null if the price of a model is not known */
  cost_usd: number | null
  /** What it has done, in the order in which it ended */
  steps: InvocationStep[]
  /** How often its run has begun, and why. A run that waited is resumed by another attempt */
  attempts: ({
    number: number
    began_at: string
    /** `start`: the run began. `wait`: it had waited. `lost`: the node that ran it stopped or died */
    after: 'start' | 'wait' | 'lost'
  })[]
  duration_ms: number | null
  /** The schedule that began it */
  schedule_id: string | null
  /** The tick of the schedule that it is for; null when a client began it */
  scheduled_at: string | null
  /** The run that called this agent as a tool */
  parent_request_id: string | null
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** When its texts were erased */
  erased_at: string | null
  /** What its caller gave besides the message, through another door than the API */
  given?: unknown | undefined
} | {
  type: 'approval'
  id: string
  agent_id: string
  request_id: string
  /** Names the call within its run */
  call_id: string
  /** `tool`: may it be called. `question`: the agent wants an answer. `retry`: it was under way when the service died; may it be called again */
  kind: 'tool' | 'question' | 'retry'
  tool: string
  /** Of the call, without secrets; of a question its `question` and perhaps `options` */
  arguments: Record<string, unknown>
  /** Since when the run waits for it */
  created_at: string
  /** What is not decided by then is rejected */
  expires_at: string
  /** The run that asks, if it is one that this run has called */
  child?: ChildRun | undefined
  status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled'
  user_id: string | null
  session_id: string | null
  /** Who started the run */
  started_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  started_by_name?: string | null | undefined
  decided_at: string | null
  /** null: no person decided, it expired or its run was cancelled */
  decided_by: string | null
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  decided_by_name?: string | null | undefined
  /** With these the tool is called instead */
  changed_arguments: Record<string, unknown> | null
  note: string | null
  answer: string | null
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
  enabled: boolean
  disabled_reason: 'requested' | 'key_revoked' | 'key_expired' | null
  /** Null while it is disabled or its agent is paused, and after its last tick */
  next_at: string | null
  /** The latest tick that began a run */
  last_tick_at: string | null
  /** That run */
  last_request_id: string | null
  /** How many ticks began no run, because no node came in time or the agent was paused */
  missed: number
  last_missed_at: string | null
  last_missed_reason: 'late' | 'agent_paused' | null
  /** How many ticks began no run, because an earlier one went on */
  skipped: number
  last_skipped_at: string | null
  created_by: string
  /** The key that changed it last: its runs have the rights of that key */
  updated_by: string
  created_at: string
  updated_at: string
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
  /** Receipts without words now */
  invocations: number
  /** Entries removed */
  logs: number
  /** Events without words now */
  events: number
  /** Removed, with their bytes */
  files: number
  /** Schedules that asked for this user, deleted */
  schedules: number
  /** Replies kept for an Idempotency-Key, gone now: a retry gets 404 */
  replies: number
  /** Runs that have not ended: cancel them or wait, then send the request again */
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
  /** Until then deliveries are signed with an old secret too */
  previous_secret_expires_at: string | null
  /** The first failed attempt since the last success */
  failing_since: string | null
  /** The key, or the role of a person. It belongs to the project and goes on when they end. Null: a callback */
  created_by: string | null
  created_at: string
  updated_at: string
  /** Shown in this reply only */
  secret: string
}

export type CreateWebhook = {
  /** Only events of this agent (id or name); null is all agents, except those with an address list, client certificates or codes for webhooks of their own */
  agent_id?: string | null | undefined
  /** Public https address; the operator may allow others */
  url: string
  /** `*` is every event */
  events: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[]
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
  /** Until then deliveries are signed with an old secret too */
  previous_secret_expires_at: string | null
  /** The first failed attempt since the last success */
  failing_since: string | null
  /** The key, or the role of a person. It belongs to the project and goes on when they end. Null: a callback */
  created_by: string | null
  created_at: string
  updated_at: string
}

export type UpdateWebhook = {
  /** Public https address; the operator may allow others */
  url?: string | undefined
  /** `*` is every event */
  events?: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[] | undefined
  description?: string | null | undefined
  status?: 'enabled' | 'disabled' | undefined
}

export type WebhookTest = {
  event_id: string
  delivered: boolean
  response_status: number | null
  /** null: the receiver took it */
  error: 'http_error' | 'redirect' | 'timeout' | 'dns_failed' | 'connect_failed' | 'tls_failed' | 'reset' | 'invalid_response' | 'too_large' | 'blocked_address' | 'invalid_url' | 'agent_closed' | 'internal' | null
  duration_ms: number
}

export type DeliveryWithBody = {
  id: string
  webhook_id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  status: 'pending' | 'delivered' | 'failed'
  attempt_count: number
  /** The latest, oldest first */
  attempts: DeliveryAttempt[]
  /** null: none is planned, or one is under way */
  next_attempt_at: string | null
  created_at: string
  delivered_at: string | null
  /** What is sent, to the byte */
  body: string
}

export type Listener = {
  id: string
  agent_id: string | null
  events: string[]
  created_at: string
  /** Unless it is asked before */
  expires_at: string
  /** What came and was not received yet, oldest first */
  deliveries: HeardEvent[]
}

export type HeardEvent = {
  id: string
  /** The `webhook-id` of every attempt */
  event_id: string
  event: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping'
  /** What is sent, to the byte */
  body: string
  created_at: string
}

export type CreateListener = {
  /** Only events of this agent (id or name); null is all agents, except those with an address list, client certificates or codes for webhooks of their own */
  agent_id?: string | null | undefined
  /** `*` is every event */
  events: ('agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | '*')[]
}

export type KeyWithSecret = {
  id: string
  name: string
  /** null: it works in every project */
  project_id: string | null
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  role: string | null
  tier: string
  hint: string
  status: 'active' | 'expired' | 'revoked'
  created_at: string
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  /** Whose it is: it may do no more than this person, and ends with their role. null: of a service */
  person_id: string | null
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  person_name?: string | null | undefined
  expires_at: string | null
  last_used_at: string | null
  previous_secret_expires_at: string | null
  revoked_at: string | null
  /** Shown in this reply only */
  secret: string
}

export type CreateKey = {
  name: string
  /** Limits the key to one agent (id or name); null is the whole project */
  agent_id?: string | null | undefined
  permissions?: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[] | undefined
  /** A role of the configuration, instead of `permissions` */
  role?: string | undefined
  /** A rate-limit tier of the configuration. When absent `limits.defaultTier`, or your own tier where that is lower */
  tier?: string | undefined
  expires_at?: string | null | undefined
  /** Whether the key works in every project. Only a key of all projects can make one. When absent, a key that may manage is one if its maker is and names no project */
  all_projects?: boolean | undefined
}

export type Key = {
  id: string
  name: string
  /** null: it works in every project */
  project_id: string | null
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  role: string | null
  tier: string
  hint: string
  status: 'active' | 'expired' | 'revoked'
  created_at: string
  created_by: string
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  created_by_name?: string | null | undefined
  /** Whose it is: it may do no more than this person, and ends with their role. null: of a service */
  person_id: string | null
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  person_name?: string | null | undefined
  expires_at: string | null
  last_used_at: string | null
  previous_secret_expires_at: string | null
  revoked_at: string | null
}

export type Self = {
  id: string
  kind: 'key' | 'token' | 'local' | 'person'
  /** The person who asks, or whose key this is */
  person_id: string | null
  name: string | null
  /** The project in which it works with this request */
  project_id: string
  /** `service`: it works in every project */
  reach: 'project' | 'service'
  agent_id: string | null
  permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  /** Its rate-limit tier */
  tier: string
  /** The tiers that keys made by this one may have, the slowest first */
  tiers: ({
    name: string
    requests_per_minute: number
    burst: number
  })[]
  /** The tier of a key that it makes without naming one */
  default_tier: string
  /** The roles that keys made by this one may have */
  roles: ({
    name: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
  })[]
  expires_at: string | null
}

export type CreatePersonalKey = {
  name: string
  /** Limits the key to one agent (id or name); null is the whole project */
  agent_id?: string | null | undefined
  permissions?: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[] | undefined
  /** A role of the configuration, instead of `permissions` */
  role?: string | undefined
  /** A rate-limit tier of the configuration. When absent `limits.defaultTier`, or your own tier where that is lower */
  tier?: string | undefined
  expires_at?: string | null | undefined
}

export type NewKeyFactor = {
  key_id: string
  status: 'pending'
  /** Base32, for those who type it */
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
  /** Shown in this reply only */
  token: string
  key_id: string
  expires_at: string
}

export type ConsoleSession = {
  id: string
  key_id: string | null
  key_name: string | null
  /** The person who has signed in, if it was not with a key */
  person_id: string | null
  person_name: string | null
  /** The identity provider, by its name in the configuration */
  issuer: string | null
  /** The agent that the key is limited to */
  agent_id: string | null
  /** Where the sign-in came from */
  address: string
  /** What the browser says of itself */
  browser: string
  /** Whether this request came by the session itself */
  current: boolean
  created_at: string
  /** Exact to a minute */
  last_used_at: string
  /** When it ends at the latest; it ends earlier when it is not used */
  expires_at: string
}

export type Person = {
  id: string
  name: string
  email: string | null
  email_verified: boolean
  /** As whom identity providers know the person */
  identities: ({
    issuer: string
    subject: string
  })[]
  /** In this project; with a key of all projects: everywhere */
  roles: ({
    id: string
    /** null: all projects */
    project_id: string | null
    role: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
    /** `granted`, or `group:` and the name of the identity provider */
    source: string
    created_at: string
  })[]
  created_at: string
  /** When the identity provider last vouched for the person */
  last_seen_at: string
}

export type PersonWithLostKeys = {
  id: string
  name: string
  email: string | null
  email_verified: boolean
  /** As whom identity providers know the person */
  identities: ({
    issuer: string
    subject: string
  })[]
  /** In this project; with a key of all projects: everywhere */
  roles: ({
    id: string
    /** null: all projects */
    project_id: string | null
    role: string
    permissions: ('read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve')[]
    /** `granted`, or `group:` and the name of the identity provider */
    source: string
    created_at: string
  })[]
  created_at: string
  /** When the identity provider last vouched for the person */
  last_seen_at: string
  /** Keys of theirs that may do less from now on; it does not come back */
  narrowed_keys: string[]
  /** Keys of theirs that have ended */
  revoked_keys: string[]
}

export type SetPersonRole = {
  /** A role of the configuration; null takes it away */
  role: string | null
  /** In all projects: an administrator of the service has admin there */
  all_projects?: boolean | undefined
}

export type RemovedPerson = {
  id: string
  deleted: true
  /** Keys of theirs that have ended */
  revoked_keys: string[]
  /** Keys of services that they have made, and that go on */
  kept_keys: string[]
  /** Webhooks that they have made, and that go on */
  kept_webhooks: string[]
}

export type InvitationWithToken = {
  id: string
  email: string
  role: string
  /** null: all projects */
  project_id: string | null
  /** `ended`: who made it could not make it any more. Their key or role has ended, or allows less */
  status: 'pending' | 'accepted' | 'expired' | 'ended'
  created_at: string
  created_by: string
  expires_at: string
  accepted_at: string | null
  /** The person */
  accepted_by: string | null
  /** Shown in this reply only */
  token: string
}

export type CreateInvitation = {
  /** Who is meant. The identity provider must have verified this address */
  email: string
  /** A role of the configuration */
  role: string
  /** For all projects instead of this one. Only an actor of all projects can give it */
  all_projects?: boolean | undefined
  expires_in_hours?: number | undefined
}

export type Invitation = {
  id: string
  email: string
  role: string
  /** null: all projects */
  project_id: string | null
  /** `ended`: who made it could not make it any more. Their key or role has ended, or allows less */
  status: 'pending' | 'accepted' | 'expired' | 'ended'
  created_at: string
  created_by: string
  expires_at: string
  accepted_at: string | null
  /** The person */
  accepted_by: string | null
}

export type Project = {
  id: string
  name: string
  description: string | null
  limits: ProjectLimits
  /** What it stores, as last measured; null without a limit, and before the first time */
  stored_bytes: number | null
  /** What names no project is in this one */
  is_default: boolean
  created_at: string
  updated_at: string
}

export type ProjectLimits = {
  /** For all callers of the project together; null is no limit */
  requests_per_minute: number | null
  /** Runs of all its agents under way at once, on all nodes; others get 429, and those in the background wait */
  concurrent_runs: number | null
  /** Bytes of receipts, logs, memories and files, measured about once a minute; a project that has more takes no further messages, memories and files (409), and its schedules skip their ticks */
  stored_bytes: number | null
  /** Bytes of its files together; an upload that would exceed it gets 409 */
  file_bytes: number | null
  /** Receipts, approvals, logs, memories, deliveries and files are removed after this many days; null is as long as the service keeps them */
  retention_days: number | null
}

export type CreateProject = {
  name: string
  description?: string | null | undefined
  limits?: SetProjectLimits | undefined
}

export type SetProjectLimits = {
  /** For all callers of the project together; null is no limit */
  requests_per_minute?: number | null | undefined
  /** Runs of all its agents under way at once, on all nodes; others get 429, and those in the background wait */
  concurrent_runs?: number | null | undefined
  /** Bytes of receipts, logs, memories and files, measured about once a minute; a project that has more takes no further messages, memories and files (409), and its schedules skip their ticks */
  stored_bytes?: number | null | undefined
  /** Bytes of its files together; an upload that would exceed it gets 409 */
  file_bytes?: number | null | undefined
  /** Receipts, approvals, logs, memories, deliveries and files are removed after this many days; null is as long as the service keeps them */
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
  /** The keys of people that have ended with the move */
  revoked_keys: string[]
}

export type MoveAgent = {
  /** Id or name */
  project: string
}

export type Pause = {
  /** Whether nothing of this project runs now */
  paused: boolean
  /** The pause of this project */
  project: {
    reason: string
    /** A key, a person … Of the service it is told to keys of all projects only */
    paused_by: string | null
    paused_at: string
  } | null
  /** The pause of the whole service */
  service: {
    reason: string
    /** A key, a person … Of the service it is told to keys of all projects only */
    paused_by: string | null
    paused_at: string
  } | null
}

export type BeginPause = {
  /** Clients whose messages are refused meanwhile are told */
  reason: string
  /** `service`: every project; takes a key of all projects */
  scope?: 'project' | 'service' | undefined
}

export type EndPause = {
  /** `service`: every project; takes a key of all projects */
  scope?: 'project' | 'service' | undefined
}

export type Secret = {
  name: string
  hosts: string[]
  /** `moorage.yaml` has a secret of this name, and that one is used */
  overridden: boolean
  created_at: string
  updated_at: string
}

export type SetSecret = {
  /** The secret itself; no reply ever shows it */
  value: string
  /** Hosts that it can be sent to: `api.example.com` on any port, `api.example.com:8443` on that one */
  hosts: string[]
}

export type Provider = {
  /** The first part of a model, as in `name/model` */
  name: string
  type: 'openai-compatible' | 'openai' | 'anthropic'
  /** null: the vendor itself */
  base_url: string | null
  has_key: boolean
  vision: boolean | Record<string, boolean> | null
  /** `configuration`: it is in `moorage.yaml`, and is changed there */
  source: 'api' | 'configuration'
  /** One of this name was set through the API too. That of `moorage.yaml` is used */
  overridden: boolean
  created_at: string | null
  updated_at: string | null
}

export type SetProvider = {
  /** The protocol that it speaks */
  type?: 'openai-compatible' | 'openai' | 'anthropic' | undefined
  /** Its address, up to `/v1`; needed for `openai-compatible`. null: the vendor itself */
  base_url?: string | null | undefined
  /** Its key; no reply ever shows it. null: it wants none. Absent: the stored one stays, while the origin of the address does */
  api_key?: string | null | undefined
  /** Whether its models take images: `true`, `false`, or by the name of a model. null: they are tried */
  vision?: boolean | Record<string, boolean> | null | undefined
}

export type ProviderModels = {
  models: ({
    id: string
    /** As an agent names it: `provider/id` */
    model: string
  })[]
  /** Why the provider gave no list */
  error: string | null
}

export type ProviderTest = {
  ok: boolean
  /** What the operator should look at */
  error: string | null
  /** `untested`: the list of models is public, so test a `model`. `none`: the provider has no key */
  key: 'accepted' | 'untested' | 'none'
  /** How many models it has, as far as it says */
  models: number
  duration_ms: number
}

export type TestProvider = {
  /** A model of the provider, without the name of the provider */
  model?: string | undefined
}

export type Budget = {
  id: string
  /** null: it is of the whole service */
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
  /** Whose sums these are, if each key or user has the limit for itself: of the one that has used the most */
  subject: string | null
  /** Spent in this period, in what the limit is in: dollars, tokens or runs */
  used: number
  /** Held by calls that are under way, in what the limit is in: dollars, tokens or runs */
  reserved: number
  /** When the period ends; null: never */
  resets_at: string | null
  /** Why it refuses every call of a model or an agent, such as an unknown price. Not in lists */
  warnings?: string[] | undefined
  created_by: string
  created_at: string
  updated_at: string
}

export type CreateBudget = {
  name: string
  /** One of the three. Tokens are those of the input and of the output together */
  limit: {
    cost_usd?: number | undefined
    tokens?: number | undefined
    runs?: number | undefined
  }
  /** Percentages of the limit that the event `budget.threshold` tells, once each in a period */
  thresholds?: number[] | undefined
  /** `refuse` lets no call begin that may exceed the limit; `notify` only tells */
  action?: 'refuse' | 'notify' | undefined
  /** Whose spending counts */
  scope: {
    type: 'service' | 'project' | 'agent' | 'key' | 'user'
    /** Agent (id or name), key or user. Null with key or user: each of them has the limit for itself */
    id?: string | null | undefined
  }
  /** When it begins anew: each hour, day or month, or never */
  per: 'hour' | 'day' | 'month' | 'ever'
  /** Where days and months begin, such as `Europe/Berlin` */
  timezone?: string | undefined
}

export type UpdateBudget = {
  name?: string | undefined
  /** One of the three. Tokens are those of the input and of the output together */
  limit?: {
    cost_usd?: number | undefined
    tokens?: number | undefined
    runs?: number | undefined
  } | undefined
  /** Percentages of the limit that the event `budget.threshold` tells, once each in a period */
  thresholds?: number[] | undefined
  action?: 'refuse' | 'notify' | undefined
}

export type AuditEntry = {
  id: string
  /** Its place in the chain; null for the moment before it has one */
  seq: number | null
  created_at: string
  /** `console`: the holder of the key was signed in to the console. `local`: the host, or the service by itself */
  actor_kind: 'key' | 'token' | 'local' | 'console' | 'person' | null
  /** A key, a person … Null when the credentials were not recognised */
  actor: string | null
  /** The name of the key with that id. Null if the id is of no key, or of one that is gone */
  actor_name?: string | null | undefined
  /** The key of their own that a person has used */
  key_id: string | null
  /** The operationId; null on a path that is no operation */
  action: string | null
  project_id: string
  agent_id: string | null
  /** The id of what was changed */
  target: string | null
  /** `started`: told before a change that is no single transaction, and again when it is done */
  outcome: 'success' | 'started' | 'refused'
  /** The error code of a refusal */
  code: string | null
  /** The names of the fields that were sent, never their values */
  fields: string[]
  /** How many refusals of the same kind this entry stands for */
  times: number
  /** Of the first of them */
  request_id: string
  /** Null on the host itself, and for refusals of many addresses */
  address: string | null
  prev_hash: string | null
  hash: string | null
}

export type AuditHead = {
  /** 0 while there is no entry */
  seq: number
  hash: string
}

export type System = {
  version: string
  /** The process that answered, among those that share the database */
  node: string
  engine: 'sqlite' | 'postgres'
  /** When this process started */
  started_at: string
  /** The service's clock */
  now: string
  /** Runs under way on this node */
  runs_live: number
  /** The processes that serve this database; those that were killed for an hour */
  nodes: ({
    node: string
    /** silent: it has told nothing for 7 seconds, and others take over its work */
    status: 'live' | 'silent'
    version: string
    started_at: string
    /** When it last told; every second */
    seen_at: string
    runs_live: number
    /** How much of the last half minute its event loop worked */
    busy_percent: number
    memory_bytes: number
  })[]
  /** Of all nodes */
  queues: ({
    queue: 'runs' | 'deliveries' | 'jobs'
    waiting: number
    /** In the hands of a node */
    leased: number
    /** Since when the oldest waits */
    oldest: string | null
  })[]
  storage: {
    /** In a large store earlier than now: it is counted every hour, and again when it is asked for after a minute */
    measured_at: string
    /** Size of the database */
    bytes: number
    /** How many rows each kind of data has */
    rows: Record<string, number>
    /** The rows that are kept of each of the last 30 days in UTC, oldest first */
    days: ({
      day: string
      invocations: number
      logs: number
      audit_log: number
    })[]
  }
  /** The configuration in force on this node; secrets appear as `(set)` */
  settings: ({
    setting: string
    value: unknown
    origin: string | null
  })[]
}

export type ErrorCode = ErrorReply['error']['code']

export const STATUS_OF: Record<ErrorCode, number> = {"invalid_request":400,"unauthorized":401,"mfa_required":401,"forbidden":403,"https_required":403,"not_found":404,"method_not_allowed":405,"request_timeout":408,"conflict":409,"agent_paused":409,"idempotency_key_in_use":409,"payload_too_large":413,"unsupported_media_type":415,"range_not_satisfiable":416,"idempotency_key_reused":422,"rate_limited":429,"budget_exceeded":429,"headers_too_large":431,"server_error":500,"output_invalid":500,"unavailable":503,"timeout":504}

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
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'finished_at' | '-finished_at' | 'duration_ms' | '-duration_ms' | 'tokens_used' | '-tokens_used' | 'status' | '-status' | 'id' | '-id' | undefined; status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined; activity?: 'working' | 'asking' | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'cli' | 'schedule' | 'console' | undefined; session_id?: string | undefined; user_id?: string | undefined; schedule_id?: string | undefined }
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
  /** Follow an invocation */
  streamInvocation: {
    params: { agent_id: string; request_id: string }
    data: InvocationResult
  }
  /** Cancel an invocation */
  cancelInvocation: {
    params: { agent_id: string; request_id: string }
    data: Invocation
  }
  /** Ask for steps */
  takeSteps: {
    params: { agent_id: string; request_id: string }
    body: AskSteps
    data: StepsResult
  }
  /** Read a file of a run */
  getRunFile: {
    params: { agent_id: string; request_id: string; file_id: string }
    data: unknown
  }
  /** Get what the model was shown */
  getPrompt: {
    params: { agent_id: string; request_id: string }
    query: { step?: number | undefined }
    data: Prompt
  }
  /** Get what an invocation left elsewhere */
  getEffects: {
    params: { agent_id: string; request_id: string }
    data: Effects
  }
  /** List invocations of all agents */
  listAllInvocations: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | undefined; agent_id?: string | undefined; status?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'cli' | 'schedule' | 'console' | undefined; session_id?: string | undefined; user_id?: string | undefined; request_id?: string | undefined; parent_request_id?: string | undefined }
    item: Invocation
  }
  /** List approvals */
  listApprovals: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'expires_at' | '-expires_at' | 'decided_at' | '-decided_at' | 'status' | '-status' | 'id' | '-id' | undefined; agent_id?: string | undefined; status?: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | undefined; kind?: 'tool' | 'question' | 'retry' | undefined; request_id?: string | undefined; user_id?: string | undefined; session_id?: string | undefined; start_time?: string | undefined; end_time?: string | undefined }
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
  /** List agents with their last day */
  listOverview: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'name' | '-name' | 'status' | '-status' | 'id' | '-id' | undefined; failing?: 'true' | undefined }
    item: AgentOverview
  }
  /** List the agents that this key may invoke */
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
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'environment' | '-environment' | 'version' | '-version' | 'status' | '-status' | 'id' | '-id' | undefined; environment?: string | undefined; version?: string | undefined; status?: 'active' | 'superseded' | 'rolled_back' | undefined }
    item: Deployment
  }
  /** Get a deployment */
  getDeployment: {
    params: { agent_id: string; deployment_id: string }
    data: DeploymentWithDefinition
  }
  /** Find a deployment by its id */
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
      dry_run?: boolean | undefined
    }
    data: Deployment | RollbackPreview
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
  /** Get an agent's log entries */
  getLogs: {
    params: { agent_id: string }
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'timestamp' | '-timestamp' | undefined; level?: string | undefined; start_time?: string | undefined; end_time?: string | undefined; request_id?: string | undefined; after?: string | undefined; search?: string | undefined }
    item: LogEntry
  }
  /** Get a metric of an agent over time */
  getMetrics: {
    params: { agent_id: string }
    query: { metric: 'response_time' | 'throughput' | 'error_rate'; start_time?: string | undefined; end_time?: string | undefined; granularity?: '1m' | '5m' | '1h' | '1d' | undefined; aggregation?: 'avg' | 'p50' | 'p95' | 'p99' | 'max' | undefined }
    data: MetricSeries
  }
  /** Get all metrics of an agent over time */
  getPerformance: {
    params: { agent_id: string }
    query: { start_time?: string | undefined; end_time?: string | undefined; granularity?: '1m' | '5m' | '1h' | '1d' | undefined }
    data: Performance
  }
  /** Get what models have used and cost */
  getUsage: {
    query: { group_by?: string | undefined; from?: string | undefined; to?: string | undefined; granularity?: 'hour' | 'day' | 'month' | undefined; timezone?: string | undefined; scope?: 'project' | 'service' | undefined; agent_id?: string | undefined; version?: string | undefined; environment?: string | undefined; key_id?: string | undefined; person_id?: string | undefined; user_id?: string | undefined; request_id?: string | undefined; model?: string | undefined; door?: 'api' | 'openai' | 'mcp' | 'a2a' | 'cli' | 'schedule' | 'console' | undefined; purpose?: 'run' | 'facts' | 'summary' | 'memory' | 'search' | 'test' | undefined; format?: 'json' | 'csv' | undefined }
    data: Usage
  }
  /** Apply the prices of now to past calls */
  repriceUsage: {
    body: RepriceUsage
    data: RepricedUsage
  }
  /** List what models cost */
  listPrices: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'model' | '-model' | undefined }
    item: Price
  }
  /** Set what a model costs */
  setPrice: {
    params: { provider: string; model: string }
    body: SetPrice
    data: Price
  }
  /** Delete a price that the project has set */
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
  /** Get the status of memory */
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
  /** Replace the summary of a session */
  replaceSummary: {
    params: { agent_id: string; session_id: string }
    query: { user_id?: string | undefined }
    body: ReplaceSummary
    data: SessionSummary
  }
  /** Get the summary of a session */
  getSummary: {
    params: { agent_id: string; session_id: string }
    query: { user_id?: string | undefined }
    data: SessionSummary
  }
  /** Delete the summary of a session */
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
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'url' | '-url' | 'status' | '-status' | 'id' | '-id' | undefined; agent_id?: string | undefined; event?: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | undefined; status?: 'enabled' | 'disabled' | undefined }
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
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'id' | '-id' | undefined; status?: 'pending' | 'delivered' | 'failed' | undefined; event?: 'agent.completed' | 'agent.failed' | 'agent.cancelled' | 'agent.waiting' | 'deployment.created' | 'deployment.rolled_back' | 'webhook.disabled' | 'project.deleted' | 'project.paused' | 'project.resumed' | 'service.paused' | 'service.resumed' | 'budget.threshold' | 'budget.exceeded' | 'ping' | undefined }
    item: Delivery
  }
  /** Get a delivery */
  getDelivery: {
    params: { webhook_id: string; delivery_id: string }
    data: DeliveryWithBody
  }
  /** Find a delivery by its id */
  findDelivery: {
    params: { delivery_id: string }
    data: DeliveryWithBody
  }
  /** Deliver again */
  redeliver: {
    params: { webhook_id: string; delivery_id: string }
    data: Delivery
  }
  /** Listen for events */
  createListener: {
    body: CreateListener
    data: Listener
  }
  /** Get what a listener has heard */
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
  /** Say what this key, or this person, may do */
  getSelf: {
    data: Self
  }
  /** Create a key of your own */
  createPersonalKey: {
    body: CreatePersonalKey
    data: KeyWithSecret
  }
  /** List the keys of your own */
  listPersonalKeys: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'expires_at' | '-expires_at' | 'last_used_at' | '-last_used_at' | 'id' | '-id' | undefined; status?: 'active' | 'expired' | 'revoked' | undefined }
    item: Key
  }
  /** Revoke a key of your own */
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
  /** Give a key a second factor */
  enrolFactor: {
    params: { key_id: string }
    data: NewKeyFactor
  }
  /** Say whether a key has a second factor */
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
      /** Another key than the oldest admin key; for the host only */
      key_id?: string | undefined
    }
    data: ConsoleLink
  }
  /** List sessions of the console */
  listConsoleSessions: {
    query: { limit?: number | undefined; offset?: number | undefined; sort?: 'created_at' | '-created_at' | 'last_used_at' | '-last_used_at' | 'expires_at' | '-expires_at' | undefined; key_id?: string | undefined; person_id?: string | undefined }
    item: ConsoleSession
  }
  /** End a session of the console */
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
  /** Remove a person */
  deletePerson: {
    params: { person_id: string }
    data: RemovedPerson
  }
  /** Give a person a role, or take it away */
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
  /** Take an invitation back */
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
  /** See whether everything is paused */
  getPause: {
    data: Pause
  }
  /** Go on after a pause */
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
  /** List the models of a provider */
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
  /** Get the end of the audit chain */
  getAuditHead: {
    data: AuditHead
  }
  /** Get the state of the service */
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
  createSchedule: { method: 'POST', path: '/v1/agents/{agent_id}/schedules' },
  listSchedules: { method: 'GET', path: '/v1/agents/{agent_id}/schedules' },
  getSchedule: { method: 'GET', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  updateSchedule: { method: 'PATCH', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  deleteSchedule: { method: 'DELETE', path: '/v1/agents/{agent_id}/schedules/{schedule_id}' },
  runSchedule: { method: 'POST', path: '/v1/agents/{agent_id}/schedules/{schedule_id}/run' },
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
