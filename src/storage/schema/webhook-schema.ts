import type { ColumnTypes } from './engine-columns.ts'

export function webhookSchema({ text, integer }: ColumnTypes): string[] {
  return [
    `create table webhooks (
      id ${text} primary key,
      project_id ${text} not null references projects (id) on delete cascade,
      agent_id ${text} references agents (id) on delete cascade,
      url ${text} not null,
      events ${text} not null,
      status ${text} not null,
      disabled_reason ${text},
      description ${text},
      secret ${text} not null,
      secret_hint ${text} not null,
      earlier_secrets ${text} not null,
      failing_since ${integer},
      created_by ${text},
      created_at ${integer} not null,
      updated_at ${integer} not null,
      request_id ${text},
      name ${text},
      format ${text},
      headers ${text}
    )`,
    'create index webhooks_by_agent on webhooks (agent_id, created_at)',
    'create index webhooks_by_project on webhooks (project_id, created_at)',
    'create index webhooks_by_request on webhooks (request_id, id) where request_id is not null',

    `create table listeners (
      id ${text} primary key,
      project_id ${text} not null references projects (id) on delete cascade,
      agent_id ${text} references agents (id) on delete cascade,
      events ${text} not null,
      created_by ${text} not null,
      created_at ${integer} not null,
      expires_at ${integer} not null
    )`,
    'create index listeners_by_agent on listeners (agent_id)',

    `create table events (
      id ${text} primary key,
      project_id ${text} not null,
      agent_id ${text},
      request_id ${text},
      user_id ${text},
      body ${text} not null
    )`,
    'create index events_by_user on events (user_id, id) where user_id is not null',
    'create index events_by_request on events (request_id) where request_id is not null',

    // No foreign keys: an invocation must not fail because a webhook it still remembered has just been deleted.
    // What a deleted webhook leaves is swept up.
    `create table deliveries (
      id ${text} primary key,
      webhook_id ${text} not null,
      event_id ${text} not null,
      event ${text} not null,
      status ${text} not null,
      tries ${integer} not null,
      attempt_count ${integer} not null,
      attempts ${text} not null,
      next_attempt_at ${integer},
      owner ${text},
      created_at ${integer} not null,
      delivered_at ${integer}
    )`,
    'create index deliveries_by_event on deliveries (event_id)',
    // Filters by status and by event read this index and no rows.
    'create index deliveries_by_webhook on deliveries (webhook_id, id, status, event)',
    // Both hold only what is still to do: claiming costs the same however long the history grows.
    `create index deliveries_pending on deliveries (webhook_id, next_attempt_at, id) where status = 'pending'`,
    'create index deliveries_leased on deliveries (webhook_id, next_attempt_at) where owner is not null',
  ]
}
