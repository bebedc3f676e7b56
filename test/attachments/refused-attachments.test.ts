import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onAnyEngine, type Reply } from '../support/service/service.ts'
import { untilStored } from '../support/slices/files.ts'
import { idsOf } from '../support/slices/resources.ts'

const NOTE = Buffer.from('Berth 4 is closed').toString('base64')
const ATTACHED = { attachments: [{ data: NOTE, media_type: 'text/plain', name: 'note.txt' }] }

onAnyEngine(
  'a run that is refused stores no attachments',
  (service) => {
    const invoke = (agent: string, more: object = ATTACHED) =>
      service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'Look', context: { user_id: 'ada' }, ...more },
      })
    const files = async () => idsOf(await service().call('GET', '/v1/files'))
    const leavesNothing = async ({ status, text }: Reply, expected: number) => {
      assert.equal(status, expected, text)
      assert.deepEqual(await files(), [])
      await untilStored(service(), 0)
    }

    test('because its agent is paused', async () => {
      const agent = await newAgent(service())
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
      await leavesNothing(await invoke(agent), 409)
    })

    test('because its agent has no free slot; after that, the user can still attach files', async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service(), { ...held.agent, limits: { max_concurrency: 1 } })
      const first = invoke(agent, {})
      await until('it runs', () => held.count() === 1)
      for (let i = 0; i < 3; i++) await leavesNothing(await invoke(agent), 429)
      held.release()
      assert.equal((await first).status, 200)
      const { status, body, text } = await invoke(agent)
      assert.equal(status, 200, text)
      assert.equal((await files()).length, 1)
      const erased = await service().call('DELETE', `/v1/agents/${agent}/invocations/${body.data.request_id}`)
      await leavesNothing(erased, 200)
    })

    test('because of another error in a request to the OpenAI API', async () => {
      const agent = await newAgent(service())
      const { name: model } = (await service().call('GET', `/v1/agents/${agent}`)).body.data
      const file_data = `data:text/plain;base64,${NOTE}`
      const file = { type: 'file', file: { filename: 'note.txt', file_data } }
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'Look' }, file] }]
      const chat = { model, messages, tool_choice: 'required' }
      await leavesNothing(await service().call('POST', '/v1/chat/completions', { body: chat }), 400)
      const content = [{ type: 'input_file', filename: 'note.txt', file_data }]
      const previous_response_id = `resp_${'0'.repeat(26)}${agent.slice('agt_'.length)}`
      const response = { model, input: [{ role: 'user', content }], previous_response_id }
      const refused = await service().call('POST', '/v1/responses', { body: response })
      assert.match(refused.text, /is not the ID of a response by this model/)
      await leavesNothing(refused, 400)
    })
  },
  { ...LOCAL_TOOLS, MOORAGE_FILES__MAX_PER_USER: '2' },
)
