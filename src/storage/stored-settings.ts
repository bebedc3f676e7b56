import { randomUUID } from 'node:crypto'
import type { Database } from './database.ts'

/**
 * Writes a setting only if it has no value yet. Returns `value` if this call was the first, and otherwise the stored
 * value.
 */
export async function writeOnce(db: Database, name: string, value: string): Promise<{ value: string; first: boolean }> {
  const inserted = await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((setting) => setting.column('name').doNothing())
    .returning('value')
    .executeTakeFirst()
  if (inserted) return { value, first: true }
  const setting = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirstOrThrow()
  return { value: setting.value, first: false }
}

export async function findSetting(db: Database, name: string): Promise<string | undefined> {
  return (await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst())?.value
}

/** Writes a setting, replacing any earlier value. */
export async function touch(db: Database, name: string, value: string): Promise<void> {
  await db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((setting) => setting.column('name').doUpdateSet({ value }))
    .execute()
}

/** This installation's name in Redis, which several installations may share. */
export async function nameInRedis(db: Database): Promise<string> {
  return (await writeOnce(db, 'redis_name', randomUUID())).value
}
