import { parseIfJson } from '../lib/json.ts'

/** A part of a message. `text` is what may be long: of a call its arguments, of a response the result. */
export type TracedPart =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; text: string }
  | { type: 'tool_call_response'; id: string; text: string }
  | { type: 'file'; file_id: string; mime_type: string; modality: 'image'; text: '' }

export type TracedMessage = {
  role: 'user' | 'assistant' | 'tool'
  parts: readonly TracedPart[]
  /** Every message that was given as an answer has one. */
  finish_reason?: string
}

/** How many characters the texts of one attribute may have together. Spans wait in memory until they are sent. */
const MOST_CHARACTERS = 32_000
/** Of a longer conversation the latest messages are shown. */
const MOST_MESSAGES = 200
const CUT_MARK = ' […]'

/** Messages as the conventions for generative AI write them. */
export function messagesJson(messages: readonly TracedMessage[]): string {
  const latest = messages.slice(-MOST_MESSAGES)
  const longest = longestText(latest.flatMap(({ parts }) => parts))
  return JSON.stringify(latest.map((message) => ({ ...message, parts: message.parts.map(written(longest)) })))
}

export function instructionsJson(text: string): string {
  return JSON.stringify([{ type: 'text', content: cutText(text) }])
}

export function cutText(text: string, longest = MOST_CHARACTERS): string {
  return text.length <= longest ? text : text.slice(0, longest).toWellFormed() + CUT_MARK
}

/** The length to which texts are cut, so that all have room. Those that are shorter stay whole, and leave the rest to the others. */
function longestText(parts: readonly TracedPart[]): number {
  const lengths = parts.map(({ text }) => text.length).toSorted((a, b) => a - b)
  let left = MOST_CHARACTERS
  for (const [index, length] of lengths.entries()) {
    const share = Math.floor(left / (lengths.length - index))
    if (length > share) return share
    left -= length
  }
  return MOST_CHARACTERS
}

function written(longest: number) {
  return ({ text, ...part }: TracedPart) => {
    const shown = cutText(text, longest)
    if (part.type === 'text') return { ...part, content: shown }
    if (part.type === 'tool_call') return { ...part, arguments: parseIfJson(shown) ?? shown }
    return part.type === 'tool_call_response' ? { ...part, response: shown } : part
  }
}
