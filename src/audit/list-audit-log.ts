import { z } from 'zod'
import { invalid } from '../errors.ts'
import { withKeyNames } from '../keys/key-names.ts'
import type { Actor } from '../operation/actor.ts'
import { requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import * as projects from '../projects/store.ts'
import { listQuery, TimeInput } from '../shapes.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import { AuditEntryReply, AuditOutcome } from './audit-entry.ts'
import * as audit from './store.ts'

export const listAuditLog = operation({
  id: 'listAuditLog',
  method: 'GET',
  path: '/v1/audit-log',
  summary: 'List the audit log',
  description:
    "Lists every change and every refusal. Invocations have receipts instead. A key limited to one agent sees only that agent's entries.",
  access: {
    permission: 'manage',
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at', 'id'], {
      action: z.string().optional().describe('An `operationId`, such as `deleteAgent`'),
      actor: z.string().optional().describe("The ID of a key, or of a token's owner"),
      agent_id: z.string().optional().describe('An agent ID. Entries are kept when the agent is deleted'),
      outcome: AuditOutcome.optional(),
      deleted_project_id: z
        .string()
        .optional()
        .describe('The ID of a deleted project, whose entries are listed instead. Requires access to all projects'),
      since: TimeInput.optional(),
      until: TimeInput.optional().describe('Entries before this time'),
    }),
  },
  answer: { list: AuditEntryReply },

  async run({ query }, { db, actor, shownAgents }) {
    const { limit, offset, sort, deleted_project_id, ...filter } = query
    const shown = deleted_project_id ? await ofDeleted(db, actor, deleted_project_id) : await shownAgents()
    const { items, total } = await audit.list(db, { limit, offset, sort }, { shown, ...filter })
    return { items: await withKeyNames(db, actor, items, ['actor']), total }
  },
})

/** An existing project is named as in every other request: then its agents decide who sees the entries about them. */
async function ofDeleted(db: Database, actor: Actor, project_id: string): Promise<ShownAgents> {
  requireService(actor)
  if (await projects.find(db, project_id)) {
    throw invalid({
      field: 'deleted_project_id',
      error: 'this project exists; name it in the header Moorage-Project instead',
    })
  }
  return { project_id, only: null, except: [] }
}
