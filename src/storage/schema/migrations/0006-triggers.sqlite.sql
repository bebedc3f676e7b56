create table triggers (
  "id" text not null primary key,
  "agent_id" text not null references agents (id) on delete cascade,
  "kind" text not null,
  "name" text,
  "environment" text not null,
  "enabled" integer not null,
  "disabled_reason" text,
  "token" text not null,
  "token_hash" text not null unique,
  "created_by" text not null,
  "updated_by" text not null,
  "authors" text not null,
  "created_at" integer not null,
  "updated_at" integer not null,
  "definition" text not null
);

create index triggers_by_agent on triggers (agent_id, created_at);

create table incoming_deliveries (
  "id" text not null primary key,
  "trigger_id" text not null,
  "agent_id" text not null,
  "outcome" text not null,
  "code" text,
  "reason" text,
  "event_key" text,
  "request_id" text,
  "repeats" integer not null,
  "replay_of" text,
  "user_id" text,
  "session_id" text,
  "created_at" integer not null,
  "headers" text not null,
  "body" text
);

create index incoming_by_trigger on incoming_deliveries (trigger_id, id);

create unique index incoming_by_event on incoming_deliveries (trigger_id, event_key) where event_key is not null;

create index incoming_by_request on incoming_deliveries (request_id) where request_id is not null;

create index incoming_by_agent on incoming_deliveries (agent_id, id);

create index incoming_by_user on incoming_deliveries (agent_id, user_id) where user_id is not null;
