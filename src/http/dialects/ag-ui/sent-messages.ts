import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import type { GivenCall } from '../../../runtime/given.ts'
import type { Item } from '../openai/conversation-items.ts'
import { readCallId } from '../openai/ids.ts'
import type { PlacedAttachment } from '../openai/parameters.ts'

const SentCall = z.looseObject({
  id: z.string().min(1).max(256),
  function: z.looseObject({ name: z.string().min(1).max(128), arguments: z.string() }),
})

export const SentMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'reasoning', 'activity']),
  content: z.unknown().optional(),
  toolCalls: z.array(SentCall).max(128).nullish(),
  toolCallId: z.string().max(256).nullish(),
  error: z.string().nullish(),
})

type SentMessage = z.output<typeof SentMessage>

/** The result of a call that the client doesn't have, because its run was stopped or still waits for a person. */
const NO_RESULT = '(no result)'

/**
 * What was said, in the form that the conversation is read from. A client keeps calls whose results it never got, so a
 * call without a result gets one, and a result without its call is left out. Otherwise a thread that was interrupted
 * once could never continue.
 */
export function saidIn(messages: readonly SentMessage[]): Item[] {
  const results = new Map<string, string>()
  for (const [i, { role, toolCallId, content, error }] of messages.entries()) {
    if (role === 'tool' && toolCallId) results.set(toolCallId, error ?? textIn(content, `messages.${i}.content`))
  }
  return messages.flatMap((message, i) => itemsOf(message, `messages.${i}`, results))
}

function itemsOf({ role, content, toolCalls }: SentMessage, at: string, results: ReadonlyMap<string, string>): Item[] {
  // Results follow their calls. Reasoning and activities are what the page shows, not what was said.
  if (role === 'tool' || role === 'reasoning' || role === 'activity') return []
  const text = textIn(content, `${at}.content`)
  if (role === 'system' || role === 'developer') return text === '' ? [] : [{ kind: 'system', text }]
  if (role === 'user') return [{ kind: 'user', text, ...filesIn(content, `${at}.content`) }]
  const calls = (toolCalls ?? []).map(callOf)
  if (calls.length === 0) return text === '' ? [] : [{ kind: 'assistant', text, calls }]
  const answered = calls.map((call) => ({ kind: 'result' as const, call, text: results.get(call.id) ?? NO_RESULT }))
  return [{ kind: 'assistant', text, calls }, ...answered]
}

/** A call that a run of ours has handed over names that run in its ID. */
function callOf({ id, function: { name, arguments: args } }: z.output<typeof SentCall>): GivenCall {
  const of = readCallId(id)
  return { id, name, arguments: args, handed: true, ...(of && { of }) }
}

type Part = { type?: unknown; text?: unknown; source?: unknown; filename?: unknown } & Record<string, unknown>

function partsIn(content: unknown, field: string): Part[] {
  if (content === undefined || content === null || typeof content === 'string') return []
  if (!Array.isArray(content)) throw invalid({ field, error: 'must be a string or a list of parts' })
  return content.map((part) => Object(part) as Part)
}

function textIn(content: unknown, field: string): string {
  if (typeof content === 'string') return content
  return partsIn(content, field)
    .flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
    .join('\n')
}

const MEDIA = new Set<unknown>(['image', 'audio', 'video', 'document'])

/** The files of a message. A file at a model's provider can't be read, so it is left out, as the protocol says. */
function filesIn(content: unknown, field: string): { attachments?: PlacedAttachment[] } {
  const attachments = partsIn(content, field).flatMap((part, i): PlacedAttachment[] => {
    const at = `${field}.${i}`
    if (part.type === 'text') return []
    if (part.type === 'binary') return [{ asked: binaryFile(part, at), field: at }]
    if (!MEDIA.has(part.type)) {
      throw invalid({ field: `${at}.type`, error: 'must be text, image, audio, video or document' })
    }
    const { type, value, mimeType } = Object(part.source) as Record<string, unknown>
    if (typeof value !== 'string') throw invalid({ field: `${at}.source.value`, error: 'must be a string' })
    const source = `${at}.source.value`
    if (type === 'data') return [{ asked: { data: value, ...mediaType(mimeType) }, field: source }]
    if (type === 'url') return [{ asked: { url: value }, field: source }]
    if (type === 'file') return value.startsWith('file_') ? [{ asked: { file_id: value }, field: source }] : []
    throw invalid({ field: `${at}.source.type`, error: 'must be data, url or file' })
  })
  return attachments.length > 0 ? { attachments } : {}
}

/** The form in which clients before 1.0 send files. */
function binaryFile({ data, url, mimeType, filename }: Part, field: string): PlacedAttachment['asked'] {
  if (typeof data === 'string') {
    return { data, ...mediaType(mimeType), ...(typeof filename === 'string' && { name: filename }) }
  }
  if (typeof url === 'string') return { url }
  throw invalid({ field, error: 'has no data or URL' })
}

function mediaType(type: unknown): { media_type?: string } {
  return typeof type === 'string' && type !== '' ? { media_type: type } : {}
}
