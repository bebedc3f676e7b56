import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlayedTask, startA2aServer } from '../../support/outside/a2a-server.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { ENGINES, onAnyEngine } from '../../support/service/service.ts'

for (const engine of ENGINES) {
  test(`kill -9 of the service, on ${engine}: tasks elsewhere are taken up, and their messages are not sent again`, async (t) => {
    const far = await startA2aServer()
    t.after(() => far.close())
    const service = await startChildService(t, engine, LOCAL_TOOLS)
    const definition = { name: 'far', kind: 'remote', remote: { a2a: far.card } }
    const agent = (await service.call('POST', '/v1/agents', definition)).data.id
    const tasks: PlayedTask[] = []
    // One ends while the service is down, the other has not ended when it is back.
    const [meanwhile, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    far.answer(async (task) => {
      tasks.push(task)
      task.say(`${task.text}: `)
      await (task.text === 'later' ? later : meanwhile).promise
      task.say('calm')
      task.end('TASK_STATE_COMPLETED')
    })
    const invoke = (message: string) =>
      service.send('POST', `/v1/agents/${agent}/invoke`, { message }, { 'Idempotency-Key': `dies-${message}` })
    const asked = Promise.all([invoke('meanwhile'), invoke('later')])
    // With the keep of its task, a run has stored a step.
    await until('the tasks are kept', async () => {
      const { data } = await service.call('GET', `/v1/agents/${agent}/invocations`)
      const isKept = async ({ request_id }: { request_id: string }) => {
        const receipt = (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).data
        return receipt.steps.some(({ kind }: { kind: string }) => kind === 'tool')
      }
      return data.length === 2 && (await Promise.all(data.map(isKept))).every(Boolean)
    })
    await service.kill()
    assert.deepEqual(await asked, [undefined, undefined])
    meanwhile.resolve()
    await service.start()
    const again = Promise.all([invoke('meanwhile'), invoke('later')])
    await until('the task is followed again', () => far.methods().includes('SubscribeToTask'))
    later.resolve()
    const answers = (await again).map((reply) => reply?.body.data?.response)
    assert.deepEqual(answers, ['meanwhile: calm', 'later: calm'])
    assert.equal(tasks.length, 2)
    const methods = far.methods().filter((method) => method !== 'card')
    assert.deepEqual(methods.toSorted(), [
      'GetTask',
      'GetTask',
      'SendStreamingMessage',
      'SendStreamingMessage',
      'SubscribeToTask',
    ])
  })
}

onAnyEngine(
  'an agent of Moorage behind another one, by A2A',
  (service) => {
    test('answers, streams, and asks its questions on the way', async () => {
      const { call, url, admin } = service()
      const rules = [
        { match: { contains: 'sail' }, call: { tool: 'ask_person', arguments: { question: 'Shall we sail?' } } },
        { reply: 'Aye: {{message}}' },
      ]
      const near = await newAgent(service(), {
        model: 'builtin/script',
        script: { rules, fallback: 'So be it.' },
        tools: [{ type: 'ask_person' }],
        approvals: { self: true },
      })
      await call('PUT', '/v1/secrets/NEAR', { body: { value: `Bearer ${admin}`, hosts: ['127.0.0.1'] } })
      const a2a = `${url}/v1/agents/${near}/.well-known/agent-card.json`
      const remote = { a2a, headers: { Authorization: '{{secret.NEAR}}' } }
      const far = await newAgent(service(), { kind: 'remote', remote, approvals: { self: true } })
      const path = `/v1/agents/${far}`
      const answered = await call('POST', `${path}/invoke`, { body: { message: 'ahoy' } })
      assert.equal(answered.body.data?.response, 'Aye: ahoy', answered.text)
      const receipts = (await call('GET', `/v1/agents/${near}/invocations`)).body.data
      assert.deepEqual(
        receipts.map(({ door, message }: Record<string, unknown>) => [door, message]),
        [['a2a', 'ahoy']],
      )
      const asked = await call('POST', `${path}/invoke`, { body: { message: 'May we sail?' } })
      assert.equal(asked.status, 202, asked.text)
      const { request_id, approvals } = asked.body.data
      assert.deepEqual(approvals[0].arguments, { question: 'Shall we sail?' })
      const decision = { decision: 'approve', answer: 'yes' }
      await call('POST', `${path}/invocations/${request_id}/approvals/${approvals[0].call_id}`, { body: decision })
      const receipt = await until('the end', async () => {
        const { data } = (await call('GET', `${path}/invocations/${request_id}`)).body
        return data.finished_at !== null && data
      })
      assert.equal(receipt.status, 'completed', JSON.stringify(receipt.error))
      const question = receipt.steps.find(({ kind }: { kind: string }) => kind === 'approval')
      assert.equal(question?.answer, 'yes', JSON.stringify(receipt.steps))
    })
  },
  LOCAL_TOOLS,
)
