import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../../src/storage/database.ts'
import { IS_LONG } from '../../support/running/long.ts'
import { until } from '../../support/running/until.ts'
import { type ChildService, startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { ENGINES, type Engine } from '../../support/service/service.ts'

const KILLS = IS_LONG ? 12 : 3
const CLIENTS = 6
const HOUR = 3_600_000

for (const engine of ENGINES) {
  describe(`kill -9 during uploads and deletions, on ${engine}`, () => {
    test('no uploaded file is lost or incomplete, and nothing is left of the others', async (t) => {
      const service = await startChildService(t, engine)
      /** What was answered: each file with its hash, until its deletion is asked for. */
      const answered = new Map<string, string>()
      const kept = await put(service, randomBytes(1_000))
      answered.set(kept.id, kept.sha256)
      await attachAndErase(service)
      for (let kill = 0; kill < KILLS; kill++) {
        const stop = new AbortController()
        const half = await halfUpload(service)
        const clients = Array.from({ length: CLIENTS }, () => work(service, answered, stop.signal))
        await delay(randomInt(50, 400))
        await service.kill()
        stop.abort()
        half.destroy()
        await Promise.all(clients)
        await service.inStore((db) => requireBytes(db, engine, service.data))
        if (engine === 'postgres') await service.inStore(endLeases)
        await service.start()
      }
      for (const [id, sha256] of answered) {
        const response = await service.open(`/v1/files/${id}/content`)
        assert.equal(response.status, 200, id)
        assert.equal(sha256Of(Buffer.from(await response.arrayBuffer())), sha256)
      }

      await service.kill()
      await service.inStore(async (db) => {
        await db
          .updateTable('blobs')
          .set((blob) => ({ created_at: blob('created_at', '-', 3 * HOUR) }))
          .execute()
        await db.updateTable('jobs').set({ run_at: 0, owner: null }).where('id', '=', 'retention').execute()
      })
      await service.start()
      await until('only the bytes of files are left', async () => {
        let isClean = false
        await service.inStore(async (db) => {
          const referred = await db.selectFrom('files').select('blob_id').distinct().orderBy('blob_id').execute()
          const stored = await bytesIn(db, engine, service.data)
          const rows = await db.selectFrom('blobs').select('id').orderBy('id').execute()
          const counts = db.selectFrom('file_counts').select('files').where('user_id', '=', '')
          const there = await db.selectFrom('files').select('id').execute()
          const isCounted = (await counts.executeTakeFirst())?.files === there.length
          const wanted = referred.map(({ blob_id }) => blob_id).join()
          isClean = isCounted && stored.join() === wanted && rows.map(({ id }) => id).join() === wanted
        })
        return isClean
      })
    })
  })
}

async function put(service: ChildService, body: Buffer<ArrayBuffer>, signal: AbortSignal | null = null) {
  const headers = { Authorization: `Bearer ${service.admin}` }
  const reply = await fetch(`${service.url()}/v1/files`, { method: 'POST', headers, body, signal })
  return ((await reply.json()) as { data: { id: string; sha256: string } }).data
}

/** Uploads and deletes until the process dies. */
async function work(service: ChildService, answered: Map<string, string>, signal: AbortSignal): Promise<void> {
  const headers = { Authorization: `Bearer ${service.admin}` }
  while (!signal.aborted) {
    try {
      if (randomInt(2) === 0) await attachAndErase(service, signal)
      const bytes = randomBytes(randomInt(1, 600_000))
      const data = await put(service, bytes, signal)
      assert.equal(data.sha256, sha256Of(bytes))
      answered.set(data.id, data.sha256)
      if (randomInt(2) === 0) continue
      // From now on, the file might be deleted or not: only the reply would tell.
      answered.delete(data.id)
      await fetch(`${service.url()}/v1/files/${data.id}`, { method: 'DELETE', headers, signal })
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      return
    }
  }
}

/** Sends a message with a file, and erases its receipt. */
async function attachAndErase({ admin, url }: ChildService, signal: AbortSignal | null = null): Promise<void> {
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' }
  const attachments = [{ data: randomBytes(3_000).toString('base64') }]
  const body = JSON.stringify({ message: 'Look', attachments })
  const reply = await fetch(`${url()}/v1/agents/hello/invoke`, { method: 'POST', headers, body, signal })
  const { data } = (await reply.json()) as { data: { request_id: string } }
  await fetch(`${url()}/v1/agents/hello/invocations/${data.request_id}`, { method: 'DELETE', headers, signal })
}

/** An upload whose client never sends the rest. */
async function halfUpload(service: ChildService) {
  const { hostname, port } = new URL(service.url())
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.admin}\r\nContent-Length: 900000\r\n\r\n`,
  )
  socket.write(randomBytes(400_000))
  return socket
}

/** At any moment, each file that clients see has all of its bytes, and all bytes have a row. */
async function requireBytes(db: Database, engine: Engine, data: string): Promise<void> {
  const stored = new Set(await bytesIn(db, engine, data))
  const files = await db.selectFrom('files').select(['id', 'blob_id']).where('expires_at', 'is', null).execute()
  for (const { id, blob_id } of files) assert.ok(stored.has(blob_id), `${id} has no bytes`)
  const erased = db
    .selectFrom('files')
    .innerJoin('invocations', 'invocations.id', 'files.request_id')
    .select('files.id')
  assert.deepEqual(await erased.where('invocations.erased_at', 'is not', null).execute(), [], 'its receipt is erased')
  const rows = new Set((await db.selectFrom('blobs').select('id').execute()).map(({ id }) => id))
  for (const id of stored) assert.ok(rows.has(id), `${id} has no row`)
}

async function bytesIn(db: Database, engine: Engine, data: string): Promise<string[]> {
  if (engine === 'sqlite') return (await readdir(join(data, 'files')).catch(() => [])).toSorted()
  const rows = await db.selectFrom('blob_chunks').select('blob_id').distinct().orderBy('blob_id').execute()
  return rows.map(({ blob_id }) => blob_id)
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
