import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifySignature } from '../../sdk/webhook.ts'
import { removeOrphans } from '../../src/webhooks/delivery/delivery-store.ts'
import { removeExpired } from '../../src/webhooks/listen/listener-store.ts'
import { newShell } from '../support/clients/cli.ts'
import { enrol } from '../support/clients/mfa.ts'
import { storeOf } from '../support/inside.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import {
  betweenNodes,
  onAnyEngine,
  onManyNodes,
  type Reply,
  type Service,
  withService,
} from '../support/service/service.ts'
import { createAgent, createKey, later } from '../support/slices/resources.ts'
import { createWebhook, listDeliveries } from '../support/slices/webhooks.ts'

const LIFE_MS = 120_000

type ListenedEvent = { id: string; event_id: string; event: string; body: string }

const create = (service: Service, body: object, key = service.admin) =>
  service.call('POST', '/v1/listeners', { body: { events: ['*'], ...body }, key })
const ask = (service: Service, id: string, query = '', key = service.admin) =>
  service.call('GET', `/v1/listeners/${id}${query}`, { key })
const heardBy = ({ body }: Reply): ListenedEvent[] => body.data.deliveries
const invoke = async (service: Service, agent: string, message = 'hi') => {
  const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message } })
  return body.data.request_id as string
}

onManyNodes('listeners', (service, engine) => {
  describe('POST /v1/listeners', () => {
    test('listens from then on: to one agent or all, to the events that are named', async () => {
      const ada = await createAgent(service(), 'ada')
      await createAgent(service(), 'bob')
      const before = await invoke(service(), 'ada', 'too early')
      const ofAda = (await create(service(), { agent_id: 'ada', events: ['agent.completed'] })).body.data
      assert.deepEqual(
        { ...ofAda, id: '', created_at: '', expires_at: '' },
        { id: '', agent_id: ada, events: ['agent.completed'], created_at: '', expires_at: '', deliveries: [] },
      )
      assert.equal(Date.parse(ofAda.expires_at) - Date.parse(ofAda.created_at), LIFE_MS)
      const ofAll = (await create(service(), {})).body.data
      const request_id = await invoke(service(), 'ada')
      await invoke(service(), 'bob')
      await service().call('POST', '/v1/agents/ada/deployments', { body: { environment: 'production', version: 'v1' } })

      const heard = heardBy(await ask(service(), ofAda.id))
      assert.equal(heard.length, 1)
      const event = JSON.parse(heard[0]?.body ?? '')
      assert.deepEqual([event.id, event.type, event.agent_id], [heard[0]?.event_id, 'agent.completed', ada])
      assert.equal(event.data.request_id, request_id)
      assert.notEqual(request_id, before)
      const types = heardBy(await ask(service(), ofAll.id)).map(({ event: type }) => type)
      assert.deepEqual(types.toSorted(), ['agent.completed', 'agent.completed', 'deployment.created'])
    })

    test('400 for an unknown agent and for unknown events', async () => {
      assert.equal((await create(service(), { agent_id: 'nobody' })).body.error.details[0].field, 'agent_id')
      assert.equal((await create(service(), { events: ['agent.slept'] })).status, 400)
      assert.equal((await create(service(), { events: [] })).status, 400)
    })

    test('a scoped key listens to its agent only; who may only read listens to nothing', async () => {
      const agent_id = await createAgent(service(), 'scoped')
      const { secret } = await createKey(service(), { role: 'developer', agent_id })
      assert.equal((await create(service(), {}, secret)).status, 403)
      assert.equal((await create(service(), { agent_id: 'hello' }, secret)).status, 403)
      assert.equal((await create(service(), { agent_id: 'scoped' }, secret)).status, 201)
      const viewer = await createKey(service(), { role: 'viewer' })
      assert.equal((await create(service(), {}, viewer.secret)).status, 403)
    })
  })

  describe('GET /v1/listeners/{listener_id}', () => {
    test('reports each event until it is named as received, at most ten at once, oldest first', async () => {
      const { id } = (await create(service(), { agent_id: 'hello' })).body.data
      const requests: string[] = []
      for (let i = 0; i < 12; i++) requests.push(await invoke(service(), 'hello', `message ${i}`))
      const first = heardBy(await ask(service(), id))
      assert.equal(first.length, 10)
      assert.deepEqual(heardBy(await ask(service(), id)), first)
      const rest = heardBy(await ask(service(), id, `?received=${first.map((one) => one.id).join()}`))
      const told = [...first, ...rest].map(({ body }) => JSON.parse(body).data.request_id)
      assert.deepEqual(told.toSorted(), requests.toSorted())
      const none = await ask(service(), id, `?received=${rest.map((one) => one.id).join()}`)
      assert.deepEqual(heardBy(none), [])
    })

    test('receives for itself alone: what waits for others still waits', async () => {
      const [mine, other] = [await create(service(), { agent_id: 'hello' }), await create(service(), {})]
      // No delivery gets through to this address.
      const url = 'https://receiver.example/'
      const webhook = await createWebhook(service(), { url, agent_id: 'hello' })
      await invoke(service(), 'hello')
      const [heard] = heardBy(await ask(service(), mine.body.data.id))
      const [theirs] = heardBy(await ask(service(), other.body.data.id))
      const [delivery] = await listDeliveries(service(), webhook.id)
      const received = [heard?.id, theirs?.id, delivery.id].join()
      const after = await ask(service(), mine.body.data.id, `?received=${received}`)
      assert.deepEqual([after.status, heardBy(after)], [200, []])
      assert.deepEqual(heardBy(await ask(service(), other.body.data.id)), [theirs])
      const [left] = await listDeliveries(service(), webhook.id)
      assert.deepEqual([left.id, left.status, left.delivered_at], [delivery.id, 'pending', null])
    })

    test('waits as long as it is asked to, and answers as soon as something comes', async () => {
      const { id } = (await create(service(), { agent_id: 'hello' })).body.data
      const hangUp = new AbortController()
      const silent = (await create(service(), { agent_id: 'hello', events: ['agent.failed'] })).body.data
      const nothing = fetch(`${service().url}/v1/listeners/${silent.id}?wait_ms=5000`, {
        headers: { Authorization: `Bearer ${service().admin}` },
        signal: hangUp.signal,
      })
      const waiting = ask(service(), id, '?wait_ms=5000')
      await invoke(service(), 'hello')
      const first = await Promise.race([waiting, nothing.then(() => 'the one that hears nothing')])
      assert.equal(heardBy(first as Reply).length, 1)
      hangUp.abort()
      await assert.rejects(nothing)
      for (const query of ['?wait_ms=5001', '?wait_ms=-1', '?received=x', '?received=dlv_1,,dlv_2']) {
        assert.equal((await ask(service(), id, query)).status, 400, query)
      }
    })

    test('only the key that made it may ask; to others it does not exist', async () => {
      const { id } = (await create(service(), {})).body.data
      const other = await createKey(service(), { role: 'admin', tier: 'enterprise' })
      assert.equal((await ask(service(), id, '', other.secret)).status, 404)
      assert.equal((await ask(service(), 'lsn_nobody')).status, 404)
    })

    test('it ends when no one has asked for two minutes; asking prolongs it', async () => {
      const { id } = (await create(service(), { agent_id: 'hello' })).body.data
      const asked = await later(service(), LIFE_MS / 2, () => ask(service(), id))
      assert.equal(asked.status, 200)
      assert.equal((await later(service(), LIFE_MS + 1000, () => ask(service(), id))).status, 200)
      await later(service(), 3 * LIFE_MS, async () => {
        assert.equal((await ask(service(), id)).status, 404)
        // What comes then is not kept for it.
        await invoke(service(), 'hello')
      })
      const db = storeOf(service())
      assert.deepEqual(await db.selectFrom('deliveries').selectAll().where('webhook_id', '=', id).execute(), [])
    })

    test('each request leaves it two minutes', async () => {
      const { id } = (await create(service(), { agent_id: 'hello' })).body.data
      for (const ms of [0.4 * LIFE_MS, 1.39 * LIFE_MS, 1.8 * LIFE_MS, 2.79 * LIFE_MS]) {
        assert.equal((await later(service(), ms, () => ask(service(), id))).status, 200, `after ${ms} ms`)
      }
    })

    test('its events stay as long as it exists, and are deleted with it', async () => {
      const { id } = (await create(service(), { agent_id: 'hello' })).body.data
      await invoke(service(), 'hello')
      const db = storeOf(service())
      const left = () => db.selectFrom('deliveries').selectAll().where('webhook_id', '=', id).execute()
      const sweep = async (now: number) => {
        await removeExpired(db, now)
        while ((await removeOrphans(db, 100)) > 0);
      }
      await sweep(Date.now())
      assert.equal((await left()).length, 1)
      await sweep(Date.now() + 2 * LIFE_MS)
      assert.deepEqual(await left(), [])
    })

    betweenNodes(engine)('hears what happens on another node', async () => {
      const other = await service().beside()
      try {
        const { id } = (await create(service(), { agent_id: 'hello' })).body.data
        // The other node learns of the listener a moment later.
        await until('it is heard', async () => {
          await invoke(other, 'hello')
          return heardBy(await ask(service(), id)).length > 0
        })
      } finally {
        await other.stop()
      }
    })
  })
})

test('409 for one listener too many, until one has ended', () =>
  withService('sqlite', async (service) => {
    for (let i = 0; i < 50; i++) assert.equal((await create(service, {})).status, 201)
    assert.equal((await create(service, {})).status, 409)
    assert.equal((await later(service, LIFE_MS + 1, () => create(service, {}))).status, 201)
  }))

type DeliveredEvent = { headers: Record<string, string>; body: string }

async function startReceiver(status = 200): Promise<LocalServer & { taken: DeliveredEvent[] }> {
  const taken: DeliveredEvent[] = []
  const server = await startLocalServer(async (request, response) => {
    taken.push({ headers: request.headers as Record<string, string>, body: await readBody(request) })
    response.writeHead(status).end()
  })
  return Object.assign(server, { taken })
}

betweenNodes('postgres')('no more listeners than may be are made at once', () =>
  withService('postgres', async (service) => {
    const made = await Promise.all(Array.from({ length: 58 }, () => create(service, {})))
    assert.equal(made.filter(({ status }) => status === 201).length, 50)
  }),
)

onAnyEngine('moorage webhooks listen', (service) => {
  type CommandOutput = { stdout: string; stderr: string }

  /** Runs it while `work` is done, then presses Ctrl-C. */
  const whileListening = async (
    args: string[],
    env: Record<string, string>,
    work: (told: () => CommandOutput) => Promise<unknown>,
  ) => {
    const shell = newShell(service())
    const stop = new AbortController()
    let told: CommandOutput = { stdout: '', stderr: '' }
    const stopWhen = (stdout: string, stderr: string) => {
      told = { stdout, stderr }
      return false
    }
    const running = shell.moorage(['webhooks', 'listen', ...args], { env, stop: stop.signal, stopWhen })
    try {
      await until('it listens', () => told.stderr.includes('Forwarding'))
      await work(() => told)
    } finally {
      stop.abort()
      await running
      shell.remove()
    }
    return running
  }

  test('forwards events to a local server, signed like a delivery, and shows how each was received', async () => {
    const receiver = await startReceiver()
    const forwardTo = `${receiver.host}/hooks?x=1`
    const { code, stdout, stderr } = await whileListening(
      ['--forward-to', forwardTo, '--agent', 'hello'],
      {},
      async (told) => {
        await invoke(service(), 'hello', 'for the receiver')
        await until('it is told', () => told().stdout !== '')
      },
    )
    await receiver.close()
    assert.equal(code, 130)
    const [{ headers, body }] = receiver.taken as [DeliveredEvent]
    const secret = /whsec_\S+/.exec(stderr)?.[0] ?? assert.fail(stderr)
    new Webhook(secret).verify(body, headers)
    assert.ok(await verifySignature(body, headers['x-service-signature'] ?? '', secret))
    assert.equal(headers['x-service-event'], 'agent.completed')
    assert.equal(JSON.parse(body).data.response, 'for the receiver')
    assert.match(stdout, new RegExp(`^agent\\.completed +${JSON.parse(body).id} 200 \\d+ ms\n$`))
  })

  test('with the secret of the receiver in WEBHOOK_SECRET nothing is shown of it; --json prints lines', async () => {
    const receiver = await startReceiver(500)
    const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
    const args = ['--forward-to', receiver.url, '--events', 'agent.completed', '--json']
    const { stdout, stderr } = await whileListening(args, { WEBHOOK_SECRET: secret }, async (told) => {
      await invoke(service(), 'hello')
      await until('it is told', () => told().stdout !== '')
    })
    await receiver.close()
    const [{ headers, body }] = receiver.taken as [DeliveredEvent]
    new Webhook(secret).verify(body, headers)
    assert.ok(!(stdout + stderr).includes(secret))
    const { event, status, error } = JSON.parse(stdout.split('\n')[0] ?? '')
    assert.deepEqual({ event, status, error }, { event: 'agent.completed', status: 500, error: 'http_error' })
  })

  test('no receiver: it says so and continues; an invalid address is exit code 2', async () => {
    const receiver = await startReceiver()
    await receiver.close()
    const shell = newShell(service())
    const told = await shell.moorage(['webhooks', 'listen', '--forward-to', receiver.host, '--agent', 'hello'], {
      stopWhen: (stdout, stderr) => {
        if (stderr.includes('Forwarding') && stdout === '') void invoke(service(), 'hello')
        return stdout.includes('ECONNREFUSED')
      },
    })
    assert.equal(told.code, 130)
    assert.equal((await shell.moorage(['webhooks', 'listen', '--forward-to', 'http://'])).code, 2)
    assert.equal((await shell.moorage(['webhooks', 'listen'])).code, 2)
    shell.remove()
  })

  test('a listener that ended is created again, and the command says so', async () => {
    const receiver = await startReceiver()
    await whileListening(['--forward-to', receiver.host, '--agent', 'hello'], {}, async (told) => {
      await storeOf(service()).deleteFrom('listeners').execute()
      // Ends the question that waits.
      await invoke(service(), 'hello')
      // A question that found nothing waits for up to 5 s.
      await until('it notices', () => told().stderr.includes('Reconnected'))
      receiver.taken.length = 0
      await invoke(service(), 'hello')
      await until('it is forwarded', () => receiver.taken.length > 0)
    })
    await receiver.close()
  })

  test('where listening wants a one-time code, a listener that is made again takes the next one', async () => {
    const { id, secret } = await createKey(service(), { name: 'careful', role: 'admin' })
    const app = await enrol(service(), id)
    const security = { mfa: { enabled: true, requiredFor: ['webhooks'] } }
    const agent = await createAgent(service(), 'guarded', { security })
    const receiver = await startReceiver()
    const args = ['--forward-to', receiver.host, '--agent', agent, '--otp', `${app.code()},${app.code(1)}`]
    await whileListening(args, { MOORAGE_API_KEY: secret }, async (told) => {
      await storeOf(service()).deleteFrom('listeners').execute()
      await invoke(service(), agent)
      await until('it notices', () => told().stderr.includes('Reconnected'))
      await invoke(service(), agent)
      await until('it is forwarded', () => receiver.taken.length > 0)
    })
    await receiver.close()
  })
})
