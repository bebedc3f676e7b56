import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { TransferPart } from './transfer-parts.ts'

/** The number of items, and the names of the first ones. */
export type NamedList = { count: number; names: string[] }

/** Something of the project that isn't in the file, and what to do about it. */
export type LeftBehind = NamedList & { what: string; hint: string }

type Exported = {
  project_id: string
  wishes: { with: readonly TransferPart[] }
  /** If set, secrets are in the file. */
  seal: unknown
  now: number
}

const MOST_NAMED = 20

export function newList(): NamedList {
  return { count: 0, names: [] }
}

export function addTo(list: NamedList, name: string): void {
  if (list.count++ < MOST_NAMED) list.names.push(name)
}

/** Files that have not expired. Files of a run are exported with its receipt, or if a schedule names them. */
export function filesToCarry(parts: readonly TransferPart[], now: number): RawBuilder<SqlBool> {
  const hasReceipt = parts.includes('receipts')
    ? sql`exists (select 1 from invocations where invocations.id = files.request_id)`
    : sql`1 = 0`
  return sql`(files.expires_at is null or files.expires_at > ${now}) and (files.request_id is null or ${hasReceipt}
    or exists (select 1 from schedule_files where schedule_files.file_id = files.id))`
}

/** Files without bytes: files that still exist, and files that were deleted. */
type Missing = { lost: NamedList; deleted: NamedList }

/** What an export leaves out and the operator should know about. */
export async function listLeftOut(db: Database, exported: Exported, missing: Missing): Promise<LeftBehind[]> {
  const { project_id, wishes, seal, now } = exported
  const named = async (what: string, hint: string, query: RawBuilder<unknown>): Promise<LeftBehind> => {
    const counted = await sql<{ count: number }>`select count(*) as count from (${query}) as found`.execute(db)
    const count = Number(counted.rows[0]?.count ?? 0)
    const { rows } = await sql<{ name: string }>`${query} limit ${sql.lit(MOST_NAMED)}`.execute(db)
    return { what, hint, count, names: rows.map(({ name }) => String(name)) }
  }
  const ofAgents = sql`agent_seq in (select seq from agents where project_id = ${project_id})`
  const found = [
    await named(
      'runs in progress',
      'They continue in this service.',
      sql`select id as name from runs where ${ofAgents} order by id`,
    ),
    await named(
      "people's roles",
      'Invite them again where the project is imported.',
      sql`select name from keys where project_id = ${project_id} and role_source is not null and person_id is not null
        and revoked_at is null order by name`,
    ),
    await named(
      'links',
      'Create new ones where the project is imported.',
      sql`select links.id as name from links join agents on agents.id = agent_id where project_id = ${project_id}
        order by links.id`,
    ),
    await named(
      'triggers',
      'Create new ones where the project is imported, and give their URLs to the senders.',
      sql`select coalesce(triggers.name, triggers.id) as name from triggers join agents on agents.id = agent_id
        where project_id = ${project_id} order by triggers.id`,
    ),
    await named(
      'connections',
      'Set them up where the project is imported. Users sign in again.',
      sql`select name from connections where project_id = ${project_id} order by name`,
    ),
    await named(
      'connected applications',
      'People connect them again where the project is imported.',
      sql`select keys.name from applications join keys on keys.id = applications.id
        where project_id = ${project_id} and revoked_at is null order by keys.id`,
    ),
    await named(
      'sets of cases',
      'Save them again where the project is imported.',
      sql`select sets.name from sets where ${ofAgents} order by sets.id`,
    ),
    await named(
      'replays',
      'They stay in this service.',
      sql`select id as name from replays where ${ofAgents} order by id`,
    ),
    await named(
      'gradual deployments in progress',
      'They continue in this service. Deploy the version again where the project is imported.',
      sql`select deployment_id as name from rollouts join agents on agents.id = agent_id
        where project_id = ${project_id} and ended_at is null order by deployment_id`,
    ),
    await named(
      'personal keys',
      'They belong to people, who create new ones.',
      sql`select name from keys where project_id = ${project_id} and person_id is not null and role_source is null
        and revoked_at is null and (expires_at is null or expires_at > ${now}) order by name`,
    ),
    await named(
      'files of runs',
      'They go with their receipts: export with --with receipts.',
      sql`select id as name from files where project_id = ${project_id} and (expires_at is null or expires_at > ${now})
        and not (${filesToCarry(wishes.with, now)}) order by id`,
    ),
    { what: 'files whose bytes are missing', hint: 'Restore them from a backup.', ...missing.lost },
    { what: 'files that were deleted during the export', hint: 'Their bytes are gone.', ...missing.deleted },
    ...(seal ? [] : await listSecrets()),
  ]
  return found.filter(({ count }) => count > 0)

  async function listSecrets(): Promise<LeftBehind[]> {
    return [
      await named(
        "agents' own authentication (auth)",
        'Set it again, or export with --seal-to.',
        sql`select name from agents where project_id = ${project_id} and auth is not null order by name`,
      ),
      await named(
        'secrets of tools',
        'Set them again, or export with --seal-to.',
        sql`select name from secrets where project_id = ${project_id} order by name`,
      ),
      await named(
        'model providers with a key',
        'Set them again, or export with --seal-to.',
        sql`select name from providers where project_id = ${project_id} and api_key is not null order by name`,
      ),
      await named(
        "webhooks' secrets",
        'The webhooks are imported disabled, with new secrets: rotate and enable them, or export with --seal-to.',
        sql`select id as name from webhooks where project_id = ${project_id} and request_id is null order by id`,
      ),
      await named(
        "keys' second factors",
        'Operations that require a one-time code are refused until you set up a new one, or export with --seal-to.',
        sql`select key_id as name from key_factors join keys on keys.id = key_id
          where project_id = ${project_id} and person_id is null and role_source is null order by key_id`,
      ),
    ]
  }
}
