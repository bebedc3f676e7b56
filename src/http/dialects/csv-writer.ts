import { z } from 'zod'
import { csvOf } from '../../lib/text/csv.ts'
import { prefers } from '../input/request-headers.ts'
import type { Writer } from './dialect.ts'

/** Whether the client wants the items of a reply as CSV. */
export function wantsCsv(accept: string | undefined, format: unknown): boolean {
  return format === 'csv' || (format === undefined && prefers(accept, 'text/csv'))
}

/** Writes the items in one field of the reply as CSV. */
export function csvWriter(field: string, writer: Writer): Writer {
  return {
    ...writer,
    reply(operation, result) {
      const shape = operation.answer.data as z.ZodObject
      const rows = (shape.parse(result) as Record<string, Record<string, unknown>[]>)[field] ?? []
      const names = Object.keys(rows[0] ?? namesIn(shape, field))
      const body = csvOf(rows, names)
      return { status: operation.answer.status ?? 200, headers: { 'Content-Type': 'text/csv; charset=utf-8' }, body }
    },
  }
}

/** What every item has. */
function namesIn(shape: z.ZodObject, field: string): object {
  const items = shape.shape[field]
  const item = items instanceof z.ZodArray ? items.element : undefined
  const fields = item instanceof z.ZodObject ? Object.entries(item.shape) : []
  return Object.fromEntries(fields.filter(([, value]) => !(value instanceof z.ZodOptional)))
}
