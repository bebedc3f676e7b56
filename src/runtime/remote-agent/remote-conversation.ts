import { type AnsweredBy, type AnswerRequest, draftingIn, sayIn } from '../conversation/ask-model.ts'
import { ModelFailure, type Round, type ToolCall } from '../models/model.ts'
import { addCosts, addTokens } from '../models/usage.ts'
import { AgentFailure } from '../outcome.ts'
import { withRetries } from '../providers/retry.ts'
import { type RunInProgress, RunStopped } from '../run-in-progress.ts'
import { type AskedStep, callOf, type DoneStep, doneStep, KEEP } from './asked-step.ts'
import type { RemoteEvent } from './remote-exchange.ts'

/** The reply to a remote agent's request for steps. */
export type StepsReply =
  | { status: 'done'; steps: DoneStep[] }
  /** The run continues later and then calls the agent again with all its steps. This call is over. */
  | { status: 'waiting' | 'over' }

/** A step with this ID was requested before, but it was of a different kind. */
export class OtherStep extends Error {}

/** Calls the agent. Resolves when its reply has ended. */
export type CallAgent = (
  rounds: readonly Round[],
  signal: AbortSignal,
  hear: (heard: RemoteEvent) => void,
) => Promise<void>

/** A call in progress, the events that it has sent and that weren't read yet, and how it ended. */
type OpenExchange = {
  queue: RemoteEvent[]
  ended: boolean
  error?: unknown
  stop: AbortController
}

/**
 * The most log entries of one attempt, because a program may never stop sending them and the receipt stores them all.
 */
const MOST_LOGS = 1_000
const MOST_SPENDINGS = 1_000
/** More than any model uses during a run. The limit keeps a project's total exact. */
const MOST_SPENT_TOKENS = 1_000_000_000
/** The limit for the arguments and results of all steps together, because each call sends all of them to the agent. */
const MOST_IN_STEPS = 16 * 1024 * 1024

/** How long a reply can take to end after its answer is complete. */
const REPLY_ENDS_MS = 500

type WaitingSteps = { calls: ToolCall[]; steps: readonly AskedStep[]; reply: PromiseWithResolvers<StepsReply> }

/**
 * A run whose answers come from elsewhere. Each time it is asked, it answers as a model does: with text and the steps
 * that the agent requests, or without steps when the agent has finished. The agent requests steps separately (`take`)
 * while its call is open, and gets the results as the reply.
 */
export class RemoteConversation {
  readonly #run: RunInProgress
  readonly #call: CallAgent
  /** All steps so far that have a result, by ID. */
  readonly #done = new Map<string, { name: string; done: DoneStep }>()
  #open: OpenExchange | undefined
  /** The steps that the agent has requested and that have no reply yet. */
  #waiting: WaitingSteps | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #wake: (() => void) | undefined
  #isOver = false
  #logs = 0
  #spendings = 0
  #spentTokens = 0
  #inSteps = 0

  constructor(run: RunInProgress, call: CallAgent) {
    this.#run = run
    this.#call = call
  }

  /** Takes a request for steps. Steps of one request are done in parallel, after those of earlier requests. */
  take(steps: readonly AskedStep[]): Promise<StepsReply> {
    const taken = this.#turn.then(() => this.#take(steps))
    this.#turn = taken.catch(() => {})
    return taken
  }

  #take(steps: readonly AskedStep[]): Promise<StepsReply> | StepsReply {
    const calls: ToolCall[] = []
    for (const step of steps) {
      const call = callOf(step, this.#run.now())
      const known = this.#done.get(step.id)
      if (!known) calls.push(call)
      else if (known.name !== call.name)
        throw new OtherStep(`the step ${step.id} was a ${known.name} step in an earlier call`)
    }
    if (calls.length === 0) return this.#replyTo(steps)
    if (this.#isOver || !this.#open) return { status: 'over' }
    this.#waiting = { calls, steps, reply: Promise.withResolvers() }
    this.#wake?.()
    return this.#waiting.reply.promise
  }

  #replyTo(steps: readonly AskedStep[]): StepsReply {
    return { status: 'done', steps: steps.flatMap(({ id }) => this.#done.get(id)?.done ?? []) }
  }

  /** The agent's next answer. */
  ask = async ({ rounds }: AnswerRequest): Promise<AnsweredBy & { isAsked: boolean; isRepeatable: boolean }> => {
    this.#learn(rounds)
    const { deadline, log, retryDelayMs: delayMs, left } = this.#run
    const said = left.response.length
    const calls = await withRetries(() => this.#next(rounds), { deadline, log, delayMs }).catch((error) => {
      throw this.#laterInstead(error, said)
    })
    const isRepeatable = calls.every(({ name }) => name === KEEP)
    const answer = { calls, finish: 'stop' as const }
    return { answer, model: REMOTE, passed_over: [], isAsked: calls.length === 0, isRepeatable }
  }

  /** Ends the conversation here: the run is over, or continues elsewhere. */
  leave(status: 'waiting' | 'over'): void {
    this.#isOver = true
    this.#waiting?.reply.resolve({ status })
    this.#waiting = undefined
    if (this.#open) this.#close(this.#open)
  }

  /**
   * Ends a call. If its reply may still end by itself, the reply gets a moment to do so, because then the next call can
   * reuse the connection.
   */
  #close(open: OpenExchange, moment_ms = 0): void {
    if (this.#open === open) this.#open = undefined
    if (open.ended) return
    if (moment_ms === 0) open.stop.abort()
    else setTimeout(() => open.stop.abort(), moment_ms).unref()
  }

  /** Records the results of the requested steps and sends them to the agent. */
  #learn(rounds: readonly Round[]): void {
    for (const { calls, results } of rounds) {
      for (const [index, call] of calls.entries()) {
        const result = results[index]
        if (result && !this.#done.has(call.id)) {
          this.#done.set(call.id, { name: call.name, done: doneStep(call, result) })
          this.#inSteps += call.arguments.length + ('error' in result ? result.error : result.result).length
        }
      }
    }
    if (this.#inSteps > MOST_IN_STEPS) {
      throw new AgentFailure(`The run's steps exceed ${MOST_IN_STEPS / 1024 ** 2} MiB in total.`)
    }
    if (!this.#waiting) return
    const { reply, steps } = this.#waiting
    this.#waiting = undefined
    reply.resolve(this.#replyTo(steps))
  }

  /**
   * Waits until the agent requests steps or has finished. A call that failed before anything was taken from it is
   * repeated.
   */
  async #next(rounds: readonly Round[]): Promise<ToolCall[]> {
    const { left, emit } = this.#run
    const said = left.response.length
    const open = (this.#open ??= this.#start(rounds))
    const take = this.#taker()
    try {
      for (;;) {
        if (this.#run.deadline.stopped) throw new RunStopped()
        for (let heard = open.queue.shift(); heard; heard = open.queue.shift()) {
          if (heard.kind === 'usage') await this.#spend(heard)
          else take(heard)
          if (heard.kind === 'done') {
            this.#close(open, REPLY_ENDS_MS)
            return []
          }
        }
        if (this.#waiting) return this.#waiting.calls
        if (open.ended) throw open.error ?? new RunStopped()
        await new Promise<void>((wake) => (this.#wake = wake))
      }
    } catch (error) {
      this.#close(open)
      if (!(error instanceof ModelFailure)) throw error
      // No client has read this text, so the agent can send it again. Its steps are stored.
      const isAgain = !emit || left.response.length === said
      if (isAgain) left.response = left.response.slice(0, said)
      throw new ModelFailure(error.message, error.detail, isAgain ? error.retry : undefined)
    } finally {
      this.#wake = undefined
    }
  }

  /**
   * If an answer breaks off after followers have read a part, the agent can't repeat it in this attempt. A run that can
   * wait continues in the next attempt, and clients that follow the run see that it starts over.
   */
  #laterInstead(error: unknown, said: number): unknown {
    const { keeper, left, retryDelayMs: after_ms } = this.#run
    const isHalfSaid = error instanceof ModelFailure && left.response.length > said
    if (!isHalfSaid || !keeper?.mayWait) return error
    left.response = left.response.slice(0, said)
    return new ModelFailure(error.message, error.detail, { after_ms })
  }

  #start(rounds: readonly Round[]): OpenExchange {
    const { deadline, output } = this.#run
    const { signal } = deadline
    // The text before a step and after it is one answer. A new call starts a new answer.
    if (output) output.draft = ''
    const open: OpenExchange = { queue: [], ended: false, stop: new AbortController() }
    const hear = (heard: RemoteEvent) => {
      open.queue.push(heard)
      this.#wake?.()
    }
    const end = (error?: unknown) => {
      signal.removeEventListener('abort', stop)
      open.ended = true
      open.error = error
      this.#wake?.()
    }
    // AbortSignal.any would do the same, and takes three times as long.
    const stop = () => open.stop.abort(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    open.stop.signal.addEventListener('abort', () => this.#wake?.(), { once: true })
    this.#call(rounds, open.stop.signal, hear).then(() => end(), end)
    return open
  }

  /** Returns a function that takes what has arrived, except for usage. */
  #taker(): (heard: RemoteEvent) => void {
    const run = this.#run
    const { output } = run
    const say = output
      ? draftingIn(run, output, { isTold: true, draft: output.draft })
      : (text: string) => sayIn(run, text)
    return (heard) => {
      if (heard.kind === 'text') say(heard.text)
      if (heard.kind === 'log') this.#note(heard)
      if (heard.kind === 'done' && output && heard.output) output.draft = JSON.stringify(heard.output.value)
    }
  }

  #note({ level, message }: Extract<RemoteEvent, { kind: 'log' }>): void {
    const { log } = this.#run
    this.#logs += 1
    if (this.#logs <= MOST_LOGS) log(level, message)
    if (this.#logs === MOST_LOGS + 1)
      log('warn', `The agent wrote more than ${MOST_LOGS} log entries. The rest is left out.`)
  }

  async #spend(spent: Extract<RemoteEvent, { kind: 'usage' }>): Promise<void> {
    this.#spendings += 1
    if (this.#spendings > MOST_SPENDINGS) {
      throw new AgentFailure(`The remote agent reported usage more than ${MOST_SPENDINGS} times.`)
    }
    this.#spentTokens += spent.input_tokens + spent.output_tokens
    if (this.#spentTokens > MOST_SPENT_TOKENS) {
      throw new AgentFailure(`The remote agent reported usage of more than ${MOST_SPENT_TOKENS} tokens.`)
    }
    await spend(this.#run, spent)
  }
}

/** The model's name in receipts for answers of remote agents. */
const REMOTE = 'remote'

/** Records what the agent says it has spent. A budget can refuse only what comes afterwards. */
async function spend(run: RunInProgress, { model, ...tokens }: Extract<RemoteEvent, { kind: 'usage' }>): Promise<void> {
  const { attempt, left, meter } = run
  const { input_tokens, output_tokens } = tokens
  const call = { model: pricedName(model), attempt, step: left.steps.length }
  const cost = await meter.record({ ...call, tokens: { input_tokens, output_tokens } })
  left.usage = addTokens(left.usage, tokens)
  left.cost_nano = addCosts(left.cost_nano, cost)
  run.step_cost = addCosts(run.step_cost, cost)
}

/** Prices belong to a provider's model, so a model that is named without a provider gets the provider `remote`. */
function pricedName(model: string | undefined): string {
  if (model === undefined) return REMOTE
  return model.includes('/') ? model : `${REMOTE}/${model}`
}
