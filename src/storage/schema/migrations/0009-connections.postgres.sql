create table connections (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "name" text collate "C" not null,
  "kind" text collate "C" not null,
  "acts_as" text collate "C" not null,
  "url" text collate "C",
  "issuer" text collate "C",
  "authorize_url" text collate "C",
  "token_url" text collate "C",
  "revoke_url" text collate "C",
  "client_id" text collate "C",
  "client_secret" text collate "C",
  "registration" text collate "C",
  "scopes" text collate "C" not null,
  "hosts" text collate "C" not null,
  "return_origins" text collate "C" not null,
  "created_at" bigint not null,
  "updated_at" bigint not null
);

create unique index connections_by_name on connections (project_id, name);

create table connection_grants (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "connection_id" text collate "C" not null references connections (id) on delete cascade,
  "holder" text collate "C" not null,
  "status" text collate "C" not null,
  "link_id" text collate "C",
  "tokens" text collate "C",
  "version" bigint not null,
  "can_refresh" bigint not null,
  "expires_at" bigint,
  "scopes" text collate "C" not null,
  "wrong_users" bigint not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  "confirmed_by" text collate "C",
  "ended_reason" text collate "C",
  "owner" text collate "C",
  "lease_until" bigint
);

create unique index connection_grants_in_use on connection_grants (connection_id, holder) where status = 'active';

create index connection_grants_by_holder on connection_grants (connection_id, holder, id);

create index connection_grants_by_link on connection_grants (link_id) where link_id is not null;

create index connection_grants_by_user on connection_grants (project_id, holder);

create index connection_grants_refreshing on connection_grants (lease_until) where owner is not null;

create table connection_links (
  "id" text collate "C" not null primary key,
  "project_id" text collate "C" not null references projects (id) on delete cascade,
  "connection_id" text collate "C" not null references connections (id) on delete cascade,
  "holder" text collate "C" not null,
  "return_to" text collate "C",
  "created_by" text collate "C" not null,
  "created_at" bigint not null,
  "expires_at" bigint not null,
  "spent_at" bigint
);

create index connection_links_by_holder on connection_links (connection_id, holder, id);

create index connection_links_by_user on connection_links (project_id, holder);

alter table approvals add column connection_id text collate "C";

alter table approvals add column link_id text collate "C";

alter table approvals add column holder text collate "C";

create index approvals_for_connections on approvals (connection_id, holder) where connection_id is not null and status = 'pending';

