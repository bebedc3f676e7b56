import type { ServedPage } from './replies/send-page.ts'

/** Why requests cannot be served at the moment, and what else is known of it. */
export type Unready = { reason: string; [more: string]: unknown }

/** The answers to health checks, by path. */
export function probePages(unready: () => Promise<Unready | undefined>): Record<string, () => Promise<ServedPage>> {
  return {
    // The liveness check does not touch the database: to restart this process would not repair a database that is gone.
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
