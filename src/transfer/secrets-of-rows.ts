import { z } from 'zod'
import { parseIfJson } from '../lib/json.ts'
import type { SealText } from '../security/sealed-box.ts'
import { AuthSettings } from '../security/security-settings.ts'
import { ToolSecret } from '../security/tool-secret.ts'
import { type CarriedName, carriedTable, type FileRecord, placeOf } from './carried-tables.ts'

/** Secrets of a row that were opened, by their columns. */
export type OpenedCells = Readonly<Record<string, string>>

/** The earlier secrets of a webhook, which are sealed together in a file. */
const EarlierSecrets = z.array(z.strictObject({ secret: z.string().max(1_000), expires_at: z.int() })).max(100)

/** Opens the secrets that are in a row of a file. */
export function openCells(table: CarriedName, row: FileRecord, open: SealText): OpenedCells {
  const columns = Object.keys(carriedTable(table).sealed ?? {})
  return Object.fromEntries(
    columns.flatMap((column) => {
      const value = row[column]
      return typeof value === 'string' ? [[column, open(value, placeOf(table, column, row))]] : []
    }),
  )
}

/** The text of a column with another secret in place of each one in it. */
export function mapSecrets(column: string, text: string, change: (secret: string) => string): string {
  if (column !== 'earlier_secrets') return change(text)
  const earlier = JSON.parse(text) as z.output<typeof EarlierSecrets>
  return JSON.stringify(earlier.map((one) => ({ ...one, secret: change(one.secret) })))
}

const asJson = <Shape extends z.ZodType>(shape: Shape) =>
  z
    .string()
    .transform((text) => parseIfJson(text))
    .pipe(shape)

/** What the columns with secrets can have. */
const SECRETS: Readonly<Record<string, z.ZodType>> = {
  auth: asJson(AuthSettings),
  api_key: ToolSecret.shape.value.max(8_192),
  value: ToolSecret.shape.value.max(8_192),
  secret: z.string().min(1).max(1_000),
  earlier_secrets: asJson(EarlierSecrets),
}

/** Refuses secrets that no operation would have stored. What they are is not told. */
export function requireSound(opened: OpenedCells, wrong: (problem: string) => Error): void {
  for (const [column, plain] of Object.entries(opened)) {
    if (!SECRETS[column]?.safeParse(plain).success) throw wrong(`the sealed ${column} is not what it should be`)
  }
}
