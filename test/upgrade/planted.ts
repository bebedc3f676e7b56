import { sql } from 'kysely'
import type { Migration } from '../../src/storage/schema/migration.ts'
import { MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'

/** What the next releases might change. Each adds to what is there, but for the last one. */
export const addsColumn: Migration = {
  name: '9001-agents-have-notes',
  async run({ schema }) {
    await schema
      .alterTable('agents')
      .addColumn('notes', 'text', (column) => column.notNull().defaultTo('none'))
      .execute()
  },
}

export const addsIndex: Migration = {
  name: '9002-invocations-by-response',
  touches: { invocations: 'read' },
  async run({ schema }) {
    await schema.createIndex('invocations_by_response').on('invocations').column('tokens_used').execute()
  },
}

export const rewrites: Migration = {
  name: '9003-logs-say-more',
  touches: { logs: 'write', agents: 'write' },
  async run(db) {
    await sql`update logs set message = message || ''`.execute(db)
    await sql`update agents set updated_at = updated_at + 0`.execute(db)
  },
}

export const breaks: Migration = { name: '9004-agents-were-moved', breaks: true, async run() {} }

export const ADDED: readonly Migration[] = [...MIGRATIONS, addsColumn, addsIndex, rewrites]
export const BROKEN: readonly Migration[] = [...ADDED, breaks]

export const STRANGER = `the database was changed by a newer version of Moorage ("${breaks.name}"). Start that version, or restore a backup`
