create table rollouts (
  "deployment_id" text collate "C" not null primary key references deployments (id) on delete cascade,
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "environment" text collate "C" not null,
  "version" text collate "C" not null,
  "serving_id" text collate "C",
  "revision" bigint not null,
  "share" bigint not null,
  "steps" text collate "C" not null,
  "guard" text collate "C" not null,
  "on_bad" text collate "C" not null,
  "require_replay" text collate "C",
  "replay_id" text collate "C",
  "step" bigint not null,
  "step_at" bigint,
  "clock_ms" bigint not null,
  "clock_at" bigint,
  "statistics" text collate "C",
  "evidence" text collate "C",
  "looked_at" bigint,
  "ended_at" bigint
);

create unique index rollouts_in_progress on rollouts (agent_id, environment) where ended_at is null;

create index rollouts_by_agent on rollouts (agent_id, deployment_id);

