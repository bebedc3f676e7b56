import { type Kysely, sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

const AT_ONCE = 500

/** Vectors were base64 text: a third larger, and to be decoded before each comparison. */
export const vectorsAsBytes: Migration = async (db, engine) => {
  // Superseded facts are not embedded. There are few, and who counts what is missing must know how many.
  await sql`create index memories_superseded on memories (seq) where superseded_by is not null`.execute(db)

  if (engine === 'postgres') {
    await sql`alter table memory_vectors alter column vector type bytea using decode(vector, 'base64')`.execute(db)
    return
  }
  await sql`alter table memory_vectors rename to base64_vectors`.execute(db)
  await sql`drop index memory_vectors_by_model`.execute(db)
  const { text, integer, bytes } = columns(engine)
  await db.schema
    .createTable('memory_vectors')
    .addColumn('memory_seq', integer, (column) => column.primaryKey().references('memories.seq').onDelete('cascade'))
    .addColumn('model', text, (column) => column.notNull())
    .addColumn('vector', bytes, (column) => column.notNull())
    .execute()
  await copyVectors(db)
  await db.schema.dropTable('base64_vectors').execute()
  await db.schema.createIndex('memory_vectors_by_model').on('memory_vectors').columns(['model', 'memory_seq']).execute()
}

type Row<Vector> = { memory_seq: number; model: string; vector: Vector }
type Vectors = Kysely<{ base64_vectors: Row<string>; memory_vectors: Row<Uint8Array> }>

/** In batches, so that memory does not grow with what is stored. SQLite has no function that decodes base64. */
async function copyVectors(migrating: Kysely<unknown>): Promise<void> {
  const db = migrating as Vectors
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('base64_vectors')
      .selectAll()
      .where('memory_seq', '>', after)
      .orderBy('memory_seq')
      .limit(AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (!last) return
    const decoded = rows.map(({ vector, ...row }) => ({
      ...row,
      vector: new Uint8Array(Buffer.from(vector, 'base64')),
    }))
    await db.insertInto('memory_vectors').values(decoded).execute()
    after = last.memory_seq
  }
}
