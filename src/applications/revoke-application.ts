import { z } from 'zod'
import { notFound } from '../errors.ts'
import { APPLICATION_KEY } from '../keys/key.ts'
import * as keys from '../keys/store.ts'
import { requireFound } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { covers } from '../security/permissions.ts'
import { Time } from '../shapes.ts'
import type { Database } from '../storage/database.ts'
import { ApplicationParams } from './application.ts'
import { endApplication } from './end-application.ts'
import * as applications from './store.ts'

export const revokeApplication = operation({
  id: 'revokeConnectedApplication',
  method: 'DELETE',
  path: '/v1/connected-applications/{application_id}',
  summary: 'Revoke a connected application',
  description:
    "The application's tokens stop working and its streams end within seconds, on every node. Revoking it again has no effect. Without the permission `manage`, you can only revoke the ones you connected.",
  access: { permission: 'manage', ownPermission: 'invoke', concerns: agentOf },
  audit: { target: 'application_id' },
  input: { params: ApplicationParams },
  answer: { data: z.object({ id: z.string(), revoked: z.literal(true), revoked_at: Time }) },

  async run({ params: { application_id: id } }, { db, actor, now }) {
    const found = await keys.find(db, id)
    const key = found?.role_source === APPLICATION_KEY ? found : undefined
    const application = await applications.find(db, id)
    const isOwn = key?.created_by === actor.id || (application?.person_id ?? id) === (actor.person_id ?? '')
    if (!isOwn && !covers(actor.permissions, 'manage')) throw notFound('Application', id)
    const { revoked_at: before } = isOwn && key ? key : requireFound(actor, key, { kind: 'Application', id })
    const revoked_at = before ?? now()
    if (before === null) await endApplication(db, id, revoked_at)
    return { id, revoked: true as const, revoked_at }
  },
})

/** The agent that the application is limited to. That agent's own security also applies. */
async function agentOf({ params }: { params: { application_id: string } }, db: Database): Promise<string | null> {
  return (await keys.find(db, params.application_id))?.agent_id ?? null
}
