create table sets (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "name" text collate "C" not null,
  "description" text collate "C",
  "digest" text collate "C" not null,
  "cases" bigint not null,
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create unique index sets_by_name on sets (agent_seq, name);

create table replays (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "status" text collate "C" not null,
  "set_name" text collate "C",
  "set_digest" text collate "C",
  "filter" text collate "C",
  "checks" text collate "C" not null,
  "version" text collate "C",
  "digest" text collate "C" not null,
  "definition" text collate "C" not null,
  "baseline" text collate "C" not null,
  "baseline_version" text collate "C",
  "baseline_digest" text collate "C",
  "baseline_definition" text collate "C",
  "cases" bigint not null,
  "limit_nano" bigint,
  "limit_tokens" bigint,
  "spent_nano" bigint not null default 0,
  "spent_tokens" bigint not null default 0,
  "unpriced" bigint not null default 0,
  "held_nano" bigint not null default 0,
  "held_tokens" bigint not null default 0,
  "reached" text collate "C",
  "waits_for" text collate "C",
  "report" text collate "C",
  "verdict" text collate "C",
  "created_by" text collate "C" not null,
  "person_id" text collate "C",
  "created_at" bigint not null,
  "finished_at" bigint
);

create index replays_by_agent on replays (agent_seq, id);

create index replays_finished on replays (finished_at) where finished_at is not null;

create table cases (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "kept_by" text collate "C" not null,
  "position" bigint not null,
  "name" text collate "C",
  "request_id" text collate "C",
  "user_id" text collate "C",
  "erased_at" bigint,
  "due_at" bigint,
  "owner" text collate "C",
  "tries" bigint not null default 0,
  "held_nano" bigint not null default 0,
  "held_tokens" bigint not null default 0,
  "outcome" text collate "C",
  "content" text collate "C" not null,
  "recorded" text collate "C",
  "baseline" text collate "C",
  "candidate" text collate "C"
);

create unique index cases_in_order on cases (kept_by, position);

create index cases_by_agent on cases (agent_seq, id);

create index cases_of_run on cases (request_id) where request_id is not null;

create index cases_of_user on cases (agent_seq, user_id) where user_id is not null;

create index cases_due on cases (agent_seq, due_at, id) where due_at is not null;

