import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'

describe('a new SQLite store', () => {
  for (const lock of ['begin immediate', 'begin exclusive']) {
    test(`opens once whoever else opens it is through: ${lock}`, async () => {
      const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
      const other = new DatabaseSync(join(data, 'moorage.db'))
      other.exec(lock)
      const opening = openStorage({ data, database: { poolSize: 1 } })
      setTimeout(() => other.close(), 300)
      const storage = await opening
      await storage.close()
      await rm(data, { recursive: true })
    })
  }
})
