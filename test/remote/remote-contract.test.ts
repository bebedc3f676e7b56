import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { renderRemoteSchema } from '../../scripts/render-remote-schema.ts'
import { readDoc } from '../support/house/docs.ts'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { onOneEngine } from '../support/service/service.ts'
import { newRemoteAgent, setRemoteSecret } from '../support/slices/remote-agents.ts'

const FILE = 'docs/remote-agent.schema.json'
const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema(JSON.parse(readDoc(FILE)), 'contract')

/** What is wrong with a value of the contract. */
function problemOf(name: string, value: unknown): string | undefined {
  const check = ajv.getSchema(`contract#/$defs/${name}`) ?? assert.fail(`there is no ${name}`)
  return check(value) ? undefined : ajv.errorsText(check.errors)
}

test(`${FILE} matches the service; \`npm run sdk:types\` writes it`, () => {
  assert.ok(readDoc(FILE) === renderRemoteSchema(), `${FILE} is stale: run npm run sdk:types`)
})

const DELTA = 'event: delta\ndata: {"text": "Calm."}\n\n'
const STREAMED: [kept: boolean, name: string, event: string, data: unknown][] = [
  [true, 'Delta', 'delta', { text: 'Calm.' }],
  [false, 'Delta', 'delta', { text: 5 }],
  [true, 'Log', 'log', { level: 'warn', message: 'rough' }],
  [true, 'Log', 'log', { message: 'rough' }],
  [false, 'Log', 'log', { level: 'warn' }],
  [true, 'Usage', 'usage', { model: 'mine', input_tokens: 1, output_tokens: 2 }],
  [true, 'Usage', 'usage', { input_tokens: 1 }],
  [false, 'Usage', 'usage', { input_tokens: 1.5 }],
  [true, 'Done', 'done', { output: { knots: 5 } }],
]
const ANSWERED: [kept: boolean, answer: unknown][] = [
  [true, { response: 'Calm.', usage: { input_tokens: 1, output_tokens: 2 }, logs: [{ message: 'rough' }] }],
  [true, { response: null, usage: null, logs: null, error: null }],
  [true, {}],
  [false, { response: 5 }],
  [false, { usage: [{ output_tokens: -1 }] }],
  [false, { logs: ['rough'] }],
  [false, { error: 'broken' }],
]

onOneEngine(
  'the contract of remote agents',
  (service) => {
    let reply = ''
    let isStream = false
    let asked: unknown[] = []
    let call: { steps_url: string; steps_token: string } | undefined
    let agent: string
    let told: unknown
    let server: LocalServer
    before(async () => {
      server = await startLocalServer(async (request, response) => {
        call = JSON.parse(await readBody(request)) as typeof call
        const headers = { authorization: `Bearer ${call?.steps_token}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ steps: asked })
        if (asked.length > 0) {
          told = await (await fetch(call?.steps_url ?? '', { method: 'POST', headers, body })).json()
        }
        response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json').end(reply)
      })
      await setRemoteSecret(service())
      agent = await newRemoteAgent(service(), server.url, { memory: { history: 10 }, instructions: 'Be brief.' })
    })
    after(() => server.close())

    async function isAnswer(): Promise<boolean> {
      const context = { user_id: 'ada', session_id: 'harbour' }
      const { status, text } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'Go', context },
      })
      if (status !== 200) assert.match(text, /The remote agent returned something that is not an answer/)
      return status === 200
    }

    test('calls, steps and their results match the schema', async () => {
      reply = '{"response": "Calm."}'
      asked = [
        { id: 'kept', type: 'keep', value: { knots: 5 } },
        { id: 'none', type: 'tool', tool: 'none', arguments: {} },
      ]
      assert.ok(await isAnswer())
      assert.ok(await isAnswer(), 'with a history')
      assert.equal(problemOf('Call', call), undefined)
      assert.equal(problemOf('AskSteps', { steps: asked }), undefined)
      const { data } = told as { data: object }
      assert.equal(problemOf('StepsResult', data), undefined)
      assert.match(problemOf('Call', { ...call, attempt: 0 }) ?? '', /attempt must be >= 1/)
      assert.match(problemOf('AskSteps', { steps: [{ id: 'a', type: 'fly' }] }) ?? '', /steps\/0/)
      asked = []
    })

    test('the service accepts exactly the events that match the schema', async () => {
      isStream = true
      for (const [isKept, name, event, data] of STREAMED) {
        assert.equal(problemOf(name, data) === undefined, isKept, `${event} ${JSON.stringify(data)}`)
        reply = `${DELTA}event: ${event}\ndata: ${JSON.stringify(data)}\n\nevent: done\ndata: {}\n\n`
        assert.equal(await isAnswer(), isKept, reply)
      }
      isStream = false
    })

    test('the service accepts exactly the answers that match the schema', async () => {
      for (const [isKept, answer] of ANSWERED) {
        reply = JSON.stringify(answer)
        assert.equal(problemOf('Answer', answer) === undefined, isKept, reply)
        assert.equal(await isAnswer(), isKept, reply)
      }
    })
  },
  LOCAL_TOOLS,
)
