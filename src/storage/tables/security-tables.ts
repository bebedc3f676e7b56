import { flag, integer, json, sequence, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** The hash that precedes the first entry of the audit log. */
export const GENESIS = '0'.repeat(64)

export const securityTables = {
  keys: table({
    id: text.primary,
    name: text,
    /** Null for a key with access to all projects. */
    project_id: text.nullable.references('projects'),
    agent_id: text.nullable.references('agents'),
    permissions: text,
    role: text.nullable,
    tier: text,
    hint: text,
    hash: text.unique,
    /** When the last of its earlier secrets expires. */
    previous_secret_expires_at: time.nullable,
    created_at: time,
    created_by: text,
    /** Who last rotated the key, and so has seen its secret. A rotation by the key itself doesn't change this. */
    rotated_by: text.nullable,
    expires_at: time.nullable,
    last_used_at: time.nullable,
    revoked_at: time.nullable,
    /**
     * The key's owner. Null for a service's key. Keys that a person has revoked or lost are kept when the person is
     * removed.
     */
    person_id: text.nullable,
    /**
     * The source of a person's role, which is stored as a key without a secret, `link` for the key of a chat link, which
     * only opens the chat, or `application` for a connected application. Null for every other key.
     */
    role_source: text.nullable,
    /**
     * The role with which a person's key was created, or the role or key with which an application was connected. The key
     * ends with it.
     */
    role_id: text.nullable.references('keys'),
    /** When the identity provider whose groups grant this role last confirmed it. Null if no group grants it. */
    vouched_at: time.nullable,
  }).indexes({
    keys_by_agent: '(agent_id, created_at)',
    keys_by_project: '(project_id, created_at, id)',
    keys_by_person: '(person_id) where person_id is not null',
    // One role per project, and one for all projects.
    keys_role_of_person:
      "unique (person_id, coalesce(project_id, '')) where role_source is not null and revoked_at is null",
    keys_by_role: '(role_id) where role_id is not null',
  }),
  /** A link that opens a chat with an agent. Its visitors act with the key that has the same ID. */
  links: table({
    id: text.primary,
    agent_id: text.references('agents'),
    name: text.nullable,
    environment: text,
    /** The part of its URL that opens the chat, encrypted. */
    token: text,
    /** An array of origins. */
    origins: json,
    messages_per_visitor: integer.nullable,
    /** The budget that limits its cost. */
    budget_id: text.nullable,
    welcome: text.nullable,
    /** An array of messages. */
    starters: json,
    created_by: text,
    created_at: time,
    expires_at: time.nullable,
  }).indexes({ links_by_agent: '(agent_id, created_at, id)' }),
  /** How many messages each visitor of a link has sent. */
  link_visitors: table({
    link_id: text.references('links'),
    user_id: text,
    messages: integer,
    /** The ID of the latest message's run. Its Idempotency-Key, if an earlier version of the service counted it. */
    last_key: text,
    last_at: time,
  })
    .primaryKey('link_id', 'user_id')
    .indexes({ link_visitors_by_user: '(user_id)' }),
  /**
   * An application that a person or the holder of a key has connected by signing in. It acts with the key that has the
   * same ID.
   */
  applications: table({
    id: text.references('keys'),
    client_id: text,
    redirect_uri: text,
    /** The URL at which its tokens are accepted. */
    resource: text,
    /** Null if a key signed in. */
    person_id: text.nullable,
    /** The user for whom it acts. */
    user_id: text,
    /** The code that it exchanges for its first tokens, once. */
    code_hash: text.unique,
    code_challenge: text,
    code_expires_at: time,
    /** When it exchanged the code. */
    connected_at: time.nullable,
  }).primaryKey('id'),
  /** An application's refresh tokens. Used ones are kept until they expire, because a second use shows a theft. */
  refresh_tokens: table({
    hash: text.primary,
    application_id: text.references('applications'),
    expires_at: time,
    used_at: time.nullable,
  }).indexes({ refresh_tokens_by_application: '(application_id, expires_at)' }),
  /**
   * A key's earlier secret, which is valid until its grace period ends, or the access token of an application, which
   * expires.
   */
  earlier_secrets: table({ hash: text.primary, key_id: text.references('keys'), expires_at: time }).indexes({
    earlier_secrets_by_key: '(key_id)',
  }),
  /** The second factors of keys: the active one, and one that waits for its first code. */
  key_factors: table({
    key_id: text.references('keys'),
    status: text,
    secret: text,
    last_step: integer.nullable,
    wrong_codes: integer,
    locked_until: time.nullable,
    /** Grows with every change, so that no node overwrites a state that it hasn't read. */
    version: integer,
    created_at: time,
    created_by: text,
  }).primaryKey('key_id', 'status'),
  /** The secrets that tools use as `{{secret.NAME}}`, in addition to those in the configuration. */
  secrets: table({
    project_id: text.references('projects'),
    name: text,
    /** Encrypted. */
    value: text,
    /** An array of hosts. */
    hosts: json,
    created_at: time,
    updated_at: time,
  }).primaryKey('project_id', 'name'),
  /** The model providers that were added through the API. */
  providers: table({
    project_id: text.references('projects'),
    name: text,
    type: text,
    /** Null for the vendor's URL. */
    base_url: text.nullable,
    /** Encrypted. Null if the provider requires no key. */
    api_key: text.nullable,
    /** JSON. Null if it is unknown whether the models accept images, so images are tried. */
    vision: json.nullable,
    /** Whether prompts are marked for the provider's cache, if its protocol has such marks. */
    cache: flag.default(1),
    /** Who owns the key: `service` if it was set by an actor with access to all projects, otherwise `project`. */
    paid_by: text,
    created_at: time,
    updated_at: time,
  }).primaryKey('project_id', 'name'),
  /** `seq` and the hashes are null until the entry is linked into the chain. */
  audit_log: table({
    position: sequence,
    id: text.unique,
    created_at: time,
    actor_kind: text.nullable,
    actor: text.nullable,
    key_id: text.nullable,
    action: text.nullable,
    project_id: text,
    agent_id: text.nullable,
    target: text.nullable,
    outcome: text,
    code: text.nullable,
    fields: json,
    times: integer,
    request_id: text,
    address: text.nullable,
    seq: integer.nullable.unique,
    prev_hash: text.nullable,
    hash: text.nullable,
  }).indexes({
    // IDs begin with the time of the entry.
    audit_log_by_project: '(project_id, id)',
    audit_log_by_outcome: '(project_id, outcome, id)',
    audit_log_by_agent: '(project_id, agent_id, id)',
    audit_log_by_action: '(project_id, action, id)',
    audit_log_by_actor: '(project_id, actor, id)',
    audit_log_unsealed: '(position) where seq is null',
  }),
  /** `head` is the last entry of the chain. Entries that retention writes into the chain say where it begins. */
  audit_chain: table({ name: text.primary, seq: integer, hash: text }),
}
