create table connections (
  "id" text not null primary key,
  "project_id" text not null references projects (id) on delete cascade,
  "name" text not null,
  "kind" text not null,
  "acts_as" text not null,
  "url" text,
  "issuer" text,
  "authorize_url" text,
  "token_url" text,
  "revoke_url" text,
  "client_id" text,
  "client_secret" text,
  "registration" text,
  "scopes" text not null,
  "hosts" text not null,
  "return_origins" text not null,
  "created_at" integer not null,
  "updated_at" integer not null
);

create unique index connections_by_name on connections (project_id, name);

create table connection_grants (
  "id" text not null primary key,
  "project_id" text not null references projects (id) on delete cascade,
  "connection_id" text not null references connections (id) on delete cascade,
  "holder" text not null,
  "status" text not null,
  "link_id" text,
  "tokens" text,
  "version" integer not null,
  "can_refresh" integer not null,
  "expires_at" integer,
  "scopes" text not null,
  "wrong_users" integer not null,
  "created_at" integer not null,
  "updated_at" integer not null,
  "confirmed_by" text,
  "ended_reason" text,
  "owner" text,
  "lease_until" integer
);

create unique index connection_grants_in_use on connection_grants (connection_id, holder) where status = 'active';

create index connection_grants_by_holder on connection_grants (connection_id, holder, id);

create index connection_grants_by_link on connection_grants (link_id) where link_id is not null;

create index connection_grants_by_user on connection_grants (project_id, holder);

create index connection_grants_refreshing on connection_grants (lease_until) where owner is not null;

create table connection_links (
  "id" text not null primary key,
  "project_id" text not null references projects (id) on delete cascade,
  "connection_id" text not null references connections (id) on delete cascade,
  "holder" text not null,
  "return_to" text,
  "created_by" text not null,
  "created_at" integer not null,
  "expires_at" integer not null,
  "spent_at" integer
);

create index connection_links_by_holder on connection_links (connection_id, holder, id);

create index connection_links_by_user on connection_links (project_id, holder);

alter table approvals add column connection_id text;

alter table approvals add column link_id text;

alter table approvals add column holder text;

create index approvals_for_connections on approvals (connection_id, holder) where connection_id is not null and status = 'pending';

