import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DOORS } from '../support/clients/doors.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

/** What differs from one invocation to the next. */
const OWN = new Set([
  'id',
  'request_id',
  'agent_id',
  'timestamp',
  'created_at',
  'started_at',
  'began_at',
  'finished_at',
  'duration_ms',
  // A channel can create its own session.
  'context',
])

const common = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (name, inner) => (OWN.has(name) ? undefined : inner)))

/** Everything that one answer leaves. */
async function tracesOf(t: TestContext, service: Service, door: string, agent: string) {
  const agent_id = await createAgent(service, agent)
  const inbox = await openInbox(t)
  await createWebhook(service, { agent_id, url: inbox.url })
  const invoke = DOORS[door] ?? assert.fail(door)
  assert.deepEqual(await invoke(service, { agent, message: 'ahoy', key: service.admin }), { response: 'ahoy' })

  const at = `/v1/agents/${agent_id}`
  const read = async (path: string) => (await service.call('GET', at + path)).body.data
  const [{ door: told, ...receipt }] = await read('/invocations')
  const [{ metadata, ...log }] = await read('/logs')
  const { values } = await read('/metrics?metric=throughput')
  const [event] = await inbox.first(1)
  const { door: logged, ...labels } = metadata
  return {
    doors: [told, logged ?? 'api'],
    traces: common({
      receipt,
      log: { ...log, metadata: labels },
      answers: values.reduce((sum: number, { value }: { value: number }) => sum + value, 0),
      event: JSON.parse(event?.body ?? ''),
    }),
  }
}

onAnyEngine(
  'an invocation on any channel',
  (service) => {
    let number = 0
    const agent = () => `traced-${++number}`

    for (const door of Object.keys(DOORS)) {
      test(`${door}: writes the same receipt, log entry, metric and event as the API`, async (t) => {
        const [kind = ''] = door.split(' ')
        const api = await tracesOf(t, service(), 'api', agent())
        const other = await tracesOf(t, service(), door, agent())
        assert.deepEqual(other.doors, [kind, kind])
        assert.deepEqual(other.traces, api.traces)
      })
    }
  },
  LOCAL_RECEIVERS,
)
