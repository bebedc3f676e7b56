import type { Logger } from '../../lib/log.ts'
import type { Pauses } from '../../operation/pauses.ts'
import { type Spending, spenderOf } from '../../operation/spending.ts'
import type { Embedder } from '../../runtime/embedders/embedder.ts'
import { TextRefused } from '../../runtime/embedders/embeddings.ts'
import { type Meter, SpendingRefused } from '../../runtime/models/meter.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'
import type { Storage } from '../../storage/open-storage.ts'
import { countEmbedded, type Embeddable, insertVectors, listChanged, listUnembedded } from './vectors.ts'

type Options = {
  storage: Storage
  now: () => number
  log: Logger
  pauses: Pick<Pauses, 'find' | 'watch'>
  spending: Spending
}

const EVERY_MS = 5_000
const SCANNED = 200
const MEMORIES_PER_EMBEDDING = 16
/**
 * Rows can be committed out of order, so each pass also reads the seqs shortly before the point that it has reached.
 */
const OVERLAP = 2_000
const FULL_PASS_MS = 3_600_000
/**
 * How long an agent is passed over after a budget has refused its memories. When it is tried again, all memories from
 * that point on are read again.
 */
const REFUSED_MS = 60_000
/** How often a long run logs its progress. */
const TELL_MS = 10_000

/**
 * A recurring job that embeds every memory that has no vector of the current model. It finds missing vectors by reading
 * the memories, so nothing is lost in a crash, and a new embedder also processes older memories.
 */
export function embedMemories(embedder: Embedder, { storage, now, log, pauses, spending }: Options): JobHandler {
  let reached = 0
  let fullPassAt = now()
  /** Memories that the embedder has refused. They are tried again in the next full pass. */
  let refused = new Set<number>()
  /** For each agent that is paused or has reached a budget, the first memory that was passed over. */
  const held = new Map<string, { project_id: string; first: number; until: number }>()

  /** Embeds memories of one agent. The memories of several users share a request, so the ledger names no user. */
  const embedOfAgent = async (memories: [Embeddable, ...Embeddable[]], signal: AbortSignal) => {
    const [{ project_id, agent_id, agent_seq }] = memories
    const { paused, release } = await pauses.watch(project_id)
    const either = AbortSignal.any([signal, paused.signal])
    const meter = spending.meter(spenderOf({ project_id, agent_id, agent_seq, purpose: 'memory' }))
    let isRefused = false
    try {
      for (let i = 0; i < memories.length && !paused.cancelled; i += MEMORIES_PER_EMBEDDING)
        await embed(memories.slice(i, i + MEMORIES_PER_EMBEDDING), either, meter)
    } catch (error) {
      isRefused = error instanceof SpendingRefused
      if (!paused.cancelled && !isRefused) throw error
    } finally {
      release()
      await meter.flush()
    }
    if (!paused.cancelled && !isRefused) return
    const first = Math.min(held.get(agent_id)?.first ?? Infinity, ...memories.map(({ seq }) => seq))
    held.set(agent_id, { project_id, first, until: isRefused ? now() + REFUSED_MS : 0 })
  }

  /** Goes back to the first memory that was passed over, for agents that are no longer paused or refused. */
  const takeUpHeld = async () => {
    for (const [agent_id, { project_id, first, until }] of held) {
      if (until > now() || (await pauses.find(project_id))) continue
      held.delete(agent_id)
      reached = Math.min(reached, first)
    }
  }

  const embed = async (batch: Embeddable[], signal: AbortSignal, meter: Meter) => {
    const texts = batch.map(({ content }) => content)
    const vectors = await embedder.embed(texts, signal, meter).catch((error) => {
      // If the batch has only one text, that text is the problem. Otherwise, it is the embedder.
      if (!(error instanceof TextRefused) || batch.length > 1) throw error
      return []
    })
    const made = batch.flatMap((memory, i) => (vectors[i] ? { ...memory, vector: vectors[i] } : []))
    for (const { seq } of batch) if (!made.some((row) => row.seq === seq)) refused.add(seq)
    if (made.length < batch.length) log.warn({ refused: batch.length - made.length }, 'memories were not embedded')
    await storage.transaction((db) => insertVectors(db, embedder.model, made))
  }

  const embedAll = async (missing: Embeddable[], signal: AbortSignal) => {
    const isHeld = ({ agent_id }: Embeddable) => (held.get(agent_id)?.until ?? 0) > now()
    const wanted = missing.filter((memory) => !refused.has(memory.seq) && !isHeld(memory))
    for (const memories of Map.groupBy(wanted, ({ agent_id }) => agent_id).values())
      await embedOfAgent(memories as [Embeddable, ...Embeddable[]], signal)
  }

  const tell = async (message: string) => {
    const { model } = embedder
    log.info({ model, ...(await countEmbedded(storage.db, model)) }, message)
  }

  return {
    every_ms: EVERY_MS,
    async run(signal) {
      if (now() - fullPassAt >= FULL_PASS_MS) {
        reached = 0
        fullPassAt = now()
        refused = new Set()
      }
      let toldAt = now()
      let hasTold = false
      const changed = await listChanged(storage.db, SCANNED)
      await embedAll(changed, signal)
      await takeUpHeld()
      let after = Math.max(0, reached - OVERLAP)
      while (!signal.aborted) {
        const { last, missing } = await listUnembedded(storage.db, embedder.model, after, SCANNED)
        if (last === undefined) break
        await embedAll(missing, signal)
        if (missing.length > 0 && now() - toldAt >= TELL_MS) {
          await tell('memories are being embedded')
          toldAt = now()
          hasTold = true
        }
        after = last
        reached = Math.max(reached, last)
      }
      if (hasTold && !signal.aborted) await tell('memories were embedded')
    },
  }
}
