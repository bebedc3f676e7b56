import { flag, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const peopleTables = {
  /** A person who signs in with an identity provider. */
  persons: table({
    id: text.primary,
    name: text,
    email: text.nullable,
    email_verified: flag,
    created_at: time,
    last_seen_at: time,
  }).indexes({ persons_by_email: '(email)' }),
  /**
   * A person's identity at an identity provider. It outlives the person: if they come back after a removal, they are
   * recognized.
   */
  person_identities: table({ issuer: text, subject: text, person_id: text })
    .primaryKey('issuer', 'subject')
    .indexes({ person_identities_by_person: '(person_id)' }),
  /** Roles that wait for the person with this email address. */
  invitations: table({
    id: text.primary,
    /** The hash of the token in the link. Null: the email address is enough. */
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
   * Who is signed in to the console. A browser has the secret in a cookie; only its hash is stored. An ended session
   * stays while keys of the person need it to ask the identity provider whether they are still valid.
   */
  console_sessions: table({
    id: text.primary,
    /** Null if a person has signed in. */
    key_id: text.nullable.references('keys'),
    /** The hash of the key's secret at sign-in. After a rotation it differs, and the session has ended. */
    key_hash: text.nullable,
    /** When the key's previous secret ends, if the session was opened with it. */
    by_previous_secret_until: time.nullable,
    /** Null for the session of a key. The columns up to `is_strong` are for people. */
    person_id: text.nullable.references('persons'),
    /** The identity provider's name in the configuration, and the IDs of the person and the session there. */
    issuer: text.nullable,
    issuer_subject: text.nullable,
    issuer_session: text.nullable,
    /** Encrypted: the provider's tokens, for asking it again and for signing out there. */
    issuer_tokens: text.nullable,
    /** Whether the provider can be asked again: it returned a refresh token. */
    can_confirm: flag,
    /** When the session ends unless the provider has confirmed it again. Null: no confirmation is needed. */
    confirm_before: time.nullable,
    /** Until this time, a node is asking the provider. */
    confirming_until: time,
    /** Whether the provider required a second factor. */
    is_strong: flag,
    hash: text.unique,
    /** The previous secret. It is valid until a moment after the first use of the new one. */
    previous_hash: text.nullable,
    rotated_at: time,
    /** When the newest secret was first used; null while the browser may not have it yet. */
    confirmed_at: time.nullable,
    /** Whether the sign-in used TLS. */
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
  /** One-time sign-in links. */
  console_links: table({
    hash: text.primary,
    key_id: text.references('keys'),
    key_hash: text,
    expires_at: time,
  }).indexes({ console_links_by_key: '(key_id)' }),
}
