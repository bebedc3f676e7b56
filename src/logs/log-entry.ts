import { z } from 'zod'
import type { LogLevel } from '../runtime/outcome.ts'
import type { Keyring } from '../security/keyring.ts'
import { Text, Time, TimeInput } from '../shapes.ts'

/** From least to most severe. A level is stored as its index in this list. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

export const LogEntryReply = z
  .object({
    id: z.string(),
    timestamp: Time,
    level: z.enum(LEVELS),
    message: z.string(),
    metadata: z.looseObject({ request_id: z.string() }),
  })
  .meta({ id: 'LogEntry' })

/** A stored entry. Every entry belongs to an invocation. */
export type StoredLogEntry = z.input<typeof LogEntryReply>

/** Entries of all agents are counted together, and one agent's number would reveal how many others have. */
export function withOwnId<Entry extends { id: string }>(entry: Entry, keyring: Keyring): Entry {
  return { ...entry, id: keyring.digest(entry.id, 'log entry') }
}

const ONE_LEVEL = `(?:${LEVELS.join('|')})`
const LevelList = z
  .string()
  .regex(
    new RegExp(`^${ONE_LEVEL}(?:,${ONE_LEVEL})*$`),
    `must be one or more of ${LEVELS.join(', ')}, separated by commas`,
  )
  .transform((list) => list.split(',') as LogLevel[])

export const LogsQuery = z
  .strictObject({
    limit: z.int().min(1).max(1000).default(100),
    offset: z.int().min(0).default(0),
    sort: z.enum(['timestamp', '-timestamp']).default('-timestamp'),
    level: LevelList.optional().describe('One or more levels, such as `warn,error`'),
    start_time: TimeInput.optional().describe('Entries from this time on'),
    end_time: TimeInput.optional().describe('Entries before this time'),
    request_id: Text(100).optional().describe('Entries of one invocation'),
    after: z
      .string()
      .max(20_000)
      .optional()
      .describe(
        'Entries stored after this position, oldest first. Start with `latest`, then send each `pagination.next_after`',
      ),
    search: Text(200).optional().describe('Entries whose message or metadata contains this text, ignoring case'),
  })
  .refine(({ start_time = -Infinity, end_time = Infinity }) => start_time < end_time, {
    path: ['end_time'],
    message: 'must be later than start_time',
  })
  .refine(({ after, offset }) => after === undefined || offset === 0, {
    path: ['offset'],
    message: 'must be 0 if `after` is set; continue with next_after',
  })
export type LogsQuery = z.output<typeof LogsQuery>
