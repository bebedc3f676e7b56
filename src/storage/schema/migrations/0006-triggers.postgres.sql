create table triggers (
  "id" text collate "C" not null primary key,
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "kind" text collate "C" not null,
  "name" text collate "C",
  "environment" text collate "C" not null,
  "enabled" bigint not null,
  "disabled_reason" text collate "C",
  "token" text collate "C" not null,
  "token_hash" text collate "C" not null unique,
  "created_by" text collate "C" not null,
  "updated_by" text collate "C" not null,
  "authors" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  "definition" text collate "C" not null
);

create index triggers_by_agent on triggers (agent_id, created_at);

create table incoming_deliveries (
  "id" text collate "C" not null primary key,
  "trigger_id" text collate "C" not null,
  "agent_id" text collate "C" not null,
  "outcome" text collate "C" not null,
  "code" text collate "C",
  "reason" text collate "C",
  "event_key" text collate "C",
  "request_id" text collate "C",
  "repeats" bigint not null,
  "replay_of" text collate "C",
  "user_id" text collate "C",
  "session_id" text collate "C",
  "created_at" bigint not null,
  "headers" text collate "C" not null,
  "body" text collate "C"
);

create index incoming_by_trigger on incoming_deliveries (trigger_id, id);

create unique index incoming_by_event on incoming_deliveries (trigger_id, event_key) where event_key is not null;

create index incoming_by_request on incoming_deliveries (request_id) where request_id is not null;

create index incoming_by_agent on incoming_deliveries (agent_id, id);

create index incoming_by_user on incoming_deliveries (agent_id, user_id) where user_id is not null;
