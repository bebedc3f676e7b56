import { LRUCache } from 'lru-cache'
import { cutToBytes } from '../../lib/text/text.ts'
import type { Attachment } from '../attachments/attachment.ts'
import { bytesOfTexts, cutTexts, filesOf, shownWith } from '../attachments/shown-input.ts'
import type { GivenTurn } from '../given.ts'
import type { Round } from '../models/model.ts'
import type { Model, ModelPrompt, ReadyPrompt } from '../models/model-request.ts'
import type { ModelInput, RecalledMemory } from '../run-input.ts'
import type { AgentSpec } from '../spec.ts'
import { shownMemories, shownSummary, shownTurns } from './build-prompt.ts'
import { BYTES_PER_TOKEN, likelyTokens } from './prompt-tokens.ts'

/** The least number of tokens that surround a turn or a memory. */
const WRAPPING_TOKENS = 7
/** If less than this much of a turn would remain, the turn is left out. */
const SHORTEST_CUT_TOKENS = 64
const CUT_MARK = ' […]'
/** The share of the free room that files' texts can take. */
const ATTACHED_SHARE = 0.75

/** The input with as much of the history, its summary and the memories as fits. */
export type FittedInput = { input: ModelInput; left_out: Omissions | undefined }

/** The same, with the prompt ready to be sent. */
export type FittedPrompt = FittedInput & { ready: ReadyPrompt }

/** What didn't fit: the number of turns and memories that are left out, and of turns that are cut. */
export type Omissions = {
  turns: number
  memories: number
  shortened: number
  /**
   * The number of tokens that were free for the history, its summary and the memories. The same room always results in
   * the same prompt.
   */
  room: number
}

/**
 * Leaves out the oldest turns and the least relevant memories. Instructions, message and context stay whole. A prompt
 * of several megabytes takes 20 ms to write, so it is written no more often than needed.
 */
export function fitPrompt(prompt: ModelPrompt, model: Pick<Model, 'prepare'>, budget: number): FittedPrompt {
  const prepare = (input: ModelInput) => model.prepare({ ...prompt, input })
  const isTooLong = prompt.rounds.length > 0 && resultTokens(prompt.rounds) > budget
  const asIs = isTooLong ? undefined : model.prepare(prompt)
  if (asIs && asIs.tokens <= budget) return { input: prompt.input, ready: asIs, left_out: undefined }
  const prepareFixed = (input: ModelInput): Measure => ({ input, ready: prepare({ ...input, ...NOTHING_OPTIONAL }) })
  const asked = prepareFixed(prompt.input)
  const { input: whole, ready: least } =
    asked.ready.tokens > budget ? withCutFiles(prompt, budget, asked, prepareFixed) : asked
  // Even without everything that can be left out, the prompt doesn't fit.
  if (least.tokens >= budget) return { ...fitIntoRoom(whole, 0), ready: least }
  let ready = asIs && whole === prompt.input ? asIs : prepare(whole)
  const fixed = least.tokens
  let fitted: FittedInput = { input: whole, left_out: undefined }
  // The size of what can be left out is estimated turn by turn, so the result is measured again. The room shrinks each
  // time.
  for (let optional; ready.tokens > budget && (optional = optionalTokens(fitted.input)) > 0; ) {
    const share = (budget - fixed) / (ready.tokens - fixed)
    fitted = fitIntoRoom(whole, optional * share)
    ready = prepare(fitted.input)
  }
  return { ...fitted, ready }
}

/** An input, and its prompt without anything that can be left out. */
type Measure = { input: ModelInput; ready: ReadyPrompt }

/**
 * The least tokens that the tools' results take. Results aren't cut, so if they exceed the budget, no prompt fits as it
 * is.
 */
function resultTokens(rounds: readonly Round[]): number {
  const results = rounds.flatMap((round) => round.results)
  const bytes = results.reduce((length, one) => length + (one && 'result' in one ? one.result.length : 0), 0)
  return likelyTokens({ bytes, images: 0 })
}

const NOTHING_OPTIONAL = { history: [], recalled: [], summary: undefined }

/** The tokens of the history, its summary and the memories, which can be left out. */
function optionalTokens(input: ModelInput): number {
  return sum(shownTurns(input)) + sum(shownMemories(input)) + sum(summaryOf(input))
}

/** The tokens that are left out first after a prompt was refused. Files' texts go only when nothing else is left. */
export function sparedTokens(prompt: Pick<ModelPrompt, 'input' | 'rounds'>): number {
  const { files = new Map() } = prompt.input
  const ofTexts = () => likelyTokens({ bytes: bytesOfTexts(filesIn(prompt), files), images: 0 })
  return optionalTokens(prompt.input) || ofTexts()
}

/** The files whose texts can be cut: those of the message, and those of tools. */
function filesIn({ input, rounds }: Pick<ModelPrompt, 'input' | 'rounds'>): Attachment[] {
  return [...(input.attachments ?? []), ...rounds.flatMap(filesOf)]
}

export function fitIntoRoom(input: ModelInput, room: number): FittedInput {
  const turns = shownTurns(input)
  const memories = shownMemories(input)
  const summary = summaryOf(input)
  if (optionalTokens(input) <= room) return { input, left_out: undefined }

  // The summary covers the turns that are left out, so it's cut last.
  const kept = latestWithin(summary, room / 2)
  const free = room - sum(kept)
  // Memories get the room that the history doesn't use, and always at least a quarter.
  const recalled = bestWithin(memories, Math.max(free / 4, free - sum(turns)))
  const history = latestWithin(turns, free - sum(recalled))
  return {
    input: { ...input, history, recalled, summary: kept[0]?.content },
    left_out: {
      turns: turns.length - history.length,
      memories: memories.length - recalled.length,
      shortened: history.filter((turn) => !turns.includes(turn)).length,
      room,
    },
  }
}

/** Cuts the texts of files so that some room is left for the latest turns. */
function withCutFiles(
  { input, rounds }: ModelPrompt,
  budget: number,
  asked: Measure,
  measure: (input: ModelInput) => Measure,
): Measure {
  const { attachments = [], files } = input
  if (!files) return asked
  const all = filesIn({ input, rounds })
  const cutTo = (bytes: number): ModelInput => {
    const cut = cutTexts(all, files, bytes)
    return { ...input, files: cut, ...(input.shown && { shown: shownWith(attachments, cut) }) }
  }
  const none = measure(cutTo(0))
  const bare = none.ready.tokens
  if (bare >= budget) return none
  const room = (budget - bare) * ATTACHED_SHARE
  let cut = asked
  // Quotes and line breaks take more room than letters, so the result is measured again. It shrinks each time.
  for (let bytes = bytesOfTexts(all, files); cut.ready.tokens > budget; ) {
    bytes = Math.floor((bytes * room) / (cut.ready.tokens - bare))
    cut = measure(cutTo(bytes))
  }
  return cut
}

function summaryOf(input: ModelInput): GivenTurn[] {
  const content = shownSummary(input)
  return content === undefined ? [] : [{ role: 'user', content }]
}

function bestWithin(memories: readonly RecalledMemory[], room: number): RecalledMemory[] {
  let used = 0
  return memories.filter((memory) => {
    const fits = used + sum([memory]) <= room
    if (fits) used += sum([memory])
    return fits
  })
}

/** The latest turns that fit. A turn that alone would take more than half of the room is cut. */
function latestWithin(turns: readonly GivenTurn[], room: number): GivenTurn[] {
  const kept: GivenTurn[] = []
  let used = 0
  for (const turn of turns.toReversed()) {
    const shown = shortened(turn, room / 2)
    used += sum([shown])
    if (used > room) break
    kept.push(shown)
  }
  return kept.toReversed()
}

function shortened(turn: GivenTurn, longest: number): GivenTurn {
  if (turn.rounds || sum([turn]) <= longest || longest < SHORTEST_CUT_TOKENS) return turn
  const bytes = Math.floor(longest - WRAPPING_TOKENS) * BYTES_PER_TOKEN - Buffer.byteLength(CUT_MARK)
  return { ...turn, content: cutToBytes(turn.content, bytes) + CUT_MARK }
}

type SizedText = { content: string; rounds?: readonly Round[]; images?: readonly unknown[] }

function sum(texts: readonly SizedText[]): number {
  return texts.reduce((tokens, { content, rounds, images = [] }) => {
    const bytes = Buffer.byteLength(content) + (rounds ? Buffer.byteLength(JSON.stringify(rounds)) : 0)
    return tokens + likelyTokens({ bytes, images: images.length }) + WRAPPING_TOKENS
  }, 0)
}

/** The limits that vendors publish for their models, in tokens. The first matching pattern applies. */
const KNOWN: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-5/, 272_000],
  [/^(?:gpt-4o|chatgpt-4o|gpt-4-turbo|o1-mini|o1-preview)/, 128_000],
  [/^o\d/, 200_000],
  [/^gpt-4/, 8_192],
  [/^gpt-3\.5/, 16_385],
]
const UNKNOWN_TOKENS = 128_000

/** Leaves a margin, because our token count is an estimate and the answer needs room too. */
const MARGIN = 0.9
const ANSWER_TOKENS = 4_096

const REMEMBERED_MS = 3_600_000
const REMEMBERED_MODELS = 256

/**
 * The longest prompt of each model, in tokens as we estimate them. A limit learned from a refusal is remembered for an
 * hour.
 */
export class ModelWindows {
  readonly #now: () => number
  readonly #learnt = new LRUCache<string, { tokens: number; until: number }>({ max: REMEMBERED_MODELS })

  constructor(now: () => number) {
    this.#now = now
  }

  /** The most tokens that the prompt can have. Infinity means no limit. */
  budget(model: string, { limits }: Pick<AgentSpec, 'limits'>, { isBuiltin }: Pick<Model, 'isBuiltin'>): number {
    const own = limits.max_input_tokens ?? (isBuiltin ? Infinity : usable(windowOf(model), limits))
    if (this.#learnt.size === 0) return own
    const learnt = this.#learnt.get(model)
    return learnt && learnt.until > this.#now() ? Math.min(own, learnt.tokens) : own
  }

  /** Records a limit: the model refused a longer prompt and accepted one of this length. */
  learn(model: string, tokens: number): void {
    this.#learnt.set(model, { tokens, until: this.#now() + REMEMBERED_MS })
  }
}

/** How much of a context window the prompt can take. */
export function usable(window: number, { max_output_tokens }: Pick<AgentSpec['limits'], 'max_output_tokens'>): number {
  return Math.floor((window - Math.min(max_output_tokens ?? ANSWER_TOKENS, window / 4)) * MARGIN)
}

/** Uses the last part of the name, because gateways add the vendor in front. */
function windowOf(model: string): number {
  const id = model.slice(model.lastIndexOf('/') + 1)
  return KNOWN.find(([family]) => family.test(id))?.[1] ?? UNKNOWN_TOKENS
}
