import { invalid } from '../../errors.ts'
import { type Actor, requirePermission } from '../../operation/actor.ts'
import { requireUser, requireWholeProject } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import type { Connection } from '../connection.ts'
import { ConnectionParams, PROJECT, requirePublicUrl } from '../connection.ts'
import * as connections from '../store.ts'
import { CreateSignInLinkBody, LINK_MS, linkUrl, SignInLinkReply } from './connection-link.ts'
import * as links from './link-store.ts'

export const createConnectionLink = operation({
  id: 'createConnectionLink',
  method: 'POST',
  path: '/v1/connections/{name}/links',
  summary: "Create a connection's sign-in link",
  description:
    "Returns a URL where the user signs in with the provider. It's valid for ten minutes and one sign-in. Afterwards your application confirms who was signed in to it (`…/links/{link_id}/confirm`); until then, the sign-in isn't used. Requires `server.publicUrl`. For `as: service`, it requires the permission `manage`.",
  access: { permission: 'invoke', userTokens: true },
  audit: { target: 'name' },
  idempotent: true,
  input: { params: ConnectionParams, body: CreateSignInLinkBody },
  answer: { status: 201, data: SignInLinkReply, errors: ['conflict'] },

  async run({ params: { name }, body }, { db, actor, config, keyring, newId, now }) {
    const publicUrl = requirePublicUrl(config.server.publicUrl)
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const holder = holderFor(actor, connection, body.user_id)
    const { return_to = null } = body
    if (return_to !== null) requireOrigin(return_to, connection)
    const time = now()
    const link = {
      id: newId('lnk', time),
      project_id: connection.project_id,
      connection_id: connection.id,
      holder,
      return_to,
      created_by: actor.id,
      created_at: time,
      expires_at: time + LINK_MS,
      spent_at: null,
    }
    await links.insert(db, link)
    return { link_id: link.id, url: linkUrl(publicUrl, link.id, keyring), expires_at: link.expires_at }
  },
})

/** Whose sign-in it is. */
export function holderFor(actor: Actor, { acts_as }: Connection, user_id: string | undefined): string {
  if (acts_as === 'user') {
    const whose = requireUser(actor, user_id)
    if (whose === undefined) throw invalid({ field: 'user_id', error: 'is required, because users sign in themselves' })
    return whose
  }
  requirePermission(actor, 'manage')
  requireWholeProject(actor, 'connections')
  if (user_id !== undefined)
    throw invalid({ field: 'user_id', error: 'is not allowed, because the connection acts for the project' })
  return PROJECT
}

/** A link must not send people to a page that its operator doesn't know. */
function requireOrigin(return_to: string, { return_origins }: Connection): void {
  const url = URL.parse(return_to)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isPlain && !/[\s\p{Cc}\\]/u.test(return_to) && return_origins.includes(url.origin)) return
  throw invalid({ field: 'return_to', error: "must have one of the connection's `return_origins`" })
}
