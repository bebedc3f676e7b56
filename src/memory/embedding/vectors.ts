import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { bytesOf } from '../../storage/comparison.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import type { Storage } from '../../storage/open-storage.ts'
import { isGoingOn } from '../../storage/queries/paused-projects.ts'
import { inMemoryScope, listed } from '../memory-filter.ts'

/** The query and its vector. */
type QueryVector = { model: string; vector: Float32Array }

const LIMITS = {
  /** How many of the scope's newest memories are compared with the query, one by one. */
  newest: 10_000,
  /** How many of these can be found although they share no word with the query. */
  nearest: 100,
}

/** Returns, by seq, the cosine to the query of the given memories and of the nearest among the scope's newest. */
export async function findSimilar(
  { db, compare }: Pick<Storage, 'db' | 'compare'>,
  scope: MemoryScope,
  { model, vector }: QueryVector,
  given: number[],
  limits = LIMITS,
): Promise<Map<number, number>> {
  const inScope = db
    .selectFrom('memories')
    .select('memories.seq')
    .where(inMemoryScope(scope))
    .where('memories.superseded_by', 'is', null)
  // The seqs are selected first, because SQLite would otherwise sort the rows together with their vectors.
  const vectorsOf = (memories: typeof inScope) =>
    db
      .selectFrom(memories.as('chosen'))
      .crossJoin('memory_vectors')
      .whereRef('memory_vectors.memory_seq', '=', 'chosen.seq')
      .where('memory_vectors.model', '=', model)
      .select(['chosen.seq', 'memory_vectors.vector'])
      .compile()
  const newest = vectorsOf(inScope.orderBy('memories.seq', 'desc').limit(limits.newest))
  const { similar, oldest } = await compare(newest, { vector, nearest: limits.nearest, given })
  const cosines = new Map(similar.map(({ seq, similarity }) => [seq, similarity]))
  const older = given.filter((seq) => seq < oldest)
  if (older.length > 0) {
    const wanted = inScope.where('memories.seq', 'in', db.selectFrom(listed(db, older).as('given')).select('given.seq'))
    const found = await compare(vectorsOf(wanted), { vector, nearest: 0, given: older })
    for (const { seq, similarity } of found.similar) cosines.set(seq, similarity)
  }
  return cosines
}

/** An embedder gets at most this many characters of a memory, which can be much longer. */
const READ_CHARACTERS = 10_000
const embeddedText = sql<string>`substr(memories.content, 1, ${sql.lit(READ_CHARACTERS)})`

/** A memory whose text will be embedded. */
export type Embeddable = { seq: number; content: string; project_id: string; agent_id: string; agent_seq: number }

/**
 * Reads the next memories after `after`. Returns the last seq, and the memories that have no vector of the model yet.
 */
export async function listUnembedded(
  db: Database,
  model: string,
  after: number,
  limit: number,
): Promise<{ last: number | undefined; missing: Embeddable[] }> {
  const next = db.selectFrom('memories').select('seq').where('seq', '>', after).orderBy('seq').limit(limit)
  const rows = await db
    .selectFrom(next.as('next'))
    .leftJoin('memory_vectors', (join) =>
      join.onRef('memory_vectors.memory_seq', '=', 'next.seq').on('memory_vectors.model', '=', model),
    )
    .leftJoin('memories', (join) =>
      join
        .onRef('memories.seq', '=', 'next.seq')
        .on('memory_vectors.memory_seq', 'is', null)
        .on('memories.superseded_by', 'is', null),
    )
    .leftJoin('agents', 'agents.seq', 'memories.agent_seq')
    .select(['next.seq', sql<string | null>`${embeddedText}`.as('content')])
    .select(['agents.project_id', 'agents.id as agent_id', 'agents.seq as agent_seq'])
    .orderBy('next.seq')
    .execute()
  // The memories of deleted agents are about to be removed.
  const missing = rows.filter((row): row is Embeddable => row.content !== null && row.agent_id !== null)
  return { last: rows.at(-1)?.seq, missing }
}

/** Memories that were changed after they were embedded. */
export async function listChanged(db: Database, limit: number): Promise<Embeddable[]> {
  return db
    .selectFrom('memory_vectors')
    .innerJoin('memories', 'memories.seq', 'memory_vectors.memory_seq')
    .innerJoin('agents', 'agents.seq', 'memories.agent_seq')
    .select(['memories.seq', embeddedText.as('content'), 'agents.project_id'])
    .select(['agents.id as agent_id', 'agents.seq as agent_seq'])
    .where('memory_vectors.model', '=', '')
    .where(isGoingOn)
    .where('memories.superseded_by', 'is', null)
    .orderBy('memory_vectors.memory_seq')
    .limit(limit)
    .execute()
}

/** How many memories have a vector of the model, and how many wait for one. Superseded facts aren't embedded. */
export async function countEmbedded(db: Database, model: string): Promise<{ embedded: number; waiting: number }> {
  const [stored, kept, superseded] = await Promise.all([
    db
      .selectFrom('memory_vectors')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('model', '=', model)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('memory_scopes')
      .select(sql<number>`coalesce(sum(turns + notes), 0)`.as('count'))
      .where('level', '=', 0)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('memories')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('superseded_by', 'is not', null)
      .executeTakeFirstOrThrow(),
  ])
  return { embedded: stored.count, waiting: Math.max(0, kept.count - superseded.count - stored.count) }
}

/**
 * Stores vectors. A memory that was removed or changed since its text was read gets none, and is embedded again later.
 */
export async function insertVectors(
  db: Database,
  model: string,
  vectors: (Pick<Embeddable, 'seq' | 'content'> & { vector: Float32Array })[],
): Promise<void> {
  for (const { seq, content, vector: floats } of vectors) {
    const vector = bytesOf(floats)
    await db
      .insertInto('memory_vectors')
      .columns(['memory_seq', 'model', 'vector'])
      .expression((from) =>
        from
          .selectFrom('memories')
          .select(({ val }) => ['seq', val(model).as('model'), val(vector).as('vector')])
          .where('seq', '=', seq)
          .where(embeddedText, '=', content)
          // Waits for a transaction that is changing the memory right now.
          .$if(engineOf(db) === 'postgres', (memory) => memory.forShare()),
      )
      .onConflict((known) => known.column('memory_seq').doUpdateSet({ model, vector }))
      .execute()
  }
}
