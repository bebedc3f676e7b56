import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { inTransaction } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** A transaction that says nothing is ended by the service after some seconds. */
const SPEAKS_EVERY_MS = 200

/** No run is stored until the store is let go, as if the disk were slow: a transaction of the service holds it. */
export async function holdStore(t: Pick<TestContext, 'after'>, node: Service): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  let isHeld = true
  const transaction = inTransaction(node, async (db) => {
    // On SQLite no other transaction is written before this one ends.
    if (node.engine === 'postgres') await sql`lock table runs in exclusive mode`.execute(db)
    while (isHeld) {
      await sql`select 1`.execute(db)
      held.resolve()
      await delay(SPEAKS_EVERY_MS)
    }
  })
  transaction.catch(held.reject)
  await held.promise
  const letGo = () => {
    isHeld = false
    return transaction
  }
  t.after(letGo)
  return letGo
}
