create table projects (
  "id" text not null primary key,
  "name" text not null unique,
  "description" text,
  "limits" text not null,
  "stored_bytes" integer,
  "created_at" integer not null,
  "updated_at" integer not null
);

create table pauses (
  "scope" text not null primary key,
  "project_id" text references projects (id) on delete cascade,
  "reason" text not null,
  "paused_by" text not null,
  "paused_at" integer not null
);

create table agents (
  "seq" integer primary key autoincrement not null,
  "id" text not null unique,
  "project_id" text not null references projects (id) on delete cascade,
  "name" text not null,
  "status" text not null,
  "own_memory" integer not null default 0,
  "security" text,
  "auth" text,
  "created_at" integer not null,
  "updated_at" integer not null,
  "description" text,
  "output_schema" text not null default 'null',
  "calls" text not null default '[]',
  "definition" text not null
);

create unique index agents_by_name on agents (project_id, name);

create index agents_by_created_at on agents (project_id, created_at, id);

create index agents_with_memory on agents (seq) where own_memory = 1;

create table versions (
  "agent_id" text not null references agents (id) on delete cascade,
  "version" text not null,
  "digest" text not null,
  "created_at" integer not null,
  "output_schema" text not null default 'null',
  "calls" text not null default '[]',
  "definition" text not null,
  primary key (agent_id, version)
);

create table deployments (
  "id" text not null primary key,
  "agent_id" text not null references agents (id) on delete cascade,
  "environment" text not null,
  "version" text not null,
  "status" text not null,
  "digest" text not null,
  "message" text,
  "created_by" text not null,
  "created_at" integer not null,
  "replaces" text,
  "rollback_of" text
);

create index deployments_by_agent on deployments (agent_id, created_at, id);

create unique index deployments_active on deployments (agent_id, environment) where status = 'active';

create table schedules (
  "id" text not null primary key,
  "agent_id" text not null references agents (id) on delete cascade,
  "name" text,
  "cron" text,
  "timezone" text,
  "every" text,
  "at" integer,
  "anchor_at" integer not null,
  "message" text not null,
  "attachments" text not null,
  "context" text not null,
  "user_id" text,
  "environment" text not null,
  "overlap" text not null,
  "catch_up" text not null,
  "on_budget" text not null,
  "enabled" integer not null,
  "disabled_reason" text,
  "next_at" integer,
  "parked" integer not null,
  "last_tick_at" integer,
  "last_request_id" text,
  "missed" integer not null,
  "last_missed_at" integer,
  "last_missed_reason" text,
  "skipped" integer not null,
  "last_skipped_at" integer,
  "created_by" text not null,
  "updated_by" text not null,
  "authors" text not null,
  "created_at" integer not null,
  "updated_at" integer not null
);

create index schedules_by_agent on schedules (agent_id, created_at);

create index schedules_by_next_at on schedules (next_at) where next_at is not null;

create table schedule_files (
  "file_id" text not null,
  "schedule_id" text not null references schedules (id) on delete cascade,
  primary key (file_id, schedule_id)
);

create index schedule_files_by_schedule on schedule_files (schedule_id);

create table runs (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "status" text not null,
  "attempt" integer not null default 1,
  "attempts" text,
  "background" integer not null,
  "keyed" integer not null default 0,
  "on_budget" text not null default 'fail',
  "door" text not null default 'api',
  "environment" text not null,
  "version" text,
  "deployment_id" text,
  "message" text not null,
  "context" text not null,
  "user_id" text,
  "session_id" text,
  "attachments" text,
  "given" text,
  "schedule_id" text,
  "authors" text,
  "scheduled_at" integer,
  "parent_request_id" text,
  "call_key" text,
  "tree" text,
  "deadline_at" integer,
  "created_by" text not null,
  "person_id" text,
  "created_at" integer not null,
  "started_at" integer,
  "duration_ms" integer,
  "project_id" text not null,
  "begins_after" text not null default 'start',
  "owner" text,
  "lease_until" integer,
  "cancel_requested_at" integer,
  "lapses" integer not null default 0,
  "wake_at" integer,
  "waits_for" text
);

create index runs_by_agent on runs (agent_seq, id);

create index runs_by_status on runs (status, agent_seq, id);

create unique index runs_by_parent on runs (parent_request_id, call_key) where parent_request_id is not null;

create index runs_waiting on runs (wake_at) where status = 'waiting';

create index runs_waiting_for on runs (waits_for) where status = 'waiting' and waits_for is not null;

create index runs_cancelled on runs (cancel_requested_at) where cancel_requested_at is not null;

create table invocations (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "status" text not null,
  "attempt" integer not null default 1,
  "attempts" text,
  "background" integer not null,
  "keyed" integer not null default 0,
  "on_budget" text not null default 'fail',
  "door" text not null default 'api',
  "environment" text not null,
  "version" text,
  "deployment_id" text,
  "message" text not null,
  "context" text not null,
  "user_id" text,
  "session_id" text,
  "attachments" text,
  "given" text,
  "schedule_id" text,
  "authors" text,
  "scheduled_at" integer,
  "parent_request_id" text,
  "call_key" text,
  "tree" text,
  "deadline_at" integer,
  "created_by" text not null,
  "person_id" text,
  "created_at" integer not null,
  "started_at" integer,
  "duration_ms" integer,
  "response" text,
  "structured" integer not null default 0,
  "error" text,
  "input_tokens" integer not null,
  "output_tokens" integer not null,
  "tokens_used" integer not null,
  "cost_nano" integer,
  "steps" text not null,
  "rounds" text,
  "finished_at" integer not null,
  "erased_at" integer
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
  "request_id" text not null,
  "position" integer not null,
  "kind" text not null,
  "attempt" integer not null,
  "started_at" integer not null,
  "finished_at" integer not null,
  "content" text not null,
  "definition" text,
  primary key (request_id, position)
);

create table approvals (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "request_id" text not null,
  "call_id" text not null,
  "call_index" integer not null,
  "attempt" integer not null,
  "kind" text not null,
  "tool" text not null,
  "arguments" text not null,
  "input_schema" text not null,
  "status" text not null,
  "user_id" text,
  "session_id" text,
  "started_by" text not null,
  "created_at" integer not null,
  "expires_at" integer not null,
  "decided_at" integer,
  "decided_by" text,
  "changed_arguments" text,
  "note" text,
  "answer" text
);

create index approvals_by_request on approvals (request_id, call_id);

create index approvals_by_agent on approvals (agent_seq, id, kind);

create index approvals_by_status on approvals (status, id);

create index approvals_by_user on approvals (user_id, id) where user_id is not null;

create index approvals_by_session on approvals (session_id, id) where session_id is not null;

create index approvals_by_starter on approvals (started_by, id);

create table logs (
  "id" integer primary key autoincrement not null,
  "agent_seq" integer not null,
  "timestamp" integer not null,
  "level" integer not null,
  "request_id" text not null,
  "message" text not null,
  "metadata" text not null
);

create index logs_by_agent on logs (agent_seq, timestamp, id, level);

create index logs_not_info on logs (agent_seq, timestamp, id, level) where level <> 1;

create index logs_of_request on logs (substr(request_id, 5, 13));

create table recent_metrics (
  "agent_seq" integer not null,
  "start" integer not null,
  "bucket" integer not null,
  "count" integer not null,
  "errors" integer not null,
  "sum_ms" integer not null,
  "max_ms" integer not null,
  primary key (agent_seq, start, bucket)
) without rowid;

create table metrics (
  "agent_seq" integer not null,
  "minutes" integer not null,
  "start" integer not null,
  "count" integer not null,
  "errors" integer not null,
  "sum_ms" integer not null,
  "max_ms" integer not null,
  primary key (agent_seq, minutes, start)
) without rowid;

create index metrics_by_start on metrics (start);

create table metric_buckets (
  "agent_seq" integer not null,
  "minutes" integer not null,
  "start" integer not null,
  "bucket" integer not null,
  "count" integer not null,
  primary key (agent_seq, minutes, start, bucket)
) without rowid;

create index metric_buckets_by_start on metric_buckets (start);

create table agent_counts (
  "agent_seq" integer not null references agents (seq) on delete cascade,
  "counted" text not null,
  "rows" integer not null,
  primary key (agent_seq, counted)
) without rowid;

create table file_counts (
  "project_id" text not null,
  "user_id" text not null,
  "files" integer not null,
  "bytes" integer not null,
  primary key (project_id, user_id)
) without rowid;

create table ledger (
  "id" text not null,
  "project_id" text not null,
  "agent_seq" integer,
  "agent_id" text,
  "request_id" text,
  "step" integer,
  "attempt" integer,
  "purpose" text not null,
  "version" text,
  "environment" text,
  "key_id" text,
  "person_id" text,
  "user_id" text,
  "door" text,
  "model" text not null,
  "status" text not null,
  "input_tokens" integer not null,
  "cached_tokens" integer not null,
  "cache_write_tokens" integer not null,
  "output_tokens" integer not null,
  "reasoning_tokens" integer not null,
  "cost_nano" integer,
  "price" text,
  "charges" text,
  "owner" text,
  "lease_until" integer,
  "created_at" integer not null,
  primary key (id)
) without rowid;

create index ledger_by_request on ledger (request_id) where request_id is not null;

create index ledger_by_user on ledger (user_id, id) where user_id is not null;

create index ledger_reserved on ledger (lease_until) where status = 'reserved';

create table usage_sums (
  "project_id" text not null,
  "hours" integer not null,
  "start" integer not null,
  "agent_id" text not null,
  "version" text not null,
  "environment" text not null,
  "key_id" text not null,
  "person_id" text not null,
  "door" text not null,
  "model" text not null,
  "purpose" text not null,
  "calls" integer not null,
  "input_tokens" integer not null,
  "cached_tokens" integer not null,
  "cache_write_tokens" integer not null,
  "output_tokens" integer not null,
  "reasoning_tokens" integer not null,
  "cost_nano" integer not null,
  "unpriced" integer not null,
  "lost" integer not null,
  primary key (project_id, hours, start, agent_id, version, environment, key_id, person_id, door, model, purpose)
) without rowid;

create index usage_sums_by_start on usage_sums (hours, start);

create table prices (
  "project_id" text not null references projects (id) on delete cascade,
  "model" text not null,
  "rates" text not null,
  "set_by" text not null,
  "created_at" integer not null,
  "updated_at" integer not null,
  primary key (project_id, model)
);

create table budgets (
  "id" text not null primary key,
  "project_id" text references projects (id) on delete cascade,
  "agent_id" text references agents (id) on delete cascade,
  "name" text not null,
  "scope_type" text not null,
  "scope_id" text,
  "limit_kind" text not null,
  "amount" integer not null,
  "per" text not null,
  "timezone" text not null,
  "thresholds" text not null,
  "action" text not null,
  "created_by" text not null,
  "created_at" integer not null,
  "updated_at" integer not null
);

create index budgets_by_project on budgets (project_id, created_at, id);

create index budgets_by_agent on budgets (agent_id) where agent_id is not null;

create table budget_counters (
  "budget_id" text not null,
  "subject" text not null,
  "period_start" integer not null,
  "used" integer not null,
  "reserved" integer not null,
  "told" integer not null,
  "exceeded" integer not null,
  "kept" integer not null,
  primary key (budget_id, subject, period_start)
) without rowid;

create table memories (
  "seq" integer primary key autoincrement not null,
  "id" text not null unique,
  "agent_seq" integer not null,
  "kind" text not null,
  "role" text,
  "user_id" text not null,
  "session_id" text not null,
  "content" text not null,
  "metadata" text not null,
  "terms" text not null,
  "length" integer not null,
  "created_at" integer not null,
  "superseded_by" text
);

create index memories_by_session on memories (agent_seq, user_id, session_id, created_at, seq);

create index memories_by_user on memories (agent_seq, user_id, seq);

create index memories_by_time on memories (agent_seq, created_at, seq);

create index memories_by_kind on memories (agent_seq, kind, created_at, seq) where kind <> 'turn';

create index memories_superseded on memories (seq) where superseded_by is not null;

create table memory_vectors (
  "memory_seq" integer not null primary key references memories (seq) on delete cascade,
  "model" text not null,
  "vector" blob not null
);

create index memory_vectors_by_model on memory_vectors (model, memory_seq);

create table memory_scopes (
  "agent_seq" integer not null,
  "level" integer not null,
  "user_id" text not null,
  "session_id" text not null,
  "generation" text not null,
  "turns" integer not null,
  "notes" integer not null,
  "turn_terms" integer not null,
  "note_terms" integer not null,
  "last_at" integer not null,
  "facts_through" integer not null default 0,
  "facts_after" integer not null default 0,
  "summary_after" integer not null default 0,
  primary key (agent_seq, level, user_id, session_id)
) without rowid;

create index memory_scopes_by_use on memory_scopes (agent_seq, level, last_at, user_id, session_id) where level > 0;

create table memory_summaries (
  "agent_seq" integer not null,
  "user_id" text not null,
  "session_id" text not null,
  "content" text not null,
  "turns" integer not null,
  "through_seq" integer not null,
  "model" text,
  "tokens_used" integer not null,
  "updated_at" integer not null,
  primary key (agent_seq, user_id, session_id)
);

create table webhooks (
  "id" text not null primary key,
  "project_id" text not null references projects (id) on delete cascade,
  "agent_id" text references agents (id) on delete cascade,
  "url" text not null,
  "events" text not null,
  "status" text not null,
  "disabled_reason" text,
  "description" text,
  "secret" text not null,
  "secret_hint" text not null,
  "earlier_secrets" text not null,
  "failing_since" integer,
  "created_by" text,
  "created_at" integer not null,
  "updated_at" integer not null,
  "request_id" text,
  "name" text,
  "format" text,
  "headers" text
);

create index webhooks_by_agent on webhooks (agent_id, created_at);

create index webhooks_by_project on webhooks (project_id, created_at);

create index webhooks_by_request on webhooks (request_id, id) where request_id is not null;

create table listeners (
  "id" text not null primary key,
  "project_id" text not null references projects (id) on delete cascade,
  "agent_id" text references agents (id) on delete cascade,
  "events" text not null,
  "created_by" text not null,
  "created_at" integer not null,
  "expires_at" integer not null
);

create index listeners_by_agent on listeners (agent_id);

create table events (
  "id" text not null primary key,
  "project_id" text not null,
  "agent_id" text,
  "request_id" text,
  "user_id" text,
  "body" text not null
);

create index events_by_user on events (user_id, id) where user_id is not null;

create index events_by_request on events (request_id) where request_id is not null;

create table deliveries (
  "id" text not null primary key,
  "webhook_id" text not null,
  "event_id" text not null,
  "event" text not null,
  "status" text not null,
  "tries" integer not null,
  "attempt_count" integer not null,
  "attempts" text not null,
  "next_attempt_at" integer,
  "owner" text,
  "created_at" integer not null,
  "delivered_at" integer
);

create index deliveries_by_event on deliveries (event_id);

create index deliveries_by_webhook on deliveries (webhook_id, id, status, event);

create index deliveries_pending on deliveries (webhook_id, next_attempt_at, id) where status = 'pending';

create index deliveries_leased on deliveries (webhook_id, next_attempt_at) where owner is not null;

create table keys (
  "id" text not null primary key,
  "name" text not null,
  "project_id" text references projects (id) on delete cascade,
  "agent_id" text references agents (id) on delete cascade,
  "permissions" text not null,
  "role" text,
  "tier" text not null,
  "hint" text not null,
  "hash" text not null unique,
  "previous_secret_expires_at" integer,
  "created_at" integer not null,
  "created_by" text not null,
  "rotated_by" text,
  "expires_at" integer,
  "last_used_at" integer,
  "revoked_at" integer,
  "person_id" text,
  "role_source" text,
  "role_id" text references keys (id) on delete cascade,
  "vouched_at" integer
);

create index keys_by_agent on keys (agent_id, created_at);

create index keys_by_project on keys (project_id, created_at, id);

create index keys_by_person on keys (person_id) where person_id is not null;

create unique index keys_role_of_person on keys (person_id, coalesce(project_id, '')) where role_source is not null and revoked_at is null;

create index keys_by_role on keys (role_id) where role_id is not null;

create table earlier_secrets (
  "hash" text not null primary key,
  "key_id" text not null references keys (id) on delete cascade,
  "expires_at" integer not null
);

create index earlier_secrets_by_key on earlier_secrets (key_id);

create table key_factors (
  "key_id" text not null references keys (id) on delete cascade,
  "status" text not null,
  "secret" text not null,
  "last_step" integer,
  "wrong_codes" integer not null,
  "locked_until" integer,
  "version" integer not null,
  "created_at" integer not null,
  "created_by" text not null,
  primary key (key_id, status)
);

create table secrets (
  "project_id" text not null references projects (id) on delete cascade,
  "name" text not null,
  "value" text not null,
  "hosts" text not null,
  "created_at" integer not null,
  "updated_at" integer not null,
  primary key (project_id, name)
);

create table providers (
  "project_id" text not null references projects (id) on delete cascade,
  "name" text not null,
  "type" text not null,
  "base_url" text,
  "api_key" text,
  "vision" text,
  "cache" integer not null default 1,
  "paid_by" text not null,
  "created_at" integer not null,
  "updated_at" integer not null,
  primary key (project_id, name)
);

create table audit_log (
  "position" integer primary key autoincrement not null,
  "id" text not null unique,
  "created_at" integer not null,
  "actor_kind" text,
  "actor" text,
  "key_id" text,
  "action" text,
  "project_id" text not null,
  "agent_id" text,
  "target" text,
  "outcome" text not null,
  "code" text,
  "fields" text not null,
  "times" integer not null,
  "request_id" text not null,
  "address" text,
  "seq" integer unique,
  "prev_hash" text,
  "hash" text
);

create index audit_log_by_project on audit_log (project_id, id);

create index audit_log_by_outcome on audit_log (project_id, outcome, id);

create index audit_log_by_agent on audit_log (project_id, agent_id, id);

create index audit_log_by_action on audit_log (project_id, action, id);

create index audit_log_by_actor on audit_log (project_id, actor, id);

create index audit_log_unsealed on audit_log (position) where seq is null;

create table audit_chain (
  "name" text not null primary key,
  "seq" integer not null,
  "hash" text not null
);

create table persons (
  "id" text not null primary key,
  "name" text not null,
  "email" text,
  "email_verified" integer not null,
  "created_at" integer not null,
  "last_seen_at" integer not null
);

create index persons_by_email on persons (email);

create table person_identities (
  "issuer" text not null,
  "subject" text not null,
  "person_id" text not null,
  primary key (issuer, subject)
);

create index person_identities_by_person on person_identities (person_id);

create table invitations (
  "id" text not null primary key,
  "hash" text unique,
  "project_id" text references projects (id) on delete cascade,
  "role" text not null,
  "email" text not null,
  "created_at" integer not null,
  "created_by" text not null,
  "expires_at" integer not null,
  "accepted_at" integer,
  "accepted_by" text
);

create index invitations_by_project on invitations (project_id, created_at, id);

create index invitations_by_email on invitations (email);

create table console_sessions (
  "id" text not null primary key,
  "key_id" text references keys (id) on delete cascade,
  "key_hash" text,
  "by_previous_secret_until" integer,
  "person_id" text references persons (id) on delete cascade,
  "issuer" text,
  "issuer_subject" text,
  "issuer_session" text,
  "issuer_tokens" text,
  "can_confirm" integer not null,
  "confirm_before" integer,
  "confirming_until" integer not null,
  "is_strong" integer not null,
  "hash" text not null unique,
  "previous_hash" text,
  "rotated_at" integer not null,
  "confirmed_at" integer,
  "secure" integer not null,
  "address" text not null,
  "browser" text not null,
  "created_at" integer not null,
  "last_used_at" integer not null,
  "expires_at" integer not null
);

create index console_sessions_previous on console_sessions (previous_hash) where previous_hash is not null;

create index console_sessions_by_key on console_sessions (key_id);

create index console_sessions_by_person on console_sessions (person_id);

create index console_sessions_to_confirm on console_sessions (confirm_before) where confirm_before is not null;

create table console_links (
  "hash" text not null primary key,
  "key_id" text not null references keys (id) on delete cascade,
  "key_hash" text not null,
  "expires_at" integer not null
);

create index console_links_by_key on console_links (key_id);

create table settings (
  "name" text not null primary key,
  "value" text not null
);

create table claims (
  "scope" text not null,
  "key" text not null,
  "fingerprint" text not null,
  "owner" text not null,
  "lease_until" integer not null,
  "created_at" integer not null,
  "project_id" text not null,
  "request_id" text,
  "status" integer,
  "headers" text,
  "body" text,
  primary key (scope, key)
);

create index claims_by_created_at on claims (created_at);

create index claims_by_request on claims (request_id) where request_id is not null;

create table jobs (
  "id" text not null primary key,
  "kind" text not null,
  "run_at" integer not null,
  "owner" text,
  "attempts" integer not null
);

create index jobs_by_run_at on jobs (kind, run_at, id);

create unique index jobs_waiting on jobs (kind) where owner is null;

create table nodes (
  "node" text not null primary key,
  "version" text not null,
  "commit" text,
  "started_at" integer not null,
  "seen_at" integer not null,
  "runs_live" integer not null,
  "busy_percent" integer not null,
  "memory_bytes" integer not null,
  "taken_over_at" integer
);

create table blobs (
  "id" text not null primary key,
  "project_id" text not null,
  "state" text not null,
  "kept_in" text not null,
  "sha256" text,
  "created_at" integer not null
);

create unique index blobs_by_content on blobs (project_id, sha256) where state = 'kept';

create index blobs_not_kept on blobs (state, created_at) where state <> 'kept';

create table files (
  "id" text not null primary key,
  "project_id" text not null,
  "blob_id" text not null references blobs (id),
  "name" text not null,
  "media_type" text not null,
  "size" integer not null,
  "sha256" text not null,
  "user_id" text,
  "created_by" text not null,
  "agent_id" text,
  "request_id" text,
  "schedule_id" text,
  "unclaimed" integer not null,
  "created_at" integer not null,
  "expires_at" integer
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

create view all_invocations as
    select id, agent_seq, status, attempt, attempts, background, keyed, on_budget, door, environment, version, deployment_id, message, context, user_id, session_id, attachments, given, schedule_id, authors, scheduled_at, parent_request_id, call_key, tree, deadline_at, created_by, person_id, created_at, started_at, duration_ms, response, structured, error, input_tokens, output_tokens, tokens_used, cost_nano, steps, rounds, finished_at, erased_at from invocations
    union all
    select id, agent_seq, status, attempt, attempts, background, keyed, on_budget, door, environment, version, deployment_id, message, context, user_id, session_id, attachments, given, schedule_id, authors, scheduled_at, parent_request_id, call_key, tree, deadline_at, created_by, person_id, created_at, started_at, duration_ms, cast(null as text), cast(0 as integer), cast(null as text), cast(0 as integer), cast(0 as integer), cast(0 as integer), cast(0 as integer), cast('[]' as text), cast(null as text), cast(null as integer), cast(null as integer) from runs;

create trigger agents_counted after insert on agents begin insert into agent_counts (agent_seq, counted, rows)
  values (new.seq, 'invocations', 0), (new.seq, 'logs', 0); end;

create trigger invocations_counted_insert after insert on invocations begin
      update agent_counts set rows = rows + 1 where agent_seq = new.agent_seq and counted = 'invocations'; end;

create trigger invocations_counted_delete after delete on invocations begin
      update agent_counts set rows = rows - 1 where agent_seq = old.agent_seq and counted = 'invocations'; end;

create trigger logs_counted_insert after insert on logs begin
      update agent_counts set rows = rows + 1 where agent_seq = new.agent_seq and counted = 'logs'; end;

create trigger logs_counted_delete after delete on logs begin
      update agent_counts set rows = rows - 1 where agent_seq = old.agent_seq and counted = 'logs'; end;

create trigger files_counted_insert after insert on files begin
    insert into file_counts values (new.project_id, '', 1, new.size) on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
    insert into file_counts select new.project_id, new.user_id, 1, new.size where new.user_id is not null on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
  end;

create trigger files_counted_delete after delete on files begin
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id in ('', old.user_id);
    delete from file_counts where project_id = old.project_id and user_id in ('', old.user_id) and files = 0;
  end;

create trigger files_counted_move after update of project_id on files begin
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id in ('', old.user_id);
    delete from file_counts where project_id = old.project_id and user_id in ('', old.user_id) and files = 0;
    insert into file_counts values (new.project_id, '', 1, new.size) on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
    insert into file_counts select new.project_id, new.user_id, 1, new.size where new.user_id is not null on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes;
  end;

create virtual table memory_index using fts5(
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'");

insert into memory_index (memory_index, rank) values ('secure-delete', 1);

insert into projects (id, name, limits, created_at, updated_at) values ('prj_default', 'default', '{}', 0, 0);

insert into audit_chain (name, seq, hash) values ('head', 0, '0000000000000000000000000000000000000000000000000000000000000000');

analyze;

delete from sqlite_stat1;

insert into sqlite_stat1 (tbl, idx, stat) values ('invocations', 'sqlite_autoindex_invocations_1', '1000000 1'), ('invocations', 'invocations_by_agent', '1000000 1000000 1'), ('invocations', 'invocations_by_status', '1000000 1000000 500000 1'), ('invocations', 'invocations_by_user', '1000000 1000000 1000 1'), ('invocations', 'invocations_by_session', '1000000 1000000 20 1'), ('invocations', 'invocations_by_schedule', '100000 100000 1000 1'), ('invocations', 'invocations_by_parent', '100000 2 1'), ('invocations', 'invocations_by_starter', '1000000 1000000 200000 1'), ('invocations', 'invocations_by_door', '1000000 1000000 300000 1'), ('invocations', 'invocations_not_completed', '20000 5000 1 1'), ('invocations', 'invocations_by_end', '1000000 1000000 1000 1 1 1'), ('runs', 'sqlite_autoindex_runs_1', '10000 1'), ('runs', 'runs_by_agent', '10000 100 1'), ('runs', 'runs_by_status', '10000 4000 50 1'), ('runs', 'runs_by_parent', '1000 2 1'), ('runs', 'runs_waiting', '1000 1'), ('runs', 'runs_waiting_for', '1000 100'), ('runs', 'runs_cancelled', '10 1'), ('approvals', 'sqlite_autoindex_approvals_1', '100000 1'), ('approvals', 'approvals_by_request', '100000 2 1'), ('approvals', 'approvals_by_agent', '100000 100000 1 1'), ('approvals', 'approvals_by_status', '100000 50000 1'), ('approvals', 'approvals_by_user', '100000 1000 1'), ('approvals', 'approvals_by_session', '100000 20 1'), ('approvals', 'approvals_by_starter', '100000 20000 1'), ('logs', 'logs_by_agent', '2000000 2000000 2 1 1'), ('logs', 'logs_not_info', '40000 40000 1 1 1'), ('logs', 'logs_of_request', '2000000 2'), ('audit_log', 'sqlite_autoindex_audit_log_1', '1000000 1'), ('audit_log', 'audit_log_by_project', '1000000 1000000 1'), ('audit_log', 'audit_log_by_outcome', '1000000 1000000 500000 1'), ('audit_log', 'audit_log_by_agent', '1000000 1000000 10000 1'), ('audit_log', 'audit_log_by_action', '1000000 1000000 20000 1'), ('audit_log', 'audit_log_by_actor', '1000000 1000000 10000 1'), ('audit_log', 'audit_log_unsealed', '100 1');

