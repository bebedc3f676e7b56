import { z } from 'zod'
import type { RememberedTurn } from '../operation/recall.ts'
import type { Turn } from '../runtime/outcome.ts'
import { Label, Metadata, Text, Time, TimeInput } from '../shapes.ts'

const MAX_ITEMS = 100
const MAX_CONTENT = 100_000
const MAX_QUERY = 10_000

export const MemoryKind = z.enum(['turn', 'fact', 'note'])

const MemoryRole = z.enum(['user', 'assistant'])

/** The user and the session that a memory belongs to. */
export const MemoryContext = z.strictObject({ user_id: Label(256).optional(), session_id: Label(256).optional() })

export const SearchMemoryBody = z
  .strictObject({
    query: Text(MAX_QUERY),
    limit: z.int().min(1).max(100).default(10),
    offset: z.int().min(0).default(0),
    context: MemoryContext.default({}).describe('Only memories of this user, this session, or both'),
    min_score: z.number().min(0).max(1).default(0),
  })
  .meta({ id: 'SearchMemory' })

const Item = z
  .strictObject({
    content: Text(MAX_CONTENT),
    kind: MemoryKind.default('note'),
    role: MemoryRole.nullable().default(null).describe('Who said it; required for a turn'),
    context: MemoryContext.default({}),
    metadata: Metadata.default({}),
    created_at: TimeInput.optional().describe('When it was said. Default: now'),
  })
  .refine(({ kind, role }) => kind !== 'turn' || role !== null, { message: 'is required for a turn', path: ['role'] })

export const WriteMemoryBody = z
  .strictObject({ items: z.array(Item).min(1).max(MAX_ITEMS) })
  .meta({ id: 'WriteMemory' })

/** The user can't be changed, because what one user said must never become another user's memory. */
export const UpdateMemoryBody = z
  .strictObject({
    content: Text(MAX_CONTENT),
    kind: MemoryKind,
    role: MemoryRole.nullable().describe('Who said it; required for a turn'),
    metadata: Metadata,
    created_at: TimeInput,
  })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .meta({ id: 'UpdateMemory' })

export const MemoryParams = z.strictObject({ agent_id: z.string(), memory_id: z.string() })

const Said = { id: z.string(), content: z.string(), kind: MemoryKind, role: MemoryRole.nullable() }
const Origin = {
  user_id: z.string().nullable(),
  session_id: z.string().nullable(),
  created_at: Time,
  metadata: z.record(z.string(), z.unknown()),
  version: z
    .string()
    .nullable()
    .default(null)
    .describe('The version whose run wrote it; null if the draft or a client wrote it'),
  deployment_id: z.string().nullable().default(null).describe('The deployment whose run wrote it'),
}

export const MemoryReply = z
  .object({
    ...Said,
    ...Origin,
    superseded_by: z
      .string()
      .nullable()
      .default(null)
      .describe('The newer fact that replaced this one; null while this one is current'),
  })
  .meta({ id: 'Memory' })

export const FoundMemory = z
  .object({
    ...Said,
    score: z.number().min(0).max(1),
    matched: z.array(z.enum(['words', 'meaning', 'date'])).describe('How the memory was found'),
    ...Origin,
  })
  .meta({ id: 'FoundMemory' })

export type Memory = z.input<typeof MemoryReply>

/** A memory of what one side said, as a turn of the session. */
export function turnOf({ role, content, metadata }: Pick<Memory, 'role' | 'content' | 'metadata'>): RememberedTurn {
  const turn = { role, content } as Turn
  const attachments = metadata['attachments']
  return Array.isArray(attachments) ? { ...turn, attachments } : turn
}
