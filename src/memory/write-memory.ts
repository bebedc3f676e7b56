import { setImmediate as nextPass } from 'node:timers/promises'
import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import { type StoredTerms, storedTerms } from './language/terms.ts'
import { MemoryReply, WriteMemoryBody } from './memory.ts'
import * as memories from './store.ts'

const CHARACTERS_AT_ONCE = 10_000

/**
 * The terms of each request's items. They are determined before the transaction begins, because other writers wait for
 * it.
 */
const termsOfItems = new WeakMap<object, StoredTerms>()

export const writeMemory = operation({
  id: 'writeMemory',
  method: 'POST',
  path: '/v1/agents/{agent_id}/memory',
  summary: 'Write memories',
  description:
    'Adds notes and facts, or turns of conversations that took place elsewhere. Either all items are written, or none.',
  access: { permission: 'write', userTokens: true },
  audit: { target: 'agent_id' },
  idempotent: true,
  input: {
    params: AgentParams,
    body: WriteMemoryBody,
    async check({ body }) {
      let characters = 0
      for (const item of body.items) {
        characters += item.content.length
        if (characters > CHARACTERS_AT_ONCE) {
          characters = item.content.length
          await nextPass()
        }
        termsOfItems.set(item, storedTerms(item.kind, item.content))
      }
    },
  },
  answer: { status: 201, data: z.object({ items: z.array(MemoryReply) }), errors: ['conflict'] },

  async run({ params, body }, { db, actor, newId, now }) {
    const agent = await agents.get(db, params.agent_id)
    requireRoom(await projects.get(db, agent.project_id))
    const time = now()
    const items = body.items.map(({ context, created_at = time, ...item }) => ({
      ...item,
      id: newId('mem', time),
      user_id: requireUser(actor, context.user_id) ?? null,
      session_id: context.session_id ?? null,
      created_at,
    }))
    const termed = items.map((item, i) => ({ ...item, indexed: termsOfItems.get(body.items[i] as object) }))
    await memories.insert(db, agent.seq, termed)
    return { items }
  },
})
