import type { ColumnTypes } from './engine-columns.ts'

/** The hash before the first entry of the audit log. */
export const GENESIS = '0'.repeat(64)

export function securitySchema(types: ColumnTypes): string[] {
  return [...people(types), ...keys(types), ...auditLog(types), ...consoleSignIn(types)]
}

function people({ text, integer }: ColumnTypes): string[] {
  return [
    `create table persons (
      id ${text} primary key,
      name ${text} not null,
      email ${text},
      email_verified ${integer} not null,
      created_at ${integer} not null,
      last_seen_at ${integer} not null
    )`,
    'create index persons_by_email on persons (email)',

    `create table person_identities (
      issuer ${text} not null,
      subject ${text} not null,
      person_id ${text} not null,
      primary key (issuer, subject)
    )`,
    'create index person_identities_by_person on person_identities (person_id)',

    `create table invitations (
      id ${text} primary key,
      hash ${text} unique,
      project_id ${text} references projects (id) on delete cascade,
      role ${text} not null,
      email ${text} not null,
      created_at ${integer} not null,
      created_by ${text} not null,
      expires_at ${integer} not null,
      accepted_at ${integer},
      accepted_by ${text}
    )`,
    'create index invitations_by_project on invitations (project_id, created_at, id)',
    'create index invitations_by_email on invitations (email)',
  ]
}

function keys({ text, integer }: ColumnTypes): string[] {
  return [
    `create table keys (
      id ${text} primary key,
      name ${text} not null,
      project_id ${text} references projects (id) on delete cascade,
      agent_id ${text} references agents (id) on delete cascade,
      permissions ${text} not null,
      role ${text},
      tier ${text} not null,
      hint ${text} not null,
      hash ${text} not null unique,
      previous_secret_expires_at ${integer},
      created_at ${integer} not null,
      created_by ${text} not null,
      rotated_by ${text},
      expires_at ${integer},
      last_used_at ${integer},
      revoked_at ${integer},
      person_id ${text},
      role_source ${text},
      role_id ${text} references keys (id) on delete cascade,
      vouched_at ${integer}
    )`,
    'create index keys_by_agent on keys (agent_id, created_at)',
    'create index keys_by_project on keys (project_id, created_at, id)',
    'create index keys_by_person on keys (person_id) where person_id is not null',
    // One role in a project, and one for all.
    `create unique index keys_role_of_person on keys (person_id, coalesce(project_id, ''))
      where role_source is not null and revoked_at is null`,
    'create index keys_by_role on keys (role_id) where role_id is not null',

    `create table earlier_secrets (
      hash ${text} primary key,
      key_id ${text} not null references keys (id) on delete cascade,
      expires_at ${integer} not null
    )`,
    'create index earlier_secrets_by_key on earlier_secrets (key_id)',

    `create table key_factors (
      key_id ${text} not null references keys (id) on delete cascade,
      status ${text} not null,
      secret ${text} not null,
      last_step ${integer},
      wrong_codes ${integer} not null,
      locked_until ${integer},
      version ${integer} not null,
      created_at ${integer} not null,
      created_by ${text} not null,
      primary key (key_id, status)
    )`,

    `create table secrets (
      project_id ${text} not null references projects (id) on delete cascade,
      name ${text} not null,
      value ${text} not null,
      hosts ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (project_id, name)
    )`,

    `create table providers (
      project_id ${text} not null references projects (id) on delete cascade,
      name ${text} not null,
      type ${text} not null,
      base_url ${text},
      api_key ${text},
      vision ${text},
      paid_by ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (project_id, name)
    )`,
  ]
}

function auditLog({ text, integer, sequence }: ColumnTypes): string[] {
  return [
    `create table audit_log (
      position ${sequence},
      id ${text} not null unique,
      created_at ${integer} not null,
      actor_kind ${text},
      actor ${text},
      key_id ${text},
      action ${text},
      project_id ${text} not null,
      agent_id ${text},
      target ${text},
      outcome ${text} not null,
      code ${text},
      fields ${text} not null,
      times ${integer} not null,
      request_id ${text} not null,
      address ${text},
      seq ${integer} unique,
      prev_hash ${text},
      hash ${text}
    )`,
    // Ids begin with the time of the entry.
    'create index audit_log_by_project on audit_log (project_id, id)',
    'create index audit_log_by_outcome on audit_log (project_id, outcome, id)',
    'create index audit_log_by_agent on audit_log (project_id, agent_id, id)',
    'create index audit_log_by_action on audit_log (project_id, action, id)',
    'create index audit_log_by_actor on audit_log (project_id, actor, id)',
    'create index audit_log_unsealed on audit_log (position) where seq is null',

    `create table audit_chain (
      name ${text} primary key,
      seq ${integer} not null,
      hash ${text} not null
    )`,
    `insert into audit_chain (name, seq, hash) values ('head', 0, '${GENESIS}')`,
  ]
}

function consoleSignIn({ text, integer }: ColumnTypes): string[] {
  return [
    `create table console_sessions (
      id ${text} primary key,
      key_id ${text} references keys (id) on delete cascade,
      key_hash ${text},
      by_previous_secret_until ${integer},
      person_id ${text} references persons (id) on delete cascade,
      issuer ${text},
      issuer_subject ${text},
      issuer_session ${text},
      issuer_tokens ${text},
      can_confirm ${integer} not null,
      confirm_before ${integer},
      confirming_until ${integer} not null,
      is_strong ${integer} not null,
      hash ${text} not null unique,
      previous_hash ${text},
      rotated_at ${integer} not null,
      confirmed_at ${integer},
      secure ${integer} not null,
      address ${text} not null,
      browser ${text} not null,
      created_at ${integer} not null,
      last_used_at ${integer} not null,
      expires_at ${integer} not null
    )`,
    'create index console_sessions_previous on console_sessions (previous_hash) where previous_hash is not null',
    'create index console_sessions_by_key on console_sessions (key_id)',
    'create index console_sessions_by_person on console_sessions (person_id)',
    'create index console_sessions_to_confirm on console_sessions (confirm_before) where confirm_before is not null',

    `create table console_links (
      hash ${text} primary key,
      key_id ${text} not null references keys (id) on delete cascade,
      key_hash ${text} not null,
      expires_at ${integer} not null
    )`,
    'create index console_links_by_key on console_links (key_id)',
  ]
}
