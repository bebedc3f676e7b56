create table links (
  "id" text collate "C" not null primary key,
  "agent_id" text collate "C" not null references agents (id) on delete cascade,
  "name" text collate "C",
  "environment" text collate "C" not null,
  "token" text collate "C" not null,
  "origins" text collate "C" not null,
  "messages_per_visitor" bigint,
  "budget_id" text collate "C",
  "welcome" text collate "C",
  "starters" text collate "C" not null,
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "expires_at" bigint
);

create index links_by_agent on links (agent_id, created_at, id);

create table link_visitors (
  "link_id" text collate "C" not null references links (id) on delete cascade,
  "user_id" text collate "C" not null,
  "messages" bigint not null,
  "last_key" text collate "C" not null,
  "last_at" bigint not null,
  primary key (link_id, user_id)
);

create index link_visitors_by_user on link_visitors (user_id);

