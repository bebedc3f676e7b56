import * as agents from '../agents/store.ts'
import { conflict, unavailable } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { effects } from './effects/effects.ts'
import { CANCELLED, endWith, type Invocation, InvocationParams, isFinal } from './invocation.ts'
import { getInScope } from './invocation-in-scope.ts'
import { presentInvocation, Receipt } from './receipt.ts'
import { withKept } from './steps/kept-steps.ts'
import { listKept, logsOf } from './steps/step-store.ts'
import * as invocations from './store.ts'

const PATIENCE_MS = 30_000
const LOOK_AGAIN_MS = 100

type CancelNeeds = Needs<'db' | 'actor' | 'events' | 'live' | 'newId' | 'now' | 'storage'>

export const cancelInvocation = operation({
  id: 'cancelInvocation',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/cancel',
  summary: 'Cancel an invocation',
  description:
    'Answers with the receipt once the work has really stopped. Cancelled already: 200 with the receipt; ended otherwise: 409.',
  permission: 'write',
  ownPermission: 'invoke',
  audit: { target: 'request_id' },
  userTokens: true,
  idempotent: true,
  transaction: false,
  errors: ['conflict'],
  params: InvocationParams,
  data: Receipt,

  async run({ params }, { db, actor, events, live, newId, now, storage }: CancelNeeds) {
    const agent = await agents.get(db, params.agent_id)
    await getInScope(db, actor, 'write', { agent_seq: agent.seq, id: params.request_id })
    const here = live.find(params.request_id)
    here?.cancel()
    await here?.ended

    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const invocation = await invocations.get(db, agent.seq, params.request_id)
      if (invocation.status === 'cancelled') {
        return withKeyName(db, actor, presentInvocation(invocation, agent.id), ['created_by'])
      }
      if (isFinal(invocation)) throw conflict(`The invocation has ${invocation.status} already`)
      if (await endIfUnowned(invocation)) continue
      await storage.transaction((trx) => invocations.requestCancel(trx, invocation.id, now()))
      if (performance.now() > deadline) throw unavailable('The node that runs this invocation does not answer')
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }

    async function endIfUnowned(invocation: Invocation): Promise<boolean> {
      const { steps } = await listKept(db, invocation.id)
      const cancelled = endWith(withKept(invocation, steps), 'cancelled', CANCELLED, now())
      const writes = await effects(cancelled, agent, agent, logsOf(steps), { events, newId })
      return storage.transaction((trx) => invocations.endUnowned(trx, cancelled, writes, now()))
    }
  },
})
