import { ownLogWrite } from '../../logs/store.ts'
import type { Parts } from '../../operation/parts.ts'
import { usdOf } from '../../runtime/models/usage.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import type { LedgerLine } from '../../usage/ledger-line.ts'
import { takeLapsed } from '../../usage/reserved-store.ts'
import { sumWrites } from '../../usage/store.ts'
import type { Budget } from '../budget.ts'
import * as budgets from '../store.ts'
import { lapseWrites } from './charges.ts'
import { COUNTERS, type CounterKey, counterName, findCounters, listUntold, lockCounters } from './counter-store.ts'
import { hasNews, tellNews } from './thresholds.ts'

type TendParts = Pick<Parts, 'events' | 'journal' | 'log' | 'now' | 'storage'>

const MOST_LAPSED = 500
const MOST_TOLD = 1_000
const TELL_MS = 1_000
/** The longest period, with a margin. */
const LONGEST_PERIOD_MS = 32 * 24 * 3_600_000

/**
 * Counts as used what dead nodes had reserved, and reports thresholds that were reached while no node could report
 * them. `held` are the lines of this node's own calls.
 */
export async function tendCounters(parts: TendParts, held: () => ReadonlySet<string>): Promise<void> {
  const { storage, now, log } = parts
  for (let lapsed = MOST_LAPSED; lapsed === MOST_LAPSED; ) {
    lapsed = await storage.transaction(async (db) => {
      const found = await takeLapsed(db, { now: now(), limit: MOST_LAPSED, except: held() })
      await writeRows(
        db,
        found.flatMap(({ line, charges }) => [...sumWrites(line), ...lapseWrites(charges), ...toldLost(line, now())]),
      )
      return found.length
    })
    if (lapsed > 0) log.warn({ lapsed }, 'a node has stopped: the amounts its calls had reserved are counted as spent')
  }
  const untold = await listUntold(storage.db, now() - LONGEST_PERIOD_MS, MOST_TOLD)
  if (untold.length > 0) await tellAll(parts, untold)
}

/** Mentions the call in the agent's log. */
function toldLost(line: LedgerLine, timestamp: number): Write[] {
  const { agent_seq, id, request_id, model, input_tokens, output_tokens, cost_nano } = line
  if (agent_seq === null) return []
  const message = `A call to ${model} was in progress when its node stopped, so the most it could have used is counted.`
  const metadata = { model, input_tokens, output_tokens, cost_usd: usdOf(cost_nano) }
  return [ownLogWrite({ agent_seq, request_id: request_id ?? id }, { timestamp, level: 'warn', message, metadata })]
}

/** Reports thresholds within a second after this node's spending reaches them. Returns a function that stops it. */
export function watchCounters(parts: TendParts & Pick<Parts, 'errands'>): () => void {
  const { errands, journal } = parts
  const touched = new Map<string, CounterKey>()
  journal.onWritten(COUNTERS, (writes) => {
    for (const { row } of writes) touched.set(counterName(row as CounterKey), row as CounterKey)
  })
  const timer = setInterval(() => {
    if (touched.size === 0) return
    const keys = [...touched.values()]
    touched.clear()
    errands.begin('sending budget events', () => tellAll(parts, keys))
  }, TELL_MS).unref()
  return () => clearInterval(timer)
}

/** Only counters with something to report are locked. */
async function tellAll(parts: TendParts, keys: readonly CounterKey[]): Promise<void> {
  const { storage } = parts
  const found = await findCounters(storage.db, keys)
  const over = await budgets.listByIds(storage.db, new Set(keys.map(({ budget_id }) => budget_id)))
  const news = [...found.values()].filter((counter) => {
    const budget = over.get(counter.budget_id)
    return budget && hasNews(budget, counter)
  })
  if (news.length === 0) return
  await storage.transaction(async (db) => {
    for (const counter of (await lockCounters(db, news)).values()) {
      await tellNews(db, over.get(counter.budget_id) as Budget, counter, parts)
    }
  })
}
