import type { ToolResult } from '../outcome.ts'
import type { ModelInput } from '../run-input.ts'
import { estimateTokens, type ModelAnswer } from './model.ts'
import type { Model, ModelPrompt, ModelRequest, ReadyPrompt } from './model-request.ts'

/** Answers with the message itself. */
export const echo: Model = {
  isBuiltin: true,
  noOutput: "builtin/echo repeats the message and can't answer with JSON. Choose another model, or builtin/script.",
  prepare: (prompt) => ready(prompt, async (request) => speak(prompt, request, prompt.input.message)),
}

/** Answers with the memories that it was given, or else with turns of the session that share words with the message. */
export const recall: Model = {
  isBuiltin: true,
  noOutput: "builtin/recall returns memories and can't answer with JSON. Choose another model, or builtin/script.",
  prepare: (prompt) => ready(prompt, async (request) => speak(prompt, request, rememberedAnswer(prompt.input))),
}

/** A built-in model counts the same tokens before and after it has answered. */
export function ready(prompt: ModelPrompt, answer: ReadyPrompt['answer']): ReadyPrompt {
  const tokens = inputTokens(prompt)
  return { tokens, most_tokens: tokens, answer }
}

/** Says a whole text word by word, and counts its tokens like a model. */
export function speak(prompt: ModelPrompt, request: ModelRequest, text: string): ModelAnswer {
  const maxTokens = request.max_output_tokens
  const cut = maxTokens !== null && text.length > maxTokens * 4
  const said = cut ? text.slice(0, maxTokens * 4).toWellFormed() : text
  if (request.streaming) for (const piece of piecesOf(said)) request.say(piece)
  else if (said !== '') request.say(said)
  request.spend({ input_tokens: inputTokens(prompt), output_tokens: estimateTokens(said.length) })
  return { calls: [], finish: cut ? 'length' : 'stop' }
}

export function inputTokens({ input, rounds }: ModelPrompt): number {
  let characters = input.message.length + (input.agent.instructions?.length ?? 0)
  characters += input.given?.instructions?.length ?? 0
  for (const turn of input.history) characters += turn.content.length
  for (const memory of input.recalled) characters += memory.content.length
  for (const { results } of rounds) {
    for (const result of results) characters += textOf(result).length
  }
  return estimateTokens(characters)
}

/** A tool call's result as the model reads it. */
export function textOf(result: ToolResult | null | undefined): string {
  if (!result) return ''
  return 'result' in result ? result.result : result.error
}

/** More pieces than this, sent at once, would delay other requests. */
const MOST_PIECES = 500

/** Single words, or several if the text is long. */
function* piecesOf(text: string): Generator<string> {
  const shortest = text.length / MOST_PIECES
  let piece = ''
  for (const [word] of text.matchAll(/\S+\s*|\s+/g)) {
    piece += word
    if (piece.length < shortest) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

function rememberedAnswer({ agent, message, history, recalled }: ModelInput): string {
  const memories = recalled.slice(0, Math.min(3, agent.memory.recall)).map((memory) => memory.content)
  const found = memories.length > 0 ? memories : relatedTurns(message, history)
  if (found.length === 0) return 'I remember nothing about that.'
  return `I remember:\n${found.map((content) => `- ${content}`).join('\n')}`
}

function relatedTurns(message: string, history: ModelInput['history']): string[] {
  const asked = significantWords(message)
  return history
    .map(({ content }, index) => ({ content, index, shared: overlap(asked, significantWords(content)) }))
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared || b.index - a.index)
    .slice(0, 3)
    .map(({ content }) => content)
}

/** Short words are mostly grammar. Words of four letters or more include names and things. */
function significantWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [])
}

function overlap(a: Set<string>, b: Set<string>): number {
  let shared = 0
  for (const word of a) if (b.has(word)) shared += 1
  return shared
}
