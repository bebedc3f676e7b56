create table applications (
  "id" text collate "C" not null references keys (id) on delete cascade,
  "client_id" text collate "C" not null,
  "redirect_uri" text collate "C" not null,
  "resource" text collate "C" not null,
  "person_id" text collate "C",
  "user_id" text collate "C" not null,
  "code_hash" text collate "C" not null unique,
  "code_challenge" text collate "C" not null,
  "code_expires_at" bigint not null,
  "connected_at" bigint,
  primary key (id)
);

create table refresh_tokens (
  "hash" text collate "C" not null primary key,
  "application_id" text collate "C" not null references applications (id) on delete cascade,
  "expires_at" bigint not null,
  "used_at" bigint
);

create index refresh_tokens_by_application on refresh_tokens (application_id, expires_at);

