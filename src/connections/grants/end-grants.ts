import type { Needs } from '../../operation/context.ts'
import type { Database } from '../../storage/database.ts'
import type { Connection } from '../connection.ts'
import { type ConnectionGrant, openTokens } from './connection-grant.ts'
import { endedEvent } from './grant-events.ts'
import * as grants from './grant-store.ts'

/** How many tokens are revoked at a provider at the same time, and how long that may take in total. */
const AT_ONCE = 8
const MAX_MS = 20_000

/** Ends grants, with an event for each that was in use. Their tokens are deleted. */
export async function endGrants(
  db: Database,
  ended: readonly ConnectionGrant[],
  connection: Connection,
  { reason, time }: { reason: string; time: number },
  { events }: Needs<'events'>,
): Promise<void> {
  await grants.remove(
    db,
    ended.filter(({ status }) => status === 'pending').map(({ id }) => id),
  )
  for (const grant of ended.filter(({ status }) => status === 'active')) {
    await grants.end(db, grant.id, { status: 'revoked', ended_reason: reason, updated_at: time })
    await events.emit(db, endedEvent(grant, connection, { status: 'revoked', reason, time }))
  }
}

type RevokeParts = Needs<'connectionProviders' | 'keyring' | 'log'>

/**
 * Takes the tokens back at the provider (RFC 7009), as far as it can and responds. Here they are deleted in any case.
 */
export async function revokeAtProvider(
  ended: readonly ConnectionGrant[],
  connection: Connection,
  { connectionProviders, keyring, log }: RevokeParts,
): Promise<void> {
  const left = ended.filter(({ tokens }) => tokens !== null)
  if (left.length === 0) return
  const provider = await connectionProviders.open(connection).catch((err: unknown) => {
    log.warn({ err, connection: connection.name }, 'tokens could not be revoked at the provider')
  })
  if (!provider?.canRevoke) return
  const until = performance.now() + MAX_MS
  const revokeNext = async (): Promise<void> => {
    for (let grant = left.pop(); grant && performance.now() < until; grant = left.pop()) {
      const tokens = openTokens(grant, keyring)
      if (tokens?.issuer !== provider.issuer) continue
      const { refresh_token, access_token } = tokens
      try {
        // With the refresh token, the provider takes back the access tokens too.
        if (refresh_token !== undefined) await provider.client.revoke(refresh_token, 'refresh_token')
        await provider.client.revoke(access_token, 'access_token')
      } catch (err) {
        log.warn({ err, connection: connection.name, grant: grant.id }, 'a token could not be revoked at the provider')
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, revokeNext))
}
