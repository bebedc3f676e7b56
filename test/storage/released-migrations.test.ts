import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'

const FOLDER = new URL('../../src/storage/schema/migrations/', import.meta.url)

/**
 * The SHA-256 of each released file. A release adds its files here. A line is never changed: stores that had the
 * migration will not get it again.
 */
const RELEASED: Record<string, string> = {
  '0001-first-release.postgres.sql': '2ce7f489ea329385f91f02b3848279192cc1b7a6f02a5847a0cceecdd05fd4cf',
  '0001-first-release.sqlite.sql': '16a378c76e5f82b3d8cc705a20ded32b6039578c6b27ad1dcce9d1a07e397d9e',
}

describe('the migrations', () => {
  test('of releases have not changed', () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'))
    const digests = files.map((file) => [file, hash('sha256', readFileSync(new URL(file, FOLDER)))])
    const known = digests.filter(([file = '']) => file in RELEASED)
    assert.deepEqual(Object.fromEntries(known), RELEASED)
  })

  test('are numbered without gaps, and each has statements for both engines', () => {
    const numbers = MIGRATIONS.map(({ name }) => Number(/^(\d{4})-[a-z0-9-]+$/.exec(name)?.[1]))
    assert.deepEqual(
      numbers,
      MIGRATIONS.map((_, i) => i + 1),
    )
    const files = MIGRATIONS.flatMap(({ name }) => [`${name}.postgres.sql`, `${name}.sqlite.sql`])
    assert.deepEqual(
      readdirSync(FOLDER)
        .filter((file) => file.endsWith('.sql'))
        .toSorted(),
      files,
    )
  })
})
