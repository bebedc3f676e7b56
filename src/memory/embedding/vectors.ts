import { sql } from 'kysely'
import type { MemoryScope as Scope } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'
import { inMemoryScope } from '../memory-filter.ts'

/** The query and its vector. */
type QueryVector = { model: string; vector: Float32Array }

/** How many of the scope's newest memories are compared with the query, one by one. */
const COMPARED = 2000
/** How many of these can be found although they share no word with the query. */
const NEAREST = 100

/** The cosine to the query, by seq, of the given memories and of the nearest among the scope's newest. */
export async function findSimilar(
  db: Database,
  scope: Scope,
  query: QueryVector,
  given: number[],
): Promise<Map<number, number>> {
  const stored = db
    .selectFrom('memory_vectors')
    .innerJoin('memories', 'memories.seq', 'memory_vectors.memory_seq')
    .select(['memories.seq', 'memory_vectors.vector'])
    .where(inMemoryScope(scope))
    .where('memory_vectors.model', '=', query.model)
    .where('memories.superseded_by', 'is', null)
  const similarTo = (rows: { seq: number; vector: string }[]) =>
    rows.map(({ seq, vector }) => [seq, dot(query.vector, toVector(vector))] as const)

  const newest = similarTo(await stored.orderBy('memories.seq', 'desc').limit(COMPARED).execute())
  const nearest = newest.toSorted(([a, x], [b, y]) => y - x || b - a).slice(0, NEAREST)
  const compared = new Set(newest.map(([seq]) => seq))
  const others = given.filter((seq) => !compared.has(seq))
  const older = others.length === 0 ? [] : similarTo(await stored.where('memories.seq', 'in', others).execute())
  const wanted = new Set(given)
  return new Map([...nearest, ...newest.filter(([seq]) => wanted.has(seq)), ...older])
}

/** A memory can be much longer. No embedder is given more than this. */
const READ_CHARACTERS = 10_000

export type Embeddable = { seq: number; content: string }

/** Looks at the next memories after `after`. Returns the last seq, and those that have no vector of the model yet. */
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
    .select(['next.seq', sql<string | null>`substr(memories.content, 1, ${sql.lit(READ_CHARACTERS)})`.as('content')])
    .orderBy('next.seq')
    .execute()
  const missing = rows.flatMap(({ seq, content }) => (content === null ? [] : { seq, content }))
  return { last: rows.at(-1)?.seq, missing }
}

/** Memories whose text was changed after their vectors were made. */
export async function listChanged(db: Database, limit: number): Promise<Embeddable[]> {
  return db
    .selectFrom('memory_vectors')
    .innerJoin('memories', 'memories.seq', 'memory_vectors.memory_seq')
    .select(['memories.seq', sql<string>`substr(memories.content, 1, ${sql.lit(READ_CHARACTERS)})`.as('content')])
    .where('memory_vectors.model', '=', '')
    .where('memories.superseded_by', 'is', null)
    .orderBy('memory_vectors.memory_seq')
    .limit(limit)
    .execute()
}

/** Stores vectors. Memories that were removed meanwhile get none. */
export async function insertVectors(
  db: Database,
  model: string,
  vectors: { seq: number; vector: Float32Array }[],
): Promise<void> {
  for (const { seq, vector: values } of vectors) {
    const vector = toText(values)
    await db
      .insertInto('memory_vectors')
      .columns(['memory_seq', 'model', 'vector'])
      .expression((from) =>
        from
          .selectFrom('memories')
          .select(({ val }) => ['seq', val(model).as('model'), val(vector).as('vector')])
          .where('seq', '=', seq),
      )
      .onConflict((known) => known.column('memory_seq').doUpdateSet({ model, vector }))
      .execute()
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] ?? 0)
  return sum
}

function toText(values: Float32Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64')
}

function toVector(text: string): Float32Array {
  // A copy, because a buffer of Node's pool may not be aligned for floats.
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  return new Float32Array(bytes.buffer)
}
