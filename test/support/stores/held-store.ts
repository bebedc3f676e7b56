import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { inTransaction } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** The service ends a transaction that is idle for some seconds. */
const SPEAKS_EVERY_MS = 200

/**
 * Prevents runs from being stored until it is released, as if the disk were slow: a transaction of the service blocks
 * the store.
 */
export async function holdStore(t: Pick<TestContext, 'after'>, node: Service): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  let isHeld = true
  const transaction = inTransaction(node, async (db) => {
    // On SQLite, no other transaction can write before this one ends.
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
