import { z } from 'zod'
import { parseIfJson } from '../lib/json.ts'
import type { SealText } from '../security/sealed-box.ts'
import { AuthSettings } from '../security/security-settings.ts'
import { ToolSecret } from '../security/tool-secret.ts'
import { type CarriedName, carriedTable, type FileRecord, placeOf } from './carried-tables.ts'

/** The opened secrets of a row, by column. */
export type OpenedCells = Readonly<Record<string, string>>

/** A webhook's earlier secrets, which are sealed together in a file. */
const EarlierSecrets = z.array(z.strictObject({ secret: z.string().max(1_000), expires_at: z.int() })).max(100)

/** Opens the secrets in a row of a file. */
export function openCells(table: CarriedName, row: FileRecord, open: SealText): OpenedCells {
  const columns = Object.keys(carriedTable(table).sealed ?? {})
  return Object.fromEntries(
    columns.flatMap((column) => {
      const value = row[column]
      return typeof value === 'string' ? [[column, open(value, placeOf(table, column, row))]] : []
    }),
  )
}

/** A column's text, with each secret in it replaced. */
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

/** What the columns with secrets can contain. */
const SECRETS: Readonly<Record<string, z.ZodType>> = {
  auth: asJson(AuthSettings),
  api_key: ToolSecret.shape.value.max(8_192),
  value: ToolSecret.shape.value.max(8_192),
  secret: z.string().min(1).max(1_000),
  earlier_secrets: asJson(EarlierSecrets),
}

/** Refuses secrets that no operation would have stored, without revealing them. */
export function requireSound(opened: OpenedCells, wrong: (problem: string) => Error): void {
  for (const [column, plain] of Object.entries(opened)) {
    if (!SECRETS[column]?.safeParse(plain).success) throw wrong(`the sealed ${column} is not what it should be`)
  }
}
