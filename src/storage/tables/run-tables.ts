import { flag, integer, json, SQL_TYPES, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'
import { RUN_STATEMENTS } from './logic/run-statements.ts'

/** The columns that a run has from its start and that its receipt keeps. */
const asked = {
  id: text.primary,
  agent_seq: integer,
  status: text,
  /** The number of attempts. 0 while it is queued for the first time. */
  attempt: integer.default(1),
  /** The attempts after the first, with the reason for each. Null if the run has had only one attempt. */
  attempts: json.nullable,
  background: flag,
  /** 1 if the request had an Idempotency-Key. If the run's node dies, another node continues it. */
  keyed: flag.default(0),
  /** What the run does if a budget has no room: `fail` or `wait`. */
  on_budget: text.default("'fail'"),
  door: text.default("'api'"),
  environment: text,
  version: text.nullable,
  deployment_id: text.nullable,
  message: text,
  context: json,
  user_id: text.nullable,
  session_id: text.nullable,
  /** The files of the message. */
  attachments: json.nullable,
  /** What its caller sent in addition to the message. */
  given: json.nullable,
  /** The schedule that started it, and the tick. */
  schedule_id: text.nullable,
  /** The keys that created or changed that schedule. */
  authors: json.nullable,
  scheduled_at: time.nullable,
  /** The run that called this run's agent, and the key of that call. */
  parent_request_id: text.nullable,
  call_key: text.nullable,
  /** Its place in a tree of runs. */
  tree: json.nullable,
  /**
   * When the time limit that it shares with the other runs of its tree ends. Null if each attempt has the agent's full
   * time limit.
   */
  deadline_at: time.nullable,
  created_by: text,
  /** The person who started it, with a role or with a personal key. */
  person_id: text.nullable,
  created_at: time,
  started_at: time.nullable,
  /** How long it has run. */
  duration_ms: integer.nullable,
}

/** The receipt's other columns. */
const outcome = {
  response: text.nullable,
  /** 1 if the response is JSON as requested. */
  structured: flag.default(0),
  error: json.nullable,
  input_tokens: integer,
  output_tokens: integer,
  tokens_used: integer,
  /** In billionths of a dollar. Null if a price is unknown. */
  cost_nano: integer.nullable,
  steps: json,
  /** The model's answer, if it ended with calls to the caller's own tools. */
  rounds: json.nullable,
  finished_at: time,
  erased_at: time.nullable,
}

/** The values of the outcome's columns until the run has ended. */
export const NO_OUTCOME = {
  response: null,
  structured: 0,
  error: null,
  input_tokens: 0,
  output_tokens: 0,
  tokens_used: 0,
  cost_nano: 0,
  steps: '[]',
  rounds: null,
  finished_at: null,
  erased_at: null,
} satisfies Record<keyof typeof outcome, unknown>

/**
 * A view of every invocation as the API shows it, active or ended. Both engines can use the indexes of the two tables
 * only if the column types are the same.
 */
function allInvocations(engine: keyof typeof SQL_TYPES): string {
  const shared = Object.keys(asked)
  const none = Object.entries(outcome).map(([name, { facts }]) => {
    const value = NO_OUTCOME[name as keyof typeof outcome]
    const literal = typeof value === 'string' ? `'${value}'` : value
    return SQL_TYPES[engine][facts.kind].replace(/^\w+/, (type) => `cast(${literal} as ${type})`)
  })
  return `create view all_invocations as
    select ${[...shared, ...Object.keys(outcome)].join(', ')} from invocations
    union all
    select ${[...shared, ...none].join(', ')} from runs`
}

/** A row of the view, which is read-only. */
export const invocationView = {
  all_invocations: { columns: { ...asked, ...outcome, finished_at: time.nullable } },
}

/**
 * Keeps the pages of deleted rows. Rows come and go, so a vacuum finds the table almost empty. If it gave back the
 * pages, PostgreSQL would plan to read the whole small table, and would keep that plan when the table grows again.
 */
const KEEPS_PAGES = ' with (vacuum_truncate = off)'

/** True for a run that has the turn of its session, in the index's own words. `of` is the table's name with a dot. */
export function hasTurn(of = ''): string {
  const isActive = `${of}status <> 'waiting' or ${of}waits_for = 'children'`
  return `${of}session_key is not null and ${of}place is null and (${isActive})`
}

/**
 * What runs write. No table here refers to agents by a foreign key, because every insert would need a look-up. A job
 * removes a deleted agent's rows later.
 */
export const runTables = {
  /** An active run. Its row is leased and changes. The end of the run deletes the row and inserts the receipt. */
  runs: table({
    ...asked,
    /** The project of its agent. */
    project_id: text,
    /** While the run is queued, why its next attempt will start: `start`, `wait` or `lost`. */
    begins_after: text.default("'start'"),
    /** The node that runs it until `lease_until`. */
    owner: text.nullable,
    lease_until: time.nullable,
    cancel_requested_at: time.nullable,
    /** How many nodes have died while running it, since its last stored step. */
    lapses: integer.default(0),
    /** When a waiting run continues. */
    wake_at: time.nullable,
    /**
     * The state of the budget that it waits for, so that a new state wakes it, or a mark that it waits for the runs
     * that it called.
     */
    waits_for: text.nullable,
    /** The session in which it takes its turn (`invocations/turns/`). Null if it needs no turn. */
    session_key: text.nullable,
    /** Its place in the line of its session. Null if it has the turn, or begins without one. */
    place: integer.nullable,
    priority: text.default("'normal'"),
    /**
     * Of an agent's queued runs, those with lower ranks begin first. The rank is the time of arrival, shifted by the
     * priority.
     */
    rank: integer.default(0),
  })
    .indexes({
      runs_by_agent: '(agent_seq, id)',
      runs_by_status: '(status, agent_seq, id)',
      // A call to an agent starts one run, no matter how often the call is repeated.
      runs_by_parent: 'unique (parent_request_id, call_key) where parent_request_id is not null',
      // These indexes contain only runs that wait or are being cancelled.
      runs_waiting: "(wake_at) where status = 'waiting'",
      runs_waiting_for: "(waits_for) where status = 'waiting' and waits_for is not null",
      runs_cancelled: '(cancel_requested_at) where cancel_requested_at is not null',
      // One run of each session has the turn. While it waits, it keeps the turn only if it waits for runs that it
      // called.
      runs_by_turn: `unique (session_key) where ${hasTurn()}`,
      runs_in_line: '(session_key, place, id) where place is not null',
      runs_due: "(agent_seq, rank, id) where status = 'queued' and place is null",
      runs_interactive: "(agent_seq, rank, id) where status = 'queued' and place is null and priority = 'interactive'",
    })
    .stored({ postgres: KEEPS_PAGES })
    .also(RUN_STATEMENTS),

  /** The receipts of ended runs. They are inserted once and don't change until they are erased. */
  invocations: table({
    ...asked,
    ...outcome,
  })
    .indexes({
      // IDs begin with the time of the request, so lists in the order of time are in the order of IDs.
      invocations_by_agent: '(agent_seq, id)',
      invocations_by_status: '(agent_seq, status, id)',
      invocations_by_user: '(agent_seq, user_id, id) where user_id is not null',
      invocations_by_session: '(agent_seq, session_id, id) where session_id is not null',
      invocations_by_schedule: '(agent_seq, schedule_id, id) where schedule_id is not null',
      invocations_by_starter: '(agent_seq, created_by, id)',
      invocations_by_parent: 'unique (parent_request_id, call_key) where parent_request_id is not null',
      invocations_by_door: '(agent_seq, door, id)',
      // For lists of many agents. Most invocations complete and aren't in this index.
      invocations_not_completed: "(status, id, agent_seq) where status <> 'completed'",
      // A user's metrics are computed from this index alone, without reading the rows.
      invocations_by_end: '(agent_seq, user_id, finished_at, status, duration_ms) where user_id is not null',
    })
    .also({ sqlite: [allInvocations('sqlite')], postgres: [allInvocations('postgres')] }),
  /** A run's steps so far. They are deleted when the run ends, because its receipt contains them. */
  steps: table({
    request_id: text,
    /** The step's position among the run's steps, in the order in which they ended. */
    position: integer,
    kind: text,
    attempt: integer,
    started_at: time,
    finished_at: time,
    content: json,
    /** The draft that the run uses. Stored with the first step if the run uses no version. */
    definition: json.nullable,
  }).primaryKey('request_id', 'position'),
  /** What runs ask people. A run has pending approvals only while it waits. */
  approvals: table({
    id: text.primary,
    agent_seq: integer,
    request_id: text,
    /** The ID of the call within its run. If people were asked about a call twice, it has two rows. */
    call_id: text,
    /** The position of the call in the answer that requested it. */
    call_index: integer,
    /** The attempt of the run that asked. */
    attempt: integer,
    kind: text,
    tool: text,
    /** JSON, without secrets. */
    arguments: json,
    /** JSON Schema. */
    input_schema: json,
    status: text,
    user_id: text.nullable,
    session_id: text.nullable,
    /** Who started the run. */
    started_by: text,
    created_at: time,
    expires_at: time,
    decided_at: time.nullable,
    decided_by: text.nullable,
    /** JSON, without secrets. */
    changed_arguments: json.nullable,
    note: text.nullable,
    answer: text.nullable,
    /** The connection that a user must sign in to, and the link for that. */
    connection_id: text.nullable,
    link_id: text.nullable,
    /** Whose grant it waits for: the user's ID, or empty for the project's. */
    holder: text.nullable,
    /** The grant that doesn't allow enough, so that another one is needed. */
    grant_id: text.nullable,
  }).indexes({
    approvals_for_connections: "(connection_id, holder) where connection_id is not null and status = 'pending'",
    approvals_by_request: '(request_id, call_id)',
    approvals_by_agent: '(agent_seq, id, kind)',
    approvals_by_status: '(status, id)',
    approvals_by_user: '(user_id, id) where user_id is not null',
    approvals_by_session: '(session_id, id) where session_id is not null',
    approvals_by_starter: '(started_by, id)',
  }) /** What people and applications say of answers. It goes with the receipt. Of an erased one the scores stay. */,
  feedback: table({
    id: text.primary,
    agent_seq: integer,
    request_id: text.references('invocations'),
    /** What the score is about. */
    key: text,
    score_millionths: integer,
    comment: text.nullable,
    /** The run's user and session, and the version that it used. */
    user_id: text.nullable,
    session_id: text.nullable,
    environment: text,
    version: text.nullable,
    deployment_id: text.nullable,
    /** Who started the run. */
    started_by: text,
    created_by: text,
    created_at: time,
    updated_at: time,
  }).indexes({
    feedback_of_run: 'unique (request_id, key)',
    feedback_by_agent: '(agent_seq, id)',
  }),
}
