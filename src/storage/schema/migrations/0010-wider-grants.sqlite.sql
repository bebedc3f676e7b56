alter table connection_grants add column asked_scopes text;

alter table connection_grants add column wanted_scopes text;

alter table approvals add column grant_id text;

