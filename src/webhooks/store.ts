import { type SqlBool, sql } from 'kysely'
import { notFound } from '../errors.ts'
import type { EventType } from '../events.ts'
import type { Subscriber } from '../operation/project-snapshot.ts'
import { intactJson, jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Webhook } from './webhook.ts'

export type WebhookFilter = {
  shown: ShownAgents
  agent_id?: string | undefined
  event?: EventType | undefined
  status?: Webhook['status'] | undefined
}

/**
 * All receivers of a project's events: the enabled webhooks and the listeners. Callbacks are found through their run.
 */
export async function listSubscribers(db: Database, project_id: string): Promise<Subscriber[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'project_id', 'agent_id', 'events', sql<number | null>`null`.as('until')])
    .where('project_id', '=', project_id)
    .where('status', '=', 'enabled')
    .where('request_id', 'is', null)
    .unionAll(
      db
        .selectFrom('listeners')
        .select(['id', 'project_id', 'agent_id', 'events', 'expires_at as until'])
        .where('project_id', '=', project_id),
    )
    .execute()
  return readable(db, rows, (row) => ({ ...row, events: jsonOf('webhook', row)('events') }))
}

export async function find(db: Database, id: string): Promise<Webhook | undefined> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, id: string): Promise<Webhook> {
  const webhook = await find(db, id)
  if (!webhook) throw notFound('Webhook', id)
  return webhook
}

/** Locks the webhook, if it exists, until the transaction ends, so that changes happen one after the other. */
export async function lock(db: Database, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('webhooks').select('id').where('id', '=', id).forUpdate().execute()
}

/** Locks the webhook and returns its URL. */
export async function lockUrl(db: Database, id: string): Promise<string | undefined> {
  const select = db.selectFrom('webhooks').select('url').where('id', '=', id)
  const row = await (engineOf(db) === 'postgres' ? select.forUpdate() : select).executeTakeFirst()
  return row?.url
}

export async function list(db: Database, query: PageQuery, filter: WebhookFilter): Promise<Page<Webhook>> {
  let select = db
    .selectFrom('webhooks')
    .selectAll()
    .where('project_id', '=', filter.shown.project_id)
    .where('request_id', 'is', null)
    .where(isShown(db, sql.ref('agent_id'), filter.shown))
  if (filter.agent_id !== undefined) select = select.where('agent_id', '=', filter.agent_id)
  if (filter.status !== undefined) select = select.where('status', '=', filter.status)
  if (filter.event !== undefined) {
    const events = intactJson(db, sql`events`)
    const names =
      engineOf(db) === 'postgres'
        ? sql`jsonb_array_elements_text(${events}) as name(value)`
        : sql`json_each(${events}) as name`
    select = select.where(sql<SqlBool>`exists (select 1 from ${names} where name.value in (${filter.event}, '*'))`)
  }
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, fromRow), total }
}

/**
 * How many webhooks are limited to this agent, or if it is null, receive events of all agents of the project. None can
 * be added until the transaction ends.
 */
export async function countAndHold(db: Database, project_id: string, agent_id: string | null): Promise<number> {
  if (engineOf(db) === 'postgres') {
    const owner = agent_id ?? project_id
    await sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks of ${owner}`}, 0))`.execute(db)
  }
  return countAll(
    db
      .selectFrom('webhooks')
      .where('project_id', '=', project_id)
      .where('agent_id', agent_id === null ? 'is' : '=', agent_id)
      .where('request_id', 'is', null),
  )
}

export async function insert(db: Database, webhook: Webhook): Promise<void> {
  await db.insertInto('webhooks').values(toRow(webhook)).execute()
  await announce(db, 'webhooks', webhook.project_id)
}

/** The webhooks that were created with these keys and roles, in every project. */
export async function listMadeBy(db: Database, maker_ids: readonly string[]): Promise<string[]> {
  if (maker_ids.length === 0) return []
  const made = db.selectFrom('webhooks').select('id').where('created_by', 'in', maker_ids).orderBy('id')
  return (await made.execute()).map(({ id }) => id)
}

/** Moves an agent's webhooks and listeners to another project together with it. */
export async function moveOfAgent(db: Database, agent_id: string, project_id: string): Promise<void> {
  for (const table of ['webhooks', 'listeners'] as const) {
    await db.updateTable(table).set({ project_id }).where('agent_id', '=', agent_id).execute()
  }
}

export async function update(
  db: Database,
  id: string,
  { events, earlier_secrets, ...changes }: Partial<Omit<Webhook, 'id' | 'agent_id' | 'request_id' | 'created_at'>>,
): Promise<void> {
  const changed = await db
    .updateTable('webhooks')
    .set({
      ...changes,
      ...(events && { events: JSON.stringify(events) }),
      ...(earlier_secrets && { earlier_secrets: JSON.stringify(earlier_secrets) }),
    })
    .where('id', '=', id)
    .returning('project_id')
    .executeTakeFirst()
  if (changed) await announce(db, 'webhooks', changed.project_id)
}

/**
 * Records that the receiver at this URL accepted a delivery, so it isn't failing. This isn't announced, because only
 * the sender needs it, and it reads it from the database.
 */
export async function recordSuccess(db: Database, { id, url }: Pick<Webhook, 'id' | 'url'>): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ failing_since: null })
    .where('id', '=', id)
    .where('url', '=', url)
    .where('failing_since', 'is not', null)
    .execute()
}

/** Records a failure. Returns the time of the first failure since the last success, which may be this one. */
export async function recordFailure(db: Database, id: string, at: number): Promise<number> {
  await db
    .updateTable('webhooks')
    .set({ failing_since: at })
    .where('id', '=', id)
    .where('failing_since', 'is', null)
    .execute()
  const webhook = await db.selectFrom('webhooks').select('failing_since').where('id', '=', id).executeTakeFirst()
  return webhook?.failing_since ?? at
}

/** Disables a webhook. Returns false if it wasn't enabled or no longer exists. */
export async function disable(
  db: Database,
  id: string,
  disabled_reason: NonNullable<Webhook['disabled_reason']>,
  now: number,
): Promise<boolean> {
  const disabled = await db
    .updateTable('webhooks')
    .set({ status: 'disabled', disabled_reason, updated_at: now })
    .where('id', '=', id)
    .where('status', '=', 'enabled')
    .returning('project_id')
    .executeTakeFirst()
  if (!disabled) return false
  await announce(db, 'webhooks', disabled.project_id)
  return true
}

/** Removes a webhook. Its deliveries stay until a sweep removes them. */
export async function remove(db: Database, id: string): Promise<void> {
  const removed = await db.deleteFrom('webhooks').where('id', '=', id).returning('project_id').executeTakeFirst()
  if (removed) await announce(db, 'webhooks', removed.project_id)
}

type WebhookRow = Omit<Webhook, 'events' | 'earlier_secrets' | 'status' | 'disabled_reason' | 'format'> & {
  events: string
  earlier_secrets: string
  status: string
  disabled_reason: string | null
  format: string | null
}

export function toRow(webhook: Webhook): WebhookRow {
  const { events, earlier_secrets } = webhook
  return { ...webhook, events: JSON.stringify(events), earlier_secrets: JSON.stringify(earlier_secrets) }
}

export function fromRow(row: WebhookRow): Webhook {
  return {
    ...row,
    format: row.format as Webhook['format'],
    events: jsonOf('webhook', row)('events'),
    earlier_secrets: jsonOf('webhook', row)('earlier_secrets'),
    status: row.status as Webhook['status'],
    disabled_reason: row.disabled_reason as Webhook['disabled_reason'],
  }
}
