create table projects (
  "id" text collate "C" not null primary key,
  "name" text collate "C" not null unique,
  "description" text collate "C",
  "limits" text collate "C" not null,
  "stored_bytes" bigint,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create table pauses (
  "scope" text collate "C" not null primary key,
  "project_id" text collate "C" references projects (id) on delete cascade,
  "reason" text collate "C" not null,
  "paused_by" text collate "C" not null,
  "paused_at" bigint not null
);

create table agents (
  "seq" bigint generated always as identity primary key not null,
  "id" text collate "C" not null unique,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "name" text collate "C" not null,
  "status" text collate "C" not null,
  "own_memory" bigint not null default 0,
  "security" text collate "C",
  "auth" text collate "C",
  "created_at" bigint not null,
  "updated_at" bigint not null,
  "description" text collate "C",
  "output_schema" text collate "C" not null default 'null',
  "calls" text collate "C" not null default '[]',
  "definition" text collate "C" not null
);

create unique index agents_by_name on agents (project_id, name);

create index agents_by_created_at on agents (project_id, created_at, id);

create index agents_with_memory on agents (seq) where own_memory = 1;

create table versions (
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "version" text collate "C" not null,
  "digest" text collate "C" not null,
  "created_at" bigint not null,
  "output_schema" text collate "C" not null default 'null',
  "calls" text collate "C" not null default '[]',
  "definition" text collate "C" not null,
  primary key (agent_id, version)
);

create table deployments (
  "id" text collate "C" not null primary key,
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "environment" text collate "C" not null,
  "version" text collate "C" not null,
  "status" text collate "C" not null,
  "digest" text collate "C" not null,
  "message" text collate "C",
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "replaces" text collate "C",
  "rollback_of" text collate "C"
);

create index deployments_by_agent on deployments (agent_id, created_at, id);

create unique index deployments_active on deployments (agent_id, environment) where status = 'active';

create table schedules (
  "id" text collate "C" not null primary key,
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "name" text collate "C",
  "cron" text collate "C",
  "timezone" text collate "C",
  "every" text collate "C",
  "at" bigint,
  "anchor_at" bigint not null,
  "message" text collate "C" not null,
  "attachments" text collate "C" not null,
  "context" text collate "C" not null,
  "user_id" text collate "C",
  "environment" text collate "C" not null,
  "overlap" text collate "C" not null,
  "catch_up" text collate "C" not null,
  "on_budget" text collate "C" not null,
  "enabled" bigint not null,
  "disabled_reason" text collate "C",
  "next_at" bigint,
  "parked" bigint not null,
  "last_tick_at" bigint,
  "last_request_id" text collate "C",
  "missed" bigint not null,
  "last_missed_at" bigint,
  "last_missed_reason" text collate "C",
  "skipped" bigint not null,
  "last_skipped_at" bigint,
  "created_by" text collate "C" not null,
  "updated_by" text collate "C" not null,
  "authors" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create index schedules_by_agent on schedules (agent_id, created_at);

create index schedules_by_next_at on schedules (next_at) where next_at is not null;

create table schedule_files (
  "file_id" text collate "C" not null,
  "schedule_id" text collate "C" not null references schedules (id) on delete cascade,
  primary key (file_id, schedule_id)
);

create index schedule_files_by_schedule on schedule_files (schedule_id);

create table runs (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "status" text collate "C" not null,
  "attempt" bigint not null default 1,
  "attempts" text collate "C",
  "background" bigint not null,
  "keyed" bigint not null default 0,
  "on_budget" text collate "C" not null default 'fail',
  "door" text collate "C" not null default 'api',
  "environment" text collate "C" not null,
  "version" text collate "C",
  "deployment_id" text collate "C",
  "message" text collate "C" not null,
  "context" text collate "C" not null,
  "user_id" text collate "C",
  "session_id" text collate "C",
  "attachments" text collate "C",
  "given" text collate "C",
  "schedule_id" text collate "C",
  "authors" text collate "C",
  "scheduled_at" bigint,
  "parent_request_id" text collate "C",
  "call_key" text collate "C",
  "tree" text collate "C",
  "deadline_at" bigint,
  "created_by" text collate "C" not null,
  "person_id" text collate "C",
  "created_at" bigint not null,
  "started_at" bigint,
  "duration_ms" bigint,
  "project_id" text collate "C" not null,
  "begins_after" text collate "C" not null default 'start',
  "owner" text collate "C",
  "lease_until" bigint,
  "cancel_requested_at" bigint,
  "lapses" bigint not null default 0,
  "wake_at" bigint,
  "waits_for" text collate "C"
) with (vacuum_truncate = off);

create index runs_by_agent on runs (agent_seq, id);

create index runs_by_status on runs (status, agent_seq, id);

create unique index runs_by_parent on runs (parent_request_id, call_key) where parent_request_id is not null;

create index runs_waiting on runs (wake_at) where status = 'waiting';

create index runs_waiting_for on runs (waits_for) where status = 'waiting' and waits_for is not null;

create index runs_cancelled on runs (cancel_requested_at) where cancel_requested_at is not null;

create table invocations (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "status" text collate "C" not null,
  "attempt" bigint not null default 1,
  "attempts" text collate "C",
  "background" bigint not null,
  "keyed" bigint not null default 0,
  "on_budget" text collate "C" not null default 'fail',
  "door" text collate "C" not null default 'api',
  "environment" text collate "C" not null,
  "version" text collate "C",
  "deployment_id" text collate "C",
  "message" text collate "C" not null,
  "context" text collate "C" not null,
  "user_id" text collate "C",
  "session_id" text collate "C",
  "attachments" text collate "C",
  "given" text collate "C",
  "schedule_id" text collate "C",
  "authors" text collate "C",
  "scheduled_at" bigint,
  "parent_request_id" text collate "C",
  "call_key" text collate "C",
  "tree" text collate "C",
  "deadline_at" bigint,
  "created_by" text collate "C" not null,
  "person_id" text collate "C",
  "created_at" bigint not null,
  "started_at" bigint,
  "duration_ms" bigint,
  "response" text collate "C",
  "structured" bigint not null default 0,
  "error" text collate "C",
  "input_tokens" bigint not null,
  "output_tokens" bigint not null,
  "tokens_used" bigint not null,
  "cost_nano" bigint,
  "steps" text collate "C" not null,
  "rounds" text collate "C",
  "finished_at" bigint not null,
  "erased_at" bigint
);

create index invocations_by_agent on invocations (agent_seq, id);

create index invocations_by_status on invocations (agent_seq, status, id);

create index invocations_by_user on invocations (agent_seq, user_id, id) where user_id is not null;

create index invocations_by_session on invocations (agent_seq, session_id, id) where session_id is not null;

create index invocations_by_schedule on invocations (agent_seq, schedule_id, id) where schedule_id is not null;

create index invocations_by_starter on invocations (agent_seq, created_by, id);

create unique index invocations_by_parent on invocations (parent_request_id, call_key) where parent_request_id is not null;

create index invocations_by_door on invocations (agent_seq, door, id);

create index invocations_not_completed on invocations (status, id, agent_seq) where status <> 'completed';

create index invocations_by_end on invocations (agent_seq, user_id, finished_at, status, duration_ms) where user_id is not null;

create table steps (
  "request_id" text collate "C" not null,
  "position" bigint not null,
  "kind" text collate "C" not null,
  "attempt" bigint not null,
  "started_at" bigint not null,
  "finished_at" bigint not null,
  "content" text collate "C" not null,
  "definition" text collate "C",
  primary key (request_id, position)
);

create table approvals (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "request_id" text collate "C" not null,
  "call_id" text collate "C" not null,
  "call_index" bigint not null,
  "attempt" bigint not null,
  "kind" text collate "C" not null,
  "tool" text collate "C" not null,
  "arguments" text collate "C" not null,
  "input_schema" text collate "C" not null,
  "status" text collate "C" not null,
  "user_id" text collate "C",
  "session_id" text collate "C",
  "started_by" text collate "C" not null,
  "created_at" bigint not null,
  "expires_at" bigint not null,
  "decided_at" bigint,
  "decided_by" text collate "C",
  "changed_arguments" text collate "C",
  "note" text collate "C",
  "answer" text collate "C"
);

create index approvals_by_request on approvals (request_id, call_id);

create index approvals_by_agent on approvals (agent_seq, id, kind);

create index approvals_by_status on approvals (status, id);

create index approvals_by_user on approvals (user_id, id) where user_id is not null;

create index approvals_by_session on approvals (session_id, id) where session_id is not null;

create index approvals_by_starter on approvals (started_by, id);

create table logs (
  "id" bigint generated always as identity primary key not null,
  "agent_seq" bigint not null,
  "timestamp" bigint not null,
  "level" smallint not null,
  "request_id" text collate "C" not null,
  "message" text collate "C" not null,
  "metadata" text collate "C" not null,
  "written_in" bigint not null default pg_current_xact_id()::text::bigint
);

create index logs_by_agent on logs (agent_seq, timestamp, id, level);

create index logs_not_info on logs (agent_seq, timestamp, id, level) where level <> 1;

create index logs_of_request on logs (request_id, agent_seq);

create index logs_by_transaction on logs (written_in, id);

create table recent_metrics (
  "agent_seq" bigint not null,
  "start" bigint not null,
  "bucket" bigint not null,
  "count" bigint not null,
  "errors" bigint not null,
  "sum_ms" bigint not null,
  "max_ms" bigint not null,
  primary key (agent_seq, start, bucket)
);

create table metrics (
  "agent_seq" bigint not null,
  "minutes" bigint not null,
  "start" bigint not null,
  "count" bigint not null,
  "errors" bigint not null,
  "sum_ms" bigint not null,
  "max_ms" bigint not null,
  primary key (agent_seq, minutes, start)
);

create index metrics_by_start on metrics (start);

create table metric_buckets (
  "agent_seq" bigint not null,
  "minutes" bigint not null,
  "start" bigint not null,
  "bucket" bigint not null,
  "count" bigint not null,
  primary key (agent_seq, minutes, start, bucket)
);

create index metric_buckets_by_start on metric_buckets (start);

create table agent_counts (
  "agent_seq" bigint not null references agents (seq) on delete cascade,
  "counted" text collate "C" not null,
  "rows" bigint not null,
  primary key (agent_seq, counted)
);

create table file_counts (
  "project_id" text collate "C" not null,
  "user_id" text collate "C" not null,
  "files" bigint not null,
  "bytes" bigint not null,
  primary key (project_id, user_id)
);

create table ledger (
  "id" text collate "C" not null,
  "project_id" text collate "C" not null,
  "agent_seq" bigint,
  "agent_id" text collate "C",
  "request_id" text collate "C",
  "step" bigint,
  "attempt" bigint,
  "purpose" text collate "C" not null,
  "version" text collate "C",
  "environment" text collate "C",
  "key_id" text collate "C",
  "person_id" text collate "C",
  "user_id" text collate "C",
  "door" text collate "C",
  "model" text collate "C" not null,
  "status" text collate "C" not null,
  "input_tokens" bigint not null,
  "cached_tokens" bigint not null,
  "cache_write_tokens" bigint not null,
  "output_tokens" bigint not null,
  "reasoning_tokens" bigint not null,
  "cost_nano" bigint,
  "price" text collate "C",
  "charges" text collate "C",
  "owner" text collate "C",
  "lease_until" bigint,
  "created_at" bigint not null,
  primary key (id)
);

create index ledger_by_request on ledger (request_id) where request_id is not null;

create index ledger_by_user on ledger (user_id, id) where user_id is not null;

create index ledger_reserved on ledger (lease_until) where status = 'reserved';

create table usage_sums (
  "project_id" text collate "C" not null,
  "hours" bigint not null,
  "start" bigint not null,
  "agent_id" text collate "C" not null,
  "version" text collate "C" not null,
  "environment" text collate "C" not null,
  "key_id" text collate "C" not null,
  "person_id" text collate "C" not null,
  "door" text collate "C" not null,
  "model" text collate "C" not null,
  "purpose" text collate "C" not null,
  "calls" bigint not null,
  "input_tokens" bigint not null,
  "cached_tokens" bigint not null,
  "cache_write_tokens" bigint not null,
  "output_tokens" bigint not null,
  "reasoning_tokens" bigint not null,
  "cost_nano" bigint not null,
  "unpriced" bigint not null,
  "lost" bigint not null,
  primary key (project_id, hours, start, agent_id, version, environment, key_id, person_id, door, model, purpose)
);

create index usage_sums_by_start on usage_sums (hours, start);

create table prices (
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "model" text collate "C" not null,
  "rates" text collate "C" not null,
  "set_by" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  primary key (project_id, model)
);

create table budgets (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" references projects (id) on delete cascade,
  "agent_id" text collate "C" references agents (id) on delete cascade,
  "name" text collate "C" not null,
  "scope_type" text collate "C" not null,
  "scope_id" text collate "C",
  "limit_kind" text collate "C" not null,
  "amount" bigint not null,
  "per" text collate "C" not null,
  "timezone" text collate "C" not null,
  "thresholds" text collate "C" not null,
  "action" text collate "C" not null,
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create index budgets_by_project on budgets (project_id, created_at, id);

create index budgets_by_agent on budgets (agent_id) where agent_id is not null;

create table budget_counters (
  "budget_id" text collate "C" not null,
  "subject" text collate "C" not null,
  "period_start" bigint not null,
  "used" bigint not null,
  "reserved" bigint not null,
  "told" bigint not null,
  "exceeded" bigint not null,
  "kept" bigint not null,
  primary key (budget_id, subject, period_start)
);

create table memories (
  "seq" bigint generated always as identity primary key not null,
  "id" text collate "C" not null unique,
  "agent_seq" bigint not null,
  "kind" text collate "C" not null,
  "role" text collate "C",
  "user_id" text collate "C" not null,
  "session_id" text collate "C" not null,
  "content" text collate "C" not null,
  "metadata" text collate "C" not null,
  "terms" text collate "C" not null,
  "length" bigint not null,
  "created_at" bigint not null,
  "superseded_by" text collate "C"
);

create index memories_by_session on memories (agent_seq, user_id, session_id, created_at, seq);

create index memories_by_user on memories (agent_seq, user_id, seq);

create index memories_by_time on memories (agent_seq, created_at, seq);

create index memories_by_kind on memories (agent_seq, kind, created_at, seq) where kind <> 'turn';

create index memories_superseded on memories (seq) where superseded_by is not null;

create table memory_vectors (
  "memory_seq" bigint not null primary key references memories (seq) on delete cascade,
  "model" text collate "C" not null,
  "vector" bytea not null
);

create index memory_vectors_by_model on memory_vectors (model, memory_seq);

create table memory_scopes (
  "agent_seq" bigint not null,
  "level" bigint not null,
  "user_id" text collate "C" not null,
  "session_id" text collate "C" not null,
  "generation" text collate "C" not null,
  "turns" bigint not null,
  "notes" bigint not null,
  "turn_terms" bigint not null,
  "note_terms" bigint not null,
  "last_at" bigint not null,
  "facts_through" bigint not null default 0,
  "facts_after" bigint not null default 0,
  "summary_after" bigint not null default 0,
  primary key (agent_seq, level, user_id, session_id)
);

create index memory_scopes_by_use on memory_scopes (agent_seq, level, last_at, user_id, session_id) where level > 0;

create table memory_summaries (
  "agent_seq" bigint not null,
  "user_id" text collate "C" not null,
  "session_id" text collate "C" not null,
  "content" text collate "C" not null,
  "turns" bigint not null,
  "through_seq" bigint not null,
  "model" text collate "C",
  "tokens_used" bigint not null,
  "updated_at" bigint not null,
  primary key (agent_seq, user_id, session_id)
);

create table webhooks (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "agent_id" text collate "C" references agents (id) on delete cascade,
  "url" text collate "C" not null,
  "events" text collate "C" not null,
  "status" text collate "C" not null,
  "disabled_reason" text collate "C",
  "description" text collate "C",
  "secret" text collate "C" not null,
  "secret_hint" text collate "C" not null,
  "earlier_secrets" text collate "C" not null,
  "failing_since" bigint,
  "created_by" text collate "C",
  "created_at" bigint not null,
  "updated_at" bigint not null,
  "request_id" text collate "C",
  "name" text collate "C",
  "format" text collate "C",
  "headers" text collate "C"
);

create index webhooks_by_agent on webhooks (agent_id, created_at);

create index webhooks_by_project on webhooks (project_id, created_at);

create index webhooks_by_request on webhooks (request_id, id) where request_id is not null;

create table listeners (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "agent_id" text collate "C" references agents (id) on delete cascade,
  "events" text collate "C" not null,
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "expires_at" bigint not null
);

create index listeners_by_agent on listeners (agent_id);

create table events (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null,
  "agent_id" text collate "C",
  "request_id" text collate "C",
  "user_id" text collate "C",
  "body" text collate "C" not null
);

create index events_by_user on events (user_id, id) where user_id is not null;

create index events_by_request on events (request_id) where request_id is not null;

create table deliveries (
  "id" text collate "C" not null primary key,
  "webhook_id" text collate "C" not null,
  "event_id" text collate "C" not null,
  "event" text collate "C" not null,
  "status" text collate "C" not null,
  "tries" bigint not null,
  "attempt_count" bigint not null,
  "attempts" text collate "C" not null,
  "next_attempt_at" bigint,
  "owner" text collate "C",
  "created_at" bigint not null,
  "delivered_at" bigint
);

create index deliveries_by_event on deliveries (event_id);

create index deliveries_by_webhook on deliveries (webhook_id, id, status, event);

create index deliveries_pending on deliveries (webhook_id, next_attempt_at, id) where status = 'pending';

create index deliveries_leased on deliveries (webhook_id, next_attempt_at) where owner is not null;

create table keys (
  "id" text collate "C" not null primary key,
  "name" text collate "C" not null,
  "project_id" text collate "C" references projects (id) on delete cascade,
  "agent_id" text collate "C" references agents (id) on delete cascade,
  "permissions" text collate "C" not null,
  "role" text collate "C",
  "tier" text collate "C" not null,
  "hint" text collate "C" not null,
  "hash" text collate "C" not null unique,
  "previous_secret_expires_at" bigint,
  "created_at" bigint not null,
  "created_by" text collate "C" not null,
  "rotated_by" text collate "C",
  "expires_at" bigint,
  "last_used_at" bigint,
  "revoked_at" bigint,
  "person_id" text collate "C",
  "role_source" text collate "C",
  "role_id" text collate "C" references keys (id) on delete cascade,
  "vouched_at" bigint
);

create index keys_by_agent on keys (agent_id, created_at);

create index keys_by_project on keys (project_id, created_at, id);

create index keys_by_person on keys (person_id) where person_id is not null;

create unique index keys_role_of_person on keys (person_id, coalesce(project_id, '')) where role_source is not null and revoked_at is null;

create index keys_by_role on keys (role_id) where role_id is not null;

create table earlier_secrets (
  "hash" text collate "C" not null primary key,
  "key_id" text collate "C" not null references keys (id) on delete cascade,
  "expires_at" bigint not null
);

create index earlier_secrets_by_key on earlier_secrets (key_id);

create table key_factors (
  "key_id" text collate "C" not null references keys (id) on delete cascade,
  "status" text collate "C" not null,
  "secret" text collate "C" not null,
  "last_step" bigint,
  "wrong_codes" bigint not null,
  "locked_until" bigint,
  "version" bigint not null,
  "created_at" bigint not null,
  "created_by" text collate "C" not null,
  primary key (key_id, status)
);

create table secrets (
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "name" text collate "C" not null,
  "value" text collate "C" not null,
  "hosts" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  primary key (project_id, name)
);

create table providers (
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "name" text collate "C" not null,
  "type" text collate "C" not null,
  "base_url" text collate "C",
  "api_key" text collate "C",
  "vision" text collate "C",
  "cache" bigint not null default 1,
  "paid_by" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  primary key (project_id, name)
);

create table audit_log (
  "position" bigint generated always as identity primary key not null,
  "id" text collate "C" not null unique,
  "created_at" bigint not null,
  "actor_kind" text collate "C",
  "actor" text collate "C",
  "key_id" text collate "C",
  "action" text collate "C",
  "project_id" text collate "C" not null,
  "agent_id" text collate "C",
  "target" text collate "C",
  "outcome" text collate "C" not null,
  "code" text collate "C",
  "fields" text collate "C" not null,
  "times" bigint not null,
  "request_id" text collate "C" not null,
  "address" text collate "C",
  "seq" bigint unique,
  "prev_hash" text collate "C",
  "hash" text collate "C"
);

create index audit_log_by_project on audit_log (project_id, id);

create index audit_log_by_outcome on audit_log (project_id, outcome, id);

create index audit_log_by_agent on audit_log (project_id, agent_id, id);

create index audit_log_by_action on audit_log (project_id, action, id);

create index audit_log_by_actor on audit_log (project_id, actor, id);

create index audit_log_unsealed on audit_log (position) where seq is null;

create table audit_chain (
  "name" text collate "C" not null primary key,
  "seq" bigint not null,
  "hash" text collate "C" not null
);

create table persons (
  "id" text collate "C" not null primary key,
  "name" text collate "C" not null,
  "email" text collate "C",
  "email_verified" bigint not null,
  "created_at" bigint not null,
  "last_seen_at" bigint not null
);

create index persons_by_email on persons (email);

create table person_identities (
  "issuer" text collate "C" not null,
  "subject" text collate "C" not null,
  "person_id" text collate "C" not null,
  primary key (issuer, subject)
);

create index person_identities_by_person on person_identities (person_id);

create table invitations (
  "id" text collate "C" not null primary key,
  "hash" text collate "C" unique,
  "project_id" text collate "C" references projects (id) on delete cascade,
  "role" text collate "C" not null,
  "email" text collate "C" not null,
  "created_at" bigint not null,
  "created_by" text collate "C" not null,
  "expires_at" bigint not null,
  "accepted_at" bigint,
  "accepted_by" text collate "C"
);

create index invitations_by_project on invitations (project_id, created_at, id);

create index invitations_by_email on invitations (email);

create table console_sessions (
  "id" text collate "C" not null primary key,
  "key_id" text collate "C" references keys (id) on delete cascade,
  "key_hash" text collate "C",
  "by_previous_secret_until" bigint,
  "person_id" text collate "C" references persons (id) on delete cascade,
  "issuer" text collate "C",
  "issuer_subject" text collate "C",
  "issuer_session" text collate "C",
  "issuer_tokens" text collate "C",
  "can_confirm" bigint not null,
  "confirm_before" bigint,
  "confirming_until" bigint not null,
  "is_strong" bigint not null,
  "hash" text collate "C" not null unique,
  "previous_hash" text collate "C",
  "rotated_at" bigint not null,
  "confirmed_at" bigint,
  "secure" bigint not null,
  "address" text collate "C" not null,
  "browser" text collate "C" not null,
  "created_at" bigint not null,
  "last_used_at" bigint not null,
  "expires_at" bigint not null
);

create index console_sessions_previous on console_sessions (previous_hash) where previous_hash is not null;

create index console_sessions_by_key on console_sessions (key_id);

create index console_sessions_by_person on console_sessions (person_id);

create index console_sessions_to_confirm on console_sessions (confirm_before) where confirm_before is not null;

create table console_links (
  "hash" text collate "C" not null primary key,
  "key_id" text collate "C" not null references keys (id) on delete cascade,
  "key_hash" text collate "C" not null,
  "expires_at" bigint not null
);

create index console_links_by_key on console_links (key_id);

create table settings (
  "name" text collate "C" not null primary key,
  "value" text collate "C" not null
);

create table claims (
  "scope" text collate "C" not null,
  "key" text collate "C" not null,
  "fingerprint" text collate "C" not null,
  "owner" text collate "C" not null,
  "lease_until" bigint not null,
  "created_at" bigint not null,
  "project_id" text collate "C" not null,
  "request_id" text collate "C",
  "status" bigint,
  "headers" text collate "C",
  "body" text collate "C",
  primary key (scope, key)
);

create index claims_by_created_at on claims (created_at);

create index claims_by_request on claims (request_id) where request_id is not null;

create table jobs (
  "id" text collate "C" not null primary key,
  "kind" text collate "C" not null,
  "run_at" bigint not null,
  "owner" text collate "C",
  "attempts" bigint not null
);

create index jobs_by_run_at on jobs (kind, run_at, id);

create unique index jobs_waiting on jobs (kind) where owner is null;

create table nodes (
  "node" text collate "C" not null primary key,
  "version" text collate "C" not null,
  "commit" text collate "C",
  "started_at" bigint not null,
  "seen_at" bigint not null,
  "runs_live" bigint not null,
  "busy_percent" bigint not null,
  "memory_bytes" bigint not null,
  "taken_over_at" bigint
);

create table blobs (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null,
  "state" text collate "C" not null,
  "kept_in" text collate "C" not null,
  "sha256" text collate "C",
  "created_at" bigint not null
);

create unique index blobs_by_content on blobs (project_id, sha256) where state = 'kept';

create index blobs_not_kept on blobs (state, created_at) where state <> 'kept';

create table files (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null,
  "blob_id" text collate "C" not null references blobs (id),
  "name" text collate "C" not null,
  "media_type" text collate "C" not null,
  "size" bigint not null,
  "sha256" text collate "C" not null,
  "user_id" text collate "C",
  "created_by" text collate "C" not null,
  "agent_id" text collate "C",
  "request_id" text collate "C",
  "schedule_id" text collate "C",
  "unclaimed" bigint not null,
  "created_at" bigint not null,
  "expires_at" bigint
);

create index files_by_project on files (project_id, id);

create index files_by_user on files (project_id, user_id, id);

create index files_by_type on files (project_id, media_type, id);

create index files_by_maker on files (project_id, created_by, id);

create index files_by_blob on files (blob_id);

create index files_by_request on files (request_id) where request_id is not null;

create index files_by_schedule on files (schedule_id) where schedule_id is not null;

create index files_unclaimed on files (request_id) where unclaimed = 1;

create index files_by_expiry on files (expires_at) where expires_at is not null;

create table blob_chunks (
  "blob_id" text collate "C" not null,
  "part" bigint not null,
  "bytes" bytea not null,
  primary key (blob_id, part)
);

create function runs_under_way(agent bigint, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from agents where seq = agent for no key update;
    return (select count(*) from runs where agent_seq = agent and status = 'running' and lease_until > at);
  end $$;

create function runs_of_project(project text, at bigint) returns bigint volatile language plpgsql as $$
  begin
    perform 1 from projects where id = project for no key update;
    return (select count(*) from runs where project_id = project and status = 'running' and lease_until > at);
  end $$;

create function intact_json(stored text) returns jsonb immutable language plpgsql as $$
  begin
    return stored::jsonb;
  exception when others then
    return null;
  end $$;

create function lost_lease() returns boolean volatile language plpgsql as $$
  begin
    raise exception 'a lease was lost' using errcode = 'MO001';
  end $$;

create view all_invocations as
    select id, agent_seq, status, attempt, attempts, background, keyed, on_budget, door, environment, version, deployment_id, message, context, user_id, session_id, attachments, given, schedule_id, authors, scheduled_at, parent_request_id, call_key, tree, deadline_at, created_by, person_id, created_at, started_at, duration_ms, response, structured, error, input_tokens, output_tokens, tokens_used, cost_nano, steps, rounds, finished_at, erased_at from invocations
    union all
    select id, agent_seq, status, attempt, attempts, background, keyed, on_budget, door, environment, version, deployment_id, message, context, user_id, session_id, attachments, given, schedule_id, authors, scheduled_at, parent_request_id, call_key, tree, deadline_at, created_by, person_id, created_at, started_at, duration_ms, cast(null as text) collate "C", cast(0 as bigint), cast(null as text) collate "C", cast(0 as bigint), cast(0 as bigint), cast(0 as bigint), cast(0 as bigint), cast('[]' as text) collate "C", cast(null as text) collate "C", cast(null as bigint), cast(null as bigint) from runs;

create function count_agent() returns trigger language plpgsql as $$ begin insert into agent_counts (agent_seq, counted, rows)
  values (new.seq, 'invocations', 0), (new.seq, 'logs', 0); return new; end $$;

create trigger agents_counted after insert on agents for each row execute function count_agent();

create function count_invocations_insert() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from new_rows) and counted = 'invocations'
        order by agent_seq for no key update;
      update agent_counts set rows = agent_counts.rows + changed.count
        from (select agent_seq, count(*) as count from new_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq and agent_counts.counted = 'invocations';
      return null;
    end $$;

create trigger invocations_counted_insert after insert on invocations referencing new table as new_rows
      for each statement execute function count_invocations_insert();

create function count_invocations_delete() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from old_rows) and counted = 'invocations'
        order by agent_seq for no key update;
      update agent_counts set rows = agent_counts.rows - changed.count
        from (select agent_seq, count(*) as count from old_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq and agent_counts.counted = 'invocations';
      return null;
    end $$;

create trigger invocations_counted_delete after delete on invocations referencing old table as old_rows
      for each statement execute function count_invocations_delete();

create function count_logs_insert() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from new_rows) and counted = 'logs'
        order by agent_seq for no key update;
      update agent_counts set rows = agent_counts.rows + changed.count
        from (select agent_seq, count(*) as count from new_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq and agent_counts.counted = 'logs';
      return null;
    end $$;

create trigger logs_counted_insert after insert on logs referencing new table as new_rows
      for each statement execute function count_logs_insert();

create function count_logs_delete() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from old_rows) and counted = 'logs'
        order by agent_seq for no key update;
      update agent_counts set rows = agent_counts.rows - changed.count
        from (select agent_seq, count(*) as count from old_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq and agent_counts.counted = 'logs';
      return null;
    end $$;

create trigger logs_counted_delete after delete on logs referencing old table as old_rows
      for each statement execute function count_logs_delete();

create function count_file() returns trigger language plpgsql as $$ begin
    insert into file_counts values (new.project_id, '', 1, new.size) on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
    if new.user_id is not null then
      insert into file_counts values (new.project_id, new.user_id, 1, new.size) on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
    end if;
    return null;
  end $$;

create trigger files_counted_insert after insert on files for each row execute function count_file();

create function discount_file() returns trigger language plpgsql as $$ begin
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id = '';
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id = old.user_id;
    delete from file_counts where project_id = old.project_id and user_id in ('', old.user_id) and files = 0;
    return null;
  end $$;

create trigger files_counted_delete after delete on files for each row execute function discount_file();

create trigger files_counted_move_away after update of project_id on files for each row execute function discount_file();

create trigger files_counted_move_here after update of project_id on files for each row execute function count_file();

alter table memories add column lexemes tsvector generated always as
    (array_to_tsvector(string_to_array(terms, ' ') || array['_' || case kind when 'turn' then 'turn' else 'note' end || 'a' || cast(agent_seq as text) || 'x' || '', '_' || case kind when 'turn' then 'turn' else 'note' end || 'u' || cast(agent_seq as text) || 'x' || user_id, '_' || case kind when 'turn' then 'turn' else 'note' end || 's' || cast(agent_seq as text) || 'x' || session_id])) stored;

create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128);

alter table blob_chunks alter column bytes set storage external;

insert into projects (id, name, limits, created_at, updated_at) values ('prj_default', 'default', '{}', 0, 0);

insert into audit_chain (name, seq, hash) values ('head', 0, '0000000000000000000000000000000000000000000000000000000000000000');

