alter table memories add column version text;

alter table memories add column deployment_id text;

alter table deployments add column forgotten integer;

alter table deployments add column forgetting integer;

create index memories_by_deployment on memories (deployment_id, seq) where deployment_id is not null;

create index deployments_forgetting on deployments (id) where forgetting is not null;

