import { shownAttachments } from '../attachments/run-files.ts'
import { filesOf } from '../attachments/shown-input.ts'
import type { CallStatus } from '../models/meter.ts'
import { type ModelAnswer, ModelFailure, namesOf, PromptTooLong, type Round, splitModelName } from '../models/model.ts'
import { type Model, type ModelPrompt, type ModelRequest, maxOutputTokens } from '../models/model-request.ts'
import { addCosts, addTokens, tokensSince } from '../models/usage.ts'
import { AgentFailure } from '../outcome.ts'
import { OutputInvalid } from '../output/check-output.ts'
import type { WantedOutput } from '../output/wanted-output.ts'
import { type FittedPrompt, fitPrompt, sparedTokens, usable } from '../prompt/fit-prompt.ts'
import { tracedAnswer, tracedPrompt } from '../prompt/traced-prompt.ts'
import { withRetries } from '../providers/retry.ts'
import { type RunInProgress, type RunOutput, RunStopped } from '../run-in-progress.ts'
import type { ModelInput } from '../run-input.ts'
import type { PassedOver } from '../steps.ts'
import { beginChat, callTrace, failureType, usageAttributes } from '../trace-steps.ts'

export const MAX_RESPONSE_CHARACTERS = 1024 * 1024

const NOTHING = { turns: 0, memories: 0 }

/** The answer, the model that gave it, and the models before it that couldn't answer. */
export type AnsweredBy = { answer: ModelAnswer; model: string; passed_over: PassedOver[] }

type NamedModel = Model & { name: string }

/** What a model is shown besides the prompt, and whether it must answer with JSON. */
export type AnswerRequest = { rounds: Round[]; wanted: WantedOutput | undefined }

/**
 * Asks the agent's models in order. The next model is asked only before the first word, and only after a temporary
 * failure. A request that one model refuses as invalid would be refused by another too, or answered differently from
 * what was meant.
 */
export async function askModel(run: RunInProgress, asking: AnswerRequest): Promise<AnsweredBy> {
  const said = run.left.response.length
  const names = namesOf(run.input.agent.model)
  const passed_over: PassedOver[] = []
  for (const [index, name] of names.entries()) {
    try {
      const model = { ...(await run.getModel(name)), name }
      return { answer: await askOne(run, model, asking), model: name, passed_over }
    } catch (error) {
      const next = names[index + 1]
      const isPassing = error instanceof ModelFailure && error.retry !== undefined
      if (next === undefined || !isPassing || run.left.response.length > said || run.deadline.stopped) throw error
      run.log('warn', `${error.message} Trying ${next} instead.`, error.detail)
      passed_over.push({ model: name, error: error.message })
    }
  }
  throw new AgentFailure('The agent has no model.')
}

/** How a model is asked. If the model refuses a part of this, the part is changed and the model is asked again. */
type ModelAttempt = {
  /** What the model is shown, shortened to fit. */
  input: ModelInput
  showsImages: boolean
  /** Whether the prompt describes the answer's schema in words. */
  inWords: boolean
  /** How many tokens the prompt can have, and whether the model refused a longer one. */
  tokens: number
  isShortened: boolean
}

async function askOne(run: RunInProgress, model: NamedModel, { rounds, wanted }: AnswerRequest): Promise<ModelAnswer> {
  if (run.output && model.noOutput) throw new OutputInvalid(model.noOutput, [{ at: '', problem: model.noOutput }])
  const { windows, deadline, log, output } = run
  const showsImages = hasFiles(run.input, rounds)
  const input = showsImages ? await run.files.show(model, run.input, rounds, deadline.signal) : run.input
  const inWords = output?.support.takes(model.name) === false
  let asking: ModelAttempt = { input, showsImages, inWords, ...unshortened(run, model) }
  const say = output ? draftingIn(run, output, { isTold: wanted !== undefined }) : sayingIn(run)
  for (;;) {
    const asked = wanted && output && { schema: wanted.schema, inWords: asking.inWords }
    const prompt = { input: asking.input, rounds, tools: run.toolbox.definitions, output: asked }
    const fitted = fitPrompt(prompt, model, asking.tokens)
    noteLeftOut(run, fitted, asking.tokens)
    if (prompt.input.attachments) run.left.attachments = shownAttachments(fitted.input)
    try {
      // Each try is one request to the provider.
      const attempt = () => askMetered(run, model, { ...prompt, ...fitted }, say)
      const answer = await withRetries(attempt, { deadline, log, delayMs: run.retryDelayMs })
      if (asking.isShortened) windows.learn(model.name, asking.tokens)
      return answer
    } catch (error) {
      if (!(error instanceof ModelFailure) || deadline.stopped) throw error
      const again =
        shorter(run, asking, error, { ...fitted, rounds }) ??
        (asked && toldInWords(run, model, asking, error)) ??
        (await withoutImages(run, model, asking, error, rounds))
      if (!again) throw error
      asking = again
    }
  }
}

function unshortened({ windows, input }: RunInProgress, model: NamedModel) {
  return { tokens: windows.budget(model.name, input.agent, model), isShortened: false }
}

/**
 * Shortens a prompt that was refused as too long: first the history, then the texts of files. Undefined if only the
 * message is left.
 */
function shorter(
  { log, input: { agent } }: RunInProgress,
  asking: ModelAttempt,
  error: ModelFailure,
  { input, ready, rounds }: FittedPrompt & { rounds: readonly Round[] },
): ModelAttempt | undefined {
  const spared = error instanceof PromptTooLong ? sparedTokens({ input, rounds }) : 0
  if (!(error instanceof PromptTooLong) || spared === 0) return undefined
  const told = error.max_tokens === undefined ? Infinity : usable(error.max_tokens, agent.limits)
  // If the provider reports no limit, removes half of what can be left out.
  const tokens = told < ready.tokens ? told : ready.tokens - spared / 2
  log('warn', `${error.message} Trying again with a shorter prompt.`, error.detail)
  return { ...asking, tokens, isShortened: true }
}

/** Whether requests to a provider contain the schema of the answer. */
const SCHEMA_FIELDS = new Set(['response_format', 'output_config'])

/** If the provider refused the schema of the answer, the prompt describes it in words. */
function toldInWords(
  run: RunInProgress,
  model: NamedModel,
  asking: ModelAttempt,
  error: ModelFailure,
): ModelAttempt | undefined {
  if (asking.inWords || !SCHEMA_FIELDS.has(error.refused ?? '')) return undefined
  run.output?.support.refused(model.name)
  run.log('warn', `${error.message} Trying again with the schema described in the prompt.`, error.detail)
  return { ...asking, inWords: true, ...unshortened(run, model) }
}

/** If the model refused images, the prompt names them in words. */
async function withoutImages(
  run: RunInProgress,
  model: NamedModel,
  asking: ModelAttempt,
  error: ModelFailure,
  rounds: readonly Round[],
): Promise<ModelAttempt | undefined> {
  if (!asking.showsImages || !error.refusedImages) return undefined
  run.files.refused(model.name, `${model.name} refused the image`, error.refusedImages === 'all')
  run.log('warn', `${error.message} Trying again without images.`)
  const input = await run.files.show(model, run.input, rounds, run.deadline.signal)
  return { ...asking, input, showsImages: false, ...unshortened(run, model) }
}

/** Whether anything in the prompt has files. */
function hasFiles({ attachments, history }: ModelInput, rounds: readonly Round[]): boolean {
  if (attachments?.length) return true
  return history.some((turn) => turn.attachments?.length) || rounds.some((round) => filesOf(round).length > 0)
}

/** Logs what was left out of the prompt, once, and again if more is left out later. */
function noteLeftOut(run: RunInProgress, { left_out }: FittedPrompt, tokens: number): void {
  const before = run.left_out ?? NOTHING
  run.left_out = left_out
  const { turns, memories } = left_out ?? NOTHING
  if (turns + memories <= before.turns + before.memories) return
  const message = `The prompt would be too long. Left out: ${turns} older turns, ${memories} memories`
  run.log('info', message, { turns, memories, max_input_tokens: Math.floor(tokens) })
}

function sayingIn(run: RunInProgress): (text: string) => void {
  const start = run.left.response.length
  // The response is all deltas joined together, so the separator between two answers must be part of a delta.
  return (text) => sayIn(run, start > 0 && run.left.response.length === start ? `\n\n${text}` : text)
}

export function sayIn({ left, emit }: Pick<RunInProgress, 'left' | 'emit'>, delta: string): void {
  if (left.response.length + delta.length > MAX_RESPONSE_CHARACTERS) throw new AgentFailure('The answer is too long.')
  left.response += delta
  emit?.({ type: 'delta', text: delta })
}

/**
 * Tells followers about an answer while it is written, although it isn't the response until it has been checked. It
 * continues `draft`, the part of the same answer that was already sent.
 */
export function draftingIn(
  { left, emit }: RunInProgress,
  output: RunOutput,
  { isTold, draft = '' }: { isTold: boolean; draft?: string },
): (text: string) => void {
  const answer = 1 + left.steps.filter(({ kind }) => kind === 'model').length
  output.draft = draft
  let at = 0
  return (text) => {
    if (output.draft.length + text.length > MAX_RESPONSE_CHARACTERS) throw new AgentFailure('The answer is too long.')
    output.draft += text
    if (isTold) emit?.({ type: 'output.delta', text: output.draft.slice(at), answer, at })
    at = output.draft.length
  }
}

/** Makes one request to the provider. Its usage is counted no matter how it ends. */
async function askMetered(
  run: RunInProgress,
  model: NamedModel,
  prompt: ModelPrompt & FittedPrompt,
  say: ModelRequest['say'],
): Promise<ModelAnswer> {
  const { attempt, deadline, emit, left, log, meter } = run
  const { ready } = prompt
  const planned = maxOutputTokens(prompt.input)
  const begun = await meter.begin({
    model: model.name,
    attempt,
    step: left.steps.length,
    mostInputTokens: () => ready.most_tokens,
    max_output_tokens: planned,
    may_cut: run.input.agent.limits.cut_to_budget === true,
    signal: () => deadline.signal,
  })
  const span = run.span && beginChat(run.span, run.input, model)
  if (span?.showsContent) span.set(tracedPrompt(prompt, ready.instruction?.() ?? ''))
  const before = left.usage
  const end = (status: CallStatus) => {
    const tokens = tokensSince(before, left.usage)
    const cost = begun.end(status, tokens)
    left.cost_nano = addCosts(left.cost_nano, cost)
    run.step_cost = addCosts(run.step_cost, cost)
    span?.set(usageAttributes(tokens))
  }
  try {
    // The run may have been stopped while the call waited for its turn. Then nothing was sent, so the call costs
    // nothing.
    if (deadline.stopped) throw new RunStopped()
    const max_output_tokens = begun.max_output_tokens ?? planned
    const answer = await ready.answer({
      openFile: (file_id) => run.files.open(file_id),
      deadline,
      say,
      spend(tokens) {
        left.usage = addTokens(left.usage, tokens)
      },
      max_output_tokens,
      streaming: emit !== undefined,
      log,
      ...(span && { trace: callTrace(span) }),
    })
    end('completed')
    span?.set({
      'gen_ai.response.finish_reasons': [answer.calls.length > 0 ? 'tool_calls' : answer.finish],
      'gen_ai.response.model': answer.model ?? splitModelName(model.name).id,
    })
    if (span?.showsContent) span.set(tracedAnswer(answer))
    span?.end()
    return answer
  } catch (error) {
    end(deadline.stopped === 'cancelled' ? 'cancelled' : 'failed')
    span?.end(failureType(error))
    throw error
  }
}
