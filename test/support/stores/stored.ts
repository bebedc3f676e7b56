import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { databaseUrl } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** Every byte that the service stores: its data directory and, on PostgreSQL, all rows of all tables. */
export async function everythingStored(service: Service): Promise<string> {
  const files = await readdir(service.data, { recursive: true, withFileTypes: true })
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  )
  const url = databaseUrl(service)
  return [...contents, ...(url ? await dump(url) : [])].join('\n')
}

async function dump(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const tables = await client.query(`select table_name from information_schema.tables where table_schema = 'public'`)
    const rows: string[] = []
    for (const { table_name } of tables.rows) {
      const result = await client.query(`select to_jsonb(t)::text as row from "${table_name}" t`)
      rows.push(...result.rows.map(({ row }) => row))
    }
    return rows
  } finally {
    await client.end()
  }
}
