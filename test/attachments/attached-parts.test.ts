import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { checkResponse, openaiClient } from '../support/clients/openai.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { startVisionProviders } from '../support/outside/vision-providers.ts'
import { ANY_ENGINE, type Reply, type Service, startService } from '../support/service/service.ts'
import { uploaded } from '../support/slices/files.ts'
import { createAgent } from '../support/slices/resources.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const DATA_URL = `data:image/png;base64,${PNG}`
const SHOWN = { type: 'image_url', image_url: { url: DATA_URL } }

for (const engine of ANY_ENGINE) {
  describe(`images and files of OpenAI clients, on ${engine}`, () => {
    let service: Service
    let providers: Awaited<ReturnType<typeof startVisionProviders>>
    let site: LocalServer
    before(async () => {
      providers = await startVisionProviders()
      site = await startLocalServer((request, response) => {
        if (request.url === '/gone') return void response.writeHead(404).end()
        response.writeHead(200, { 'content-type': 'image/png' })
        response.end(Buffer.from(PNG, 'base64'))
      })
      service = await startService(engine, { ...providers.settings, ...LOCAL_TOOLS })
      await createAgent(service, 'gpt', { model: 'openai/gpt-4o' })
    })
    after(async () => {
      await service.stop()
      await Promise.all([providers.close(), site.close()])
    })
    const shown = (at = 0) => providers.chat.requests[at]?.body.messages.at(-1)?.content

    test('chat completions: image_url as a data URL and as a web URL, and a file', async () => {
      providers.chat.reset()
      await openaiClient(service).chat.completions.create({
        model: 'gpt',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look' },
              { type: 'image_url', image_url: { url: DATA_URL } },
              { type: 'image_url', image_url: { url: `${site.url}/dot.png` } },
              { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,aGVsbG8=' } },
            ],
          },
        ],
      })
      const text = '<attachment>\n{"name":"a.txt","media_type":"text/plain","text":"hello"}\n</attachment>\n\nLook'
      assert.deepEqual(shown(), [{ type: 'text', text }, SHOWN, SHOWN])
    })

    test('images of earlier turns stay in their place', async () => {
      providers.chat.reset()
      await openaiClient(service).chat.completions.create({
        model: 'gpt',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: DATA_URL } }] },
          { role: 'assistant', content: 'A dot.' },
          { role: 'user', content: 'Which colour?' },
        ],
      })
      assert.deepEqual(
        providers.chat.requests[0]?.body.messages.slice(1).map(({ content }) => content),
        [[SHOWN], 'A dot.', 'Which colour?'],
      )
    })

    test('responses: input_image and input_file by ID, and a later response that continues them', async () => {
      providers.chat.reset()
      const client = openaiClient(service)
      const file_id = await uploaded(service, 'hello', { type: 'text/plain', query: '?name=a.txt' })
      const first = await client.responses.create({
        model: 'gpt',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Look' },
              { type: 'input_image', image_url: DATA_URL, detail: 'auto' },
              { type: 'input_file', file_id },
            ],
          },
        ],
      })
      await client.responses.create({ model: 'gpt', input: 'And?', previous_response_id: first.id })
      const text = '<attachment>\n{"name":"a.txt","media_type":"text/plain","text":"hello"}\n</attachment>\n\nLook'
      assert.deepEqual(shown(), [{ type: 'text', text }, SHOWN])
      assert.deepEqual(providers.chat.requests[1]?.body.messages[1]?.content, [{ type: 'text', text }, SHOWN])
      assert.equal(shown(1), 'And?')
    })

    test('responses: an image is kept after a tool call of the client, and in later responses', async () => {
      providers.chat.reset()
      providers.chat.reply({ calls: [{ name: 'zoom', arguments: {} }] })
      const client = openaiClient(service)
      const zoom = { type: 'function' as const, name: 'zoom', parameters: { type: 'object' }, strict: false }
      const common = { model: 'gpt', tools: [zoom] }
      const content = [
        { type: 'input_text' as const, text: 'What is this?' },
        { type: 'input_image' as const, image_url: DATA_URL, detail: 'auto' as const },
      ]
      const first = await client.responses.create({ ...common, input: [{ role: 'user', content }] })
      const call_id = first.output.flatMap((item) => (item.type === 'function_call' ? item.call_id : []))[0] ?? ''
      const result = { type: 'function_call_output' as const, call_id, output: 'closer' }
      const second = await client.responses.create({ ...common, input: [result], previous_response_id: first.id })
      await client.responses.create({ ...common, input: 'And?', previous_response_id: second.id })
      const asked = [{ type: 'text', text: 'What is this?' }, SHOWN]
      for (const { body } of providers.chat.requests) {
        assert.deepEqual(body.messages.find(({ role }) => role === 'user')?.content, asked)
      }
      assert.equal(providers.chat.requests.length, 3)
    })

    test('Open Responses, image-input: a message with an image is answered with a completed response', async () => {
      providers.chat.reset()
      const text = 'What do you see in this image? Answer in one sentence.'
      const content = [
        { type: 'input_text', text },
        { type: 'input_image', image_url: DATA_URL },
      ]
      const body = { model: 'gpt', input: [{ type: 'message', role: 'user', content }] }
      const reply = await service.call('POST', '/v1/responses', { body })
      assert.equal(reply.status, 200, reply.text)
      checkResponse({ ...reply.body, output_text: '' })
      const [item] = reply.body.output
      assert.deepEqual(
        [reply.body.status, reply.body.object, item.type, item.role, item.status, item.content[0].type],
        ['completed', 'response', 'message', 'assistant', 'completed', 'output_text'],
      )
      assert.deepEqual(shown(), [{ type: 'text', text }, SHOWN])
    })

    test('the AI SDK sends images unmodified', async () => {
      providers.chat.reset()
      const client = createOpenAI({ baseURL: `${service.url}/v1`, apiKey: service.admin })
      const data = { type: 'data' as const, data: new Uint8Array(Buffer.from(PNG, 'base64')) }
      const image = { type: 'file' as const, mediaType: 'image/png', data }
      for (const model of [client.chat('gpt'), client.responses('gpt')]) {
        await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, image] }] })
      }
      assert.deepEqual(shown(1), [{ type: 'text', text: 'Look' }, SHOWN])
      assert.deepEqual(shown(), [{ type: 'text', text: 'Look' }, SHOWN])
    })

    test('400 for a part that is neither an image nor a file, and for data that is not base64', async () => {
      const ask = (part: object) =>
        service.call('POST', '/v1/chat/completions', {
          body: { model: 'gpt', messages: [{ role: 'user', content: [part] }] },
        })
      const audio = await ask({ type: 'input_audio', input_audio: { data: 'x' } })
      assert.equal(audio.status, 400, audio.text)
      assert.match(audio.text, /input_audio.*is not supported/)
      for (const url of ['data:image/png,abc', 'data:image/png;base64,!!!!', 'ftp://example.com/a.png']) {
        const reply = await ask({ type: 'image_url', image_url: { url } })
        assert.equal(reply.status, 400, reply.text)
      }
    })

    test("errors name the client's own field, both in param and in the message", async () => {
      const image = (url: string) => ({ type: 'image_url', image_url: { url } })
      const file = (fields: object) => ({ type: 'file', file: fields })
      const hidden = 'ftp://example.com/a.png'
      const gone = `${site.url}/gone`
      const chat: [object[], string][] = [
        [[{ type: 'text', text: 'Look' }, image(gone)], 'messages[0].content[1].image_url.url'],
        [[image(DATA_URL), image(hidden)], 'messages[0].content[1].image_url.url'],
        [[image('data:image/png;base64,!!!!')], 'messages[0].content[0].image_url.url'],
        [[image('data:image/png,abc')], 'messages[0].content[0].image_url.url'],
        [[file({ file_data: '!!!!' })], 'messages[0].content[0].file.file_data'],
        [Array.from({ length: 21 }, () => image(DATA_URL)), 'messages'],
      ]
      const later = [
        { role: 'assistant', content: 'A dot.' },
        { role: 'user', content: 'Which colour?' },
      ]
      const asked = [
        ...chat.map(([content, param]) => ({ messages: [{ role: 'user', content }], param })),
        {
          messages: [{ role: 'user', content: [image(gone)] }, ...later],
          param: 'messages[0].content[0].image_url.url',
        },
      ]
      for (const { messages, param } of asked) {
        for (const stream of [false, true]) {
          const body = { model: 'gpt', messages, stream }
          isTold(await service.call('POST', '/v1/chat/completions', { body }), param)
        }
      }
      const responses: [object, string][] = [
        [{ type: 'input_image', image_url: gone }, 'input[0].content[0].image_url'],
        [{ type: 'input_file', file_url: hidden }, 'input[0].content[0].file_url'],
        [{ type: 'input_file', file_data: 'data:text/plain;base64,!!!!' }, 'input[0].content[0].file_data'],
      ]
      for (const [part, param] of responses) {
        const body = { model: 'gpt', input: [{ role: 'user', content: [part] }] }
        isTold(await service.call('POST', '/v1/responses', { body }), param)
      }
    })

    const isTold = ({ status, body, text }: Reply, param: string) => {
      assert.deepEqual([status, body.error?.param], [400, param], text)
      assert.ok(body.error.message.startsWith(`${param}: `), body.error.message)
      assert.doesNotMatch(text, /attachments/)
    }
  })
}
