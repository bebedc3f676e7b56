alter table connection_grants add column asked_scopes text collate "C";

alter table connection_grants add column wanted_scopes text collate "C";

alter table approvals add column grant_id text collate "C";

