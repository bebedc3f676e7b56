import { pagesOf } from '../attachments/attachment.ts'
import type { ModelRequest } from '../models/model-request.ts'
import { buildPrompt } from './build-prompt.ts'

/** What a chat template puts around a message. */
const AROUND_MESSAGE = 16
/** What providers tell a model about tools, besides the tools. */
const ABOUT_TOOLS = 600
/** The same for an answer that is to be JSON. */
const ABOUT_OUTPUT = 600
/** More than any vendor counts for one image. */
const MOST_FOR_IMAGE = 5_000

type Measured = Pick<ModelRequest, 'input' | 'rounds' | 'tools' | 'output'>

/** More input tokens than this cannot be counted for the request: no tokenizer makes more tokens than there are bytes. */
export function mostInputTokens({ input, rounds, tools, output }: Measured): number {
  const messages = buildPrompt(input)
  const shown = rounds.length > 0 ? [messages, rounds] : messages
  const results = rounds.reduce((sum, round) => sum + 1 + round.results.length, 0)
  const aboutTools = tools.length > 0 ? ABOUT_TOOLS + bytesOf(tools) : 0
  // The schema may go to the provider and to the model.
  const aboutOutput = output ? 2 * bytesOf(output.schema) + ABOUT_OUTPUT : 0
  const around = AROUND_MESSAGE * (messages.length + results)
  return bytesOf(shown) + around + aboutTools + aboutOutput + mostForImages(input)
}

function mostForImages({ files }: Measured['input']): number {
  let images = 0
  for (const shown of files?.values() ?? []) if (shown.as === 'image') images += pagesOf(shown)
  return images * MOST_FOR_IMAGE
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
