import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { invalid } from '../../errors.ts'
import { Label } from '../../shapes.ts'
import { findInvocations, INVOCATION_FILTERS } from '../find-invocations.ts'
import type { RebuildNeeds } from '../prompt/rebuild-prompt.ts'
import { get } from '../store.ts'
import { caseOfRun, isRepeatable } from './case-of-run.ts'
import type { RunCase } from './run-case.ts'

/** A set or a replay has at most this many cases. */
export const MOST_CASES = 1_000

/** Their cases have at most this many bytes of JSON. */
const MOST_BYTES = 32 * 1024 * 1024
const MOST_MIB = MOST_BYTES / 1024 / 1024
const PAGE = 100

export const RunFilter = z
  .strictObject({
    ...INVOCATION_FILTERS,
    session_id: Label(256).optional(),
    user_id: Label(256).optional(),
    schedule_id: Label(100).optional().describe('Only invocations started by this schedule'),
  })
  .describe('The query fields of the list of invocations. Only completed and failed invocations are used')

export const LastRuns = z.int().min(1).max(MOST_CASES).describe('How many of these invocations, most recent first')

export const RequestIds = z.array(Label(100)).min(1).max(MOST_CASES)

type ChosenRuns = { request_ids: readonly string[] } | { filter: z.output<typeof RunFilter>; last: number }

type ChooseNeeds = Pick<RebuildNeeds, 'db' | 'earlier'>

/** Copies past invocations of an agent as cases. */
export async function chooseRuns(agent: Agent, chosen: ChosenRuns, parts: ChooseNeeds): Promise<RunCase[]> {
  const ids = 'request_ids' in chosen ? chosen.request_ids : await listLast(agent, chosen, parts)
  const cases: RunCase[] = []
  let bytes = 0
  for (const id of new Set(ids)) {
    const invocation = await get(parts.db, agent.seq, id)
    if (!isRepeatable(invocation)) {
      throw invalid({ field: 'request_ids', error: `${id} has no answer to compare with, or was erased` })
    }
    const one = await caseOfRun(agent, invocation, parts)
    bytes += Buffer.byteLength(JSON.stringify(one.content))
    if (bytes > MOST_BYTES) {
      throw invalid({ field: 'from', error: `has more than ${MOST_MIB} MiB of content; choose fewer invocations` })
    }
    cases.push(one)
  }
  return cases
}

async function listLast(
  agent: Agent,
  { filter, last }: Extract<ChosenRuns, { last: number }>,
  { db }: ChooseNeeds,
): Promise<string[]> {
  const found: string[] = []
  for (let offset = 0; found.length < last; offset += PAGE) {
    const query = { limit: PAGE, offset, sort: '-created_at' }
    const { items } = await findInvocations({ db, reserve: async () => {} }, [agent.seq], query, filter)
    found.push(...items.filter(isRepeatable).map(({ id }) => id))
    if (items.length === 0) break
  }
  return found.slice(0, last)
}
