import { sql } from 'kysely'
import { definitionColumns, readDefinition } from '../agents/definition.ts'
import { notFound } from '../errors.ts'
import { jsonOf } from '../storage/damaged-rows.ts'
import { announce, type Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { Tables } from '../storage/tables.ts'
import type { Snapshot, StoredDeployment } from './deployment.ts'

async function find(db: Database, agent_id: string, id: string): Promise<StoredDeployment | undefined> {
  const row = await db
    .selectFrom('deployments')
    .selectAll()
    .where('agent_id', '=', agent_id)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** With the project of its agent. */
export async function findById(
  db: Database,
  id: string,
): Promise<(StoredDeployment & { project_id: string }) | undefined> {
  const row = await db
    .selectFrom('deployments')
    .innerJoin('agents', 'agents.id', 'deployments.agent_id')
    .selectAll('deployments')
    .select('agents.project_id')
    .where('deployments.id', '=', id)
    .executeTakeFirst()
  return row && { ...fromRow(row), project_id: row.project_id }
}

/** A deployment of another agent is not found. */
export async function get(db: Database, agent_id: string, id: string): Promise<StoredDeployment> {
  const deployment = await find(db, agent_id, id)
  if (!deployment) throw notFound('Deployment', id)
  return deployment
}

export async function findActive(
  db: Database,
  agent_id: string,
  environment: string,
): Promise<StoredDeployment | undefined> {
  const row = await db
    .selectFrom('deployments')
    .selectAll()
    .where('agent_id', '=', agent_id)
    .where('environment', '=', environment)
    .where('status', '=', 'active')
    .executeTakeFirst()
  return row && fromRow(row)
}

type NamedVersion = { version: string; deployment_id: string }

/** What an environment serves, and the candidate of a gradual deployment with its share. */
export async function findServed(
  db: Database,
  agent_id: string,
  environment: string,
): Promise<
  (NamedVersion & { candidate: (NamedVersion & { share: number; split_key: string }) | undefined }) | undefined
> {
  const row = await db
    .selectFrom('deployments')
    .leftJoin('rollouts', (join) =>
      join
        .onRef('rollouts.agent_id', '=', 'deployments.agent_id')
        .onRef('rollouts.environment', '=', 'deployments.environment')
        .on('rollouts.ended_at', 'is', null),
    )
    .select([
      'deployments.id',
      'deployments.version',
      'rollouts.deployment_id as candidate_id',
      'rollouts.version as candidate_version',
      'rollouts.share',
      'rollouts.split_key',
    ])
    .where('deployments.agent_id', '=', agent_id)
    .where('deployments.environment', '=', environment)
    .where('deployments.status', '=', 'active')
    .executeTakeFirst()
  if (!row) return undefined
  const { id: deployment_id, version, candidate_id, candidate_version, share, split_key } = row
  const candidate =
    candidate_id === null || candidate_version === null || share === null
      ? undefined
      : // Rollouts that began before there were keys keep their split.
        { deployment_id: candidate_id, version: candidate_version, share, split_key: split_key ?? candidate_id }
  return { deployment_id, version, candidate }
}

/** Whether any environment of the agent was ever deployed. */
export async function isDeployed(db: Database, agent_id: string): Promise<boolean> {
  const any = db.selectFrom('deployments').select('id').where('agent_id', '=', agent_id)
  return (await any.limit(1).executeTakeFirst()) !== undefined
}

/** At most this many are checked to find what a rollback restores. */
const LOOK_BACK = 1000

/**
 * The deployments that were active before a deployment, latest first. `replaces` orders them, because nodes' clocks
 * differ.
 */
export async function listBefore(db: Database, { replaces }: StoredDeployment): Promise<StoredDeployment[]> {
  if (replaces === null) return []
  const chain = db.withRecursive('chain', (recursive) =>
    recursive
      .selectFrom('deployments')
      .select(['id', 'replaces', sql<number>`1`.as('depth')])
      .where('id', '=', replaces)
      .unionAll(
        recursive
          .selectFrom('deployments')
          .innerJoin('chain', 'deployments.id', 'chain.replaces')
          .select(['deployments.id', 'deployments.replaces', sql<number>`chain.depth + 1`.as('depth')])
          .where('chain.depth', '<', LOOK_BACK),
      ),
  )
  const rows = await chain
    .selectFrom('chain')
    .innerJoin('deployments', 'deployments.id', 'chain.id')
    .selectAll('deployments')
    .orderBy('chain.depth')
    .execute()
  return rows.map(fromRow)
}

/** What an environment of several agents serves. Agents that were never deployed there are left out. */
export async function listActive(
  db: Database,
  agent_ids: string[],
  environment: string,
): Promise<Pick<StoredDeployment, 'agent_id' | 'version'>[]> {
  if (agent_ids.length === 0) return []
  return db
    .selectFrom('deployments')
    .select(['agent_id', 'version'])
    .where('agent_id', 'in', agent_ids)
    .where('environment', '=', environment)
    .where('status', '=', 'active')
    .execute()
}

type Filter = { environment?: string | undefined; version?: string | undefined; status?: string | undefined }

export async function list(
  db: Database,
  agent_id: string,
  query: PageQuery,
  filter: Filter,
): Promise<Page<StoredDeployment>> {
  let select = db.selectFrom('deployments').selectAll().where('agent_id', '=', agent_id)
  if (filter.environment !== undefined) select = select.where('environment', '=', filter.environment)
  if (filter.version !== undefined) select = select.where('version', '=', filter.version)
  if (filter.status !== undefined) select = select.where('status', '=', filter.status)
  const { items, total } = await page(db, select, query)
  return { items: items.map(fromRow), total }
}

/** Makes the deployment the active one; the active one gets the status `before`. History only grows. */
export async function activate(
  db: Database,
  deployment: StoredDeployment,
  before: 'superseded' | 'rolled_back',
): Promise<void> {
  if (deployment.replaces !== null) {
    await db.updateTable('deployments').set({ status: before }).where('id', '=', deployment.replaces).execute()
  }
  await db.insertInto('deployments').values(deployment).execute()
  await announce(db, 'deployments', deployment.agent_id)
}

/** Stores a deployment that isn't active yet. */
export async function insert(db: Database, deployment: StoredDeployment): Promise<void> {
  await db.insertInto('deployments').values(deployment).execute()
}

export async function setStatus(
  db: Database,
  { id, agent_id }: Pick<StoredDeployment, 'id' | 'agent_id'>,
  status: StoredDeployment['status'],
): Promise<void> {
  await db.updateTable('deployments').set({ status }).where('id', '=', id).execute()
  await announce(db, 'deployments', agent_id)
}

/** Makes a deployment that is stored the active one, in place of the one that is active now. */
export async function promote(
  db: Database,
  { id, agent_id, environment }: Pick<StoredDeployment, 'id' | 'agent_id' | 'environment'>,
): Promise<void> {
  const active = await findActive(db, agent_id, environment)
  if (active) await setStatus(db, active, 'superseded')
  await db
    .updateTable('deployments')
    .set({ replaces: active?.id ?? null })
    .where('id', '=', id)
    .execute()
  await setStatus(db, { id, agent_id }, 'active')
}

/** From now on, what runs of the deployment remember is removed. */
export async function startForgetting(db: Database, id: string, now: number): Promise<void> {
  await db.updateTable('deployments').set({ forgetting: now, forgotten: 0 }).where('id', '=', id).execute()
}

/** The deployments whose memories are being removed, with the number of their agent. */
export function listForgetting(db: Database): Promise<{ id: string; agent_seq: number; forgetting: number | null }[]> {
  return db
    .selectFrom('deployments')
    .innerJoin('agents', 'agents.id', 'deployments.agent_id')
    .select(['deployments.id', 'agents.seq as agent_seq', 'deployments.forgetting'])
    .where('deployments.forgetting', 'is not', null)
    .orderBy('deployments.id')
    .execute()
}

/** Counts memories of the deployment that were removed, or notes that it has no more. */
export async function recordForgotten(db: Database, id: string, removed: number | 'all'): Promise<void> {
  await db
    .updateTable('deployments')
    .set((row) => (removed === 'all' ? { forgetting: null } : { forgotten: row('forgotten', '+', removed) }))
    .where('id', '=', id)
    .execute()
}

/** The snapshot under this label, or undefined. */
export async function findVersion(db: Database, agent_id: string, version: string): Promise<Snapshot | undefined> {
  const row = await db
    .selectFrom('versions')
    .select(['version', 'definition', 'digest'])
    .where('agent_id', '=', agent_id)
    .where('version', '=', version)
    .executeTakeFirst()
  if (!row) return undefined
  return { ...row, definition: readDefinition(jsonOf('version', { ...row, id: version })('definition')) }
}

export async function getVersion(db: Database, agent_id: string, version: string): Promise<Snapshot> {
  const found = await findVersion(db, agent_id, version)
  if (!found) throw notFound('Version', version)
  return found
}

export async function insertVersion(db: Database, agent_id: string, snapshot: Snapshot, now: number): Promise<void> {
  const { version, definition, digest } = snapshot
  await db
    .insertInto('versions')
    .values({ agent_id, version, ...definitionColumns(definition), digest, created_at: now })
    .execute()
}

function fromRow({ forgetting: _since, ...row }: Tables['deployments']): StoredDeployment {
  return { ...row, status: row.status as StoredDeployment['status'] }
}
