create table links (
  "id" text not null primary key,
  "agent_id" text not null references agents (id) on delete cascade,
  "name" text,
  "environment" text not null,
  "token" text not null,
  "origins" text not null,
  "messages_per_visitor" integer,
  "budget_id" text,
  "welcome" text,
  "starters" text not null,
  "created_by" text not null,
  "created_at" integer not null,
  "expires_at" integer
);

create index links_by_agent on links (agent_id, created_at, id);

create table link_visitors (
  "link_id" text not null references links (id) on delete cascade,
  "user_id" text not null,
  "messages" integer not null,
  "last_key" text not null,
  "last_at" integer not null,
  primary key (link_id, user_id)
);

create index link_visitors_by_user on link_visitors (user_id);

