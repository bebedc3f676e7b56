import { setTimeout as delay } from 'node:timers/promises'
import { findSnapshot } from '../../agents/agent-snapshot.ts'
import type { ChatAnswer } from '../../answers/conversation-answer.ts'
import { ANSWERS } from '../../answers/store.ts'
import { findApproval } from '../../invocations/approvals/approval-store.ts'
import * as invocations from '../../invocations/store.ts'
import { laneKey, ownerOf } from '../../lib/work/lane-key.ts'
import { Worker } from '../../lib/work/worker.ts'
import type { Parts } from '../../operation/parts.ts'
import { newOwner } from '../../storage/leases/lease.ts'
import * as triggers from '../store.ts'
import * as queue from './answer-queue.ts'
import { askFor } from './asks.ts'
import { CHANNELS, callPlatform, settingsOf } from './call-platform.ts'
import type { Channel } from './channel.ts'

type SenderParts = Pick<
  Parts,
  'config' | 'fetch' | 'findProject' | 'journal' | 'log' | 'memo' | 'node' | 'now' | 'secrets' | 'storage' | 'telemetry'
>

/** How many answers this node sends at once, in total and for one trigger. */
const MOST_AT_ONCE = { total: 32, ofTrigger: 8 }
/** How much longer than a call its lease lasts, so there is time to store the result. */
const LEASE_MARGIN_MS = 5_000
/** The pause between the parts of a long answer. Platforms accept about one message a second in a conversation. */
const PART_PAUSE_MS = 1_000
const FAILED_TEXT = "Sorry, something went wrong, and I couldn't answer. Please try again later."

/** After the first failure. It doubles with each further one. */
const FIRST_WAIT_MS = 2_000
const LONGEST_WAIT_MS = 10 * 60_000
const JITTER = 0.2
/** An answer this old is given up. */
const GIVEN_UP_MS = 24 * 3_600_000

/** `interrupted`: the service stops, or the store is away. The rest is sent in another attempt. */
type Attempt = 'sent' | 'interrupted' | { error: string; retry_after_ms: number; isFinal: boolean }
type SentAnswer = { answer: queue.TakenAnswer; attempt: Attempt }

/**
 * Sends answers to the conversations of chat platforms until it is stopped. A row is written in the commit in which its
 * run ends, taken with a lease, and sent part by part. If the node dies while the platform accepts a part, that part is
 * sent again, because platforms have no way to recognize it. A node that lives keeps what it can't store.
 */
export class AnswerSender {
  readonly #parts: SenderParts
  readonly #worker: Worker<queue.TakenAnswer, SentAnswer>
  readonly #abort = new AbortController()

  constructor(parts: SenderParts) {
    const { journal, log, now, storage } = parts
    this.#parts = parts
    this.#worker = new Worker({
      share: { total: MOST_AT_ONCE.total, ofLane: () => MOST_AT_ONCE.ofTrigger },
      serve: (lane, places, ended) => this.#serve(lane, places, ended),
      run: (answer, lane) => this.#run(answer, lane),
      async survey() {
        const due = await queue.survey(storage.db)
        return due.map(({ project_id, trigger_id, due_at }) => ({ key: laneKey(project_id, trigger_id), due_at }))
      },
      // Results that couldn't be stored are kept and stored later, before anything else of the trigger is sent.
      failed: (err) => log.warn({ err }, 'could not store or fetch answers to conversations'),
      now,
    })
    journal.onWritten(ANSWERS, (writes) => {
      for (const { lane } of writes) if (lane !== undefined) this.#worker.wake(lane)
    })
    storage.onChange((change) => {
      if (change === 'pauses' || change === 'answers') this.#worker.survey()
    })
    this.#worker.survey()
  }

  /** Calls in progress may finish within `grace_ms`. */
  async stop(grace_ms: number): Promise<void> {
    const patience = setTimeout(() => this.#abort.abort(), grace_ms)
    await this.#worker.close()
    clearTimeout(patience)
  }

  /** One transaction stores the results of a trigger's answers and takes new ones. */
  #serve(lane: string, limit: number, ended: readonly SentAnswer[]) {
    const { node, now, storage } = this.#parts
    const time = now()
    const owner = newOwner(node)
    const taking = { trigger_id: ownerOf(lane), limit, owner, lease_until: this.#leaseUntil(time), now: time }
    return storage.transaction(async (db) => {
      for (const { answer, attempt } of ended) await queue.endAttempt(db, answer, afterAttempt(answer, attempt, time))
      return queue.takeDue(db, taking)
    })
  }

  /** A lease lasts for the pause before a part, and for its call. */
  #leaseUntil(time: number): number {
    return time + PART_PAUSE_MS + this.#parts.config.webhooks.attemptTimeout + LEASE_MARGIN_MS
  }

  async #run(answer: queue.TakenAnswer, lane: string): Promise<SentAnswer | undefined> {
    const { log, telemetry } = this.#parts
    const attempt = await this.#send(answer).catch((err): Attempt | undefined => {
      if (this.#abort.signal.aborted) return 'interrupted'
      // It is sent again when its lease ends.
      log.error({ err, answer: answer.id }, 'an answer to a conversation could not be sent')
      return undefined
    })
    if (attempt === undefined) return undefined
    if (attempt !== 'interrupted') {
      const isSent = attempt === 'sent'
      telemetry.answers.add(1, isSent ? 'sent' : attempt.isFinal ? 'failed' : 'refused')
      this.#worker.report(lane, isSent ? 'well' : 'failed')
    }
    return { answer, attempt }
  }

  /** Undefined if another node has taken the answer. */
  async #send(answer: queue.TakenAnswer): Promise<Attempt | undefined> {
    const { config, fetch, now, secrets, storage } = this.#parts
    const never = (error: string): Attempt => ({ error, retry_after_ms: 0, isFinal: true })
    const trigger = await triggers.find(storage.db, answer.trigger_id)
    const settings = trigger && settingsOf(trigger)
    const snapshot = await findSnapshot(answer.agent_id, this.#parts)
    if (!settings || !snapshot) return never('The trigger has been deleted.')
    const said = await this.#contentOf(answer, snapshot.agent.seq, CHANNELS[settings.kind])
    const { split } = CHANNELS[settings.kind]
    const texts = said?.buttons ? split(said.text).slice(0, 1) : split(said?.text ?? '')
    if (texts.length === 0) return never('There is nothing to send any more.')
    const { signal } = this.#abort
    const known = await secrets(snapshot.project.id)
    const first = answer.parts_sent
    for (let part = first; part < texts.length; part++) {
      if (part > first) await delay(PART_PAUSE_MS, undefined, { signal })
      const posting = callPlatform(
        trigger,
        (channel, access) => [
          channel.post(access, answer.place, {
            id: `${answer.id}.${part}`,
            text: texts[part] as string,
            buttons: said?.buttons,
          }),
        ],
        { config, fetch, secrets: known, now, signal },
      )
      const verdict = await posting
      if (verdict !== 'accepted') return verdict
      answer.parts_sent = part + 1
      if (answer.parts_sent === texts.length) break
      const kept = await this.#keepPart(answer)
      if (kept !== 'kept') return kept
    }
    return 'sent'
  }

  /** Undefined if another node has the answer now. A part that can't be noted is stored with the attempt's result. */
  async #keepPart(answer: queue.TakenAnswer): Promise<'kept' | 'interrupted' | undefined> {
    const { log, now, storage } = this.#parts
    try {
      return (await queue.keepPart(storage.db, answer, this.#leaseUntil(now()))) ? 'kept' : undefined
    } catch (err) {
      log.warn({ err, answer: answer.id }, 'could not note that a part of an answer has arrived')
      return 'interrupted'
    }
  }

  /** The run's answer, or what it asks. Undefined if the run was erased, or if it was decided. */
  async #contentOf({ call_id, request_id }: ChatAnswer, agent_seq: number, channel: Channel) {
    const { db } = this.#parts.storage
    if (call_id !== null) return askFor(db, await findApproval(db, request_id, call_id), channel, this.#parts)
    const run = await invocations.find(db, agent_seq, request_id)
    if (!run || run.erased_at !== null) return undefined
    return { text: run.status === 'completed' ? (run.response ?? '') : FAILED_TEXT, buttons: undefined }
  }
}

function afterAttempt({ tries, created_at }: ChatAnswer, attempt: Attempt, now: number): queue.AfterAnswer {
  if (attempt === 'interrupted') return { status: 'pending', tries, error: null, next_attempt_at: now, sent_at: null }
  const tried = { tries: tries + 1, sent_at: null }
  if (attempt === 'sent') return { ...tried, status: 'sent', error: null, next_attempt_at: null, sent_at: now }
  const { error, isFinal, retry_after_ms } = attempt
  const planned = Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS) * (1 - JITTER + 2 * JITTER * Math.random())
  const next_attempt_at = now + Math.round(Math.max(planned, retry_after_ms))
  const isLast = isFinal || next_attempt_at > created_at + GIVEN_UP_MS
  return isLast
    ? { ...tried, status: 'failed', error, next_attempt_at: null }
    : { ...tried, status: 'pending', error, next_attempt_at }
}
