create table sets (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "name" text not null,
  "description" text,
  "digest" text not null,
  "cases" integer not null,
  "created_by" text not null,
  "created_at" integer not null,
  "updated_at" integer not null
);

create unique index sets_by_name on sets (agent_seq, name);

create table replays (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "status" text not null,
  "set_name" text,
  "set_digest" text,
  "filter" text,
  "checks" text not null,
  "version" text,
  "digest" text not null,
  "definition" text not null,
  "baseline" text not null,
  "baseline_version" text,
  "baseline_digest" text,
  "baseline_definition" text,
  "cases" integer not null,
  "limit_nano" integer,
  "limit_tokens" integer,
  "spent_nano" integer not null default 0,
  "spent_tokens" integer not null default 0,
  "unpriced" integer not null default 0,
  "held_nano" integer not null default 0,
  "held_tokens" integer not null default 0,
  "reached" text,
  "waits_for" text,
  "report" text,
  "verdict" text,
  "created_by" text not null,
  "person_id" text,
  "created_at" integer not null,
  "finished_at" integer
);

create index replays_by_agent on replays (agent_seq, id);

create index replays_finished on replays (finished_at) where finished_at is not null;

create table cases (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "kept_by" text not null,
  "position" integer not null,
  "name" text,
  "request_id" text,
  "user_id" text,
  "erased_at" integer,
  "due_at" integer,
  "owner" text,
  "tries" integer not null default 0,
  "held_nano" integer not null default 0,
  "held_tokens" integer not null default 0,
  "outcome" text,
  "content" text not null,
  "recorded" text,
  "baseline" text,
  "candidate" text
);

create unique index cases_in_order on cases (kept_by, position);

create index cases_by_agent on cases (agent_seq, id);

create index cases_of_run on cases (request_id) where request_id is not null;

create index cases_of_user on cases (agent_seq, user_id) where user_id is not null;

create index cases_due on cases (agent_seq, due_at, id) where due_at is not null;

