import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { testPostgres } from './postgres.ts'
import type { Engine } from './service.ts'

/** A database without a service on top. */
export type Store = {
  engine: Engine
  storage: Storage
  options: Parameters<typeof openStorage>[0]
  /** Another node on the same database; closed with it. */
  another(): Promise<Storage>
}

/** The same story on SQLite and on PostgreSQL; the store is opened before it and closed after it. */
export function onBothStores(name: string, story: (store: () => Store) => void): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    describe(`${name} on ${engine}`, () => {
      let store: Store
      let close: () => Promise<void>
      before(async () => {
        const data = await mkdtemp(join(tmpdir(), 'moorage-test-'))
        const database = engine === 'postgres' ? await testPostgres() : undefined
        const options = { data, database: { url: database?.url, poolSize: 5 } }
        const opened = [await openStorage(options)]
        store = {
          engine,
          storage: opened[0] as Storage,
          options,
          async another() {
            const storage = await openStorage(options)
            opened.push(storage)
            return storage
          },
        }
        close = async () => {
          await Promise.all(opened.map((storage) => storage.close()))
          await database?.drop()
          await rm(data, { recursive: true, force: true })
        }
      })
      after(() => close())
      story(() => store)
    })
  }
}
