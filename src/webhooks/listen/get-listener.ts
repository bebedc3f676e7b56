import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { listWithheld } from '../delivery/withheld.ts'
import { LISTENER_LIFE_MS, ListenerParams, ListenerReply } from './listener.ts'
import * as listeners from './listener-store.ts'

/** How many events one reply contains, so that a slow receiver can handle them before the listener ends. */
const BATCH = 10
const LOOK_AGAIN_MS = 250
const LONGEST_WAIT_MS = 5_000

const Received = z
  .string()
  .max(1_000)
  .regex(/^dlv_\w+(,dlv_\w+)*$/, 'must be delivery IDs, separated by commas')
  .transform((text) => text.split(','))

export const getListener = operation({
  id: 'getListener',
  method: 'GET',
  path: '/v1/listeners/{listener_id}',
  summary: "Get a listener's events",
  description:
    "Returns at most ten events at a time. Each is returned again until you list it in `received`. Every request extends the listener's lifetime. Only the key that created the listener can use it.",
  access: {
    permission: 'read',
    concerns: async ({ params }, db) => (await listeners.find(db, params.listener_id))?.agent_id ?? null,
  },
  input: {
    params: ListenerParams,
    query: z.strictObject({
      received: Received.optional().describe(
        'IDs of `deliveries` you have received, separated by commas; they are not returned again',
      ),
      wait_ms: z.int().min(0).max(LONGEST_WAIT_MS).default(0).describe('How long to wait if there is no event'),
    }),
  },
  answer: { data: ListenerReply },

  async run({ params: { listener_id }, query }, { db, storage, memo, actor, now, stopping }) {
    const listener = await listeners.find(db, listener_id)
    const isOwn = listener?.created_by === actor.id && listener.project_id === actor.scope.project_id
    if (!isOwn || listener.expires_at <= now()) throw notFound('Listener', listener_id)
    await listeners.markReceived(db, listener_id, query.received ?? [], now())
    const { expires_at, ...rest } = { ...listener, ...(await prolonged()) }

    const deadline = performance.now() + query.wait_ms
    for (;;) {
      // An agent may have started to require checks of its callers after its event was stored.
      const except = listener.agent_id === null ? await listWithheld(listener.project_id, { memo, storage }) : []
      const deliveries = await listeners.listHeard(db, listener_id, { except, limit: BATCH })
      const left = deadline - performance.now()
      if (deliveries.length > 0 || left <= 0 || stopping.aborted) return { ...rest, expires_at, deliveries }
      await sleep(Math.min(LOOK_AGAIN_MS, left), undefined, { signal: stopping }).catch(() => {})
    }

    /**
     * After each request, the listener has its whole lifetime left. It is extended by more than that, so not every
     * request has to extend it: each time, all nodes must read the subscribers again.
     */
    async function prolonged(): Promise<{ expires_at?: number }> {
      if (listener && listener.expires_at - now() >= LISTENER_LIFE_MS) return {}
      const until = now() + 1.5 * LISTENER_LIFE_MS
      await storage.transaction((transaction) => listeners.prolong(transaction, listener_id, until))
      return { expires_at: until }
    }
  },
})
