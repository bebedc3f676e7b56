import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { connectMcp } from '../../support/clients/mcp-client.ts'
import { chatChunk } from '../../support/outside/chat-chunk.ts'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { startMcpServer } from '../../support/outside/mcp-server.ts'
import { startVisionProviders } from '../../support/outside/vision-providers.ts'
import { longestPass } from '../../support/running/longest-pass.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { download, uploaded } from '../../support/slices/files.ts'
import { createAgent } from '../../support/slices/resources.ts'

const MOST_MS = 50
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Garbage collection and a shared CPU cause random delays, so the measurement is repeated. */
async function leastStall(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 3 && least > MOST_MS; tries++) least = Math.min(least, await longestPass(work))
  return least
}

/** A PDF of such objects, of which the first is the catalog. */
function pdfOf(objects: readonly (string | Buffer)[]): Buffer {
  const parts = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  let length = parts[0]?.length ?? 0
  for (const [i, object] of objects.entries()) {
    const whole = Buffer.concat([Buffer.from(`${i + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')])
    offsets.push(length)
    length += whole.length
    parts.push(whole)
  }
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`
  return Buffer.concat([...parts, Buffer.from(end)])
}

function pagesOf(count: number): Buffer {
  const kids = Array.from({ length: count }, (_, i) => `${5 + i} 0 R`).join(' ')
  const words = 'BT /F1 12 Tf 20 100 Td (A page) Tj ET'
  const page =
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>'
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${count} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    `<< /Length ${words.length} >>\nstream\n${words}\nendstream`,
    ...Array.from({ length: count }, () => page),
  ])
}

/** One page whose few bytes unpack to 600 MB, twice packed. */
function bomb(): Buffer {
  const once = deflateSync(Buffer.alloc(600_000_000, 32), { level: 1 })
  const twice = deflateSync(once)
  const head = `<< /Length ${twice.length} /Filter [/FlateDecode /FlateDecode] >>\nstream\n`
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R >>',
    Buffer.concat([Buffer.from(head), twice, Buffer.from('\nendstream')]),
  ])
}

/** A provider that takes prompts of any size and reads none of them: it lives in the process whose pauses are measured. */
async function startTakingProvider() {
  const taken: number[] = []
  const server = await startLocalServer(async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    taken.push(bytes)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chatChunk({ content: 'seen' })}${chatChunk({}, 'stop')}data: [DONE]\n\n`)
  })
  return { ...server, taken }
}

// What reads them is the same on both engines.
describe('malicious attachments', () => {
  let service: Service
  let providers: Awaited<ReturnType<typeof startVisionProviders>>
  let taking: Awaited<ReturnType<typeof startTakingProvider>>
  before(async () => {
    providers = await startVisionProviders()
    taking = await startTakingProvider()
    const all = [...JSON.parse(providers.settings.MOORAGE_PROVIDERS), { name: 'taking', baseUrl: taking.url }]
    service = await startService('sqlite', { MOORAGE_PROVIDERS: JSON.stringify(all), ...LOCAL_TOOLS })
    await createAgent(service, 'gpt', { model: 'openai/gpt-4o' })
    await createAgent(service, 'taker', { model: 'taking/any' })
  })
  after(async () => {
    await service.stop()
    await Promise.all([providers.close(), taking.close()])
  })
  const invoke = (attachments: object[], headers: Record<string, string> = {}, agent = 'gpt') => {
    providers.chat.reply({ text: ['seen'] })
    return service.call('POST', `/v1/agents/${agent}/invoke`, { headers, body: { message: 'Look', attachments } })
  }
  /** How it was shown. Showing it must delay nothing else. */
  const shown = async (bytes: Buffer, type = 'application/octet-stream', agent = 'gpt') => {
    const file_id = await uploaded(service, bytes, { type })
    let receipt: Record<string, unknown> = {}
    const ms = await leastStall(async () => {
      const { status, text, body } = await invoke([{ file_id }], {}, agent)
      assert.equal(status, 200, text)
      const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
      ;[receipt = {}] = (await service.call('GET', path)).body.data.attachments
    })
    assert.ok(ms < MOST_MS, `the event loop stood still for ${ms} ms`)
    const { media_type, shown_as, note } = receipt
    return { file_id, told: [media_type, shown_as, note] }
  }

  test('a PDF of 10,000 pages is sent up to the page that was read', async () => {
    const { told } = await shown(pagesOf(10_000), 'application/pdf')
    assert.deepEqual(told.slice(0, 2), ['application/pdf', 'text'])
    assert.match(String(told[2]), /^the beginning: \d+ of 10000 pages$/)
  })

  test('a PDF that unpacks to 600 MB is given up on, and the service continues', { timeout: 120_000 }, async () => {
    const { told } = await shown(bomb(), 'application/pdf')
    assert.deepEqual(told.slice(0, 2), ['application/pdf', 'omitted'])
    assert.match(String(told[2]), /needs too much memory|takes too long|has no text/)
    assert.equal((await service.call('GET', '/healthz', { key: null })).status, 200)
  })

  test('archives are not unpacked, and polyglot files are not executed', async () => {
    const zip = Buffer.concat([Buffer.from('PK\u0003\u0004'), deflateSync(Buffer.alloc(10_000_000))])
    assert.deepEqual((await shown(zip)).told, [
      'application/zip',
      'omitted',
      "files of type application/zip can't be sent to a model",
    ])
    const script = await shown(Buffer.from('GIF89a/*\u0000\u0001*/=1;alert(1)//', 'latin1'), 'text/javascript')
    assert.deepEqual(script.told.slice(0, 2), ['image/gif', 'image'])
    const page = await shown(Buffer.from('%PDF-1.4\n<html><script>alert(1)</script>'), 'text/html')
    for (const { file_id } of [script, page]) {
      const { headers } = await download(service, file_id)
      assert.match(headers.get('content-disposition') ?? '', /^attachment/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'")
    }
  })

  test('a photo is sent to the provider unchanged, including what the camera wrote into it', async () => {
    const exif = Buffer.from('ffd8ffe1001c45786966000049492a0008000000000000000000000000000000ffd9', 'hex')
    providers.chat.reset()
    assert.deepEqual((await shown(exif, 'image/jpeg')).told, ['image/jpeg', 'image', null])
    const content = providers.chat.requests[0]?.body.messages.at(-1)?.content as unknown as object[]
    const url = `data:image/jpeg;base64,${exif.toString('base64')}`
    assert.deepEqual(content[1], { type: 'image_url', image_url: { url } })
  })

  test('an image of 15 MB goes to the provider, and images of an answer to an MCP client, without a long pause', async (t) => {
    const photo = Buffer.concat([PNG, randomBytes(15_000_000)])
    assert.deepEqual((await shown(photo, 'image/png', 'taker')).told, ['image/png', 'image', null])
    assert.ok((taking.taken[0] ?? 0) > 20_000_000)
    const data = Buffer.concat([PNG, randomBytes(220_000)]).toString('base64')
    const image = { type: 'image', data, mimeType: 'image/png' }
    const studio = await startMcpServer([{ name: 'paint', content: [image, image] }])
    t.after(() => studio.close())
    const script = { rules: [{ call: { tool: 'paint', arguments: {} }, reply: 'Painted' }] }
    const tools = [{ type: 'mcp', url: studio.url }]
    await createAgent(service, 'painter', { model: 'builtin/script', script, tools })
    const client = await connectMcp(t, service, '2026-07-28')
    const ms = await leastStall(async () => {
      const { content } = await client.callTool({ name: 'painter', arguments: { message: 'Paint' } })
      const images = (content as { type: string; data?: string }[]).filter((block) => block.data === data)
      assert.equal(images.length, 2)
    })
    assert.ok(ms < MOST_MS, `the event loop stood still for ${ms} ms`)
  })

  test('empty files are refused; a repeated invoke with data returns the stored reply and creates no second file', async () => {
    assert.equal((await invoke([{ data: '', media_type: 'text/plain' }])).status, 400)
    const count = async () => (await service.call('GET', '/v1/files?limit=1')).body.pagination.total
    const earlier = await count()
    const send = () => invoke([{ data: 'aGVsbG8=', media_type: 'text/plain' }], { 'Idempotency-Key': 'once' })
    const [first, again] = [await send(), await send()]
    assert.deepEqual([first.status, again.body], [200, first.body])
    assert.equal(await count(), earlier + 1)
  })

  test('no output schema blocks the event loop', async () => {
    const deep = (depth: number): object => (depth === 0 ? { type: 'object' } : { allOf: [deep(depth - 1), deep(0)] })
    const schemas: Record<string, object> = {
      'references in a circle': { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      'deep allOf': deep(50),
      'a pattern that takes for ever': { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
      'a long enum': { enum: Array.from({ length: 10_000 }, (_, i) => `value ${i}`) },
      'unique items': { type: 'array', uniqueItems: true },
    }
    const answer = {
      'a pattern that takes for ever': JSON.stringify({ a: `${'a'.repeat(40)}!` }),
      'unique items': JSON.stringify(Array.from({ length: 10_000 }, (_, i) => ({ i: i % 9_999 }))),
    } as Record<string, string>
    for (const [name, schema] of Object.entries(schemas)) {
      const ms = await leastStall(async () => {
        providers.chat.reset()
        providers.chat.reply({ text: [answer[name] ?? '{}'] })
        const body = { message: 'Go', output: { schema, retries: 0 } }
        const { status, text } = await service.call('POST', '/v1/agents/gpt/invoke', { body })
        assert.ok([200, 400, 500, 503].includes(status), text)
        if (status === 500) assert.match(text, /output_invalid/)
      })
      assert.ok(ms < MOST_MS, `${name}: ${ms} ms`)
    }
  })
})
