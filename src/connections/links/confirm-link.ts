import { z } from 'zod'
import { conflict, forbidden, notFound } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { announce, type Database } from '../../storage/database.ts'
import type { Connection } from '../connection.ts'
import { type ConnectionGrant, GrantReply, presentGrant } from '../grants/connection-grant.ts'
import { grantedEvent } from '../grants/grant-events.ts'
import * as grants from '../grants/grant-store.ts'
import * as connections from '../store.ts'
import { type ConnectionLink, SignInLinkParams, UserId } from './connection-link.ts'
import { holderFor } from './create-connection-link.ts'
import * as links from './link-store.ts'

/** After this many wrong users, the sign-in is discarded. */
const MOST_WRONG_USERS = 3

const NOT_YET = "The user hasn't signed in with this link yet."

export const confirmConnectionLink = operation({
  id: 'confirmConnectionLink',
  method: 'POST',
  path: '/v1/connections/{name}/links/{link_id}/confirm',
  summary: 'Confirm a sign-in',
  description:
    "Says which user of your application opened the link, and so has signed in. If it was the link's user, the sign-in is used from now on, in place of an earlier one, and runs that wait for it continue. For another user, the request fails with 403, and the sign-in stays pending; after three such requests it is discarded. Get the user from your own session, never from the URL.",
  access: { permission: 'invoke', userTokens: true },
  audit: { target: ['name', 'link_id'] },
  idempotent: true,
  // What is counted must be stored although the request fails.
  transaction: false,
  input: {
    params: SignInLinkParams,
    body: z
      .strictObject({ user_id: UserId.optional().describe('Required for `as: user`, not allowed for `as: service`') })
      .meta({ id: 'ConfirmConnectionLink' }),
  },
  answer: { data: GrantReply, errors: ['conflict'] },

  async run({ params: { name, link_id }, body }, { db, actor, events, now, storage }) {
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const holder = holderFor(actor, connection, body.user_id)
    const link = await links.find(db, link_id)
    if (link?.connection_id !== connection.id) throw notFound('Link', link_id)
    const grant = await storage.transaction((held) =>
      confirm(held, { connection, link, holder }, { actor, events, now }),
    )
    if (!grant) throw forbidden('This link belongs to another user. The sign-in is not used.')
    return presentGrant(grant, name)
  },
})

/** Undefined if another user opened the link. */
async function confirm(
  db: Database,
  { connection, link, holder }: { connection: Connection; link: ConnectionLink; holder: string },
  { actor, events, now }: Needs<'actor' | 'events' | 'now'>,
): Promise<ConnectionGrant | undefined> {
  // All grants of the holder are locked, so two requests confirm one after the other.
  const inUse = await grants.listInUse(db, { connection_id: connection.id, holder: link.holder })
  const grant = inUse.find(({ link_id }) => link_id === link.id)
  if (!grant) throw conflict(link.spent_at === null ? NOT_YET : 'This sign-in has ended. Create another link.')
  if (holder !== link.holder) {
    const isPending = grant.status === 'pending'
    // The provider isn't told: it might end an earlier sign-in of the same account too.
    if (isPending && (await grants.countWrongUser(db, grant.id)) >= MOST_WRONG_USERS)
      await grants.remove(db, [grant.id])
    return undefined
  }
  if (grant.status === 'active') return grant
  const time = now()
  // What a run has wanted since the user was sent to the provider is asked for next time.
  const known = new Set([...grant.scopes, ...grant.asked_scopes])
  const used = inUse.find(({ status }) => status === 'active')
  const wanted_scopes = (used?.wanted_scopes ?? []).filter((scope) => !known.has(scope))
  const active = await grants.activate(db, grant, { confirmed_by: actor.id, updated_at: time, wanted_scopes })
  await events.emit(db, grantedEvent(active, connection, time))
  // Runs that wait for it continue.
  await announce(db, 'queue')
  return active
}
