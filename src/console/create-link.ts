import { z } from 'zod'
import { conflict, forbidden } from '../errors.ts'
import { type Key, statusOf } from '../keys/key.ts'
import * as keys from '../keys/store.ts'
import { requireLasting } from '../operation/actor.ts'
import type { Context } from '../operation/context.ts'
import { requireFound } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { sha256 } from '../security/digest.ts'
import { Time } from '../shapes.ts'
import type { Database } from '../storage/database.ts'
import { newSecret } from './sign-in.ts'
import * as sessions from './store.ts'

const LINK_MS = 10 * 60_000

export const createConsoleLink = operation({
  id: 'createConsoleLink',
  method: 'POST',
  path: '/v1/console-links',
  summary: 'Create a sign-in link',
  description:
    "Creates a token that signs a browser in to the console once, within ten minutes, with the key that sent the request. Put the token after `#link=` in the console's URL: what follows a `#` is not sent to servers. With `--local` on the server, the link is for the oldest admin key, or for `key_id`. A secret in its grace period can't create links: 403.",
  access: { permission: null },
  audit: { target: null },
  idempotent: true,
  input: {
    body: z.strictObject({
      key_id: z
        .string()
        .optional()
        .describe('A key other than the oldest admin key; only with `--local` on the server'),
    }),
    bodyOptional: true,
  },
  answer: {
    status: 201,
    data: z
      .object({
        token: z.string().describe('Returned only in this reply'),
        key_id: z.string(),
        expires_at: Time,
      })
      .meta({ id: 'ConsoleLink' }),
    secret: true,
    errors: ['conflict'],
  },

  async run({ body }, { db, actor, now }) {
    const key = await keyOf(db, actor, body.key_id, now())
    return insertLink(db, key, now())
  },
})

/**
 * The key for which the link signs in. A key can create links only for itself. Someone who can open the store can
 * create them for any key.
 */
async function keyOf(db: Database, actor: Context['actor'], wanted: string | undefined, now: number): Promise<Key> {
  if (actor.console_session !== undefined) {
    throw forbidden("A console session can't create sign-in links. Use the API key itself.")
  }
  if (actor.kind === 'token') throw forbidden('Only an API key can sign in to the console.')
  requireLasting(actor, 'A session')
  if (actor.kind === 'key' && (wanted ?? actor.id) !== actor.id) {
    throw forbidden('A key can only create sign-in links for itself.')
  }
  const id = wanted ?? (actor.kind === 'key' ? actor.id : undefined)
  const key =
    id === undefined ? await keys.findAdmin(db, now) : requireFound(actor, await keys.find(db, id), { kind: 'Key', id })
  if (!key) throw conflict('No admin key exists. Create a key with the role `admin`.')
  const status = statusOf(key, now)
  if (status !== 'active') throw conflict(`This key is ${status}. Create a new one.`)
  return key
}

/** Stores a link with only the hash of its token. */
async function insertLink(db: Database, { id: key_id, hash: key_hash }: Key, now: number) {
  const token = newSecret()
  const expires_at = now + LINK_MS
  await sessions.insertLink(db, { hash: sha256(token), key_id, key_hash, expires_at })
  return { token, key_id, expires_at }
}

/** A link for the person who starts the service. Undefined if no key has all permissions. */
export async function createFirstLink(db: Database, now: number): Promise<string | undefined> {
  const key = await keys.findAdmin(db, now)
  return key && (await insertLink(db, key, now)).token
}
