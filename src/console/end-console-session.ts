import { z } from 'zod'
import { notFound } from '../errors.ts'
import * as keys from '../keys/store.ts'
import type { Needs } from '../operation/context.ts'
import { requireFound } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { covers } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import * as sessions from './store.ts'

export const endConsoleSession = operation({
  id: 'endConsoleSession',
  method: 'DELETE',
  path: '/v1/console-sessions/{session_id}',
  summary: 'End a session of the console',
  description: 'The browser is signed out at once, on every node. Without `manage`: sessions of this key only.',
  permission: 'manage',
  ownPermission: 'read',
  audit: { target: 'session_id' },
  params: z.strictObject({ session_id: z.string() }),
  concerns: async ({ params }, db) => (await keyOfSession(db, params.session_id))?.agent_id ?? null,
  data: z.object({ id: z.string(), deleted: z.literal(true) }),

  async run({ params: { session_id: id } }, { db, actor }: Needs<'db' | 'actor'>) {
    const key = await keyOfSession(db, id)
    if (!covers(actor.permissions, 'manage') && key?.id !== actor.id) throw notFound('Session', id)
    requireFound(actor, key, { kind: 'Session', id })
    await sessions.remove(db, id)
    return { id, deleted: true as const }
  },
})

async function keyOfSession(db: Database, id: string) {
  const session = await sessions.find(db, id)
  return session && keys.find(db, session.key_id)
}
