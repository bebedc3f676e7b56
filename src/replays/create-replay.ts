import type { z } from 'zod'
import { type Agent, AgentParams } from '../agents/agent.ts'
import { definitionOf, digestOf, hasModel } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { servedNow } from '../deployments/serving.ts'
import * as deployments from '../deployments/store.ts'
import { conflict, invalid } from '../errors.ts'
import { insertCases, listCases } from '../invocations/cases/case-store.ts'
import { chooseRuns, MOST_CASES } from '../invocations/cases/choose-runs.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { nanoOf } from '../runtime/models/usage.ts'
import { DEFAULT_ENVIRONMENT } from '../runtime/tools/called-agent.ts'
import * as sets from '../sets/store.ts'
import { CreateReplayBody, presentReplay, type Replay, ReplayReply } from './replay-record.ts'
import * as replays from './store.ts'

const MOST_RUNNING = 10

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
  input: { params: AgentParams, body: CreateReplayBody },
  answer: { status: 201, data: ReplayReply, errors: ['conflict'] },

  async run({ params, body }, context: CreateReplayNeeds) {
    const { actor, db, newId, now } = context
    const agent = await agents.lock(db, params.agent_id)
    if ((await replays.countRunning(db, agent.seq)) >= MOST_RUNNING) {
      throw conflict(`This agent already has ${MOST_RUNNING} running replays. Wait for one to finish, or cancel one.`)
    }
    const tested = await testedDefinitions(agent, body, context)
    const chosen = await chosenCases(agent, body, context)
    const time = now()
    const { cost_usd, tokens } = body.limits
    const replay: Replay = {
      ...UNTOUCHED,
      ...tested.replay,
      id: newId('rpl', time),
      agent_seq: agent.seq,
      set_name: chosen.set?.name ?? null,
      set_digest: chosen.set?.digest ?? null,
      filter: body.filter ?? null,
      checks: body.checks,
      cases: chosen.cases.length,
      limit_nano: cost_usd === null ? null : nanoOf(cost_usd),
      limit_tokens: tokens,
      created_by: actor.id,
      person_id: actor.person_id ?? null,
      created_at: time,
    }
    await replays.insert(db, replay, tested.definitions)
    const keeper = { agent_seq: agent.seq, kept_by: replay.id }
    await insertCases(db, keeper, chosen.cases, { newId, now: time, due_at: time })
    return withKeyName(db, actor, presentReplay({ ...replay, finished_cases: 0 }, agent.id), ['created_by'])
  },
})

const UNTOUCHED = {
  status: 'running' as const,
  spent_nano: 0,
  spent_tokens: 0,
  unpriced: 0,
  held_nano: 0,
  held_tokens: 0,
  reached: null,
  waits_for: null,
  report: null,
  verdict: null,
  finished_at: null,
}

type Body = z.output<typeof CreateReplayBody>

/** What answers, and what it is compared with. Both are copied, because the draft can change. */
async function testedDefinitions(agent: Agent, { version, baseline }: Body, { db }: CreateReplayNeeds) {
  const candidate =
    version === undefined ? definitionOf(agent) : (await deployments.getVersion(db, agent.id, version)).definition
  const served = baseline === 'deployed' ? await servedNow(db, agent, DEFAULT_ENVIRONMENT) : undefined
  // Where nothing was deployed, the draft is served.
  const deployed = served?.version ? served : undefined
  const field = version === undefined ? 'working_copy' : 'version'
  if (!hasModel(candidate) || (deployed && !hasModel(deployed.definition))) {
    throw invalid({
      field,
      error: 'runs on another server, which a replay would have to call; choose an agent with a model',
    })
  }
  return {
    definitions: { candidate_definition: candidate, baseline_definition: deployed?.definition ?? null },
    replay: {
      version: version ?? null,
      digest: digestOf(candidate),
      baseline: deployed ? ('deployed' as const) : ('recorded' as const),
      baseline_version: deployed?.version ?? null,
      baseline_digest: deployed ? digestOf(deployed.definition) : null,
    },
  }
}

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
