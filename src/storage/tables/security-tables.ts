import type { Generated } from 'kysely'

export type KeysTable = {
  id: string
  name: string
  /** Null for a key of all projects. */
  project_id: string | null
  agent_id: string | null
  permissions: string
  role: string | null
  tier: string
  hint: string
  hash: string
  /** When the last of its earlier secrets ends. */
  previous_secret_expires_at: number | null
  created_at: number
  created_by: string
  /** Who has rotated it last and so has seen its secret. A rotation by the key itself does not change it. */
  rotated_by: string | null
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
  /** Whose it is. Null for a key of a service. What a person has revoked or lost stays when the person is removed. */
  person_id: string | null
  /** Where the role of a person comes from. A role is a key without a secret; null for every other key. */
  role_source: string | null
  /** The role that a person's key was made with. It ends with the role. */
  role_id: string | null
  /** When the identity provider whose groups give this role last said so. Null for what no group gives. */
  vouched_at: number | null
}

/** A secret that a key had before. It counts until its grace period ends. */
export type EarlierSecretsTable = { hash: string; key_id: string; expires_at: number }

/** A human being who signs in with an identity provider. */
export type PersonsTable = {
  id: string
  name: string
  email: string | null
  email_verified: number
  created_at: number
  last_seen_at: number
}

/** As whom an identity provider knows a person. It outlives the person: who comes again after a removal is the same one. */
export type PersonIdentitiesTable = { issuer: string; subject: string; person_id: string }

/** Roles that wait for the person with this address. */
export type InvitationsTable = {
  id: string
  /** Of the token in the link. Null: the address is enough. */
  hash: string | null
  /** Null: all projects. */
  project_id: string | null
  role: string
  email: string
  created_at: number
  created_by: string
  expires_at: number
  accepted_at: number | null
  accepted_by: string | null
}

/** The second factors of keys: an active one, and one that waits for its first code. */
export type KeyFactorsTable = {
  key_id: string
  status: string
  secret: string
  last_step: number | null
  wrong_codes: number
  locked_until: number | null
  /** Grows with every change, so that no node overwrites a state that it has not read. */
  version: number
  created_at: number
  created_by: string
}

/** `seq` and the hashes are null until the entry is linked into the chain. */
export type AuditLogTable = {
  position: Generated<number>
  id: string
  created_at: number
  actor_kind: string | null
  actor: string | null
  key_id: string | null
  action: string | null
  project_id: string
  agent_id: string | null
  target: string | null
  outcome: string
  code: string | null
  fields: string
  times: number
  request_id: string
  address: string | null
  seq: number | null
  prev_hash: string | null
  hash: string | null
}

/** `head` is the last entry of the chain. Where it begins is told by the chain itself, in retention's own entries. */
export type AuditChainTable = { name: string; seq: number; hash: string }

/** The secrets that tools use as `{{secret.NAME}}`, besides those of the configuration. */
export type SecretsTable = {
  project_id: string
  name: string
  /** Sealed. */
  value: string
  /** JSON: an array of hosts. */
  hosts: string
  created_at: number
  updated_at: number
}

/** The model providers that were set through the API. */
export type ProvidersTable = {
  project_id: string
  name: string
  type: string
  /** Null: the address of the vendor. */
  base_url: string | null
  /** Sealed. Null: the provider wants none. */
  api_key: string | null
  /** JSON. Null: whether its models take images is tried. */
  vision: string | null
  /** Whose the key is: `service` if an actor of the service gave it, else `project`. */
  paid_by: string
  created_at: number
  updated_at: number
}

/**
 * Who is signed in to the console. A browser has the secret in a cookie; only its hash is here. What has ended stays while
 * keys of the person need it: by it the identity provider is asked whether they still count.
 */
export type ConsoleSessionsTable = {
  id: string
  /** Null if a person has signed in. */
  key_id: string | null
  /** The hash of the key's secret at sign-in. A key that was rotated has another, and the session has ended. */
  key_hash: string | null
  /** When the secret ends that the key had before, if the session was opened with that one. */
  by_previous_secret_until: number | null
  /** Null if it is the session of a key. The columns up to `is_strong` are for persons. */
  person_id: string | null
  /** The identity provider, by its name in the configuration; as whom and in which session it knows the person. */
  issuer: string | null
  issuer_subject: string | null
  issuer_session: string | null
  /** Sealed: what the provider gave, to ask it again and to sign out there. */
  issuer_tokens: string | null
  /** Whether the provider can be asked again: it gave a refresh token. */
  can_confirm: number
  /** When the session ends unless the provider has confirmed it again. Null: it need not. */
  confirm_before: number | null
  /** A node is asking the provider until then. */
  confirming_until: number
  /** Whether the provider asked for a second factor. */
  is_strong: number
  hash: string
  /** The secret before this one. It counts until a moment after the new one has been used. */
  previous_hash: string | null
  rotated_at: number
  /** When the newest secret was first used; null while the browser may not have it. */
  confirmed_at: number | null
  /** Whether the sign-in came over TLS. */
  secure: number
  address: string
  browser: string
  created_at: number
  last_used_at: number
  expires_at: number
}

/** Links that sign a person in once. */
export type ConsoleLinksTable = { hash: string; key_id: string; key_hash: string; expires_at: number }
