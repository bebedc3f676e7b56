import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { testPostgres } from './postgres.ts'
import { ENGINES, type Engine, migrateDatabase } from './service.ts'

export type TestStorage = { engine: Engine; storage: Storage; data: string; close(): Promise<void> }

/** A store without a service: nothing but the test writes to it. */
async function openTestStorage(engine: Engine): Promise<TestStorage> {
  const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
  const database = engine === 'postgres' ? await testPostgres(migrateDatabase) : undefined
  const storage = await openStorage({ data, database: { url: database?.url, poolSize: 5 } })
  const close = async () => {
    await storage.close()
    await database?.drop()
    await rm(data, { recursive: true })
  }
  return { engine, storage, data, close }
}

export function onBothStorages(name: string, story: (opened: () => TestStorage) => void): void {
  for (const engine of ENGINES) {
    describe(`${name} on ${engine}`, () => {
      let opened: TestStorage
      before(async () => {
        opened = await openTestStorage(engine)
      })
      after(() => opened.close())
      story(() => opened)
    })
  }
}
