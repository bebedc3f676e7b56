import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { readSamples } from '../support/clients/prometheus.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { stopApp, storeOf, wakeJobs } from '../support/inside.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until, untilHolds } from '../support/running/until.ts'
import { betweenNodes, onAnyEngine, type Reply, type Service, withService } from '../support/service/service.ts'
import { createAgent, createKey, idsOf } from '../support/slices/resources.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

type Receipt = { request_id: string; status: string; scheduled_at: string | null; created_by: string; door: string }

async function createSchedule(service: Service, agent: string, body: object, key?: string) {
  const sent = { body: { message: 'tick', ...body }, ...(key && { key }) }
  const reply = await service.call('POST', `/v1/agents/${agent}/schedules`, sent)
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data
}

async function getSchedule(service: Service, agent: string, id: string) {
  const reply = await service.call('GET', `/v1/agents/${agent}/schedules/${id}`)
  assert.equal(reply.status, 200, reply.text)
  return reply.body.data
}

/** The runs of a schedule, the oldest first. */
async function runsOf(service: Service, agent: string, id: string): Promise<Receipt[]> {
  const path = `/v1/agents/${agent}/invocations?schedule_id=${id}&sort=created_at&limit=100`
  const { body } = await service.call('GET', path)
  return body.data
}

/** Moves the clock, and lets the service notice it as if the time had passed. */
function pass(service: Service, ms: number): void {
  service.advance(ms)
  wakeJobs(service)
}

async function untilEnded(service: Service, agent: string, id: string, count: number): Promise<Receipt[]> {
  return until(`${count} runs of the schedule`, async () => {
    const runs = await runsOf(service, agent, id)
    return runs.length === count && runs.every(({ status }) => status === 'completed') ? runs : undefined
  })
}

/** Once a day, about half an hour after now. */
function halfAnHourLater(node: Service) {
  const time = new Date(node.now() + HOUR / 2)
  return { cron: `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`, timezone: 'UTC' }
}

const slowAgent = { model: 'builtin/script', script: { rules: [{ reply: 'slow', delay_ms: 60_000 }] } }

onAnyEngine('schedules', (service, engine) => {
  const patch = (agent: string, id: string, body: object, key?: string) =>
    service().call('PATCH', `/v1/agents/${agent}/schedules/${id}`, { body, ...(key && { key }) })
  const pause = (agent: string, status: 'paused' | 'running') =>
    service().call('PATCH', `/v1/agents/${agent}`, { body: { status } })
  const logsOf = async (agent: string, id: string): Promise<string[]> => {
    const { body } = await service().call('GET', `/v1/agents/${agent}/logs?request_id=${id}`)
    return body.data.map(({ message }: { message: string }) => message)
  }

  test('are created, listed, changed and deleted', async () => {
    const agent_id = await createAgent(service(), 'kept')
    const made = await createSchedule(service(), 'kept', {
      name: 'mornings',
      cron: '0 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      context: { user_id: 'ada', plan: 'daily' },
      environment: 'staging',
      overlap: 'queue',
      catch_up: 'one',
    })
    const { id, next_at, next_runs, created_by, created_at, ...rest } = made
    assert.match(id, /^sch_/)
    assert.match(created_by, /^key_/)
    assert.equal(next_runs.length, 5)
    assert.equal(next_runs[0], next_at)
    assert.deepEqual(rest, {
      agent_id,
      name: 'mornings',
      cron: '0 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      every: null,
      at: null,
      message: 'tick',
      attachments: [],
      context: { user_id: 'ada', plan: 'daily' },
      environment: 'staging',
      overlap: 'queue',
      catch_up: 'one',
      on_budget: 'fail',
      priority: 'normal',
      enabled: true,
      disabled_reason: null,
      last_tick_at: null,
      last_request_id: null,
      missed: 0,
      last_missed_at: null,
      last_missed_reason: null,
      skipped: 0,
      last_skipped_at: null,
      updated_by: created_by,
      updated_at: created_at,
    })
    assert.deepEqual(await getSchedule(service(), 'kept', id), made)

    const hourly = (await patch('kept', id, { every: '1h' })).body.data
    assert.deepEqual([hourly.cron, hourly.timezone, hourly.every], [null, null, '1h'])
    const off = (await patch('kept', id, { enabled: false })).body.data
    assert.deepEqual([off.enabled, off.disabled_reason, off.next_at, off.next_runs], [false, 'requested', null, []])
    const daily = (await patch('kept', id, { cron: '@daily', enabled: true })).body.data
    assert.deepEqual([daily.cron, daily.timezone, daily.enabled, daily.disabled_reason], ['@daily', 'UTC', true, null])
    assert.deepEqual((await patch('kept', id, { timezone: 'Asia/Tokyo' })).body.data.timezone, 'Asia/Tokyo')
    const seven = (await patch('kept', id, { cron: '0 7 * * *' })).body.data
    assert.deepEqual([seven.timezone, new Date(seven.next_at).getUTCHours()], ['Asia/Tokyo', 22])

    const other = await createSchedule(service(), 'kept', { every: '2h', enabled: false })
    const list = (query: string) => service().call('GET', `/v1/agents/kept/schedules${query}`)
    assert.deepEqual(idsOf(await list('')), [other.id, id])
    assert.deepEqual(idsOf(await list('?enabled=false')), [other.id])
    assert.equal((await list('')).body.data[1].next_runs, undefined)
    const gone = await service().call('DELETE', `/v1/agents/kept/schedules/${id}`)
    assert.deepEqual(gone.body.data, { id, deleted: true })
    assert.equal((await service().call('GET', `/v1/agents/kept/schedules/${id}`)).status, 404)
  })

  test('400 for times that cannot be, with the field and the reason', async () => {
    await createAgent(service(), 'strict')
    const { id } = await createSchedule(service(), 'strict', { every: '1h' })
    const refused = async (body: object, field: string, why: RegExp) => {
      const created = await service().call('POST', '/v1/agents/strict/schedules', { body: { message: 'm', ...body } })
      for (const reply of [created, await patch('strict', id, body)]) {
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.details[0].field, field)
        assert.match(reply.body.error.details[0].error, why)
      }
    }
    await refused({ cron: '0 25 * * *' }, 'cron', /hour/)
    await refused({ cron: '* * * * * *' }, 'cron', /five fields/)
    await refused({ cron: '0 0 30 2 *' }, 'cron', /never matches/)
    await refused({ cron: '* 2 * 3 SUN#2', timezone: 'America/New_York' }, 'cron', /never matches/)
    await refused({ cron: '0 0 31 * +MON#1,TUE#1,WED#1,THU#1,FRI#1,SAT#1,SUN#1' }, 'cron', /can't contain/)
    await refused({ cron: '@daily', timezone: 'Berlin' }, 'timezone', /Europe\/Berlin/)
    await refused({ every: '30s' }, 'every', /at least 1m/)
    await refused({ every: 'often' }, 'every', /duration/)
    await refused({ at: '2020-01-01T00:00:00Z' }, 'at', /future/)
    await refused({ at: 'tomorrow' }, 'at', /RFC 3339/)
    await refused({ cron: '@daily', every: '1h' }, 'cron', /one of `cron`, `every` or `at`/)
    const none = await service().call('POST', '/v1/agents/strict/schedules', { body: { message: 'm' } })
    assert.deepEqual(fieldsOf(none.body), ['cron'])
    assert.equal((await patch('strict', id, { timezone: 'Europe/Berlin' })).status, 400)
    assert.equal((await patch('strict', id, {})).status, 400)
    assert.equal((await getSchedule(service(), 'strict', id)).every, '1h')
  })

  test('a tick is a run in the background that names its schedule', async () => {
    await createAgent(service(), 'ticking')
    const { id, next_at, updated_by } = await createSchedule(service(), 'ticking', {
      every: '1h',
      context: { session_id: 'diary' },
    })
    pass(service(), HOUR)
    const [run] = await untilEnded(service(), 'ticking', id, 1)
    const { body } = await service().call('GET', `/v1/agents/ticking/invocations/${run?.request_id}`)
    const { background, door, message, context, schedule_id, scheduled_at, created_by, response } = body.data
    assert.deepEqual(
      { background, door, message, context, schedule_id, scheduled_at, created_by, response },
      {
        background: true,
        door: 'schedule',
        message: 'tick',
        context: { session_id: 'diary' },
        schedule_id: id,
        scheduled_at: next_at,
        created_by: updated_by,
        response: 'tick',
      },
    )
    const after = await getSchedule(service(), 'ticking', id)
    assert.deepEqual([after.last_tick_at, after.last_request_id], [next_at, run?.request_id])
    assert.equal(Date.parse(after.next_at), Date.parse(next_at) + HOUR)
    await service().call('POST', '/v1/agents/ticking/invoke', { body: { message: 'not by a schedule' } })
    const { body: listed } = await service().call('GET', `/v1/agents/ticking/invocations?schedule_id=${id}`)
    assert.equal(listed.pagination.total, 1)
  })

  test('a schedule at one time runs once, and is then done', async () => {
    await createAgent(service(), 'once')
    const at = new Date(service().now() + HOUR).toISOString()
    const { id } = await createSchedule(service(), 'once', { at })
    pass(service(), HOUR)
    await untilEnded(service(), 'once', id, 1)
    const done = await getSchedule(service(), 'once', id)
    assert.deepEqual([done.last_tick_at, done.next_at, done.next_runs, done.enabled], [at, null, [], true])
  })

  test('a tick whose session is busy is skipped, also in the telemetry', () =>
    withService(engine, async (own) => {
      await createAgent(own, 'busy', { ...slowAgent, sessions: { while_busy: 'reject' } })
      const told = async () => {
        const samples = readSamples((await own.call('GET', '/metrics')).text)
        const ofTicks = samples.filter(({ name }) => name === 'moorage_schedule_ticks_total')
        return Object.fromEntries(ofTicks.map(({ labels, value }) => [labels['result'], value]))
      }
      const context = { user_id: 'ada', session_id: 'one' }
      const headers = { Prefer: 'respond-async' }
      await own.call('POST', '/v1/agents/busy/invoke', { body: { message: 'hi', context }, headers })
      const { id } = await createSchedule(own, 'busy', { every: '1h', context })
      pass(own, HOUR)
      await until('the skipped tick', async () => (await getSchedule(own, 'busy', id)).skipped === 1)
      await until('it is told', async () => (await told())['skipped'] === 1)
      assert.equal((await told())['run'], 0)
    }))

  test('overlap: a tick is skipped while an earlier run continues, or waits in the queue', async () => {
    await createAgent(service(), 'slow', slowAgent)
    const skipping = await createSchedule(service(), 'slow', { every: '1h' })
    const queueing = await createSchedule(service(), 'slow', { every: '1h', overlap: 'queue' })
    for (const ticks of [1, 2]) {
      pass(service(), HOUR)
      await until('the tick', async () => (await runsOf(service(), 'slow', queueing.id)).length === ticks)
      // Ticks are taken side by side: one that is not taken before the next hour is missed.
      await until('the other tick', async () => (await runsOf(service(), 'slow', skipping.id)).length === 1)
    }
    const told = await until('the skipped tick', async () => {
      const schedule = await getSchedule(service(), 'slow', skipping.id)
      return schedule.skipped === 1 && schedule
    })
    assert.equal((await runsOf(service(), 'slow', skipping.id)).length, 1)
    assert.equal(Date.parse(told.last_skipped_at), Date.parse(told.last_tick_at) + HOUR)
    assert.deepEqual(await logsOf('slow', skipping.id), ['Schedule skipped a run: the previous run is still active'])
    await pause('slow', 'paused')
  })

  test('a change made while a tick is taken is not undone by the tick', async () => {
    await createAgent(service(), 'changed')
    const made = await Promise.all(
      Array.from({ length: 20 }, () => createSchedule(service(), 'changed', { every: '1h', catch_up: 'one' })),
    )
    pass(service(), HOUR)
    const changes: Promise<Reply>[] = []
    for (const { id } of made) {
      changes.push(patch('changed', id, { message: 'tock' }))
      // One after the other, so that some come just between the reading of a tick and its taking.
      await immediate()
    }
    const replies = await Promise.all(changes)
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
    const listed = async (): Promise<{ message: string; last_tick_at: string | null }[]> =>
      (await service().call('GET', '/v1/agents/changed/schedules?limit=100')).body.data
    await until('every tick is taken', async () => (await listed()).every(({ last_tick_at }) => last_tick_at !== null))
    assert.deepEqual(
      (await listed()).map(({ message }) => message),
      made.map(() => 'tock'),
    )
  })

  test('times that are sent back as they were move no tick', async () => {
    await createAgent(service(), 'steady')
    for (const timing of [{ every: '2h' }, halfAnHourLater(service())]) {
      const { id, next_at, next_runs } = await createSchedule(service(), 'steady', timing)
      service().advance(MINUTE)
      const { body } = await patch('steady', id, { message: 'tock', ...timing })
      assert.deepEqual([body.data.message, body.data.next_at, body.data.next_runs], ['tock', next_at, next_runs])
    }
    const { id, next_at } = await createSchedule(service(), 'steady', { every: '2h' })
    service().advance(MINUTE)
    const { body: longer } = await patch('steady', id, { every: '3h' })
    assert.ok(Date.parse(longer.data.next_at) >= Date.parse(next_at) + HOUR + MINUTE, 'another interval begins now')

    const at = new Date(service().now() + HOUR).toISOString()
    const once = await createSchedule(service(), 'steady', { at })
    pass(service(), HOUR)
    await untilEnded(service(), 'steady', once.id, 1)
    const passed = await patch('steady', once.id, { at, name: 'gone by' })
    assert.deepEqual([passed.status, passed.body.data.at, passed.body.data.next_at], [200, at, null], passed.text)
  })

  test('the runs that a paused agent missed are reported, also if its times were changed meanwhile', async () => {
    await createAgent(service(), 'waiting')
    const timings = [{ every: '1h' }, halfAnHourLater(service())]
    const made = await Promise.all(timings.map((timing) => createSchedule(service(), 'waiting', timing)))
    await pause('waiting', 'paused')
    pass(service(), HOUR)
    for (const [i, { id }] of made.entries()) {
      await until('that it stands still', async () => (await logsOf('waiting', id)).length === 1)
      assert.equal((await patch('waiting', id, { message: 'tock', ...timings[i] })).status, 200)
    }
    await pause('waiting', 'running')
    for (const { id } of made) {
      const { missed, last_missed_reason } = await until('the next tick', async () => {
        const schedule = await getSchedule(service(), 'waiting', id)
        return Date.parse(schedule.next_at) > service().now() && schedule
      })
      assert.deepEqual([missed, last_missed_reason], [1, 'agent_paused'])
    }
  })

  test('a pause of the agent pauses them; missed runs are reported and not made up for', async () => {
    await createAgent(service(), 'resting')
    const { id } = await createSchedule(service(), 'resting', { every: '1h', catch_up: 'one' })
    await pause('resting', 'paused')
    const paused = await getSchedule(service(), 'resting', id)
    assert.deepEqual([paused.enabled, paused.next_at, paused.next_runs], [true, null, []])
    assert.equal((await service().call('POST', `/v1/agents/resting/schedules/${id}/run`)).status, 409)
    pass(service(), HOUR + MINUTE)
    await until('that it stands still', async () => (await logsOf('resting', id)).length === 1)
    pass(service(), 2 * HOUR)
    await pause('resting', 'running')
    await untilHolds(async () => {
      const { missed, last_missed_reason, next_at } = await getSchedule(service(), 'resting', id)
      assert.deepEqual([missed, last_missed_reason], [3, 'agent_paused'])
      assert.ok(Date.parse(next_at) > service().now())
    })
    assert.deepEqual(await runsOf(service(), 'resting', id), [])
    pass(service(), HOUR)
    await untilEnded(service(), 'resting', id, 1)
  })

  test("run starts one now, with the caller's permissions, and changes no scheduled time", async () => {
    await createAgent(service(), 'tried')
    await service().call('POST', '/v1/listeners', { body: { events: ['agent.completed'] } })
    const schedule = await createSchedule(service(), 'tried', { every: '1h', enabled: false })
    const { id: key_id, secret } = await createKey(service(), { role: 'developer' })
    const path = `/v1/agents/tried/schedules/${schedule.id}/run`
    const once = { headers: { 'Idempotency-Key': `try-${engine}` }, key: secret }
    const reply = await service().call('POST', path, once)
    assert.equal(reply.status, 202, reply.text)
    assert.equal((await service().call('POST', path, once)).body.data.request_id, reply.body.data.request_id)
    const [run] = await untilEnded(service(), 'tried', schedule.id, 1)
    assert.deepEqual([run?.scheduled_at, run?.created_by, run?.door], [null, key_id, 'api'])
    const db = storeOf(service())
    const events = await db.selectFrom('events').select('body').where('body', 'like', `%${run?.request_id}%`).execute()
    assert.deepEqual(
      events.map((event) => JSON.parse(event.body).data.schedule_id),
      [schedule.id],
    )
    assert.deepEqual(await getSchedule(service(), 'tried', schedule.id), schedule)
  })

  test('they have the rights of the key that changed them last, and end with it', async () => {
    const agent_id = await createAgent(service(), 'owned')
    const mine = await createKey(service(), { agent_id, permissions: ['read', 'write'] })
    const other = await createKey(service(), { role: 'developer' })
    const { id } = await createSchedule(service(), 'owned', { every: '1h' }, mine.secret)
    await service().call('DELETE', `/v1/keys/${mine.id}`)
    pass(service(), HOUR)
    const off = await until('its end', async () => {
      const schedule = await getSchedule(service(), 'owned', id)
      return !schedule.enabled && schedule
    })
    assert.deepEqual([off.disabled_reason, off.next_at, off.last_tick_at], ['key_revoked', null, null])
    assert.deepEqual(await logsOf('owned', id), ['Schedule disabled: the key that last changed it is revoked'])
    assert.deepEqual(await runsOf(service(), 'owned', id), [])

    const adopted = (await patch('owned', id, { enabled: true }, other.secret)).body.data
    assert.deepEqual([adopted.created_by, adopted.updated_by, adopted.disabled_reason], [mine.id, other.id, null])
    pass(service(), HOUR)
    const [run] = await untilEnded(service(), 'owned', id, 1)
    assert.equal(run?.created_by, other.id)
  })

  test('403 beyond the scope and the permissions of a key', async () => {
    const agent_id = await createAgent(service(), 'guarded')
    const elsewhere = await createAgent(service(), 'elsewhere')
    const { id } = await createSchedule(service(), 'guarded', { every: '1h' })
    const path = `/v1/agents/guarded/schedules/${id}`
    const body = { every: '1h', message: 'm' }
    const scoped = await createKey(service(), { agent_id: elsewhere, permissions: ['read', 'write', 'delete'] })
    const caller = await createKey(service(), { agent_id, role: 'caller' })
    for (const key of [scoped.secret, caller.secret]) {
      for (const [method, target, sent] of [
        ['POST', '/v1/agents/guarded/schedules', body],
        ['GET', '/v1/agents/guarded/schedules', undefined],
        ['GET', path, undefined],
        ['PATCH', path, { enabled: false }],
        ['POST', `${path}/run`, undefined],
        ['DELETE', path, undefined],
      ] as const) {
        const reply = await service().call(method, target, { key, body: sent })
        assert.equal(reply.status, 403, `${method} ${target}: ${reply.text}`)
      }
    }
    const foreign = await service().call('GET', `/v1/agents/elsewhere/schedules/${id}`)
    assert.equal(foreign.status, 404, 'the schedule of another agent')
  })

  test('are deleted with their agent, and with the user that they run for', async () => {
    await createAgent(service(), 'passing')
    await createSchedule(service(), 'passing', { every: '1h' })
    await service().call('DELETE', '/v1/agents/passing')
    const { total } = await storeOf(service())
      .selectFrom('schedules')
      .innerJoin('agents', 'agents.id', 'schedules.agent_id')
      .select((row) => row.fn.countAll<number>().as('total'))
      .where('agents.name', '=', 'passing')
      .executeTakeFirstOrThrow()
    assert.equal(total, 0)

    await createAgent(service(), 'personal')
    const context = { user_id: `ada-${engine}` }
    const { id } = await createSchedule(service(), 'personal', { every: '1h', context })
    const { text } = await service().call('GET', `/v1/users/ada-${engine}/export`)
    assert.ok(text.includes(`"type":"schedule","id":"${id}"`), text)
    const { body } = await service().call('DELETE', `/v1/users/ada-${engine}`)
    assert.equal(body.data.schedules, 1)
    assert.equal((await service().call('GET', `/v1/agents/personal/schedules/${id}`)).status, 404)
  })
})

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`schedules over a restart on ${engine}`, () => {
    test('missed runs are reported; catch_up makes one run of them', () =>
      withService(engine, async (service) => {
        await createAgent(service, 'away')
        const none = await createSchedule(service, 'away', { every: '1h' })
        const one = await createSchedule(service, 'away', { every: '1h', catch_up: 'one' })
        await stopApp(service)
        service.advance(5 * HOUR + 10 * MINUTE)
        await service.restart()
        const [run] = await untilEnded(service, 'away', one.id, 1)
        assert.equal(Date.parse(run?.scheduled_at ?? ''), Date.parse(one.next_at) + 4 * HOUR)
        const caughtUp = await getSchedule(service, 'away', one.id)
        assert.deepEqual([caughtUp.missed, caughtUp.last_missed_reason], [4, 'late'])
        const missed = await until('the missed ticks', async () => {
          const schedule = await getSchedule(service, 'away', none.id)
          return schedule.missed === 5 && schedule
        })
        assert.equal(Date.parse(missed.last_missed_at), Date.parse(none.next_at) + 4 * HOUR)
        assert.equal(Date.parse(missed.next_at), Date.parse(none.next_at) + 5 * HOUR)
        assert.deepEqual(await runsOf(service, 'away', none.id), [])
      }))

    betweenNodes(engine)('two nodes that come to the same ticks begin one run of each', () =>
      withService(engine, async (service) => {
        const other = await service.beside()
        try {
          await createAgent(service, 'shared')
          const at = new Date(service.now() + HOUR).toISOString()
          const made = await Promise.all(Array.from({ length: 20 }, () => createSchedule(other, 'shared', { at })))
          for (const node of [service, other]) pass(node, HOUR)
          for (const { id } of made) await untilEnded(other, 'shared', id, 1)
          const { body } = await service.call('GET', '/v1/agents/shared/invocations')
          assert.equal(body.pagination.total, 20)
        } finally {
          await other.stop()
        }
      }),
    )
  })
}

describe('a token that ends', () => {
  test('cannot leave a schedule behind', () =>
    withService(
      'sqlite',
      async (service) => {
        await createAgent(service, 'tokens')
        const { id } = await createSchedule(service, 'tokens', { every: '1h' })
        const key = await signJwt({ role: 'admin' })
        for (const [method, path, body] of [
          ['POST', '', { every: '1h', message: 'm' }],
          ['PATCH', `/${id}`, { message: 'mine' }],
          ['POST', `/${id}/run`, undefined],
          ['GET', `/${id}`, undefined],
        ] as const) {
          const reply = await service.call(method, `/v1/agents/tokens/schedules${path}`, { key, body })
          assert.equal(reply.status, 403, reply.text)
        }
      },
      JWT_SETTINGS,
    ))
})

describe('an agent', () => {
  test('has as many schedules as the operator allows', () =>
    withService(
      'sqlite',
      async (service) => {
        await createAgent(service, 'busy')
        for (let n = 0; n < 2; n++) await createSchedule(service, 'busy', { every: '1h' })
        const body = { every: '1h', message: 'one more' }
        const reply = await service.call('POST', '/v1/agents/busy/schedules', { body })
        assert.equal(reply.status, 409, reply.text)
        assert.match(reply.body.error.message, /schedules\.maxPerAgent/)
      },
      { MOORAGE_SCHEDULES__MAX_PER_AGENT: '2' },
    ))
})
