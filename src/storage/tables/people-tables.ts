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
   * A person's identity at an identity provider. It is kept when the person is removed, so the person is recognized if
   * they come back.
   */
  person_identities: table({ issuer: text, subject: text, person_id: text })
    .primaryKey('issuer', 'subject')
    .indexes({ person_identities_by_person: '(person_id)' }),
  /** Roles that are granted when the person with this email address signs in. */
  invitations: table({
    id: text.primary,
    /** The hash of the token in the link. If null, the email address is enough. */
    hash: text.nullable.unique,
    /** Null for a role in all projects. */
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
   * Sign-ins to the console. The browser has the secret in a cookie, and only its hash is stored. An ended session is
   * kept while keys of the person need it to ask the identity provider whether they are still valid.
   */
  console_sessions: table({
    id: text.primary,
    /** Null if a person has signed in instead of a key. */
    key_id: text.nullable.references('keys'),
    /** The hash of the key's secret at sign-in. After a rotation, the hashes differ and the session has ended. */
    key_hash: text.nullable,
    /** When the key's previous secret expires, if it was used to sign in. */
    by_previous_secret_until: time.nullable,
    /** Null for a key's session. The columns up to `is_strong` are for people. */
    person_id: text.nullable.references('persons'),
    /** The identity provider's name in the configuration, and its IDs of the person and the session. */
    issuer: text.nullable,
    issuer_subject: text.nullable,
    issuer_session: text.nullable,
    /** The provider's tokens, encrypted. They are used to ask it again and to sign out there. */
    issuer_tokens: text.nullable,
    /** Whether the provider can be asked again, because it returned a refresh token. */
    can_confirm: flag,
    /** When the session ends unless the provider confirms it again. Null if no confirmation is needed. */
    confirm_before: time.nullable,
    /** The time until which a node is asking the provider. */
    confirming_until: time,
    /** Whether the provider required a second factor. */
    is_strong: flag,
    hash: text.unique,
    /** The previous secret. It is valid until shortly after the new one is first used. */
    previous_hash: text.nullable,
    rotated_at: time,
    /** When the newest secret was first used. Null while the browser may not have received it yet. */
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
