import { findSnapshotBySeq } from '../../agents/agent-snapshot.ts'
import type { Definition } from '../../agents/definition.ts'
import { laneKey, ownerOf } from '../../lib/work/lane-key.ts'
import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import { Worker } from '../../lib/work/worker.ts'
import type { Parts } from '../../operation/parts.ts'
import { keyNamed, type RunMeter, spenderOf } from '../../operation/spending.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import type { Database } from '../../storage/database.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import { keepLeases, LEASE_MS, newOwner } from '../../storage/leases/lease.ts'
import type { Storage } from '../../storage/open-storage.ts'
import { type AnswerColumn, type AnswerColumns, type ColumnName, notRun, outcomeOf } from '../case-column.ts'
import type { Replay } from '../replay-record.ts'
import * as replays from '../store.ts'
import { answerCase, CaseDelayed, type CaseRequest, LimitReached, recordedColumn } from './answer-case.ts'
import type { TakenCase } from './case-queue.ts'
import * as queue from './case-queue.ts'
import { LimitedMeter } from './limited-meter.ts'
import { type ReportedCase, reportOf } from './report.ts'

/** How many cases this node runs at once. They mostly wait for a model, which live runs need too. */
const SHARE = { total: 16, ofLane: () => 4 }
const STOP_MS = 5_000
/** How often a case is put off because of failures before it's given up. */
const MOST_TRIES = 10
const RETRY_MS = 2_000
const CASES_AT_ONCE = 50

type RunnerParts = Pick<
  Parts,
  'config' | 'findProject' | 'log' | 'memo' | 'newId' | 'node' | 'now' | 'prices' | 'runtime' | 'spending' | 'storage'
>

type RunningCase = { one: TakenCase; cancellation: Cancellation; isLost: boolean }

/** A replay with what it tests. */
type Work = NonNullable<Awaited<ReturnType<typeof replays.findRunning>>>

/** Another node has the case, or its replay was cancelled. What was stored so far stays. */
class CaseLost extends Error {}

/**
 * Runs the cases of replays in the background. Each agent has a lane, so projects take turns. A case is leased, and each
 * of its columns is stored when it has answered: if the node dies, another continues with the next column.
 */
export class ReplayRunner {
  readonly #parts: RunnerParts
  readonly #worker: Worker<TakenCase>
  readonly #running = new Map<string, RunningCase>()
  readonly #stopRenewing: () => void

  constructor(parts: RunnerParts) {
    const { log, now, storage } = parts
    this.#parts = parts
    this.#worker = new Worker({
      share: SHARE,
      serve: (lane, places) => this.#take(Number(ownerOf(lane)), places),
      run: (one, lane) => this.#run(one, lane),
      async survey() {
        const due = await queue.survey(storage.db)
        return due.map(({ project_id, agent_seq, due_at }) => ({ key: laneKey(project_id, agent_seq), due_at }))
      },
      failed: (err) => log.warn({ err }, 'could not look for cases of replays'),
      now,
    })
    this.#stopRenewing = keepLeases(queue.LEASED_CASES, {
      db: storage.db,
      now,
      log,
      lease_ms: LEASE_MS,
      held: () => [...this.#running.values()].map(({ one }) => one.lease),
      lost: ({ key: [id = ''] }) => this.#lose(this.#running.get(id)),
    })
    storage.onChange((change, id) => {
      if (change === 'replays' && id !== undefined) this.#dropEnded(id)
      if (['replays', 'pauses', 'agents', 'budgets'].includes(change)) this.#worker.survey()
    })
    this.#worker.survey()
  }

  /** Looks for work now, for example after a change of the clock. */
  survey(): void {
    this.#worker.survey()
  }

  /** Starts no more cases. Those in progress are interrupted, and go back to the queue. */
  async close(): Promise<void> {
    const closed = this.#worker.close()
    for (const { cancellation } of this.#running.values()) cancellation.cancel()
    await waitAtMost(closed, STOP_MS)
    this.#stopRenewing()
  }

  #take(agent_seq: number, limit: number) {
    const { node, now, storage } = this.#parts
    const time = now()
    const owner = newOwner(node)
    return storage.transaction((db) => queue.takeDue(db, { agent_seq, limit, owner, lease_ms: LEASE_MS }, time))
  }

  /** The replay has ended: it was cancelled, perhaps on another node. */
  #dropEnded(replay_id: string): void {
    for (const running of this.#running.values()) if (running.one.kept_by === replay_id) this.#lose(running)
  }

  #lose(running: RunningCase | undefined): void {
    if (!running) return
    running.isLost = true
    running.cancellation.cancel()
  }

  async #run(one: TakenCase, lane: string): Promise<undefined> {
    const running = { one, cancellation: new Cancellation(), isLost: false }
    this.#running.set(one.id, running)
    const { log, now, storage } = this.#parts
    try {
      const replay = await replays.findRunning(storage.db, one.kept_by)
      if (replay) await this.#answerAll(replay, running)
    } catch (error) {
      if (running.isLost || error instanceof CaseLost) return
      const isDelayed = error instanceof CaseDelayed
      if (!isDelayed) log.warn({ err: error, case: one.id }, 'a case of a replay failed and will be retried')
      const due_at = now() + (isDelayed ? (error.after_ms ?? 0) : RETRY_MS * 2 ** one.tries)
      const tries = isDelayed && !error.isFailure ? one.tries : one.tries + 1
      await this.#putOff(one, due_at, { tries, reason: isDelayed && error.after_ms !== null ? error.message : null })
      this.#worker.wake(lane, due_at)
    } finally {
      this.#running.delete(one.id)
    }
  }

  async #putOff(one: TakenCase, due_at: number, { tries, reason }: { tries: number; reason: string | null }) {
    const { log, storage } = this.#parts
    try {
      await storage.transaction(async (db) => {
        await queue.putOff(db, one, due_at, tries)
        await replays.setWaiting(db, one.kept_by, reason)
      })
    } catch (err) {
      log.warn({ err, case: one.id }, 'a case of a replay could not be put off; it runs again when its lease expires')
    }
  }

  /** Answers the columns that the case doesn't have yet, and ends it. */
  async #answerAll(replay: Work, running: RunningCase): Promise<void> {
    const { one } = running
    const { content } = one
    const columns = { recorded: one.recorded, baseline: one.baseline, candidate: one.candidate }
    let reached: 'cost_usd' | 'tokens' | undefined
    if (content) {
      const wanted = { recorded: content.recorded, baseline: replay.baseline_version, candidate: true }
      for (const name of ['recorded', 'baseline', 'candidate'] as const) {
        if (!wanted[name] || columns[name] || reached) continue
        const answered = await this.#answer(name, replay, running, content)
        columns[name] = answered.column
        reached = answered.reached
      }
      // A case that the limit cut short has no column that could be compared.
      columns.candidate ??= notRun(LIMIT_REACHED)
    }
    await this.#end(replay, one, columns, reached)
  }

  /** One column, stored with what it has cost. */
  async #answer(
    name: ColumnName,
    replay: Work,
    running: RunningCase,
    content: NonNullable<TakenCase['content']>,
  ): Promise<{ column: AnswerColumn; reached?: 'cost_usd' | 'tokens' | undefined }> {
    const { one, cancellation } = running
    const { spending, storage } = this.#parts
    const snapshot = await findSnapshotBySeq(one.agent_seq, this.#parts)
    if (!snapshot) throw new CaseLost()
    const { agent, project } = snapshot
    const definition = name === 'baseline' ? replay.baseline_definition : replay.candidate_definition
    const version = name === 'baseline' ? replay.baseline_version : replay.version
    const { id: agent_id, project_id } = agent
    const { created_by, person_id } = replay
    const spender = { project_id, agent_id, agent_seq: one.agent_seq, purpose: 'replay' as const, version, person_id }
    const inner = spending.meter(spenderOf({ ...spender, key_id: keyNamed(created_by) }), project)
    const meter = new LimitedMeter(inner, one, replay, project_id, this.#parts)
    const checks = [...content.checks, ...replay.checks]
    const request = { agent, content, checks, created_by, judge: replay.candidate_definition, meter, cancellation }
    try {
      const answered = await this.#ask(name, definition, request, one)
      await keepAnswer(storage, inner, async (db) => {
        if (!(await queue.keepColumn(db, one, name, answered.column))) throw new CaseLost()
        if (replay.waits_for !== null) await replays.setWaiting(db, replay.id, null)
      })
      return answered
    } finally {
      // The calls were made even if the column wasn't stored.
      await inner.flush()
    }
  }

  async #ask(name: ColumnName, definition: Definition | null, request: CaseRequest, { tries }: TakenCase) {
    try {
      if (name === 'recorded') return { column: await recordedColumn(request, this.#parts) }
      if (!definition) throw new Error('the replay has no definition for this column')
      return { column: await answerCase(definition, request, this.#parts) }
    } catch (error) {
      if (error instanceof LimitReached) {
        if (error.reason === 'ended') throw new CaseLost()
        if (error.reason === 'no price') return { column: notRun(NO_PRICE) }
        return { column: notRun(LIMIT_REACHED), reached: error.reason }
      }
      const isGivenUp = tries >= MOST_TRIES && !(error instanceof CaseDelayed && !error.isFailure)
      if (!isGivenUp) throw error
      return { column: notRun(error instanceof CaseDelayed ? error.message : 'The case could not be run.') }
    }
  }

  /** The last case completes the replay in the same transaction. */
  async #end(
    { id, baseline }: Work,
    one: TakenCase,
    columns: AnswerColumns,
    reached: 'cost_usd' | 'tokens' | undefined,
  ): Promise<void> {
    const { now, storage } = this.#parts
    await storage.transaction(async (db) => {
      const replay = await replays.lockRunning(db, id)
      if (!replay || !(await queue.end(db, one, outcomeOf(columns, baseline)))) throw new CaseLost()
      if (reached) {
        await replays.setReached(db, id, reached)
        await queue.endWaiting(db, id)
      }
      if (await queue.hasUnfinished(db, id)) return
      await replays.complete(db, id, { ...reportOf(await listReported(db, replay), baseline), finished_at: now() })
    })
  }
}

const LIMIT_REACHED = 'The replay had reached its limit.'
const NO_PRICE = "A model has no price, so the cost limit couldn't be kept. Set a price, or remove limits.cost_usd."

/** Writes the calls' lines of the ledger together with the answer. */
async function keepAnswer(storage: Storage, meter: RunMeter, keep: (db: Database) => Promise<void>): Promise<void> {
  const { writes, giveBack } = meter.take()
  try {
    await storage.transaction(async (db) => {
      await keep(db)
      if (writes.length > 0) await writeRows(db, writes)
    })
  } catch (error) {
    giveBack()
    throw error
  }
}

/** The cases without the texts of the answers, which can be very long. */
async function listReported(db: Database, { id, cases }: Replay): Promise<ReportedCase[]> {
  const all: ReportedCase[] = []
  while (all.length < cases) {
    const query = { limit: CASES_AT_ONCE, offset: all.length, sort: 'position' }
    const { items } = await replays.listAnswered(db, id, query)
    if (items.length === 0) break
    for (const { content, recorded, baseline, candidate } of items) {
      all.push({
        content,
        recorded: withoutText(recorded),
        baseline: withoutText(baseline),
        candidate: withoutText(candidate),
      })
    }
  }
  return all
}

function withoutText(column: AnswerColumn | null): AnswerColumn | null {
  return column && { ...column, response: null }
}
