import type { Selectable } from 'kysely'
import { notFound } from '../errors.ts'
import { parseStored } from '../shapes.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { Tables } from '../storage/tables.ts'
import { type Trigger, TriggerDefinition } from './trigger.ts'

type TriggerRow = Selectable<Tables['triggers']>

export async function get(db: Database, agent_id: string, id: string): Promise<Trigger> {
  const row = await db
    .selectFrom('triggers')
    .selectAll()
    .where('id', '=', id)
    .where('agent_id', '=', agent_id)
    .executeTakeFirst()
  if (!row) throw notFound('Trigger', id)
  return fromRow(row)
}

export async function find(db: Database, id: string): Promise<Trigger | undefined> {
  const row = await db.selectFrom('triggers').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

export async function findByToken(db: Database, token_hash: string): Promise<Trigger | undefined> {
  const row = await db.selectFrom('triggers').selectAll().where('token_hash', '=', token_hash).executeTakeFirst()
  return row && fromRow(row)
}

/**
 * Whether the trigger is as it was read. It stays so until the transaction ends, so that no run starts after a trigger
 * was disabled, changed or deleted.
 */
export async function isUnchanged(db: Database, { id, updated_at }: Trigger): Promise<boolean> {
  const row = await db
    .selectFrom('triggers')
    .select('id')
    .where('id', '=', id)
    .where('enabled', '=', 1)
    .where('updated_at', '=', updated_at)
    .$if(engineOf(db) === 'postgres', (trigger) => trigger.forShare())
    .executeTakeFirst()
  return row !== undefined
}

/** Locks the trigger, if it exists, until the transaction ends. */
export async function lock(db: Database, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('triggers').select('id').where('id', '=', id).forUpdate().execute()
}

export async function list(
  db: Database,
  query: PageQuery,
  { agent_id, enabled }: { agent_id: string; enabled?: boolean | undefined },
): Promise<Page<Trigger>> {
  let select = db.selectFrom('triggers').selectAll().where('agent_id', '=', agent_id)
  if (enabled !== undefined) select = select.where('enabled', '=', enabled ? 1 : 0)
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, fromRow), total }
}

export async function count(db: Database, agent_id: string): Promise<number> {
  return countAll(db.selectFrom('triggers').where('agent_id', '=', agent_id))
}

export async function insert(db: Database, trigger: Trigger): Promise<void> {
  await db.insertInto('triggers').values(toRow(trigger)).execute()
}

export async function update(db: Database, trigger: Trigger): Promise<void> {
  await db.updateTable('triggers').set(toRow(trigger)).where('id', '=', trigger.id).execute()
}

/** Disables the trigger because its key has ended, unless it has changed since it was read. */
export async function disable(
  db: Database,
  { id, updated_at }: Trigger,
  disabled_reason: NonNullable<Trigger['disabled_reason']>,
): Promise<void> {
  await db
    .updateTable('triggers')
    .set({ enabled: 0, disabled_reason })
    .where('id', '=', id)
    .where('updated_at', '=', updated_at)
    .execute()
}

export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('triggers').where('id', '=', id).execute()
}

function toRow(trigger: Trigger): TriggerRow {
  const fields = Object.entries(trigger)
  const isDefinition = (field: string) => Object.hasOwn(TriggerDefinition.shape, field)
  const row = Object.fromEntries(fields.filter(([field]) => !isDefinition(field))) as Omit<
    Trigger,
    keyof TriggerDefinition
  >
  return {
    ...row,
    enabled: trigger.enabled ? 1 : 0,
    authors: JSON.stringify(trigger.authors),
    definition: JSON.stringify(Object.fromEntries(fields.filter(([field]) => isDefinition(field)))),
  }
}

function fromRow({ definition: _definition, ...row }: TriggerRow): Trigger {
  const json = jsonOf('trigger', { ...row, definition: _definition })
  return {
    ...row,
    ...parseStored(TriggerDefinition, json('definition')),
    kind: row.kind as Trigger['kind'],
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason as Trigger['disabled_reason'],
    authors: json('authors'),
  }
}
