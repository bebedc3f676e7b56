import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { anthropicCall, startVisionProviders } from '../support/outside/vision-providers.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = Buffer.from('RIFF\u0024\0\0\0WAVEfmt \u0010\0\0\0\u0001\0\u0001\0', 'latin1').toString('base64')
const SHOWN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }

for (const engine of ANY_ENGINE) {
  describe(`files that tools answer with, on ${engine}`, () => {
    let service: Service
    let providers: Awaited<ReturnType<typeof startVisionProviders>>
    let site: LocalServer
    let mcp: McpServer
    before(async () => {
      providers = await startVisionProviders()
      site = await startLocalServer((request, response) => {
        if (request.url === '/json') return void response.end('{"plain":true}')
        if (request.url === '/broken') return void response.writeHead(500, { 'content-type': 'image/png' }).end('no')
        if (request.url === '/huge') return void response.end(Buffer.alloc(300 * 1024))
        response.writeHead(200, { 'content-type': 'image/png' })
        response.end(Buffer.from(PNG, 'base64'))
      })
      mcp = await startMcpServer([
        {
          name: 'draw',
          content: [
            { type: 'text', text: 'Drawn.' },
            { type: 'image', data: PNG, mimeType: 'image/png' },
            { type: 'audio', data: WAV, mimeType: 'audio/wav' },
            {
              type: 'resource',
              resource: { uri: 'file:///out/table.csv', mimeType: 'text/csv', blob: 'YSxiCjEsMg==' },
            },
            { type: 'resource', resource: { uri: 'file:///out/note.txt', text: 'a note' } },
            { type: 'resource_link', uri: 'https://example.com/more.png', name: 'more' },
          ],
        },
      ])
      service = await startService(engine, {
        ...providers.settings,
        ...LOCAL_TOOLS,
        MOORAGE_FILES__MAX_BYTES: '200KiB',
      })
      const get = (name: string) => ({
        type: 'http',
        name,
        description: 'Gets',
        method: 'GET',
        url: `${site.url}/${name}`,
        input_schema: { type: 'object' },
      })
      const tools = [...['chart', 'json', 'broken', 'huge'].map(get), { type: 'mcp', url: mcp.url }]
      await createAgent(service, 'gpt', { model: 'openai/gpt-4o', tools })
      await createAgent(service, 'claude', { model: 'anthropic/claude-test', tools })
      await createAgent(service, 'blind', { model: 'blind/tiny', tools })
    })
    after(async () => {
      await service.stop()
      await Promise.all([providers.close(), site.close(), mcp.close()])
    })
    const ask = async (agent: string, tool: string, body: object = {}) => {
      providers.chat.reset()
      providers.chat.reply({ calls: [{ name: tool, arguments: {} }] })
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go', ...body } })
      assert.equal(reply.status, 200, reply.text)
      const path = `/v1/agents/${agent}/invocations/${reply.body.data.request_id}`
      const receipt = (await service.call('GET', path)).body.data
      return { path, step: receipt.steps.find(({ kind }: { kind: string }) => kind === 'tool') }
    }

    test('the binary reply of an HTTP tool becomes a file of the user, and the model sees the image', async () => {
      const { path, step } = await ask('gpt', 'chart', { context: { user_id: 'ann' } })
      const [file] = step.files
      assert.deepEqual(step.files, [{ file_id: file.file_id, name: 'chart.png', media_type: 'image/png', size: 70 }])
      assert.equal(step.result, `[file chart.png: image/png, 70 bytes, id ${file.file_id}]`)
      assert.deepEqual(providers.chat.requests[1]?.body.messages.slice(-2), [
        { role: 'tool', tool_call_id: 'call_1', content: step.result },
        { role: 'user', content: [{ type: 'text', text: 'Images of the results:' }, SHOWN] },
      ])
      const stored = await service.call('GET', `/v1/files/${file.file_id}`)
      assert.deepEqual([stored.body.data.user_id, stored.body.data.created_by_name], ['ann', 'first admin key'])
      const erased = await service.call('DELETE', path)
      assert.equal(JSON.stringify(erased.body).includes(file.file_id), false)
      assert.equal((await service.call('GET', `/v1/files/${file.file_id}`)).status, 404)
    })

    test('a text without a type stays text, an error stays words, and a file that is too large is named', async () => {
      assert.equal((await ask('gpt', 'json')).step.result, '{"plain":true}')
      assert.equal((await ask('gpt', 'broken')).step.error, 'HTTP 500: no')
      const { step } = await ask('gpt', 'huge')
      assert.equal(step.result, '[file huge was not stored: Files can be at most 204800 bytes (files.maxBytes).]')
      assert.equal(step.files, undefined)
    })

    test('images, audio and embedded bytes of MCP become files; texts and links stay words', async () => {
      const { step } = await ask('gpt', 'draw')
      const ids = step.files.map(({ file_id }: { file_id: string }) => file_id)
      assert.deepEqual(step.files, [
        { file_id: ids[0], name: 'draw.png', media_type: 'image/png', size: 70 },
        { file_id: ids[1], name: 'draw.wav', media_type: 'audio/wav', size: 24 },
        { file_id: ids[2], name: 'table.csv', media_type: 'text/csv', size: 7 },
      ])
      const text = [
        'Drawn.',
        `[file draw.png: image/png, 70 bytes, id ${ids[0]}]`,
        `[file draw.wav: audio/wav, 24 bytes, id ${ids[1]}]`,
        `[file table.csv: text/csv, 7 bytes, id ${ids[2]}]`,
        'a note',
        '[resource_link https://example.com/more.png]',
      ].join('\n')
      assert.equal(step.result, text)
      assert.deepEqual(providers.chat.requests[1]?.body.messages.slice(-2), [
        {
          role: 'tool',
          tool_call_id: 'call_1',
          content: [
            text,
            `<attachment>\n{"name":"draw.wav","media_type":"audio/wav","not_shown":"files of type audio/wav can't be sent to a model"}\n</attachment>`,
            '<attachment>\n{"name":"table.csv","media_type":"text/csv","text":"a,b\\n1,2"}\n</attachment>',
          ].join('\n\n'),
        },
        { role: 'user', content: [{ type: 'text', text: 'Images of the results:' }, SHOWN] },
      ])
    })

    test('Anthropic sees the image in the result of the tool', async () => {
      providers.anthropic.asked.length = 0
      providers.anthropic.answers.push(anthropicCall('toolu_1', 'chart'))
      const { step } = await ask('claude', 'chart')
      assert.deepEqual(providers.anthropic.asked[1].messages.at(-1), {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            cache_control: { type: 'ephemeral' },
            content: [
              { type: 'text', text: step.result },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            ],
          },
        ],
      })
    })

    test('a model without vision gets a text about it', async () => {
      const { step } = await ask('blind', 'chart')
      assert.equal(
        providers.chat.requests[1]?.body.messages.at(-1)?.content,
        `${step.result}\n\n<attachment>\n{"name":"chart.png","media_type":"image/png","not_shown":"blind/tiny does not accept images"}\n</attachment>`,
      )
    })

    test('a test of the tool stores nothing', async () => {
      const earlier = (await service.call('GET', '/v1/files?limit=1')).body.pagination.total
      const tool = { type: 'mcp', url: mcp.url }
      const reply = await service.call('POST', '/v1/agents/gpt/tools/test', { body: { tool, call: { name: 'draw' } } })
      assert.match(reply.body.data.result, /^Drawn\.\n\[file draw\.png: image\/png\]\n/)
      assert.equal((await service.call('GET', '/v1/files?limit=1')).body.pagination.total, earlier)
    })
  })
}
