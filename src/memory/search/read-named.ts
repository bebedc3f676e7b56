import type { Conversation, RememberedTurn } from '../../operation/recall.ts'
import type { RecalledNames } from '../../runtime/steps.ts'
import type { Database } from '../../storage/database.ts'
import { type Memory, turnOf } from '../memory.ts'
import { findForRun } from '../store.ts'
import type { SessionSummary } from '../summaries/summary.ts'
import { findSummary } from '../summaries/summary-store.ts'

export type NamedMemories = {
  history: RememberedTurn[]
  recalled: (Memory & { score: number })[]
  /** The summary as it is now, if there was one. */
  summary: SessionSummary | undefined
  /** How many of the named memories no longer exist. */
  forgotten: number
}

/** Reads what a recall step names, as far as it still exists. */
export async function readNamed(
  db: Database,
  conversation: Conversation,
  { turns, memories, summarized_at }: RecalledNames,
): Promise<NamedMemories> {
  const found = await findForRun(db, conversation, [...turns, ...memories.map(({ seq }) => seq)])
  const history = turns.flatMap((seq) => found.get(seq) ?? [])
  const recalled = memories.flatMap(({ seq, score }) => {
    const one = found.get(seq)
    return one ? { ...one, score } : []
  })
  return {
    history: history.map(turnOf),
    recalled,
    summary: summarized_at === null ? undefined : await findSummary(db, conversation),
    forgotten: turns.length + memories.length - history.length - recalled.length,
  }
}
