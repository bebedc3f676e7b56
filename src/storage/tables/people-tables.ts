import { flag, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const peopleTables = {
  /** A human being who signs in with an identity provider. */
  persons: table({
    id: text.primary,
    name: text,
    email: text.nullable,
    email_verified: flag,
    created_at: time,
    last_seen_at: time,
  }).indexes({ persons_by_email: '(email)' }),
  /** As whom an identity provider knows a person. It outlives the person: who comes again after a removal is the same one. */
  person_identities: table({ issuer: text, subject: text, person_id: text })
    .primaryKey('issuer', 'subject')
    .indexes({ person_identities_by_person: '(person_id)' }),
  /** Roles that wait for the person with this address. */
  invitations: table({
    id: text.primary,
    /** Of the token in the link. Null: the address is enough. */
    hash: text.nullable.unique,
    /** Null: all projects. */
    project_id: text.nullable.references('projects'),
    role: text,
    email: text,
    created_at: time,
    created_by: text,
    expires_at: time,
    accepted_at: time.nullable,
    accepted_by: text.nullable,
  }).indexes({
    invitations_by_project: '(project_id, created_at, id)',
    invitations_by_email: '(email)',
  }),
  /**
   * Who is signed in to the console. A browser has the secret in a cookie; only its hash is here. What has ended stays while
   * keys of the person need it: by it the identity provider is asked whether they still count.
   */
  console_sessions: table({
    id: text.primary,
    /** Null if a person has signed in. */
    key_id: text.nullable.references('keys'),
    /** The hash of the key's secret at sign-in. A key that was rotated has another, and the session has ended. */
    key_hash: text.nullable,
    /** When the secret ends that the key had before, if the session was opened with that one. */
    by_previous_secret_until: time.nullable,
    /** Null if it is the session of a key. The columns up to `is_strong` are for persons. */
    person_id: text.nullable.references('persons'),
    /** The identity provider, by its name in the configuration; as whom and in which session it knows the person. */
    issuer: text.nullable,
    issuer_subject: text.nullable,
    issuer_session: text.nullable,
    /** Sealed: what the provider gave, to ask it again and to sign out there. */
    issuer_tokens: text.nullable,
    /** Whether the provider can be asked again: it gave a refresh token. */
    can_confirm: flag,
    /** When the session ends unless the provider has confirmed it again. Null: it need not. */
    confirm_before: time.nullable,
    /** A node is asking the provider until then. */
    confirming_until: time,
    /** Whether the provider asked for a second factor. */
    is_strong: flag,
    hash: text.unique,
    /** The secret before this one. It counts until a moment after the new one has been used. */
    previous_hash: text.nullable,
    rotated_at: time,
    /** When the newest secret was first used; null while the browser may not have it. */
    confirmed_at: time.nullable,
    /** Whether the sign-in came over TLS. */
    secure: flag,
    address: text,
    browser: text,
    created_at: time,
    last_used_at: time,
    expires_at: time,
  }).indexes({
    console_sessions_previous: '(previous_hash) where previous_hash is not null',
    console_sessions_by_key: '(key_id)',
    console_sessions_by_person: '(person_id)',
    console_sessions_to_confirm: '(confirm_before) where confirm_before is not null',
  }),
  /** Links that sign a person in once. */
  console_links: table({
    hash: text.primary,
    key_id: text.references('keys'),
    key_hash: text,
    expires_at: time,
  }).indexes({ console_links_by_key: '(key_id)' }),
}
