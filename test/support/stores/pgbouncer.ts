import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { accepts, createDaemon, findExecutable, unusedPort } from './daemon.ts'

/** A path that is only searched as root. */
const DEBIAN = '/usr/sbin/pgbouncer'

export type PgBouncer = { url: string; close(): Promise<void> }

export function pgbouncerPath(): string | undefined {
  return findExecutable('pgbouncer') ?? (existsSync(DEBIAN) ? DEBIAN : undefined)
}

/**
 * A PgBouncer in transaction mode in front of the database at `url`, with so few connections that clients must share
 * them.
 */
export async function startPgBouncer(path: string, url: string): Promise<PgBouncer> {
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const daemon = await createDaemon('pgbouncer', account)
  const port = await unusedPort()
  const { hostname, port: target, username, password, pathname } = new URL(url)
  const name = pathname.slice(1)
  const settings = join(daemon.folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
${name} = host=${hostname} port=${target} user=${username} password=${password} dbname=${name}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`,
    { mode: 0o644 },
  )
  await daemon.run(path, [settings], () => accepts(port))
  return {
    url: `postgresql://moorage@127.0.0.1:${port}/${name}`,
    async close() {
      await daemon.stop('SIGTERM')
      await daemon.remove()
    },
  }
}
