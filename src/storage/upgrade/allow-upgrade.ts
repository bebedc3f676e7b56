import { connectAlone } from '../postgres/postgres.ts'
import { CONSENT } from '../schema/consent.ts'

/** Records that these migrations may end serving nodes. A node that waits for this checks every second. */
export async function allowUpgrade(url: string, migrations: readonly string[]): Promise<void> {
  const client = await connectAlone(url)
  try {
    const value = JSON.stringify(migrations)
    await client.query(
      'insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
      [CONSENT, value],
    )
  } finally {
    await client.end()
  }
}
