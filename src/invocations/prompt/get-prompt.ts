import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { invalid } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { type Invocation, InvocationParams, isFinal } from '../invocation.ts'
import { getInScope } from '../invocation-in-scope.ts'
import { withKept } from '../steps/kept-steps.ts'
import { listKept, NOTHING_KEPT } from '../steps/step-store.ts'
import { ShownPrompt } from './prompt.ts'
import { type RebuildNeeds, rebuildPrompt } from './rebuild-prompt.ts'

export const getPrompt = operation({
  id: 'getPrompt',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/prompt',
  summary: "Get an invocation's prompt",
  description:
    "Returns what was sent to the model: instructions, history, recalled memories with their scores, the message, and the answers and tool results of earlier steps. Memories are read as they are now, so deleted ones are missing. `notes` lists how the reply differs from the original prompt. `left_out` lists what did not fit into the model's context window. Messages of more than 20,000 characters are cut; `characters` is the full length. The values of secrets are never returned.",
  access: { permission: 'read' },
  input: {
    params: InvocationParams,
    query: z.strictObject({
      step: z
        .int()
        .min(0)
        .optional()
        .describe(
          "The position of a model step in the receipt. To get the next step's prompt, send the number of steps so far. Default: the last model step",
        ),
    }),
  },
  answer: { data: ShownPrompt },

  async run({ params, query }, context: RebuildNeeds & Needs<'actor'>) {
    const { db, actor } = context
    const agent = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: params.request_id })
    const kept = isFinal(found) ? NOTHING_KEPT : await listKept(db, found.id)
    const invocation = kept.steps.length > 0 ? withKept(found, kept.steps) : found
    const { steps } = invocation
    const step = query.step ?? lastAnswered(steps)
    if (step !== steps.length && steps[step]?.kind !== 'model') {
      throw invalid({ field: 'step', error: 'is not a model step of this invocation' })
    }
    return rebuildPrompt({ agent, invocation, steps, step, definition: kept.definition }, context)
  },
})

/** If the model never answered, the question came after all other steps. */
function lastAnswered(steps: Invocation['steps']): number {
  const last = steps.findLastIndex(({ kind }) => kind === 'model')
  return last < 0 ? steps.length : last
}
