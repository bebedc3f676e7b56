create table version_metrics (
  "agent_seq" integer not null,
  "minutes" integer not null,
  "start" integer not null,
  "environment" text not null,
  "version" text not null,
  "deployment_id" text not null,
  "bucket" integer not null,
  "count" integer not null,
  "errors" integer not null,
  "sum_ms" integer not null,
  "max_ms" integer not null,
  "tokens" integer not null,
  "cost_nano" integer not null,
  "unpriced" integer not null,
  primary key (agent_seq, minutes, start, environment, version, deployment_id, bucket)
) without rowid;

create index version_metrics_by_start on version_metrics (minutes, start);

