import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Part, StreamResponse } from '@a2a-js/sdk'
import { A2AError } from '@a2a-js/sdk/errors'
import { waitAtMost } from '../../../lib/work/wait-at-most.ts'
import { ModelFailure, type Round } from '../../models/model.ts'
import { AgentFailure } from '../../outcome.ts'
import { NotAnAnswer } from '../../providers/protocols/read-events.ts'
import type { RunInProgress } from '../../run-in-progress.ts'
import type { A2aRemote } from '../../spec.ts'
import { type AskedStep, type DoneStep, doneIn } from '../asked-step.ts'
import type { CallAgent, StepsReply } from '../remote-conversation.ts'
import type { RemoteEvent } from '../remote-exchange.ts'
import { type MessagePlace, messageNumber, messageOf, messageParts, textPart } from './a2a-message.ts'
import { openPeer, type Peer, type PeerWay } from './a2a-peer.ts'
import { failureIn, fromPeer, isPassing, peerError } from './peer-failure.ts'
import { TaskAnswer, TaskEnded, type TaskProgress } from './task-answer.ts'

type A2aCall = {
  remote: A2aRemote
  run: RunInProgress
  way: PeerWay
  /** The agent's conversation for the run's session. If empty, the agent starts one. */
  contextId: string
  /** Stores steps that must not be done twice. */
  take(steps: AskedStep[]): Promise<StepsReply>
}

/** What is stored about a task as soon as it is known. */
type TaskRecord = { task_id: string; context_id: string }

/** How often in a row an agent that works on a task can be unreachable. */
const MAX_LOST = 5
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
const CANCEL_WITHIN_MS = 5_000
/** How long an ended run waits to learn which task its message started, so it can cancel the task. */
const BEGIN_WITHIN_MS = 2_000
const MAX_QUESTION_CHARACTERS = 10_000
/** The text for a question that has none. */
const WANTS_WORDS = 'The agent needs an answer before it can continue.'

/** Thrown when the run leaves a call, because it waits for a person or has ended. The next call continues the task. */
class LeaveExchange extends Error {}

/** Calls an agent over A2A for one run: the run's message becomes a task there, which is followed until it ends. */
export class A2aExchange {
  readonly #call: A2aCall
  /** The task that the agent works on. */
  #open: { peer: Peer; task: TaskRecord } | undefined
  /** Whether a message was sent, or is about to be, while its task isn't known yet. */
  #isBeginning = false
  #conversing: Promise<void> = Promise.resolve()
  /** Ends the requests of the last call. */
  #hangUp = () => {}

  constructor(call: A2aCall) {
    this.#call = call
  }

  /** Resolves when the answer is complete, or when the run has left. */
  call: CallAgent = async (rounds, signal, hear) => {
    let hasSpoken = false
    const requests = new AbortController()
    const stopped = Promise.withResolvers<never>()
    this.#hangUp()
    this.#hangUp = () => requests.abort(signal.reason)
    const stop = () => {
      // If a message is on its way, `leave` decides whether to wait for its task.
      if (!this.#isBeginning) this.#hangUp()
      stopped.reject(signal.reason)
    }
    try {
      signal.throwIfAborted()
      signal.addEventListener('abort', stop)
      this.#conversing = this.#converse(rounds, requests.signal, (heard) => {
        hasSpoken ||= heard.kind === 'text'
        if (!signal.aborted) hear(heard)
      })
      await Promise.race([this.#conversing, stopped.promise])
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof LeaveExchange) return
      if (error instanceof TaskEnded) this.#open = undefined
      throw failureIn(error, this.#call.run.now, hasSpoken)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /**
   * Stops listening to the agent, and if the run has ended, cancels the task. A message that was just sent may have
   * started a task that isn't known yet. How the agent reacts makes no difference here.
   */
  async leave(isOver: boolean): Promise<void> {
    if (isOver && this.#isBeginning)
      await waitAtMost(
        this.#conversing.catch(() => {}),
        BEGIN_WITHIN_MS,
      )
    this.#hangUp()
    if (!isOver || !this.#open) return
    const { peer, task } = this.#open
    const signal = AbortSignal.timeout(CANCEL_WITHIN_MS)
    await peer.client.cancelTask({ tenant: '', id: task.task_id, metadata: undefined }, { signal }).catch(() => {})
  }

  async #converse(rounds: readonly Round[], signal: AbortSignal, hear: (heard: RemoteEvent) => void): Promise<void> {
    const { remote, run, way } = this.#call
    const wantsValue = run.output !== undefined
    const number = messageNumber(rounds)
    const kept = tasksIn(rounds)
    let task = kept.get(nameOf(number))
    const peer = await openPeer(remote, way, signal)
    if (task) this.#open = { peer, task }
    const answer = new TaskAnswer(hear, { said: wantsValue ? '' : run.left.response, wantsValue })
    const send = (parts: Part[], place: MessagePlace) =>
      peer.client.sendMessageStream(messageOf(parts, place, wantsValue), {
        signal,
        serviceParameters: { 'Idempotency-Key': place.messageId },
      })
    const begin = async () => {
      const contextId = kept.get(nameOf(number - 1))?.context_id ?? this.#call.contextId
      const parts = await messageParts(run, rounds)
      signal.throwIfAborted()
      this.#isBeginning = true
      return send(parts, { messageId: `${run.request_id}-${number}`, contextId, taskId: '' })
    }
    let events = task ? tellAgain(peer, task, signal) : await begin()
    const answered = new Set<string>()
    /** The key of the question whose answer was sent, while the reply is read. */
    let sentFor: string | undefined
    for (let pauses = 0, lost = 0; ; ) {
      let standing: TaskProgress = { kind: 'working' }
      try {
        for await (const event of fromPeer(events)) {
          this.#isBeginning = false
          task ??= await this.#keep(number, peer, event)
          standing = answer.take(event)
          // The agent may repeat its question once before it accepts the answer.
          if (standing.kind === 'asks' && answered.has(standing.key)) standing = { kind: 'working' }
          if (standing.kind !== 'asks') lost = 0
          if (standing.kind !== 'working') break
        }
      } catch (error) {
        lost += 1
        if (!task || lost > MAX_LOST || !isPassing(error) || signal.aborted) throw error
        // The agent may not have received the answer. If the task still asks, the answer is sent again with the same
        // ID.
        if (sentFor !== undefined) answered.delete(sentFor)
      } finally {
        this.#isBeginning = false
      }
      if (standing.kind === 'answered') {
        this.#open = undefined
        return answer.end()
      }
      // A reply without a task would be a complete answer, so this reply was empty.
      if (!task) throw new ModelFailure('The remote agent ended its answer early.', {}, { after_ms: undefined })
      if (standing.kind === 'asks') {
        const { id, words } = await this.#askPerson(standing)
        sentFor = standing.key
        answered.add(sentFor)
        const { task_id: taskId, context_id: contextId } = task
        events = send([textPart(words)], { messageId: `${run.request_id}-${id}`, contextId, taskId })
      } else {
        await sleep(Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS), undefined, { signal })
        pauses += 1
        sentFor = undefined
        events = tellAgain(peer, task, signal)
      }
    }
  }

  /** Stores the task. A later call continues it, and the message isn't sent again. */
  async #keep(number: number, peer: Peer, { payload }: StreamResponse): Promise<TaskRecord | undefined> {
    if (!payload || payload.$case === 'message') return undefined
    const { value } = payload
    const task_id = 'taskId' in value ? value.taskId : value.id
    if (task_id === '') throw new NotAnAnswer('a task without an id')
    const task = { task_id, context_id: value.contextId }
    this.#open = { peer, task }
    await this.#take({ type: 'keep', id: nameOf(number), value: task })
    return task
  }

  /** The question belongs to the task, so a run that resumes the task finds the person's answer. */
  async #askPerson({ question, key }: Extract<TaskProgress, { kind: 'asks' }>): Promise<{ id: string; words: string }> {
    const id = `question-${hash('sha256', key).slice(0, 16)}`
    const asked = (question || WANTS_WORDS).slice(0, MAX_QUESTION_CHARACTERS)
    const done = await this.#take({ type: 'ask_person', id, question: asked })
    if ('error' in done) throw new AgentFailure(`The remote agent asked a question: ${done.error}`)
    return { id, words: String(done.result) }
  }

  async #take(step: AskedStep): Promise<DoneStep> {
    const reply = await this.#call.take([step])
    const done = reply.status === 'done' ? reply.steps[0] : undefined
    if (!done) throw new LeaveExchange()
    return done
  }
}

/** Yields the task's state, and then its result if the agent reports one. */
async function* tellAgain({ client, streams }: Peer, { task_id: id }: TaskRecord, signal: AbortSignal) {
  const task = await client.getTask({ tenant: '', id, historyLength: 0 }, { signal })
  const told: StreamResponse = { payload: { $case: 'task', value: task } }
  yield told
  if (!streams) return
  try {
    yield* client.resubscribeTask({ tenant: '', id }, { signal })
  } catch (error) {
    // The task may have ended in between, so its state is requested again.
    if (!(peerError(error) instanceof A2AError)) throw error
  }
}

function nameOf(number: number): string {
  return `task-${number}`
}

function tasksIn(rounds: readonly Round[]): Map<string, TaskRecord> {
  return new Map(doneIn(rounds).flatMap((done) => ('result' in done ? [[done.id, done.result as TaskRecord]] : [])))
}
