import { type Expression, type Selectable, sql } from 'kysely'
import { conflict, notFound } from '../errors.ts'
import type { Keyring } from '../security/keyring.ts'
import { AgentSecurity } from '../security/security-settings.ts'
import { parseStored } from '../shapes.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import { agentKind } from '../storage/queries/agent-kind.ts'
import { firstFitting } from '../storage/queries/first-fitting.ts'
import { holdName } from '../storage/queries/hold-name.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { textBytes } from '../storage/queries/text-bytes.ts'
import type { Tables } from '../storage/tables.ts'
import { type Agent, openAuth } from './agent.ts'
import { definitionColumns, readDefinition } from './definition.ts'

const COLUMNS = [
  'seq',
  'id',
  'project_id',
  'name',
  'status',
  'definition',
  'security',
  'auth',
  'created_at',
  'updated_at',
] as const

type AgentRow = Pick<Selectable<Tables['agents']>, (typeof COLUMNS)[number]>

export async function find(db: Database, id: string): Promise<Agent | undefined> {
  const row = await db.selectFrom('agents').select(COLUMNS).where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

/** Finds an agent of a project by ID or name. */
export async function findIn(db: Database, project_id: string, ref: string): Promise<Agent | undefined> {
  const row = await db
    .selectFrom('agents')
    .select(COLUMNS)
    .where('project_id', '=', project_id)
    .where(ref.startsWith('agt_') ? 'id' : 'name', '=', ref)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function findBySeq(db: Database, seq: number): Promise<Agent | undefined> {
  const row = await db.selectFrom('agents').select(COLUMNS).where('seq', '=', seq).executeTakeFirst()
  return row && fromRow(row)
}

/** Which of these agents exist and aren't paused. */
export async function listRunning(db: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const running = db.selectFrom('agents').select('id').where('status', '=', 'running')
  const rows = await running.where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

export async function get(db: Database, id: string): Promise<Agent> {
  const agent = await find(db, id)
  if (!agent) throw notFound('Agent', id)
  return agent
}

/** Locks the agent until the transaction ends, so that changes which depend on their order come one after the other. */
export async function lock(db: Database, id: string): Promise<Agent> {
  const row = await db
    .selectFrom('agents')
    .select(COLUMNS)
    .where('id', '=', id)
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst()
  if (!row) throw notFound('Agent', id)
  return fromRow(row)
}

type GuardedRow = Pick<Agent, 'id' | 'project_id' | 'name'> & { security: AgentSecurity }

/** What applies to an agent with unreadable security settings: no client gets in. */
const CLOSED = AgentSecurity.parse({ ipWhitelist: { enabled: true, addresses: [] } })

/** The agents with security settings of their own. */
async function listGuarded(db: Database): Promise<GuardedRow[]> {
  const rows = await db
    .selectFrom('agents')
    .select(['id', 'project_id', 'name', 'security'])
    .where('security', 'is not', null)
    .execute()
  return rows.map((row) => {
    const [security] = readable(db, [row], readSecurity)
    const { id, project_id, name } = row
    return { id, project_id, name, security: security ?? CLOSED }
  })
}

/** The same list until any agent's data changes. */
export async function listKnownGuarded({ memo, storage }: { memo: Memo; storage: Storage }): Promise<GuardedRow[]> {
  return (await memo('agents', '#guarded', () => listGuarded(storage.db))) ?? []
}

/** The `auth` of every agent that has its own. */
export async function listAuth(db: Database, keyring: Keyring): Promise<ReturnType<typeof openAuth>[]> {
  const rows = await db.selectFrom('agents').select(['id', 'auth']).where('auth', 'is not', null).execute()
  return readable(db, rows, (row) => openAuth(row, keyring))
}

export type ListedAgent = Pick<Agent, 'id' | 'name' | 'status' | 'created_at'>

/** The agents without their definitions, which can be long. */
export async function list(
  db: Database,
  query: PageQuery,
  shown: ShownAgents,
  among?: (seqs: Expression<number>) => Expression<number>,
): Promise<Page<ListedAgent>> {
  const all = selectShown(db, shown).select(['id', 'name', 'status', 'created_at'])
  const select = among ? all.where('seq', 'in', among(selectShown(db, shown).select('seq').$asScalar())) : all
  const { items, total } = await page(db, select, query)
  return { items: items as ListedAgent[], total }
}

/** Reading this many ordinary definitions takes a few milliseconds, and requests wait for it. Of long ones fewer are read. */
const DEFINITIONS_AT_ONCE = 50

/** The requested ones among the agents whose memory needs background work. */
export async function listWithMemory(db: Database, isWanted: (agent: Agent) => boolean): Promise<Agent[]> {
  const wanted: Agent[] = []
  for (let after = 0; ; ) {
    const next = await db
      .selectFrom('agents')
      .select(['seq', textBytes('agents', ['definition']).as('bytes')])
      // Most agents have the default policy, so not every definition is read. A literal, for the index of the others.
      .where('own_memory', '=', sql.lit(1))
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(DEFINITIONS_AT_ONCE)
      .execute()
    const seqs = firstFitting(next, ({ bytes }) => bytes).map(({ seq }) => seq)
    const last = seqs.at(-1)
    if (last === undefined) return wanted
    const rows = await db.selectFrom('agents').select(COLUMNS).where('seq', 'in', seqs).orderBy('seq').execute()
    wanted.push(...readable(db, rows, fromRow).filter(isWanted))
    after = last
  }
}

export async function listKinds(db: Database, ids: string[]): Promise<Pick<Agent, 'id' | 'seq' | 'kind'>[]> {
  const select = db.selectFrom('agents').select(['id', 'seq', agentKind<Agent['kind']>(db, 'model').as('kind')])
  return ids.length === 0 ? [] : select.where('id', 'in', ids).execute()
}

export type ShownAgent = { id: string; seq: number }
export async function listShown(db: Database, shown: ShownAgents): Promise<ShownAgent[]> {
  return selectShown(db, shown).select(['id', 'seq']).orderBy('seq').execute()
}

function selectShown(db: Database, shown: ShownAgents) {
  return db
    .selectFrom('agents')
    .where('project_id', '=', shown.project_id)
    .where(isShown(db, sql.ref('id'), shown))
}

export async function insert(db: Database, agent: Unnumbered<Agent>): Promise<Agent> {
  await holdName(db, agent)
  const row = await db
    .insertInto('agents')
    .values(toRow(agent))
    .onConflict((name) => name.columns(['project_id', 'name']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (!row) throw nameTaken(agent.name)
  await announce(db, 'agents', row.id)
  await announceIn(db, row)
  return fromRow(row)
}

export async function update(db: Database, agent: Agent): Promise<void> {
  await holdName(db, agent)
  const holder = await findIn(db, agent.project_id, agent.name)
  if (holder && holder.id !== agent.id) throw nameTaken(agent.name)
  await db.updateTable('agents').set(toRow(agent)).where('id', '=', agent.id).execute()
  await announce(db, 'agents', agent.id)
  await announceIn(db, agent)
}

export async function move(db: Database, agent: Agent, project_id: string): Promise<void> {
  const { id } = agent
  await db.updateTable('agents').set({ project_id }).where('id', '=', id).execute()
  for (const change of ['agents', 'keys'] as const) await announce(db, change, id)
  for (const told of [agent.project_id, project_id]) {
    await announce(db, 'webhooks', told)
    await announceIn(db, { id, project_id: told })
  }
}

/** The database removes its deployments, webhooks and scoped keys, by foreign keys. */
export async function remove(db: Database, id: string): Promise<void> {
  const [removed] = await db.deleteFrom('agents').where('id', '=', id).returning('project_id').execute()
  for (const change of ['agents', 'keys', 'deployments'] as const) await announce(db, change, id)
  if (!removed) return
  await announce(db, 'webhooks', removed.project_id)
  await announceIn(db, { id, ...removed })
}

/** Connected clients are notified of changes in their project, and of nothing else. */
function announceIn(db: Database, { id, project_id }: Pick<Agent, 'id' | 'project_id'>): Promise<void> {
  return announce(db, 'agents_of_projects', `${project_id}/${id}`)
}

function nameTaken(name: string) {
  return conflict(`An agent named "${name}" already exists in this project.`)
}

function fromRow(stored: AgentRow): Agent {
  const { definition: _definition, security: _security, status, ...row } = stored
  return {
    ...row,
    ...readDefinition(jsonOf('agent', stored)('definition')),
    status: status as Agent['status'],
    security: readSecurity(stored),
  }
}

function readSecurity(row: Pick<AgentRow, 'id' | 'security'>): AgentSecurity | null {
  const security = jsonOf('agent', row)('security')
  return security === null ? null : parseStored(AgentSecurity, security)
}

/** Applied to each kind of agent separately, so that the union is kept. */
type Unnumbered<Of> = Of extends unknown ? Omit<Of, 'seq'> : never

function toRow(agent: Unnumbered<Agent>) {
  const { id, project_id, name, status, memory, security, auth, created_at, updated_at } = agent
  const hasOwnMemory = memory.retention_days !== null || memory.summarize !== false || memory.facts !== 'off'
  return {
    id,
    project_id,
    name,
    status,
    ...definitionColumns(agent),
    description: agent.description,
    own_memory: Number(hasOwnMemory),
    security: security === null ? null : JSON.stringify(security),
    auth,
    created_at,
    updated_at,
  }
}
