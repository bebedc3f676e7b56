import type { z } from 'zod'
import type { Agent } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { conflict, invalid } from '../errors.ts'
import { keepEach } from '../invocations/attachments/keep-attachments.ts'
import { insertCases, removeCases } from '../invocations/cases/case-store.ts'
import { checkSchemas } from '../invocations/cases/check-schemas.ts'
import { chooseRuns } from '../invocations/cases/choose-runs.ts'
import type { RunCase } from '../invocations/cases/run-case.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { digestOfCases, PutSetBody, presentSet, SetParams, SetReply } from './set.ts'
import * as sets from './store.ts'

const MOST_SETS = 100

type PutSetNeeds = Needs<'actor' | 'config' | 'db' | 'earlier' | 'newId' | 'now' | 'shownAgents' | 'uploads'>

export const putSet = operation({
  id: 'putSet',
  method: 'PUT',
  path: '/v1/agents/{agent_id}/sets/{name}',
  summary: 'Set up a set',
  description:
    'Saves messages that the agent should answer well, in place of a set with the same name. Write the cases yourself, or copy past invocations with `from`. A copy includes the answer, the results of tool calls, and the history and memories that the model saw, so it stays usable when the invocation is deleted. If an invocation or its user is erased, so is the copy. A set has at most 1,000 cases, and an agent at most 100 sets.',
  access: { permission: 'write' },
  audit: { target: ['agent_id', 'name'] },
  input: {
    params: SetParams,
    body: PutSetBody,
    check: ({ body: { cases = [] } }, parts, actor) =>
      checkSchemas(
        cases.map(({ checks }, i) => ({ field: `cases.${i}.checks`, checks })),
        parts,
        actor,
      ),
  },
  answer: { data: SetReply, errors: ['conflict'] },

  async run({ params, body }, context: PutSetNeeds) {
    const { actor, db, newId, now } = context
    const agent = await agents.lock(db, params.agent_id)
    const earlier = await sets.find(db, agent.seq, params.name)
    if (!earlier && (await sets.count(db, agent.seq)) >= MOST_SETS) {
      throw conflict(`An agent can have at most ${MOST_SETS} sets. Delete one first.`)
    }
    const cases = body.from ? await chooseRuns(agent, body.from, context) : await writtenCases(agent, body, context)
    if (cases.length === 0) throw invalid({ field: 'from', error: 'matches no completed or failed invocation' })
    const time = now()
    const made = earlier ?? { id: newId('set', time), created_by: actor.id, created_at: time }
    const set = {
      ...made,
      agent_seq: agent.seq,
      name: params.name,
      description: body.description,
      digest: digestOfCases(cases),
      cases: cases.length,
      updated_at: time,
    }
    await sets.put(db, set)
    await removeCases(db, set.id)
    const keeper = { agent_seq: agent.seq, kept_by: set.id }
    await insertCases(db, keeper, cases, { newId, now: time, due_at: null })
    return withKeyName(db, actor, presentSet(set, agent.id), ['created_by'])
  },
})

/** Each file must be one that the actor may use for the case's user. */
async function writtenCases(
  { id: agent_id }: Agent,
  { cases = [] }: z.output<typeof PutSetBody>,
  context: PutSetNeeds,
): Promise<RunCase[]> {
  const written: RunCase[] = []
  for (const { name = null, attachments, ...asked } of cases) {
    const user_id = asked.context.user_id ?? null
    const owner = { agent_id, request_id: null, schedule_id: null, user_id }
    const content = {
      ...asked,
      attachments: await keepEach(context.db, attachments, owner, context),
      recalled: [],
      summary: null,
      given: null,
      recorded: null,
    }
    written.push({ name, request_id: null, content })
  }
  return written
}
