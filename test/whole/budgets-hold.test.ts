import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClusterNode, startCluster } from '../support/chaos/cluster.ts'
import { DOORS, type DoorCall, type DoorReply } from '../support/clients/doors.ts'
import { type CountingModel, startCountingModel } from '../support/outside/counting-model.ts'
import { IS_LONG } from '../support/running/long.ts'
import { until } from '../support/running/until.ts'
import { type ChildService, startChildService } from '../support/service/child-service.ts'
import type { CallOptions, Service } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const USAGE = { prompt_tokens: 50, completion_tokens: 2_000 }
const TOKENS = USAGE.prompt_tokens + USAGE.completion_tokens
/** A call may hold this much more than it uses, so that the last one finds room; a further one never does. */
const HELD_MORE = 150
const CLIENTS = IS_LONG ? 200 : 80
const RUNS = IS_LONG ? 500 : 120
const KILLS = IS_LONG ? 10 : 3

type Line = {
  message: string
  status: string
  request_id: string | null
  input_tokens: number
  output_tokens: number
}

describe('a budget is never overspent', () => {
  test(`with ${CLIENTS} clients on three nodes and every channel, while nodes are killed and PostgreSQL restarts`, {
    timeout: 600_000,
  }, async (t) => {
    const model = await startCountingModel(USAGE, 400)
    t.after(() => model.close())
    const cluster = await startCluster(t, ['first', 'second', 'third'], localProvider(model.url))
    const [first, second, third] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode]
    const budget_id = await furnish(first.service, 20)
    const asking = askAll(CLIENTS, CLIENTS, (i) => (cluster.nodes[i % 3] as ClusterNode).service)
    await until('some are answered', () => model.answered.length >= 4)
    // On a slow machine, all others might be lost.
    const completed = '/v1/invocations?limit=1&status=completed'
    await until('one is completed', async () => (await first.service.call('GET', completed)).pagination.total > 0)
    await cluster.kill(second)
    await cluster.start(second)
    await cluster.postgres.stop()
    await delay(1_000)
    await cluster.postgres.start()
    await cluster.kill(third)
    await cluster.start(third)
    const told = await asking
    await examine(t, first.service, { model, budget_id, most: 20, told })
  })

  test(`${RUNS} runs on SQLite, killed ${KILLS} times`, { timeout: 600_000 }, async (t) => {
    const model = await startCountingModel(USAGE, 50)
    t.after(() => model.close())
    const service = await startChildService(t, 'sqlite', localProvider(model.url))
    const budget_id = await furnish(service, RUNS / 2)
    const asking = askAll(RUNS, 10, () => service)
    for (let kills = 0; kills < KILLS; kills++) {
      const enough = model.answered.length + 8
      await until('some more are answered', () => model.answered.length >= enough)
      await service.kill()
      await service.start()
    }
    const told = await asking
    await examine(t, service, { model, budget_id, most: RUNS / 2, told })
  })
})

async function furnish(service: ChildService, answers: number): Promise<string> {
  const limits = { max_output_tokens: USAGE.completion_tokens }
  await service.call('POST', '/v1/agents', { name: 'dear', model: 'local/counting', instructions: null, limits })
  const scope = { type: 'project' }
  const body = { name: 'answers', scope, limit: { tokens: answers * TOKENS + HELD_MORE }, per: 'ever' }
  return (await service.call('POST', '/v1/budgets', body)).data.id
}

const MOST_TRIES = 100
const TRIES_WITHOUT_ROOM = 3
const WITHOUT_ROOM = new Set(['budget_exceeded', 'insufficient_quota', 'TASK_STATE_FAILED'])

/**
 * Clients of every kind, `atOnce` at a time. Who finds no node asks again; who hears that there is no room does too, a few
 * times, because some may come back.
 */
async function askAll(count: number, atOnce: number, nodeOf: (i: number) => ChildService): Promise<string[]> {
  const doors = Object.values(DOORS)
  const ask = async (i: number): Promise<string> => {
    const message = `message ${i}`
    const door = doors[i % (doors.length + 2)] ?? inBackground
    let refusals = 0
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const service = asService(nodeOf(i + tries))
      const told = await door(service, { agent: 'dear', message, key: service.admin }).catch(() => undefined)
      if (told && 'response' in told) return told.response
      if (told && WITHOUT_ROOM.has(told.code) && ++refusals === TRIES_WITHOUT_ROOM) return 'no room'
      await delay(300)
    }
    return 'gone'
  }
  const told: string[] = []
  let next = 0
  const client = async (number: number) => {
    await delay(number * 10)
    while (next < count) told.push(await ask(next++))
  }
  await Promise.all(Array.from({ length: atOnce }, (_, number) => client(number)))
  return told
}

async function inBackground(service: Service, { message }: DoorCall): Promise<DoorReply> {
  const headers = { Prefer: 'respond-async', 'Idempotency-Key': message.replaceAll(' ', '-') }
  const { status } = await service.call('POST', '/v1/agents/dear/invoke', { body: { message }, headers })
  return status === 202 ? { response: 'queued' } : { code: 'refused', status }
}

/** A service in a process of its own, for the doors. */
function asService(child: ChildService): Service {
  const call = async (method: string, path: string, { body, headers = {} }: CallOptions = {}) => {
    const authorised = { Authorization: `Bearer ${child.admin}`, 'Content-Type': 'application/json', ...headers }
    const signal = AbortSignal.timeout(30_000)
    const sent = JSON.stringify(body)
    const response = await fetch(child.url() + path, { method, headers: authorised, body: sent, signal })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
  return { admin: child.admin, call } as Service
}

/** The books of the model server, the ledger, the receipts, the sums and the budget, held against each other. */
async function examine(
  t: TestContext,
  service: ChildService,
  { model, budget_id, most, told }: { model: CountingModel; budget_id: string; most: number; told: readonly string[] },
) {
  const budgetNow = async () => (await service.call('GET', `/v1/budgets/${budget_id}`)).data
  const unfinished = async () =>
    (await service.call('GET', '/v1/invocations?limit=1&status=queued')).pagination.total +
    (await service.call('GET', '/v1/invocations?limit=1&status=running')).pagination.total
  await until('all that died is settled', async () => (await budgetNow()).reserved === 0 && (await unfinished()) === 0)
  let lines: Line[] = []
  let receipts: { id: string; status: string; tokens_used: number }[] = []
  await service.terminate()
  await service.inStore(async (db) => {
    lines = (await db
      .selectFrom('ledger')
      .innerJoin('invocations', 'invocations.id', 'ledger.request_id')
      .select(['message', 'ledger.status', 'request_id', 'ledger.input_tokens', 'ledger.output_tokens'])
      .execute()) as Line[]
    receipts = await db.selectFrom('invocations').select(['id', 'status', 'tokens_used']).execute()
  })
  await service.start()
  const completed = lines.filter(({ status }) => status === 'completed')
  const lost = lines.filter(({ status }) => status === 'lost')
  const summary = Object.fromEntries([...Map.groupBy(told, (said) => said)].map(([said, all]) => [said, all.length]))
  t.diagnostic(
    `told: ${JSON.stringify(summary)}; the server answered ${model.answered.length}, lines: ${completed.length} completed, ${lost.length} lost, ${lines.length} in all`,
  )
  assert.ok(model.answered.length <= most, `${model.answered.length} answers where ${most} may be paid`)
  assert.ok(model.answered.length > 0 && completed.length > 0)

  // Each answer that the server gave is a line: one that was heard, or one whose end was not.
  const books = Map.groupBy(model.answered, (message) => message)
  const ofMessage = (some: Line[], message: string) => some.filter((line) => line.message === message).length
  for (const message of new Set([...books.keys(), ...lines.map((line) => line.message)])) {
    const given = books.get(message)?.length ?? 0
    const heard = ofMessage(completed, message)
    assert.ok(heard <= given && given - heard <= ofMessage(lost, message), `${message}: ${given} given, ${heard} heard`)
  }
  const sum = (some: readonly Line[]) =>
    some.reduce((total, { input_tokens, output_tokens }) => total + input_tokens + output_tokens, 0)
  assert.equal(sum(completed), completed.length * TOKENS)
  const { used, reserved } = await budgetNow()
  assert.deepEqual({ used, reserved }, { used: sum(lines), reserved: 0 })
  assert.ok(used <= most * TOKENS + HELD_MORE)

  const usage = await service.call('GET', '/v1/usage?group_by=agent')
  const rows: { input_tokens: number; output_tokens: number }[] = usage.data.rows ?? usage.data
  const inUsage = rows.reduce((total, row) => total + row.input_tokens + row.output_tokens, 0)
  assert.equal(inUsage, sum(lines))
  for (const { id, status, tokens_used } of receipts) {
    if (status !== 'completed') continue
    const heard = completed.filter(({ request_id }) => request_id === id)
    assert.equal(tokens_used, TOKENS, `${id} has one answer`)
    assert.ok(heard.length >= 1)
  }
}
