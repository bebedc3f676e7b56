import { flag, integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const triggerTables = {
  triggers: table({
    id: text.primary,
    agent_id: text.references('agents'),
    kind: text,
    name: text.nullable,
    environment: text,
    enabled: flag,
    disabled_reason: text.nullable,
    /** Encrypted: the last part of its URL. */
    token: text,
    /** Its SHA-256, by which requests find the trigger. */
    token_hash: text.unique,
    created_by: text,
    updated_by: text,
    /** The keys that made or changed it, latest last. */
    authors: json,
    created_at: time,
    updated_at: time,
    /** How requests are verified, and what they become. */
    definition: json,
  }).indexes({ triggers_by_agent: '(agent_id, created_at)' }),
  /**
   * What triggers were sent. No foreign keys: a deleted trigger's rows are removed in the background, because there can
   * be many.
   */
  incoming_deliveries: table({
    id: text.primary,
    trigger_id: text,
    agent_id: text,
    outcome: text,
    /** Why it was refused or failed. */
    code: text.nullable,
    reason: text.nullable,
    /** The SHA-256 of what names the event. A second delivery of the event finds the first one by it. */
    event_key: text.nullable,
    request_id: text.nullable,
    /** How often the same event arrived again. */
    repeats: integer,
    /** The delivery whose payload this one has. */
    replay_of: text.nullable,
    user_id: text.nullable,
    session_id: text.nullable,
    created_at: time,
    headers: json,
    body: text.nullable,
  }).indexes({
    incoming_by_trigger: '(trigger_id, id)',
    incoming_by_event: 'unique (trigger_id, event_key) where event_key is not null',
    incoming_by_request: '(request_id) where request_id is not null',
    incoming_by_agent: '(agent_id, id)',
    incoming_by_user: '(agent_id, user_id) where user_id is not null',
  }),
  /** What is sent to conversations of chat platforms: answers of runs, and what runs ask people. */
  chat_answers: table({
    id: text.primary,
    trigger_id: text,
    agent_id: text,
    request_id: text,
    user_id: text.nullable,
    /** The call that people are asked about. Null for the run's answer. */
    call_id: text.nullable,
    /** Names the conversation, in which answers are sent one after the other. */
    conversation: text,
    /** Where the platform shows it. */
    place: json,
    status: text,
    /** How many parts of a long answer have been sent. */
    parts_sent: integer,
    tries: integer,
    /** When it's sent, or sent again. While a node sends it, when the node's lease ends. */
    next_attempt_at: time.nullable,
    owner: text.nullable,
    /** Why the latest attempt failed. */
    error: text.nullable,
    created_at: time,
    sent_at: time.nullable,
  }).indexes({
    chat_answers_pending: "(trigger_id, conversation, id) where status = 'pending'",
    chat_answers_by_request: '(request_id)',
    chat_answers_by_agent: '(agent_id, id)',
    chat_answers_by_trigger: '(trigger_id, id)',
    chat_answers_by_user: '(agent_id, user_id) where user_id is not null',
  }),
}
