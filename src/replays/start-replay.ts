import type { z } from 'zod'
import type { Agent } from '../agents/agent.ts'
import { definitionOf, digestOf, hasModel } from '../agents/definition.ts'
import { servedNow } from '../deployments/serving.ts'
import * as deployments from '../deployments/store.ts'
import { invalid } from '../errors.ts'
import { insertCases } from '../invocations/cases/case-store.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { nanoOf } from '../runtime/models/usage.ts'
import type { CaseSet } from '../sets/set.ts'
import type { CreateReplayBody, Replay } from './replay-record.ts'
import * as replays from './store.ts'

/** Of an agent. */
export const MOST_RUNNING = 10

type Body = z.output<typeof CreateReplayBody>

type Tested = {
  definitions: replays.Definitions
  replay: Pick<Replay, 'version' | 'digest' | 'baseline' | 'baseline_version' | 'baseline_digest'>
}

type Started = {
  tested: Tested
  cases: Parameters<typeof insertCases>[2]
  set: CaseSet | undefined
  body: Pick<Body, 'checks' | 'limits'> & { filter?: Body['filter'] }
}

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

/** Stores a replay with its cases. Nodes begin with them when the transaction commits. */
export async function startReplay(
  agent: Agent,
  { tested, cases, set, body }: Started,
  { actor, db, newId, now }: Needs<'db' | 'newId' | 'now'> & { actor: Pick<Actor, 'id' | 'person_id'> },
): Promise<Replay> {
  const time = now()
  const { cost_usd, tokens } = body.limits
  const replay: Replay = {
    ...UNTOUCHED,
    ...tested.replay,
    id: newId('rpl', time),
    agent_seq: agent.seq,
    set_name: set?.name ?? null,
    set_digest: set?.digest ?? null,
    filter: body.filter ?? null,
    checks: body.checks,
    cases: cases.length,
    limit_nano: cost_usd === null ? null : nanoOf(cost_usd),
    limit_tokens: tokens,
    created_by: actor.id,
    person_id: actor.person_id ?? null,
    created_at: time,
  }
  await replays.insert(db, replay, tested.definitions)
  const keeper = { agent_seq: agent.seq, kept_by: replay.id }
  await insertCases(db, keeper, cases, { newId, now: time, due_at: time })
  return replay
}

/** What answers, and what it is compared with. Both are copied, because the draft can change. */
export async function testedDefinitions(
  agent: Agent,
  { version, baseline, environment }: Pick<Body, 'version' | 'baseline'> & { environment: string },
  { db }: Needs<'db'>,
): Promise<Tested> {
  const candidate =
    version === undefined ? definitionOf(agent) : (await deployments.getVersion(db, agent.id, version)).definition
  const served = baseline === 'deployed' ? await servedNow(db, agent, environment, null) : undefined
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
