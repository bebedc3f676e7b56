import type { ModelPrompt } from '../models/model-request.ts'

/** How large a prompt is as it is sent. Images are counted, and their bytes are not. */
export type PromptSize = { bytes: number; images: number }

/** Close enough in most languages, and fast. */
export const BYTES_PER_TOKEN = 4
/** What an image takes, about, and more than any vendor counts for one. */
const IMAGE_TOKENS = 1_600
const MOST_FOR_IMAGE = 5_000
/** What providers tell a model about tools, and about an answer that is to be JSON. */
const ABOUT_TOOLS = 600
const ABOUT_OUTPUT = 600

export function likelyTokens({ bytes, images }: PromptSize): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN) + images * IMAGE_TOKENS
}

/** No tokenizer makes more tokens than there are bytes. What JSON puts around a message is longer than a chat template. */
export function mostTokens({ bytes, images }: PromptSize, { tools, output }: Pick<ModelPrompt, 'tools' | 'output'>) {
  return bytes + images * MOST_FOR_IMAGE + (tools.length > 0 ? ABOUT_TOOLS : 0) + (output ? ABOUT_OUTPUT : 0)
}
