create table rollouts (
  "deployment_id" text not null primary key references deployments (id) on delete cascade,
  "agent_id" text not null references agents (id) on delete cascade,
  "environment" text not null,
  "version" text not null,
  "serving_id" text,
  "revision" integer not null,
  "share" integer not null,
  "steps" text not null,
  "guard" text not null,
  "on_bad" text not null,
  "require_replay" text,
  "replay_id" text,
  "step" integer not null,
  "step_at" integer,
  "clock_ms" integer not null,
  "clock_at" integer,
  "statistics" text,
  "evidence" text,
  "looked_at" integer,
  "ended_at" integer
);

create unique index rollouts_in_progress on rollouts (agent_id, environment) where ended_at is null;

create index rollouts_by_agent on rollouts (agent_id, deployment_id);

