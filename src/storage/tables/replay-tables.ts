import { integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/**
 * Messages that are sent to an agent again. No table here refers to agents, as in `run-tables.ts`. A job removes a
 * deleted agent's rows later.
 */
export const replayTables = {
  sets: table({
    id: text.primary,
    agent_seq: integer,
    name: text,
    description: text.nullable,
    /** Of the cases. Sets with equal digests have the same cases. */
    digest: text,
    cases: integer,
    created_by: text,
    created_at: time,
    updated_at: time,
  }).indexes({ sets_by_name: 'unique (agent_seq, name)' }),
  replays: table({
    id: text.primary,
    agent_seq: integer,
    /** running → completed | cancelled. */
    status: text,
    /** The set and its digest then. Null: past runs. */
    set_name: text.nullable,
    set_digest: text.nullable,
    /** Which past runs. */
    filter: json.nullable,
    /** For every case, in addition to the case's own. */
    checks: json,
    /** What is tested. Null: the draft. */
    version: text.nullable,
    digest: text,
    definition: json,
    /** What it's compared with: deployed or recorded. */
    baseline: text,
    baseline_version: text.nullable,
    baseline_digest: text.nullable,
    baseline_definition: json.nullable,
    cases: integer,
    /** The limits, what was spent, and what calls in progress have reserved. Costs are in billionths of a dollar. */
    limit_nano: integer.nullable,
    limit_tokens: integer.nullable,
    spent_nano: integer.default(0),
    spent_tokens: integer.default(0),
    /** How many calls had no price. */
    unpriced: integer.default(0),
    held_nano: integer.default(0),
    held_tokens: integer.default(0),
    /** The limit that ended it early: cost_usd or tokens. */
    reached: text.nullable,
    /** Why its cases can't be run now. */
    waits_for: text.nullable,
    /** Only numbers and names: the words are in the cases. */
    report: json.nullable,
    verdict: text.nullable,
    created_by: text,
    person_id: text.nullable,
    created_at: time,
    finished_at: time.nullable,
  }).indexes({
    replays_by_agent: '(agent_seq, id)',
    replays_finished: '(finished_at) where finished_at is not null',
  }),
  /** A case of a set, or of a replay, which copies those of its set. */
  cases: table({
    id: text.primary,
    agent_seq: integer,
    /** The set or the replay that has it, and its place there. */
    kept_by: text,
    position: integer,
    name: text.nullable,
    /** The run that it is a copy of. */
    request_id: text.nullable,
    user_id: text.nullable,
    erased_at: time.nullable,
    /** The other columns are for replays. When it can be run; while a node runs it, when the lease ends. Null: done. */
    due_at: time.nullable,
    owner: text.nullable,
    /** How often it was put off. */
    tries: integer.default(0),
    /** What its calls in progress have reserved of the limits. */
    held_nano: integer.default(0),
    held_tokens: integer.default(0),
    outcome: text.nullable,
    content: json,
    /** How each column answered, once it has. */
    recorded: json.nullable,
    baseline: json.nullable,
    candidate: json.nullable,
  }).indexes({
    cases_in_order: 'unique (kept_by, position)',
    cases_by_agent: '(agent_seq, id)',
    cases_of_run: '(request_id) where request_id is not null',
    cases_of_user: '(agent_seq, user_id) where user_id is not null',
    cases_due: '(agent_seq, due_at, id) where due_at is not null',
  }),
}
