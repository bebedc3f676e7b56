import { after, before } from 'node:test'
import { serveAgent, toNodeHandler } from '../../sdk/client.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { upload } from '../support/slices/files.ts'
import { SIGNING_SECRET } from '../support/slices/remote-agents.ts'
import { chatStream, claudeStream } from '../support/tour/provider-answers.ts'
import { tour } from '../support/tour/tour.ts'
import type { World } from '../support/tour/world.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SHIPS = {
  type: 'object',
  title: 'ships',
  properties: { ships: { type: 'integer', minimum: 0 }, flag: { type: 'string' } },
  required: ['ships', 'flag'],
  additionalProperties: false,
}

const MODELS = {
  gpt: 'openai/gpt-4o',
  thinker: 'openai/gpt-5',
  tiny: 'other/tiny',
  claude: 'anthropic/claude-sonnet-4-5',
}

const settings = ({ place }: World) => ({
  MOORAGE_PROVIDERS: JSON.stringify([
    { name: 'openai', type: 'openai', baseUrl: `${place.url}/openai/v1`, apiKey: 'sk-openai' },
    { name: 'other', baseUrl: `${place.url}/other/v1`, apiKey: 'sk-other' },
    { name: 'anthropic', type: 'anthropic', baseUrl: `${place.url}/claude/v1`, apiKey: 'sk-claude' },
  ]),
})

tour(
  'a tour of what goes out to others',
  (told, chapter, world) => {
    const shown = ['authorization', 'x-api-key', 'anthropic-version', 'content-type', 'accept', 'user-agent', 'x-quay']
    /** Tells what has come to the place since the last time. */
    const showArrived = (title: string) => {
      for (const { method, path, headers, body } of world().arrived.splice(0)) {
        const head = Object.fromEntries(shown.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])))
        told.show(`${title}: ${method} ${path}`, { headers: head, body: body && JSON.parse(body) })
      }
    }
    const pathOf = (agent: string) =>
      agent === 'claude' ? '/claude/v1/messages' : `/${agent === 'tiny' ? 'other' : 'openai'}/v1/chat/completions`
    const stream = (agent: string) => (agent === 'claude' ? claudeStream : chatStream)
    const receipt = async (agent: string, request_id: string) => {
      const { body } = await told.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      const { response, output, model, usage, cost_usd, error, status, steps } = body.data
      told.show(`what came of it for ${agent}`, {
        status,
        response,
        output,
        model,
        usage,
        cost_usd,
        error,
        steps: steps.length,
      })
    }

    for (const agent of Object.keys(MODELS) as (keyof typeof MODELS)[]) {
      chapter(`outside/${agent}.txt`, async () => {
        const url = `${world().place.url}/weather/{city}`
        const input_schema = {
          type: 'object',
          properties: { city: { type: 'string' }, days: { type: 'integer' } },
          required: ['city'],
        }
        await told.call('POST', '/v1/agents', {
          body: {
            name: agent,
            model: MODELS[agent],
            temperature: 0.7,
            instructions: 'You speak for the harbour.',
            tools: [
              {
                type: 'http',
                name: 'weather',
                description: 'The weather',
                method: 'GET',
                url,
                input_schema,
                headers: { 'X-Quay': '7' },
              },
            ],
            limits: { max_output_tokens: 500 },
          },
        })
        await told.call('POST', `/v1/agents/${agent}/memory`, {
          body: { items: [{ content: 'Ann likes fog', kind: 'fact', context: { user_id: 'ann' } }] },
        })
        const invoke = async (message: string, more: object = {}) => {
          const body = { message, context: { user_id: 'ann', session_id: 'monday' }, ...more }
          const reply = await told.call('POST', `/v1/agents/${agent}/invoke`, { body })
          showArrived(message)
          await receipt(agent, reply.body.data?.request_id ?? reply.body.request_id)
        }
        const answer = stream(agent)
        world().answer(
          pathOf(agent),
          answer({ text: 'Let me look.', call: { name: 'weather', arguments: { city: 'Oslo', days: 2 } } }),
        )
        world().answer(pathOf(agent), answer({ text: 'Fog until noon.' }))
        await invoke('Does Ann get fog?')
        world().answer(pathOf(agent), answer({ text: 'A dot and a list.' }))
        await invoke('What is this?', {
          attachments: [
            { data: PNG, media_type: 'image/png', name: 'dot.png' },
            { data: Buffer.from('a,b\n1,2\n').toString('base64'), media_type: 'text/csv', name: 'table.csv' },
          ],
        })
        for (const text of ['{"ships":"many"}', 'three', '{"ships":3,"flag":"NO"}'])
          world().answer(pathOf(agent), answer({ text }))
        await invoke('How many ships?', { output: { schema: SHIPS, retries: 2 } })
        world().answer(pathOf(agent), {
          status: 401,
          body: JSON.stringify({ error: { message: 'Incorrect API key sk-abc' } }),
        })
        await invoke('With a wrong key')
        const sampling = { top_p: 0.4, stop: ['END', 'STOP'], seed: 7, presence_penalty: 0.1, frequency_penalty: 0.2 }
        const tools = [
          {
            type: 'function',
            function: { name: 'berth', description: 'A berth', parameters: { type: 'object' }, strict: true },
          },
        ]
        world().answer(pathOf(agent), answer({ text: '', call: { name: 'berth', arguments: { ship: 'Anna' } } }))
        const messages = [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'A berth, please' },
          { role: 'assistant', content: 'For whom?' },
          { role: 'user', content: 'For the Anna' },
        ]
        const body = {
          model: agent,
          messages,
          ...sampling,
          tools,
          tool_choice: 'required',
          parallel_tool_calls: false,
          max_tokens: 90,
          reasoning_effort: 'low',
          temperature: 0.2,
        }
        const given = await told.call('POST', '/v1/chat/completions', { body })
        told.show('what was given: the answer', given.body)
        showArrived('what was given')
      }, [
        [/(?<="created": )\d+/g, 'time'],
        [/chatcmpl-\w+/g, 'chat id'],
      ])
    }

    chapter('outside/large-image.txt', async () => {
      const bytes = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(3_900_000)])
      const file = await upload(told.service, bytes, { type: 'image/png', query: '?name=large.png' })
      world().answer(pathOf('claude'), claudeStream({ text: 'I see nothing.' }))
      const body = { message: 'Look', attachments: [{ file_id: file.body.data.id }] }
      const reply = await told.tell('POST', '/v1/agents/claude/invoke', { body })
      const run = await told.call('GET', `/v1/agents/claude/invocations/${reply.body.data.request_id}`)
      told.show('what was shown', run.body.data.attachments)
      showArrived('a large image')
    })

    chapter('outside/tools.txt', async () => {
      const { place } = world()
      const tool = (method: string, url: string, more: object = {}) => ({
        tool: {
          type: 'http',
          name: 'try',
          method,
          url: `${place.url}${url}`,
          headers: { 'X-Quay': '7', Authorization: 'Bearer {{secret.WEATHER}}' },
          ...more,
        },
        call: { arguments: { city: 'Bad Aibling/Ö', nights: 3, tags: ['a', 'b'], deep: { yes: true } } },
      })
      for (const [method, url] of [
        ['GET', '/weather/{city}'],
        ['POST', '/weather'],
        ['PUT', '/weather/{city}?n={nights}'],
        ['DELETE', '/weather'],
        ['PATCH', '/broken'],
      ] as const) {
        const { body } = await told.call('POST', '/v1/agents/hello/tools/test', { body: tool(method, url) })
        const { duration_ms: _, tools: __, ...rest } = body.data
        told.show(`${method} ${url}`, rest)
        showArrived('the tool got')
      }
    })

    chapter('outside/mcp-tools.txt', async () => {
      const body = { tool: { type: 'mcp', url: mcp.url, headers: { 'X-Quay': '7' }, allow: ['tide', 'moon'] } }
      await told.tell('POST', '/v1/agents/hello/tools/test', { body })
      await told.tell('POST', '/v1/agents/hello/tools/test', {
        body: { ...body, call: { name: 'tide', arguments: { at: 'noon' } } },
      })
      await told.tell('POST', '/v1/agents/hello/tools/test', {
        body: { ...body, call: { name: 'sun', arguments: {} } },
      })
      for (const { method, headers } of mcp.seen) {
        const { host: _, 'content-length': __, 'user-agent': ___, ...rest } = headers
        told.show(method, rest)
      }
    })

    chapter('outside/remote-agent.txt', async () => {
      await told.call('PUT', '/v1/secrets/REMOTE', { body: SIGNING_SECRET })
      const tools = [{ type: 'http', name: 'weather', description: 'The weather', url: `${world().place.url}/weather` }]
      const spec = { url: remote.url, secret: 'REMOTE', headers: { 'X-Fleet': 'north' }, timeout_ms: 9000 }
      await told.call('POST', '/v1/agents', {
        body: { name: 'far', kind: 'remote', remote: spec, tools, instructions: 'Look far.' },
      })
      const body = { message: 'Who is there?', context: { user_id: 'ann', session_id: 'monday' } }
      const reply = await told.tell('POST', '/v1/agents/far/invoke', { body, headers: { Accept: 'text/event-stream' } })
      await told.tell('GET', `/v1/agents/far/invocations/${/req_\w+/.exec(reply.text)?.[0]}`)
      for (const { title, headers, body: sent } of calls) told.show(title, { headers, body: JSON.parse(sent) })
    }, [
      [/(?<="(webhook-signature|x-service-signature|authorization)": "(Bearer )?)[^"]+/g, 'signature'],
      [/(?<="steps_token": ")[^"]+/g, 'token'],
      [/(?<="deadline": ")[^"]+/g, 'time'],
    ])

    let mcp: McpServer
    let remote: LocalServer
    const calls: { title: string; headers: Record<string, string>; body: string }[] = []
    before(async () => {
      mcp = await startMcpServer([
        { name: 'tide', description: 'The tide', inputSchema: { type: 'object' }, call: ({ at }) => `low at ${at}` },
        { name: 'moon', description: 'The moon' },
        { name: 'sun', description: 'The sun' },
      ])
      const keep = async (title: string, request: Request) => {
        const { host: _, 'content-length': __, 'user-agent': ___, ...headers } = Object.fromEntries(request.headers)
        calls.push({ title, headers, body: await request.clone().text() })
      }
      const serve = serveAgent(
        async (run) => {
          run.say('Looking. ')
          run.log('info', 'looked')
          const weather = await run.tool('one', 'weather', { city: 'Oslo' })
          const kept = await run.keep('two', () => ({ seen: 2 }))
          run.usage({ model: 'far/eye', input_tokens: 11, output_tokens: 4 })
          return `${weather} ${kept.seen}`
        },
        {
          secret: SIGNING_SECRET.value,
          now: () => told.time,
          fetch: async (...given) => {
            const request = new Request(...given)
            await keep('a step is asked for', request)
            return fetch(request)
          },
        },
      )
      remote = await startLocalServer(
        toNodeHandler(async (request) => {
          await keep('the agent is called', request)
          return serve(request)
        }),
      )
    })
    after(async () => {
      await Promise.all([mcp.close(), remote.close()])
    })
  },
  settings,
)
