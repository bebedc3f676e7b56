import { rm } from 'node:fs/promises'
import { after, before, describe } from 'node:test'
import { openStorage, type Storage } from '../../../src/storage/open-storage.ts'
import { ENGINES, type Engine } from '../service/service.ts'
import { freshPostgres, freshSqlite } from './fresh-store.ts'
import { storeFolder } from './store-folder.ts'

/** A database without a service, to which only the test writes. */
export type Store = {
  engine: Engine
  storage: Storage
  data: string
  options: Parameters<typeof openStorage>[0]
  /** Another node on the same database, closed together with it. */
  another(): Promise<Storage>
}

async function openStore(engine: Engine): Promise<Store & { close(): Promise<void> }> {
  const data = await storeFolder('test')
  const database = engine === 'postgres' ? await freshPostgres() : undefined
  if (!database) await freshSqlite(data)
  const options = { data, database: { url: database?.url, poolSize: 5 } }
  const storage = await openStorage(options)
  const opened = [storage]
  return {
    engine,
    storage,
    data,
    options,
    async another() {
      const other = await openStorage(options)
      opened.push(other)
      return other
    },
    async close() {
      await Promise.all(opened.map((each) => each.close()))
      await database?.drop()
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** Runs the same story on SQLite and on PostgreSQL. The store is opened before it and closed after it. */
export function onBothStores(name: string, story: (store: () => Store, engine: Engine) => void): void {
  for (const engine of ENGINES) {
    describe(`${name} on ${engine}`, () => {
      let store: Awaited<ReturnType<typeof openStore>>
      before(async () => {
        store = await openStore(engine)
      })
      after(() => store.close())
      story(() => store, engine)
    })
  }
}
