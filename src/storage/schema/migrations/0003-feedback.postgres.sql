create table feedback (
  "id" text collate "C" not null primary key,
  "agent_seq" bigint not null,
  "request_id" text collate "C" not null references invocations (id) on delete cascade,
  "key" text collate "C" not null,
  "score_millionths" bigint not null,
  "comment" text collate "C",
  "user_id" text collate "C",
  "session_id" text collate "C",
  "environment" text collate "C" not null,
  "version" text collate "C",
  "deployment_id" text collate "C",
  "started_by" text collate "C" not null,
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create unique index feedback_of_run on feedback (request_id, key);

create index feedback_by_agent on feedback (agent_seq, id);

