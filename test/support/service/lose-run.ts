import type { Service } from './service.ts'

/** As if the run were on a node that has died: its lease is another's and has ended. This node begins it again. */
export async function loseRun({ app }: Service, request_id: string): Promise<void> {
  const lost = app.parts.storage.db.updateTable('runs').set({ owner: 'service:dead', lease_until: 0 })
  await lost.where('id', '=', request_id).execute()
  app.jobs.wake()
}
