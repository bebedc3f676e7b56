alter table rollouts add column "split_key" text collate "C";

create table rollout_answers (
  "rollout_id" text collate "C" not null,
  "request_id" text collate "C" not null,
  primary key (rollout_id, request_id)
);

