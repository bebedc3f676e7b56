import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { IS_LONG } from '../../support/running/long.ts'
import { type ChildService, startChildService } from '../../support/service/child-service.ts'
import { ENGINES } from '../../support/service/service.ts'

const MB = 1_000_000
const UPLOADS = IS_LONG ? 50 : 16
const FILE_BYTES = 20 * MB
const PIECE = Buffer.alloc(64 * 1024, 'x')

for (const engine of ENGINES) {
  describe(`many uploads at once, on ${engine}`, () => {
    test(`${UPLOADS} of 20 MB each take less than 100 MB of memory, and come back whole`, async (t) => {
      const service = await startChildService(t, engine)
      // What every upload needs is loaded, compiled and connected with the first ones.
      await Promise.all(Array.from({ length: 8 }, (_, i) => put(service, i, 4 * MB)))
      const before = residentBytes(service)
      let peak = before
      const watch = setInterval(() => (peak = Math.max(peak, residentBytes(service))), 10)
      const ids = await Promise.all(Array.from({ length: UPLOADS }, (_, i) => put(service, i, FILE_BYTES)))
      clearInterval(watch)
      t.diagnostic(`${engine}: ${Math.round((peak - before) / MB)} MB more than ${Math.round(before / MB)} MB`)
      assert.ok(peak - before < 100 * MB, `${Math.round((peak - before) / MB)} MB`)
      assert.equal(new Set(ids).size, UPLOADS)
      const response = await service.open(`/v1/files/${ids[7]}/content`)
      let size = 0
      for await (const piece of response.body ?? []) size += piece.length
      assert.equal(size, FILE_BYTES)
    })
  })
}

/** Sends a file that no other upload sends, without having it in memory. */
async function put(service: ChildService, number: number, bytes: number): Promise<string> {
  async function* pieces() {
    yield Buffer.from(`${number}:${bytes}`.padEnd(64))
    for (let left = bytes - 64; left > 0; left -= PIECE.length) yield PIECE.subarray(0, Math.min(left, PIECE.length))
  }
  const response = await fetch(`${service.url()}/v1/files`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'text/plain' },
    body: pieces() as never,
    duplex: 'half',
  })
  const { data, error } = (await response.json()) as { data: { id: string }; error: unknown }
  assert.equal(response.status, 201, JSON.stringify(error))
  return data.id
}

function residentBytes(service: ChildService): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid()}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
