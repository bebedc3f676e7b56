alter table rollouts add column "split_key" text;

create table rollout_answers (
  "rollout_id" text not null,
  "request_id" text not null,
  primary key (rollout_id, request_id)
) without rowid;

