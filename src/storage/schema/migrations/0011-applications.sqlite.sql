create table applications (
  "id" text not null references keys (id) on delete cascade,
  "client_id" text not null,
  "redirect_uri" text not null,
  "resource" text not null,
  "person_id" text,
  "user_id" text not null,
  "code_hash" text not null unique,
  "code_challenge" text not null,
  "code_expires_at" integer not null,
  "connected_at" integer,
  primary key (id)
);

create table refresh_tokens (
  "hash" text not null primary key,
  "application_id" text not null references applications (id) on delete cascade,
  "expires_at" integer not null,
  "used_at" integer
);

create index refresh_tokens_by_application on refresh_tokens (application_id, expires_at);

