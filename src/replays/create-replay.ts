import type { z } from 'zod'
import { type Agent, AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { conflict, invalid } from '../errors.ts'
import { listCases } from '../invocations/cases/case-store.ts'
import { checkSchemas } from '../invocations/cases/check-schemas.ts'
import { chooseRuns, MOST_CASES } from '../invocations/cases/choose-runs.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { DEFAULT_ENVIRONMENT } from '../runtime/tools/called-agent.ts'
import * as sets from '../sets/store.ts'
import { CreateReplayBody, presentReplay, ReplayReply } from './replay-record.ts'
import { MOST_RUNNING, startReplay, testedDefinitions } from './start-replay.ts'
import * as replays from './store.ts'

type CreateReplayNeeds = Needs<'actor' | 'db' | 'earlier' | 'newId' | 'now'>

export const createReplay = operation({
  id: 'createReplay',
  method: 'POST',
  path: '/v1/agents/{agent_id}/replays',
  summary: 'Start a replay',
  description:
    "Sends the cases of a set, or past invocations, to a version or the draft, and compares the answers with those of the deployed version or with the recorded ones. It runs in the background. Tools aren't called: results come from the recorded invocations, and a call that was never recorded is reported. Nothing is remembered, no webhook is sent, and no metric changes. Model calls cost the same as in runs, and count toward usage and budgets. An agent can have 10 running replays.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'reply' },
  idempotent: true,
  input: {
    params: AgentParams,
    body: CreateReplayBody,
    check: ({ body: { checks } }, parts, actor) => checkSchemas([{ field: 'checks', checks }], parts, actor),
  },
  answer: { status: 201, data: ReplayReply, errors: ['conflict'] },

  async run({ params, body }, context: CreateReplayNeeds) {
    const { actor, db } = context
    const agent = await agents.lock(db, params.agent_id)
    if ((await replays.countRunning(db, agent.seq)) >= MOST_RUNNING) {
      throw conflict(`This agent already has ${MOST_RUNNING} running replays. Wait for one to finish, or cancel one.`)
    }
    const tested = await testedDefinitions(agent, { ...body, environment: DEFAULT_ENVIRONMENT }, context)
    const chosen = await chosenCases(agent, body, context)
    const replay = await startReplay(agent, { tested, ...chosen, body }, context)
    return withKeyName(db, actor, presentReplay({ ...replay, finished_cases: 0 }, agent.id), ['created_by'])
  },
})

type Body = z.output<typeof CreateReplayBody>

async function chosenCases(agent: Agent, { set: name, filter, last }: Body, context: CreateReplayNeeds) {
  if (filter) {
    const cases = await chooseRuns(agent, { filter, last: last ?? 100 }, context)
    if (cases.length === 0) throw invalid({ field: 'filter', error: 'matches no completed or failed invocation' })
    return { cases, set: undefined }
  }
  const set = await sets.find(context.db, agent.seq, name ?? '')
  if (!set) throw invalid({ field: 'set', error: 'is not the name of a set of this agent' })
  return { cases: await listCases(context.db, set.id, { limit: MOST_CASES, offset: 0 }), set }
}
