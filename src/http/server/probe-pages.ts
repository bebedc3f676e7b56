import type { ServedPage } from './replies/send-page.ts'

/** Why requests can't be served at the moment, and further details. */
export type Unready = { reason: string; [more: string]: unknown }

/** The pages for health checks, by path. */
export function probePages(unready: () => Promise<Unready | undefined>): Record<string, () => Promise<ServedPage>> {
  return {
    // The liveness check doesn't use the database, because restarting this process wouldn't repair the database.
    '/healthz': async () => json(200, { status: 'ok' }),
    async '/readyz'() {
      const problem = await unready()
      return problem ? json(503, { status: 'not_ready', ...problem }) : json(200, { status: 'ready' })
    },
  }
}

function json(status: number, body: Record<string, unknown>): ServedPage {
  return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }
}
