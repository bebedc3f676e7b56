import { type Selectable, sql } from 'kysely'
import { notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { Tables } from '../storage/tables.ts'
import type { ChatLink, LinkUse } from './chat-link.ts'

export async function find(db: Database, id: string): Promise<ChatLink | undefined> {
  const row = await db.selectFrom('links').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

/** The link that a token opens, or opened until it expired. */
export async function findByHash(db: Database, hash: string): Promise<ChatLink | undefined> {
  const row = await db
    .selectFrom('links')
    .innerJoin('keys', 'keys.id', 'links.id')
    .selectAll('links')
    .where('keys.hash', '=', hash)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, agent_id: string, id: string): Promise<ChatLink> {
  const link = await find(db, id)
  if (link?.agent_id !== agent_id) throw notFound('Link', id)
  return link
}

export async function list(db: Database, query: PageQuery, agent_id: string): Promise<Page<ChatLink>> {
  const { items, total } = await page(db, db.selectFrom('links').selectAll().where('agent_id', '=', agent_id), query)
  return { items: readable(db, items, fromRow), total }
}

export async function count(db: Database, agent_id: string): Promise<number> {
  return countAll(db.selectFrom('links').where('agent_id', '=', agent_id))
}

export async function insert(db: Database, { origins, starters, ...link }: ChatLink): Promise<void> {
  const lists = { origins: JSON.stringify(origins), starters: JSON.stringify(starters) }
  await db
    .insertInto('links')
    .values({ ...link, ...lists })
    .execute()
}

export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('links').where('id', '=', id).execute()
}

/** How many visitors the links have had, and how many messages those have sent. */
export async function usesOf(db: Database, ids: readonly string[]): Promise<Map<string, LinkUse>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('link_visitors')
    .select((visitor) => [
      'link_id',
      visitor.fn.countAll<number>().as('visitors'),
      sql<number>`sum(messages)`.as('messages'),
    ])
    .where('link_id', 'in', ids)
    .groupBy('link_id')
    .execute()
  return new Map(rows.map(({ link_id, visitors, messages }) => [link_id, { visitors, messages: Number(messages) }]))
}

export type VisitorRun = { link_id: string; user_id: string; request_id: string; now: number }

/**
 * Counts a visitor's message, in the transaction that stores its run. A message that is sent again while its answer is
 * stored starts no run, and isn't counted again. The statement decides, so that messages sent at the same time can't
 * exceed the limit.
 */
export async function countRun(
  db: Database,
  { link_id, user_id, request_id, now }: VisitorRun,
): Promise<'counted' | 'too_many' | 'no_link'> {
  const { rows } = await sql`
    insert into link_visitors (link_id, user_id, messages, last_key, last_at)
    select id, ${user_id}, 1, ${request_id}, ${now} from links where id = ${link_id}
    on conflict (link_id, user_id) do update set
      messages = link_visitors.messages + 1, last_key = excluded.last_key, last_at = excluded.last_at
    where link_visitors.messages < coalesce(
      (select messages_per_visitor from links where id = excluded.link_id), ${MANY})
    returning messages`.execute(db)
  if (rows.length > 0) return 'counted'
  return (await find(db, link_id)) ? 'too_many' : 'no_link'
}

const MANY = Number.MAX_SAFE_INTEGER

/** Whether the visitor has sent a message through this link before. */
export async function isKnownVisitor(db: Database, link_id: string, user_id: string): Promise<boolean> {
  const row = await db
    .selectFrom('link_visitors')
    .select('user_id')
    .where('link_id', '=', link_id)
    .where('user_id', '=', user_id)
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets that a user was a visitor of the agent's links. */
export async function removeVisitor(db: Database, user_id: string, agent_id: string): Promise<void> {
  const ofAgents = db.selectFrom('links').select('id').where('agent_id', '=', agent_id)
  await db.deleteFrom('link_visitors').where('user_id', '=', user_id).where('link_id', 'in', ofAgents).execute()
}

function fromRow(row: Selectable<Tables['links']>): ChatLink {
  const read = jsonOf('link', row)
  return { ...row, origins: read('origins'), starters: read('starters') }
}
