import { z } from 'zod'
import { notFound } from '../errors.ts'
import type { Key } from '../keys/key.ts'
import * as roleKeys from '../keys/personal/role-store.ts'
import * as keys from '../keys/store.ts'
import type { Actor } from '../operation/actor.ts'
import { requireFound } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { covers } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import type { ConsoleSession } from './console-session.ts'
import * as sessions from './store.ts'

export const endConsoleSession = operation({
  id: 'endConsoleSession',
  method: 'DELETE',
  path: '/v1/console-sessions/{session_id}',
  summary: 'End a console session',
  description:
    'Signs the browser out immediately, on every node. Without the permission `manage`, you can only end your own sessions.',
  access: {
    permission: 'manage',
    ownPermission: 'read',
    concerns: async ({ params }, db) => (await keyOf(db, await sessions.find(db, params.session_id)))?.agent_id ?? null,
  },
  audit: { target: 'session_id' },
  input: { params: z.strictObject({ session_id: z.string() }) },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params: { session_id: id } }, { db, actor, now }) {
    const found = await sessions.find(db, id)
    const session = found && found.expires_at > now() ? found : undefined
    const isOwn = session?.person_id ? session.person_id === actor.person_id : session?.key_id === actor.id
    if (!isOwn) {
      if (!covers(actor.permissions, 'manage')) throw notFound('Session', id)
      requireFound(actor, (await roleHere(db, session, actor)) ?? (await keyOf(db, session)), { kind: 'Session', id })
    }
    await sessions.end(db, id, now())
    return { id, deleted: true as const }
  },
})

async function keyOf(db: Database, session: ConsoleSession | undefined): Promise<Key | undefined> {
  return session && keys.find(db, session.key_id ?? '')
}

/** A person's session can be ended wherever the person has a role: in the actor's project, or in all projects. */
async function roleHere(
  db: Database,
  session: ConsoleSession | undefined,
  { scope, reach }: Actor,
): Promise<Key | undefined> {
  if (!session || session.person_id === null) return undefined
  const here = await roleKeys.findRole(db, session.person_id, scope.project_id)
  return here ?? (reach === 'service' ? roleKeys.findRole(db, session.person_id, null) : undefined)
}
