alter table memories add column version text collate "C";

alter table memories add column deployment_id text collate "C";

alter table deployments add column forgotten bigint;

alter table deployments add column forgetting bigint;

create index memories_by_deployment on memories (deployment_id, seq) where deployment_id is not null;

create index deployments_forgetting on deployments (id) where forgetting is not null;

