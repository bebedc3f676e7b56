import type { ModelPrompt } from '../models/model-request.ts'

/** The size of a prompt as it is sent. An image counts as a fixed number of tokens, no matter how many bytes it has. */
export type PromptSize = { bytes: number; images: number }

/** Accurate enough in most languages, and fast. */
export const BYTES_PER_TOKEN = 4
/** A typical number of tokens for an image. `MOST_FOR_IMAGE` is more than any vendor charges. */
const IMAGE_TOKENS = 1_600
const MOST_FOR_IMAGE = 5_000
/** The most tokens of what providers tell a model about tools, and about an answer that must be JSON. */
const ABOUT_TOOLS = 600
const ABOUT_OUTPUT = 600

export function likelyTokens({ bytes, images }: PromptSize): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN) + images * IMAGE_TOKENS
}

/** No tokenizer makes more tokens than there are bytes, and JSON adds more around a message than a chat template. */
export function mostTokens({ bytes, images }: PromptSize, { tools, output }: Pick<ModelPrompt, 'tools' | 'output'>) {
  return bytes + images * MOST_FOR_IMAGE + (tools.length > 0 ? ABOUT_TOOLS : 0) + (output ? ABOUT_OUTPUT : 0)
}
