import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { head } from '../support/clients/raw.ts'
import { type ChildService, startChildService } from '../support/service/child-service.ts'
import { ENGINES } from '../support/service/service.ts'

const CONNECTIONS = 280
/** A page of receipts has at most as many bytes, more or less. */
const PAGE_BYTES = 8 * 1024 * 1024
const WORDS = 'word '.repeat(15_800)
const LIST = '/v1/invocations?limit=100'

/** Two projects whose runs fill more than a page each: an echo says all of it once more. */
async function fill(service: ChildService, project: string): Promise<Record<string, string>> {
  const named = { 'Moorage-Project': project }
  await service.call('POST', '/v1/projects', { name: project })
  await service.call('POST', '/v1/agents', { name: 'echo', model: 'builtin/echo' }, named)
  const invoke = () => service.call('POST', '/v1/agents/echo/invoke', { message: WORDS }, named)
  for (let i = 0; i < 6; i++) await Promise.all(Array.from({ length: 10 }, invoke))
  return named
}

/** Asks for the list on a connection of its own; the status and how many bytes came. */
function ask(t: TestContext, service: ChildService, named: Record<string, string>, reads: boolean) {
  const { hostname, port } = new URL(service.url())
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  let bytes = 0
  let begin = ''
  const reply = Promise.withResolvers<{ status: number; bytes: number; begin: string }>()
  socket.on('error', () => {})
  socket.on('close', () => reply.resolve({ status: Number(begin.slice(9, 12)), bytes, begin }))
  if (reads) {
    socket.on('data', (chunk) => {
      if (begin.length < 1_000) begin += chunk
      bytes += chunk.length
    })
  }
  socket.write(head(`GET ${LIST}`, { ...named, Authorization: `Bearer ${service.admin}` }))
  return reply.promise
}

for (const engine of ENGINES) {
  test(`hundreds of clients that ask for lists of 8 MB do not end a small service, and others are answered, on ${engine}`, async (t) => {
    const service = await startChildService(t, engine, {
      NODE_OPTIONS: '--max-old-space-size=1024',
      MOORAGE_SERVER__STALL_TIMEOUT: '3s',
    })
    const [noisy, quiet] = [await fill(service, 'noisy'), await fill(service, 'quiet')]
    for (let i = 0; i < CONNECTIONS / 2; i++) void ask(t, service, noisy, false)
    const readers = Array.from({ length: CONNECTIONS / 2 }, () => ask(t, service, noisy, true))

    const small = await service.send('GET', '/v1/invocations?limit=1', undefined, quiet)
    assert.equal(small?.status, 200, service.output())
    const page = await ask(t, service, quiet, true)
    assert.equal(page.status, 200, page.begin)
    assert.ok(page.bytes > PAGE_BYTES * 0.9, `${page.bytes} bytes`)

    const replies = await Promise.all(readers)
    for (const { status, bytes, begin } of replies) {
      if (status === 200) assert.ok(bytes > PAGE_BYTES * 0.9, `${bytes} bytes`)
      else {
        assert.equal(status, 503, begin)
        assert.match(begin, /retry-after: \d/i)
        assert.match(begin, /"code":"unavailable"/)
      }
    }
    const again = await ask(t, service, noisy, true)
    assert.equal(again.status, 200, `it answers as before: ${again.begin}`)
  })
}
