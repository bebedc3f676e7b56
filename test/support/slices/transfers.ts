import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ExportReport } from '../../../src/transfer/export-project.ts'
import type { ImportReport } from '../../../src/transfer/import-project.ts'
import type { Shell } from '../clients/cli.ts'
import { databaseUrl } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** The settings with which the command line opens a service's store. */
export function storeEnv(service: Service): Record<string, string> {
  const url = databaseUrl(service)
  return { MOORAGE_DATA: service.data, ...(url && { DATABASE_URL: url }) }
}

/** Runs a command on a service's store. */
export async function onStore(shell: Shell, service: Service, ...args: string[]) {
  return shell.moorage(args, { env: storeEnv(service) })
}

/** The recipient of another service, so that secrets can be sealed for it. */
export async function recipientOf(shell: Shell, service: Service): Promise<string> {
  const { code, stdout, stderr } = await onStore(shell, service, 'import', '--recipient')
  assert.equal(code, 0, stderr)
  return stdout.trim()
}

export async function exported(shell: Shell, service: Service, ...args: string[]): Promise<ExportReport> {
  const { code, stdout, stderr } = await onStore(shell, service, 'export', ...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

export async function imported(shell: Shell, service: Service, ...args: string[]): Promise<ImportReport> {
  const { code, stdout, stderr } = await onStore(shell, service, 'import', ...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

/** The project's keys, without those of all projects. */
export async function ownKeys(service: Service): Promise<string[]> {
  const { body } = await service.call('GET', '/v1/keys?limit=100')
  return body.data.filter((key: { project_id: string | null }) => key.project_id !== null)
}

/** A line of a file: the header, the columns of a table, a row, and so on. */
// Each test asserts the shape itself.
// oxlint-disable-next-line typescript/no-explicit-any
export type Line = any

/** Changes the lines of a file and makes all its digests correct again, as an attacker would. */
export function forge(from: string, to: string, change: (lines: Line[]) => Line[]): void {
  const lines = change(
    readFileSync(from, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  const whole: string[] = []
  let rows: string[] = []
  let sealed: number[] = []
  for (const line of lines.slice(0, -1)) {
    if (line.table) {
      rows = []
      sealed = line.columns.flatMap((column: string, i: number) => (SEALED.has(`${line.table}.${column}`) ? [i] : []))
    }
    if (Array.isArray(line))
      rows.push(JSON.stringify(line.map((cell, i) => (cell !== null && sealed.includes(i) ? true : cell))))
    if (line.end) {
      line.rows = rows.length
      line.sha256 = sha256(rows.map((row) => `${row}\n`).join(''))
    }
    whole.push(`${JSON.stringify(line)}\n`)
  }
  whole.push(`${JSON.stringify({ lines: whole.length, sha256: sha256(whole.join('')) })}\n`)
  writeFileSync(to, whole.join(''))
}

const SEALED = new Set([
  'agents.auth',
  'providers.api_key',
  'secrets.value',
  'webhooks.secret',
  'webhooks.earlier_secrets',
  'key_factors.secret',
])

/** Changes the rows of one table in a file. A row is an object whose keys are the names of the columns. */
export function forgeRows(from: string, to: string, table: string, change: (rows: Line[]) => Line[]): void {
  forge(from, to, (lines) => {
    const start = lines.findIndex((line) => line.table === table)
    const end = lines.findIndex((line) => line.end === table)
    assert.ok(start > 0 && end > start, `the file has ${table}`)
    const { columns } = lines[start]
    const rows = lines.slice(start + 1, end).map((cells) => {
      if (!Array.isArray(cells)) return cells
      return Object.fromEntries(columns.map((column: string, i: number) => [column, cells[i]]))
    })
    const changed = change(rows).map((row) =>
      row.blob !== undefined || row.bytes !== undefined ? row : columns.map((column: string) => row[column] ?? null),
    )
    return [...lines.slice(0, start + 1), ...changed, ...lines.slice(end)]
  })
}

function sha256(text: string): string {
  return hash('sha256', text)
}
