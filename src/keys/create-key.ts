import type { z } from 'zod'
import { invalid } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { covers, type Permission } from '../security/permissions.ts'
import { CreateKeyBody, KeyWithSecret } from './key.ts'
import { makeKey } from './make-key.ts'

export const createKey = operation({
  id: 'createKey',
  method: 'POST',
  path: '/v1/keys',
  summary: 'Create an API key',
  description:
    "The secret is returned only in this reply. A key can't grant more than it has: permissions, scope, tier and expiry.",
  access: {
    permission: 'manage',
    concerns: async ({ body }) => body.agent_id,
  },
  mfa: { policy: 'keys' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateKeyBody },
  answer: { status: 201, data: KeyWithSecret, secret: true },

  async run({ body }, needs: Needs<'db' | 'actor' | 'config' | 'newId' | 'now'>) {
    const { actor } = needs
    return makeKey(
      body,
      (permissions) => ({
        project_id: isForAllProjects(body, permissions, actor) ? null : actor.scope.project_id,
        person_id: null,
        role_id: null,
      }),
      needs,
    )
  },
})

/** A key that can manage gets access to all projects if its maker has it, unless the maker has named a project. */
function isForAllProjects(
  { all_projects, agent_id }: z.output<typeof CreateKeyBody>,
  permissions: readonly Permission[],
  actor: Actor,
): boolean {
  if (all_projects) {
    requireService(actor)
    if (agent_id !== null)
      throw invalid({
        field: 'all_projects',
        error: "can't be combined with `agent_id`, because an agent belongs to one project",
      })
  }
  const isAsFree = actor.reach === 'service' && !actor.names_project && covers(permissions, 'manage')
  return all_projects ?? (isAsFree && agent_id === null)
}
