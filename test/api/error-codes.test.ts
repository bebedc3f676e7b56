import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { STATUS_OF } from '../../src/errors.ts'

test('docs/api.md lists every error code beside its status', () => {
  const rows = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8').matchAll(
    /^\| ([\d, ]+) \| (`.+`) \|$/gm,
  )
  const told = [...rows].flatMap(([, statuses = '', codes = '']) =>
    codes.split(', ').map((code) => ({ code: code.replaceAll('`', ''), statuses: statuses.split(', ').map(Number) })),
  )
  assert.deepEqual(told.map(({ code }) => code).toSorted(), Object.keys(STATUS_OF).toSorted())
  for (const { code, statuses } of told) assert.ok(statuses.includes(STATUS_OF[code as keyof typeof STATUS_OF]), code)
})
