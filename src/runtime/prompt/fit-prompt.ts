import { cutToBytes } from '../../lib/text/text.ts'
import { pagesOf } from '../attachments/attachment.ts'
import { cutTexts, shownWith } from '../attachments/shown-input.ts'
import type { GivenTurn } from '../given.ts'
import type { Round, ToolDefinition } from '../models/model.ts'
import type { ModelInput, Recalled } from '../run-input.ts'
import { shownMemories, shownSummary, shownTurns } from './build-prompt.ts'

/** Close enough in most languages, and fast. */
const BYTES_PER_TOKEN = 4
/** Added for the role of a turn, the date of a memory and the separators. */
const WRAPPING_TOKENS = 16
/** A turn is left out if it could keep less than this. */
const SHORTEST_CUT_TOKENS = 64
const CUT_MARK = ' […]'
/** What an image takes, about, and how much of the free room the texts of attachments may take. */
const IMAGE_TOKENS = 1_600
const ATTACHED_SHARE = 0.75

/** The input with as much of the history, its summary and the memories as fits. */
export type FittedPrompt = {
  input: ModelInput
  /** The whole prompt, estimated. */
  tokens: number
  /** The history, its summary and the memories in it, which could still be left out. */
  optional: number
  left_out: LeftOut | undefined
}

/** What did not fit: turns and memories that are not shown, and turns of which a part is shown. */
export type LeftOut = {
  turns: number
  memories: number
  shortened: number
  /** The tokens that were free for the history, its summary and the memories: the same room gives the same prompt. */
  room: number
}

type Fixed = { rounds: readonly Round[]; tools: readonly ToolDefinition[]; schema?: object | undefined }

/** Leaves out the oldest turns and the least fitting memories. Instructions, message and context stay whole. */
export function fitPrompt(input: ModelInput, fixed: Fixed, budget: number): FittedPrompt {
  const without = tokensOfFixed(input, fixed)
  const shown = input.shown ? fitAttachments(input, budget - without) : input
  const needed = without + tokensOfAttachments(shown)
  const fitted = fitIntoRoom(shown, Math.max(0, budget - needed))
  return { ...fitted, tokens: needed + fitted.optional }
}

export function fitIntoRoom(input: ModelInput, room: number): Omit<FittedPrompt, 'tokens'> {
  const turns = shownTurns(input)
  const memories = shownMemories(input)
  const summary = summaryOf(input)
  const all = sum(turns) + sum(memories) + sum(summary)
  if (all <= room) return { input, optional: all, left_out: undefined }

  // The summary stands for the turns that are left out, so it is the last to go.
  const kept = latestWithin(summary, room / 2)
  const free = room - sum(kept)
  // Memories get the room that the history leaves, and a quarter in any case.
  const recalled = bestWithin(memories, Math.max(free / 4, free - sum(turns)))
  const history = latestWithin(turns, free - sum(recalled))
  return {
    input: { ...input, history, recalled, summary: kept[0]?.content },
    optional: sum(history) + sum(recalled) + sum(kept),
    left_out: {
      turns: turns.length - history.length,
      memories: memories.length - recalled.length,
      shortened: history.filter((turn) => !turns.includes(turn)).length,
      room,
    },
  }
}

/** The texts of the message's attachments get the room that is left, but for what the latest turns need. */
function fitAttachments(input: ModelInput, room: number): ModelInput {
  const { attachments = [], files = new Map() } = input
  if (tokensOfAttachments(input) <= room) return input
  const bytes = Math.max(0, Math.floor(room * ATTACHED_SHARE * BYTES_PER_TOKEN))
  const cut = cutTexts(attachments, files, bytes)
  return { ...input, files: cut, shown: shownWith(attachments, cut) }
}

function tokensOfAttachments({ shown, files }: ModelInput): number {
  if (!shown) return 0
  const texts = shown.texts.reduce((tokens, text) => tokens + tokensOf(text), 0)
  return shown.images.reduce((tokens, { file_id }) => tokens + IMAGE_TOKENS * pagesOf(files?.get(file_id)), texts)
}

function summaryOf(input: ModelInput): GivenTurn[] {
  const content = shownSummary(input)
  return content === undefined ? [] : [{ role: 'user', content }]
}

function tokensOfFixed({ agent, message, context, given }: ModelInput, { rounds, tools, schema }: Fixed): number {
  const parts = [
    agent.instructions ?? '',
    given?.instructions ?? '',
    message,
    JSON.stringify(context),
    JSON.stringify(tools),
    schema ? JSON.stringify(schema) : '',
  ]
  for (const { native, text, calls, results, told = '' } of rounds) {
    parts.push(JSON.stringify([native ?? [text, calls], results]), told)
  }
  return parts.reduce((tokens, part) => tokens + tokensOf(part), 0)
}

function bestWithin(memories: readonly Recalled[], room: number): Recalled[] {
  let used = 0
  return memories.filter((memory) => {
    const fits = used + sum([memory]) <= room
    if (fits) used += sum([memory])
    return fits
  })
}

/** A turn that alone would take more than half of the room is cut. */
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

type Measured = { content: string; rounds?: readonly Round[]; images?: readonly unknown[] }

function sum(texts: readonly Measured[]): number {
  return texts.reduce(
    (tokens, { content, rounds, images = [] }) =>
      tokens + tokensOf(content) + WRAPPING_TOKENS + tokensOfRounds(rounds) + images.length * IMAGE_TOKENS,
    0,
  )
}

function tokensOfRounds(rounds: readonly Round[] | undefined): number {
  return rounds ? tokensOf(JSON.stringify(rounds)) : 0
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
