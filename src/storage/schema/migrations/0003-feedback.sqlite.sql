create table feedback (
  "id" text not null primary key,
  "agent_seq" integer not null,
  "request_id" text not null references invocations (id) on delete cascade,
  "key" text not null,
  "score_millionths" integer not null,
  "comment" text,
  "user_id" text,
  "session_id" text,
  "environment" text not null,
  "version" text,
  "deployment_id" text,
  "started_by" text not null,
  "created_by" text not null,
  "created_at" integer not null,
  "updated_at" integer not null
);

create unique index feedback_of_run on feedback (request_id, key);

create index feedback_by_agent on feedback (agent_seq, id);

