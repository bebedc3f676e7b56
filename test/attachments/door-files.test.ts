import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Part } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { startVisionProviders } from '../support/outside/vision-providers.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SHOWN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }

for (const engine of ANY_ENGINE) {
  describe(`files of MCP and A2A clients, on ${engine}`, () => {
    let service: Service
    let providers: Awaited<ReturnType<typeof startVisionProviders>>
    let site: LocalServer
    before(async () => {
      providers = await startVisionProviders()
      site = await startLocalServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'image/png' })
        response.end(Buffer.from(PNG, 'base64'))
      })
      service = await startService(engine, { ...providers.settings, ...LOCAL_TOOLS })
      const input_schema = { type: 'object' }
      const chart = { type: 'http', name: 'chart', description: 'Draws', method: 'GET', url: site.url, input_schema }
      await createAgent(service, 'gpt', { model: 'openai/gpt-4o', tools: [chart] })
    })
    after(async () => {
      await service.stop()
      await Promise.all([providers.close(), site.close()])
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
      test(`MCP ${revision}: attachments of a call are shown, and what tools made comes as links`, async (t) => {
        const { secret } = await createKey(service, { role: 'caller' })
        const client = await connectMcp(t, service, revision, { key: secret })
        providers.chat.reset()
        const attachments = [{ data: PNG, media_type: 'image/png', name: 'dot.png' }, { url: `${site.url}/dot.png` }]
        await client.callTool({ name: 'gpt', arguments: { message: 'Look', attachments } })
        assert.deepEqual(shown(), [{ type: 'text', text: 'Look' }, SHOWN, SHOWN])

        drawing()
        const result = await client.callTool({ name: 'gpt', arguments: { message: 'Draw' } })
        const [words, link] = result.content as { type: string; text?: string; uri: string }[]
        assert.deepEqual(words, { type: 'text', text: 'Here it is' })
        const told = { type: 'resource_link', name: 'chart.png', mimeType: 'image/png', size: 70 }
        assert.deepEqual(link, { ...told, uri: link?.uri })
        assert.deepEqual(await readBy(secret, link?.uri ?? ''), [200, PNG])

        const wrong = await client.callTool({
          name: 'gpt',
          arguments: { message: 'Look', attachments: [{ name: 'x' }] },
        })
        assert.equal(wrong.isError, true)
        assert.match(JSON.stringify(wrong.content), /attachments\.0: must be \{ file_id \}, \{ url \} or/)
      })
    }

    test('A2A: file parts with bytes and with an address are shown, and what tools made is an artifact', async () => {
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
      await assert.rejects(send('Look', { content: { $case: 'data', value: { a: 1 } } }), /text and files, and no data/)

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
