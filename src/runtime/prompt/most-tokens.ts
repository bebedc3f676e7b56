import type { ModelRequest } from '../models/model-request.ts'
import { buildPrompt } from './build-prompt.ts'

/** What a chat template puts around a message. */
const AROUND_MESSAGE = 16
/** What providers tell a model about tools, besides the tools. */
const ABOUT_TOOLS = 600
/** And about the form of the answer, besides its schema. */
const ABOUT_FORM = 200

/** More input tokens than this cannot be counted for the request: no tokenizer makes more tokens than there are bytes. */
export function mostInputTokens({ input, rounds, tools }: Pick<ModelRequest, 'input' | 'rounds' | 'tools'>): number {
  const messages = buildPrompt(input)
  const shown = rounds.length > 0 ? [messages, rounds] : messages
  const results = rounds.reduce((sum, round) => sum + 1 + round.results.length, 0)
  const aboutTools = tools.length > 0 ? ABOUT_TOOLS + bytesOf(tools) : 0
  const form = input.given?.sampling?.json
  const aboutForm = form ? ABOUT_FORM + bytesOf(form) : 0
  return bytesOf(shown) + AROUND_MESSAGE * (messages.length + results) + aboutTools + aboutForm
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
