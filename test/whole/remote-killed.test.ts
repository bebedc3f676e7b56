import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { startControl, startForwarder, startKilledRemote } from '../support/outside/remote-control.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { ENGINES, type Engine } from '../support/service/service.ts'
import { SIGNING_SECRET } from '../support/slices/remote-agents.ts'

/** Where a run is held when something dies, besides those that are told one by one below. */
const HELD = { thinks: 'thinks', said: 'said', 'in a step': 'tool', stored: 'stored', between: 'between' }

const ANSWER = 'Let me look. Well: calm 1.'

type Receipt = {
  request_id: string
  status: string
  response: string
  attempts: unknown[]
  steps: { kind: string; id?: string; reason?: string }[]
}

async function startStory(t: TestContext, engine: Engine) {
  const control = await startControl(t)
  const forwarder = await startForwarder(t)
  const service = await startChildService(t, engine, LOCAL_TOOLS)
  await service.call('PUT', '/v1/secrets/REMOTE', SIGNING_SECRET)
  const definition = {
    kind: 'remote',
    remote: { url: forwarder.url, secret: 'REMOTE' },
    tools: [{ type: 'http', name: 'look', url: `${control.url}/tool`, method: 'GET' }],
    approvals: { self: true },
  }
  await service.call('POST', '/v1/agents', { name: 'far', ...definition })
  await service.call('POST', '/v1/agents', { name: 'narrow', ...definition, limits: { max_concurrency: 1 } })
  const headersOf = (message: string) => ({ 'Idempotency-Key': message.replaceAll(' ', '-') })
  const invoke = (message: string, agent = 'far', headers: Record<string, string> = {}) =>
    service.send('POST', `/v1/agents/${agent}/invoke`, { message }, { ...headersOf(message), ...headers })
  const find = async (message: string, agent: string): Promise<Receipt | undefined> => {
    const { data } = await service.call('GET', `/v1/agents/${agent}/invocations?limit=100`)
    return data.find((one: { message: string }) => one.message === message)
  }
  const receipt = async (message: string, agent = 'far'): Promise<Receipt> => {
    const { request_id } = (await find(message, agent)) ?? assert.fail(`no receipt of ${message}`)
    return (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).data
  }
  const becomes = (message: string, status: string, agent = 'far') =>
    until(`${message} to be ${status}`, async () => {
      const found = await find(message, agent)
      if (found?.status === 'failed') assert.fail(JSON.stringify(await receipt(message, agent)))
      return found?.status === status && found
    })
  /** A run that has answered, and whose client is gone: it has the receipt to come. */
  const answerNobody = async (message: string) => {
    control.hold(message, 'thinks')
    const gone = new AbortController()
    const asked = fetch(`${service.url()}/v1/agents/far/invoke`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json', ...headersOf(message) },
      body: JSON.stringify({ message }),
      signal: gone.signal,
    })
    await until('it is called', () => control.isHeld(message))
    gone.abort()
    await assert.rejects(asked)
    control.release(message)
    await becomes(message, 'completed')
  }
  return { control, forwarder, service, invoke, receipt, becomes, answerNobody }
}

for (const engine of ENGINES) {
  test(`kill -9 of a remote agent and of the service at ten points each, on ${engine}`, async (t) => {
    const { control, forwarder, service, invoke, receipt, becomes, answerNobody } = await startStory(t, engine)
    const remotes = await Promise.all([1, 2].map(() => startKilledRemote(t, control.url, SIGNING_SECRET.value)))
    const [first, second] = remotes as [(typeof remotes)[0], (typeof remotes)[0]]
    forwarder.leadTo(first.port)

    /** The client has its answer, and the receipt has each step once. */
    const check = async (
      message: string,
      expected: { attempts: number; called: number; tools?: number },
      agent = 'far',
    ) => {
      const { status, response, steps, attempts } = await receipt(message, agent)
      assert.deepEqual([status, response], ['completed', ANSWER], message)
      const done = steps.flatMap(({ kind, id }) => (kind === 'tool' ? [id] : []))
      const asked = message.includes('person') ? ['captain'] : message.includes('sleeps') ? ['night'] : []
      assert.deepEqual(done, ['look', 'number', ...asked], message)
      const called = control.count(message, 'thinks')
      const tools = control.count(message, 'tool')
      // On a machine that stands still, one that sleeps may have woken up before the end: once more, then.
      const more = message.includes('sleeps') ? 1 : 0
      const found = {
        attempts: attempts.length === expected.attempts + more ? expected.attempts : attempts.length,
        called: called === expected.called + more ? expected.called : called,
        tools,
      }
      assert.deepEqual(found, { tools: 1, ...expected }, message)
      assert.equal(control.count(message, 'make'), 1, message)
    }
    const checkReply = async (message: string, agent = 'far') => {
      const reply = await invoke(message, agent)
      assert.equal(reply?.body.data?.response, ANSWER, `${message}: ${reply?.text}`)
    }
    const decide = async (message: string) => {
      const { request_id } = await receipt(message)
      const path = `/v1/agents/far/invocations/${request_id}/approvals/captain`
      await service.call('POST', path, { decision: 'approve', answer: 'yes' })
      await becomes(message, 'completed')
    }

    await t.test('the agent dies', async () => {
      await answerNobody('agent: after the receipt')
      for (const [point, name] of Object.entries(HELD)) control.hold(`agent: ${point}`, name)
      const asked = Object.keys(HELD).map((point) => invoke(`agent: ${point}`))
      control.hold('agent: in the background', 'said')
      await invoke('agent: in the background', 'far', { Prefer: 'respond-async' })
      const held = [...Object.keys(HELD), 'in the background']
      await until('all are held', () => held.every((point) => control.isHeld(`agent: ${point}`)))
      await invoke('agent: a person is asked')
      await invoke('agent: sleeps')
      // It kills itself when its last event has left.
      control.letDie(true)
      const final = invoke('agent: after the last event')
      await first.gone
      control.letDie(false)
      forwarder.leadTo(undefined)
      control.release()
      const late = invoke('agent: before the call')
      await forwarder.refusal()
      forwarder.leadTo(second.port)
      for (const reply of await Promise.all([...asked, final, late])) {
        assert.equal(reply?.body.data?.response, ANSWER, String(reply?.text))
      }
      await decide('agent: a person is asked')
      for (const point of ['sleeps', 'in the background']) await becomes(`agent: ${point}`, 'completed')
      for (const point of Object.keys(HELD)) {
        await check(`agent: ${point}`, { attempts: 1, called: 2 })
        await checkReply(`agent: ${point}`)
      }
      for (const point of ['before the call', 'after the last event', 'after the receipt']) {
        await check(`agent: ${point}`, { attempts: 1, called: 1 })
        await checkReply(`agent: ${point}`)
      }
      for (const point of ['a person is asked', 'sleeps', 'in the background']) {
        await check(`agent: ${point}`, { attempts: 2, called: 2 })
      }
      const { steps } = await receipt('agent: in the background')
      const reasons = steps.flatMap(({ kind, reason }) => (kind === 'wait' ? [reason] : []))
      assert.deepEqual(reasons, ['The remote agent ended its answer early.'])
    })

    await t.test('the service dies', async () => {
      await answerNobody('service: after the receipt')
      for (const [point, name] of Object.entries(HELD)) control.hold(`service: ${point}`, name)
      const asked = Object.keys(HELD).map((point) => invoke(`service: ${point}`))
      control.hold('service: takes the place', 'thinks')
      asked.push(invoke('service: takes the place', 'narrow'))
      control.hold('service: after the last event', 'final')
      asked.push(invoke('service: after the last event'))
      const held = [...Object.keys(HELD), 'takes the place', 'after the last event']
      await until('all are held', () => held.every((point) => control.isHeld(`service: ${point}`)))
      await invoke('service: before the call', 'narrow', { Prefer: 'respond-async' })
      await invoke('service: a person is asked')
      await invoke('service: sleeps')
      // It stands still when the last event comes, and dies before it has read it.
      process.kill(service.pid(), 'SIGSTOP')
      const done = control.count('', 'done')
      control.release('service: after the last event')
      await until('the last event has left', () => control.count('', 'done') > done)
      await service.kill()
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([undefined]))
      control.forget()
      await service.start()
      for (const point of Object.keys(HELD)) {
        await checkReply(`service: ${point}`)
        // A GET that was in progress is made again, with the same key.
        await check(`service: ${point}`, { attempts: 2, called: 2, tools: point === 'in a step' ? 2 : 1 })
      }
      await checkReply('service: after the last event')
      await check('service: after the last event', { attempts: 2, called: 2 })
      await checkReply('service: after the receipt')
      await check('service: after the receipt', { attempts: 1, called: 1 })
      await becomes('service: before the call', 'completed', 'narrow')
      await check('service: before the call', { attempts: 1, called: 1 }, 'narrow')
      await decide('service: a person is asked')
      await becomes('service: sleeps', 'completed')
      for (const point of ['a person is asked', 'sleeps']) await check(`service: ${point}`, { attempts: 2, called: 2 })
    })
  })
}
