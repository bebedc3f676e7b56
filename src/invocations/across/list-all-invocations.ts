import { z } from 'zod'
import type { ShownAgent } from '../../agents/store.ts'
import * as agents from '../../agents/store.ts'
import { withKeyNames } from '../../keys/key-names.ts'
import type { Needs } from '../../operation/context.ts'
import { DOORS } from '../../operation/door.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import type { Page, PageQuery } from '../../storage/queries/page.ts'
import { withAsking } from '../approvals/asks-people.ts'
import { withFeedback } from '../feedback/with-feedback.ts'
import { findInvocations } from '../find-invocations.ts'
import { type Invocation, InvocationStatus } from '../invocation.ts'
import { presentInvocation, Receipt } from '../receipt.ts'
import { listPageOfReceipts, RECEIPT_KEY } from '../rows/receipt-rows.ts'
import { listWithStepsSoFar } from '../steps/kept-steps.ts'

export const listAllInvocations = operation({
  id: 'listAllInvocations',
  method: 'GET',
  path: '/v1/invocations',
  summary: 'List invocations of all agents',
  description: 'Lists the receipts of all agents that the key has access to, ordered by creation time.',
  access: {
    permission: 'read',
    userTokens: true,
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at'], {
      agent_id: z.string().optional().describe("Only this agent's invocations (ID or name)"),
      status: InvocationStatus.optional(),
      door: z.enum(DOORS).optional().describe('Only invocations that came through this channel'),
      session_id: z.string().max(256).optional(),
      user_id: z.string().max(256).optional(),
      request_id: z
        .string()
        .max(100)
        .optional()
        .describe('Only the invocation with this ID, whichever agent it belongs to'),
      parent_request_id: z.string().max(100).optional().describe('Only runs that this run called as tools'),
    }),
  },
  answer: { list: Receipt },

  async run({ query }, { db, actor, reserve, shownAgents }) {
    const { agent_id: ref, status, door, session_id, user_id, request_id, parent_request_id, ...page } = query
    const shown = await agents.listShown(db, await shownAgents())
    const wanted = ref === undefined ? undefined : await agents.findIn(db, actor.scope.project_id, ref)
    const among = ref === undefined ? shown : shown.filter(({ id }) => id === wanted?.id)
    const filter = { status, door, session_id, user_id: requireUser(actor, user_id), parent_request_id }
    const { items, total } =
      request_id === undefined
        ? await findInvocations(
            { db, reserve },
            among.map(({ seq }) => seq),
            page,
            filter,
          )
        : await findByRequest({ db, reserve }, among, request_id, page, filter)
    const idOf = new Map(shown.map(({ id, seq }) => [seq, id]))
    const receipts = (await listWithStepsSoFar(db, items)).map((invocation) =>
      presentInvocation(invocation, idOf.get(invocation.agent_seq) ?? ''),
    )
    const told = await withFeedback(db, actor, await withAsking(db, receipts))
    return { items: await withKeyNames(db, actor, told, ['created_by']), total }
  },
})

type Filter = { [column in (typeof COLUMNS)[number]]?: string | undefined }

const COLUMNS = ['status', 'door', 'user_id', 'session_id', 'parent_request_id'] as const

/** The page with the one invocation of this ID, if it belongs to these agents and passes the filter. */
async function findByRequest(
  { db, reserve }: Needs<'db' | 'reserve'>,
  shown: readonly ShownAgent[],
  request_id: string,
  { limit, offset }: PageQuery,
  filter: Filter,
): Promise<Page<Invocation>> {
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const rows = await db
    .selectFrom('all_invocations')
    .select(['agent_seq', ...COLUMNS, ...RECEIPT_KEY])
    .where('id', '=', request_id)
    .execute()
  const found = rows.filter(
    (row) =>
      shown.some(({ seq }) => seq === row.agent_seq) &&
      wanted.every(([name, value]) => row[name as 'status'] === value),
  )
  return { items: await listPageOfReceipts({ db, reserve }, found.slice(offset, offset + limit)), total: found.length }
}
