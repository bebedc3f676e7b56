import { type SqlBool, sql } from 'kysely'
import type { Permission } from '../security/permissions.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { removeRows } from '../storage/queries/remove-rows.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Tables } from '../storage/tables.ts'
import type { Application } from './application.ts'

export async function find(db: Database, id: string): Promise<Application | undefined> {
  return db.selectFrom('applications').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findByCode(db: Database, code_hash: string): Promise<Application | undefined> {
  return db.selectFrom('applications').selectAll().where('code_hash', '=', code_hash).executeTakeFirst()
}

export async function findRefreshToken(
  db: Database,
  hash: string,
): Promise<{ token: Tables['refresh_tokens']; application: Application } | undefined> {
  const token = await db.selectFrom('refresh_tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
  const application = token && (await find(db, token.application_id))
  return application && { token, application }
}

/** The application of an access token, even if the token has expired. */
export async function findByAccessToken(db: Database, hash: string): Promise<Application | undefined> {
  return db
    .selectFrom('applications')
    .innerJoin('earlier_secrets as s', 's.key_id', 'applications.id')
    .selectAll('applications')
    .where('s.hash', '=', hash)
    .executeTakeFirst()
}

export type ListedApplication = Application & {
  name: string
  project_id: string | null
  agent_id: string | null
  permissions: Permission[]
  created_by: string
  created_at: number
  last_used_at: number | null
  expires_at: number
}

export type ApplicationFilter = {
  shown: ShownAgents
  reach: 'project' | 'service'
  person_id?: string | undefined
  /** Only applications that this actor has connected. */
  own?: { id: string; person_id: string | undefined } | undefined
}

/** The applications that have access now. */
export async function list(
  db: Database,
  query: PageQuery,
  { shown, reach, person_id, own }: ApplicationFilter,
  now: number,
): Promise<Page<ListedApplication>> {
  let select = db
    .selectFrom((from) =>
      from
        .selectFrom('applications as a')
        .innerJoin('keys as k', 'k.id', 'a.id')
        .selectAll('a')
        .select([
          'k.name',
          'k.project_id',
          'k.agent_id',
          'k.permissions',
          'k.created_by',
          'k.created_at',
          'k.last_used_at',
          sql<number>`case when k.expires_at < t.expires_at then k.expires_at else t.expires_at end`.as('expires_at'),
        ])
        .innerJoin(
          (tokens) =>
            tokens
              .selectFrom('refresh_tokens')
              .select(['application_id', sql<number>`max(expires_at)`.as('expires_at')])
              .where('used_at', 'is', null)
              .groupBy('application_id')
              .as('t'),
          (join) => join.onRef('t.application_id', '=', 'a.id'),
        )
        .where('k.revoked_at', 'is', null)
        .as('applications'),
    )
    .selectAll()
    .where('expires_at', '>', now)
    .where(isKeyOf(sql.ref('project_id'), shown, reach))
    .where(isShown(db, sql.ref('agent_id'), shown))
  if (person_id !== undefined) select = select.where('person_id', '=', person_id)
  if (own !== undefined) {
    const { id, person_id: owner = id } = own
    select = select.where(({ or, eb }) => or([eb('created_by', '=', id), eb('person_id', '=', owner)]))
  }
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, withPermissions), total }
}

function withPermissions(row: Omit<ListedApplication, 'permissions'> & { permissions: string }): ListedApplication {
  return { ...row, permissions: jsonOf('application', row)('permissions') }
}

export async function insert(db: Database, application: Application): Promise<void> {
  await db.insertInto('applications').values(application).execute()
}

export async function insertRefreshToken(db: Database, token: Tables['refresh_tokens']): Promise<void> {
  await db.insertInto('refresh_tokens').values(token).execute()
}

/** Removes tokens that have expired. Used ones stay until then, because a second use shows a theft. */
export async function removeExpiredTokens(db: Database, application_id: string, until: number): Promise<void> {
  const tokens = db.deleteFrom('refresh_tokens').where('application_id', '=', application_id)
  await tokens.where('expires_at', '<=', until).execute()
}

/** The same for all applications, at most `limit` tokens. */
export function removeAllExpiredTokens(db: Database, until: number, limit: number): Promise<number> {
  // The index begins with the application.
  const which = sql<SqlBool>`application_id in (select id from applications) and expires_at <= ${until}`
  return removeRows(db, 'refresh_tokens', { which, limit })
}

/** Spends the code. Returns false if another request was faster. */
export async function connect(db: Database, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('applications')
    .set({ connected_at: now })
    .where('id', '=', id)
    .where('connected_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Spends a refresh token. Returns false if it was used before. */
export async function spendRefreshToken(db: Database, hash: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('refresh_tokens')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The oldest applications that were connected with a role or a key, except the newest ones. */
export async function listOlder(db: Database, role_id: string, keep: number): Promise<string[]> {
  const rows = await db
    .selectFrom('applications as a')
    .innerJoin('keys as k', 'k.id', 'a.id')
    .select('a.id')
    .where('k.role_id', '=', role_id)
    .where('k.revoked_at', 'is', null)
    .orderBy('a.id', 'desc')
    .offset(keep)
    .limit(100)
    .execute()
  return rows.map(({ id }) => id)
}

const MOST_REMOVED = 1_000

/** Removes applications that have ended: revoked, never connected, or not used until their last token expired. */
export async function removeEnded(db: Database, before: number): Promise<string[]> {
  const hasToken = sql<SqlBool>`exists (
    select 1 from refresh_tokens t where t.application_id = a.id and t.expires_at >= ${before})`
  const ended = await db
    .selectFrom('applications as a')
    .innerJoin('keys as k', 'k.id', 'a.id')
    .select('a.id')
    .where(({ and, or, not, eb }) =>
      or([eb('k.revoked_at', '<', before), and([eb('a.code_expires_at', '<', before), not(hasToken)])]),
    )
    .limit(MOST_REMOVED)
    .execute()
  const ids = ended.map(({ id }) => id)
  if (ids.length > 0) await db.deleteFrom('applications').where('id', 'in', ids).execute()
  return ids
}
