import type { Database } from '../storage/database.ts'
import { listed, within } from './full-text.ts'
import type { Scope } from './memory.ts'

/** A query as the embedder sees it. */
type QueryVector = { model: string; vector: Float32Array }

/** So many of the scope's newest memories are compared with the query one by one. */
const COMPARED = 2000
/** So many of them are ranked without sharing a word with it. */
const NEAREST = 100

/** The cosine to the query of the scope's newest memories and of the given ones, and the seqs of those nearest to it. */
export async function findSimilar(
  db: Database,
  scope: Scope,
  query: QueryVector,
  given: number[],
): Promise<{ similarity: Map<number, number>; nearest: number[] }> {
  const stored = db
    .selectFrom('memory_vectors')
    .innerJoin('memories', 'memories.seq', 'memory_vectors.memory_seq')
    .select(['memory_vectors.memory_seq', 'memory_vectors.vector'])
    .where(within(scope))
    .where('memory_vectors.model', '=', query.model)
  const [newest, others] = await Promise.all([
    stored.orderBy('memories.seq', 'desc').limit(COMPARED).execute(),
    given.length === 0
      ? []
      : stored.where('memories.seq', 'in', db.selectFrom(listed(db, given).as('given')).select('seq')).execute(),
  ])
  const similarity = new Map(
    [...newest, ...others].map(({ memory_seq, vector }) => [memory_seq, dot(query.vector, toVector(vector))]),
  )
  const nearest = newest
    .map(({ memory_seq }) => memory_seq)
    .filter((seq) => (similarity.get(seq) as number) > 0)
    .toSorted((a, b) => (similarity.get(b) as number) - (similarity.get(a) as number) || b - a)
    .slice(0, NEAREST)
  return { similarity, nearest }
}

export type Embeddable = { seq: number; content: string }

/** Of the memories after `after`, the next ones: where they end, and those that have no vector of the model yet. */
export async function listUnembedded(
  db: Database,
  model: string,
  after: number,
  limit: number,
): Promise<{ last: number | undefined; missing: Embeddable[] }> {
  const next = db.selectFrom('memories').select(['seq', 'content']).where('seq', '>', after).orderBy('seq').limit(limit)
  const rows = await db
    .selectFrom(next.as('next'))
    .leftJoin('memory_vectors', (join) =>
      join.onRef('memory_vectors.memory_seq', '=', 'next.seq').on('memory_vectors.model', '=', model),
    )
    .select(['next.seq', 'next.content', 'memory_vectors.model'])
    .orderBy('next.seq')
    .execute()
  return { last: rows.at(-1)?.seq, missing: rows.filter((row) => row.model === null) }
}

/** Of memories that are still there. */
export async function insertVectors(
  db: Database,
  model: string,
  vectors: { seq: number; values: Float32Array }[],
): Promise<void> {
  for (const { seq, values } of vectors) {
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
  // A copy: a buffer of the pool may lie at an address that floats cannot.
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  return new Float32Array(bytes.buffer)
}
