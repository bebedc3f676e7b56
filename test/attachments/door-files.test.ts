import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Part } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { startVisionProviders } from '../support/outside/vision-providers.ts'
import { ANY_ENGINE, inProject, type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = Buffer.from('RIFF\u0024\0\0\0WAVEfmt \u0010\0\0\0\u0001\0\u0001\0', 'latin1').toString('base64')
/** Smaller than the limit for files in an answer, and larger once encoded as base64. */
const LARGE = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(500 * 1024)]).toString('base64')
/** One of these fits in an answer, two do not. */
const MEDIUM = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(300 * 1024)]).toString('base64')
const SHOWN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }

for (const engine of ANY_ENGINE) {
  describe(`files of MCP and A2A clients, on ${engine}`, () => {
    let service: Service
    let providers: Awaited<ReturnType<typeof startVisionProviders>>
    let site: LocalServer
    let studio: McpServer
    let painter: object
    before(async () => {
      providers = await startVisionProviders()
      site = await startLocalServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'image/png' })
        response.end(Buffer.from(PNG, 'base64'))
      })
      service = await startService(engine, { ...providers.settings, ...LOCAL_TOOLS })
      const input_schema = { type: 'object' }
      const chart = { type: 'http', name: 'chart', description: 'Draws', method: 'GET', url: site.url, input_schema }
      const embedded = (name: string, mimeType: string, blob: string) => {
        return { type: 'resource', resource: { uri: `file:///${name}`, mimeType, blob } }
      }
      const content = [
        { type: 'audio', data: WAV, mimeType: 'audio/wav' },
        { type: 'image', data: LARGE, mimeType: 'image/png' },
        embedded('table.csv', 'text/csv', 'YSxiCjEsMg=='),
        embedded('all.zip', 'application/zip', 'UEsDBBQAAAAIAA=='),
        { type: 'image', data: PNG, mimeType: 'image/png' },
      ]
      const medium = { type: 'image', data: MEDIUM, mimeType: 'image/png' }
      studio = await startMcpServer([
        { name: 'paint', content },
        { name: 'sketch', content: [medium, medium] },
      ])
      const calling = (tool: string) => ({
        model: 'builtin/script',
        script: { rules: [{ call: { tool, arguments: {} }, reply: 'Painted' }] },
        tools: [{ type: 'mcp', url: studio.url }],
      })
      painter = calling('paint')
      await createAgent(service, 'painter', painter)
      await createAgent(service, 'sketcher', calling('sketch'))
      await createAgent(service, 'gpt', { model: 'openai/gpt-4o', tools: [chart] })
    })
    after(async () => {
      await service.stop()
      await Promise.all([providers.close(), site.close(), studio.close()])
    })
    const shown = () => providers.chat.requests[0]?.body.messages.at(-1)?.content
    const drawing = () => {
      providers.chat.reset()
      providers.chat.reply({ calls: [{ name: 'chart', arguments: {} }] }, { text: ['Here it is'] })
    }
    /** A link is read with the key of the client, which may only invoke. */
    const readBy = async (secret: string, url: string) => {
      const response = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } })
      return [response.status, Buffer.from(await response.arrayBuffer()).toString('base64')]
    }

    for (const revision of REVISIONS) {
      test(`MCP ${revision}: the model sees a call's attachments, and an image from a tool is returned as an image`, async (t) => {
        const { secret } = await createKey(service, { role: 'caller' })
        const client = await connectMcp(t, service, revision, { key: secret })
        providers.chat.reset()
        const attachments = [{ data: PNG, media_type: 'image/png', name: 'dot.png' }, { url: `${site.url}/dot.png` }]
        await client.callTool({ name: 'gpt', arguments: { message: 'Look', attachments } })
        assert.deepEqual(shown(), [{ type: 'text', text: 'Look' }, SHOWN, SHOWN])

        drawing()
        const result = await client.callTool({ name: 'gpt', arguments: { message: 'Draw' } })
        const [file] = (result.structuredContent as { files: { file_id: string }[] }).files
        const uri = `${service.url}/v1/files/${file?.file_id}/content`
        const meta = { 'moorage/file': { file_id: file?.file_id, name: 'chart.png', uri } }
        assert.deepEqual(result.content, [
          { type: 'text', text: 'Here it is' },
          { type: 'image', data: PNG, mimeType: 'image/png', _meta: meta },
        ])
        assert.deepEqual(await readBy(secret, uri), [200, PNG])

        const wrong = await client.callTool({
          name: 'gpt',
          arguments: { message: 'Look', attachments: [{ name: 'x' }] },
        })
        assert.equal(wrong.isError, true)
        assert.match(JSON.stringify(wrong.content), /attachments\.0: must be \{ file_id \}, \{ url \} or/)
      })
    }

    test('MCP: audio is returned as audio, text as an embedded resource, other and large files as links', async (t) => {
      const client = await connectMcp(t, service, '2026-07-28')
      const { content } = await client.callTool({ name: 'painter', arguments: { message: 'Paint' } })
      const blocks = content as { type: string; uri: string; mimeType?: string; data?: string; resource?: object }[]
      assert.deepEqual(
        blocks.map(({ type, mimeType = null }) => [type, mimeType]),
        [
          ['text', null],
          ['audio', 'audio/wav'],
          ['resource_link', 'image/png'],
          ['resource', null],
          ['resource_link', 'application/zip'],
          ['image', 'image/png'],
        ],
      )
      assert.deepEqual([blocks[1]?.data, blocks[5]?.data], [WAV, PNG])
      assert.deepEqual({ ...blocks[3]?.resource, uri: '' }, { uri: '', mimeType: 'text/csv', text: 'a,b\n1,2' })
      assert.deepEqual(await readBy(service.admin, blocks[2]?.uri ?? ''), [200, LARGE])
      assert.ok(JSON.stringify(content).length < 640 * 1024)
      const two = await client.callTool({ name: 'sketcher', arguments: { message: 'Sketch' } })
      assert.deepEqual(
        (two.content as { type: string }[]).map(({ type }) => type),
        ['text', 'image', 'resource_link'],
      )
    })

    test('MCP: a deleted file is a link in the reply to a repeated call', async (t) => {
      const client = await connectMcp(t, service, '2026-07-28')
      const headers = { 'Idempotency-Key': 'paint-once' }
      const paint = () => client.callTool({ name: 'painter', arguments: { message: 'Paint' } }, { headers })
      const { files } = (await paint()).structuredContent as { files: { file_id: string }[] }
      assert.equal((await service.call('DELETE', `/v1/files/${files.at(-1)?.file_id}`)).status, 200)
      const types = ((await paint()).content as { type: string }[]).map(({ type }) => type)
      assert.deepEqual(types, ['text', 'audio', 'resource_link', 'resource', 'resource_link', 'resource_link'])
    })

    test('MCP: files are returned as links if the project has no requests left this minute', async () => {
      await service.call('POST', '/v1/projects', { body: { name: 'rated' } })
      const rated = inProject(service, 'rated')
      await createAgent(rated, 'painter', painter)
      const limits = { requests_per_minute: 1 }
      assert.equal((await service.call('PATCH', '/v1/projects/rated', { body: { limits } })).status, 200)
      const params = { name: 'painter', arguments: { message: 'Paint' } }
      const { status, text } = await rated.call('POST', '/v1/mcp', {
        headers: { Accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      })
      assert.equal(status, 200, text)
      const types = Array.from(text.matchAll(/"type":"(\w+)"/g), ([, type]) => type)
      assert.deepEqual(types, ['text', ...Array.from({ length: 5 }, () => 'resource_link')])
    })

    test('A2A: the model sees file parts with bytes and URLs, and files from tools are returned as an artifact', async () => {
      const { secret } = await createKey(service, { role: 'caller' })
      const client = await connectA2a(service, 'gpt', { key: secret })
      const send = async (text: string, ...parts: Partial<Part>[]) => {
        const request = saying(text)
        const files = parts.map((part) => ({
          metadata: undefined,
          filename: '',
          mediaType: '',
          content: undefined,
          ...part,
        }))
        if (request.message) request.message.parts = text === '' ? files : [...request.message.parts, ...files]
        return client.sendMessage(request)
      }
      providers.chat.reset()
      const raw: Partial<Part> = {
        content: { $case: 'raw', value: Buffer.from(PNG, 'base64') },
        filename: 'dot.png',
        mediaType: 'image/png',
      }
      await send('Look', raw, { content: { $case: 'url', value: `${site.url}/dot.png` } })
      assert.deepEqual(shown(), [{ type: 'text', text: 'Look' }, SHOWN, SHOWN])
      providers.chat.reset()
      await send('', raw)
      assert.deepEqual(shown(), [{ type: 'text', text: '(see the attached files)' }, SHOWN])
      await assert.rejects(send('Look', { content: { $case: 'data', value: { a: 1 } } }), /no data parts/)

      drawing()
      const reply = await send('Draw')
      assert.ok('artifacts' in reply)
      const task = await client.getTask({ tenant: '', id: reply.id, historyLength: 0 })
      for (const { artifacts } of [reply, task]) {
        const [words, made] = artifacts
        assert.equal(words?.parts[0]?.content?.value, 'Here it is')
        const [file] = made?.parts ?? []
        assert.deepEqual([made?.name, file?.filename, file?.mediaType], ['files', 'chart.png', 'image/png'])
        assert.deepEqual(await readBy(secret, String(file?.content?.value)), [200, PNG])
      }

      drawing()
      const told: unknown[] = []
      for await (const { payload } of client.sendMessageStream(saying('Draw'))) {
        if (payload?.$case === 'artifactUpdate') told.push(payload.value.artifact?.name)
      }
      assert.deepEqual([...new Set(told)], ['response', 'files'])
    })
  })
}
