create table version_metrics (
  "agent_seq" bigint not null,
  "minutes" bigint not null,
  "start" bigint not null,
  "environment" text collate "C" not null,
  "version" text collate "C" not null,
  "deployment_id" text collate "C" not null,
  "bucket" bigint not null,
  "count" bigint not null,
  "errors" bigint not null,
  "sum_ms" bigint not null,
  "max_ms" bigint not null,
  "tokens" bigint not null,
  "cost_nano" bigint not null,
  "unpriced" bigint not null,
  primary key (agent_seq, minutes, start, environment, version, deployment_id, bucket)
);

create index version_metrics_by_start on version_metrics (minutes, start);

