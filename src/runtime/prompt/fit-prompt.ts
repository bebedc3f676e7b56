import { cutToBytes } from '../../lib/text/text.ts'
import type { GivenTurn } from '../given.ts'
import type { Round, ToolDefinition } from '../models/model.ts'
import type { Recalled, RunInput } from '../run-input.ts'
import { shownMemories, shownSummary, shownTurns } from './build-prompt.ts'

/** Close enough in most languages, and fast. */
const BYTES_PER_TOKEN = 4
/** Added for the role of a turn, the date of a memory and the separators. */
const WRAPPING_TOKENS = 16
/** A turn is left out if it could keep less than this. */
const SHORTEST_CUT_TOKENS = 64
const CUT_MARK = ' […]'

/** The input with as much of the history, its summary and the memories as fits. */
export type FittedPrompt = {
  input: RunInput
  /** The whole prompt, estimated. */
  tokens: number
  /** The history, its summary and the memories in it, which could still be left out. */
  optional: number
  left_out: { turns: number; memories: number }
}

type Fixed = { rounds: readonly Round[]; tools: readonly ToolDefinition[] }

/** Leaves out the oldest turns and the least fitting memories. Instructions, message and context stay whole. */
export function fitPrompt(input: RunInput, fixed: Fixed, budget: number): FittedPrompt {
  const turns = shownTurns(input)
  const memories = shownMemories(input)
  const summary = summaryOf(input)
  const needed = tokensOfFixed(input, fixed)
  const all = sum(turns) + sum(memories) + sum(summary)
  if (needed + all <= budget) return { input, tokens: needed + all, optional: all, left_out: { turns: 0, memories: 0 } }

  const whole = Math.max(0, budget - needed)
  // The summary stands for the turns that are left out, so it is the last to go.
  const kept = latestWithin(summary, whole / 2)
  const room = whole - sum(kept)
  // Memories get the room that the history leaves, and a quarter in any case.
  const recalled = bestWithin(memories, Math.max(room / 4, room - sum(turns)))
  const history = latestWithin(turns, room - sum(recalled))
  const optional = sum(history) + sum(recalled) + sum(kept)
  return {
    input: { ...input, history, recalled, summary: kept[0]?.content },
    tokens: needed + optional,
    optional,
    left_out: { turns: turns.length - history.length, memories: memories.length - recalled.length },
  }
}

function summaryOf(input: RunInput): GivenTurn[] {
  const content = shownSummary(input)
  return content === undefined ? [] : [{ role: 'user', content }]
}

function tokensOfFixed({ agent, message, context, given }: RunInput, { rounds, tools }: Fixed): number {
  const parts = [
    agent.instructions ?? '',
    given?.instructions ?? '',
    message,
    JSON.stringify(context),
    JSON.stringify(tools),
  ]
  for (const { native, text, calls, results } of rounds) parts.push(JSON.stringify([native ?? [text, calls], results]))
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

function sum(texts: readonly { content: string; rounds?: readonly Round[] }[]): number {
  return texts.reduce((tokens, text) => tokens + tokensOf(text.content) + WRAPPING_TOKENS + tokensOfRounds(text), 0)
}

function tokensOfRounds({ rounds }: { rounds?: readonly Round[] }): number {
  return rounds ? tokensOf(JSON.stringify(rounds)) : 0
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
