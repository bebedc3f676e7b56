import { readEvents } from '../support/clients/sse.ts'
import { wakeJobs } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { upload } from '../support/slices/files.ts'
import { makeCrew } from '../support/tour/crew.ts'
import { tour } from '../support/tour/tour.ts'

const SHIPS = {
  type: 'object',
  title: 'ships',
  properties: { ships: { type: 'integer' }, flag: { type: 'string' } },
  required: ['ships', 'flag'],
  additionalProperties: false,
}
const ANN = { user_id: 'ann', session_id: 'monday' }
const ASYNC = { Prefer: 'respond-async' }

tour('a tour of runs', (told, chapter, world) => {
  const runs: Record<string, string> = {}
  const invoke = (agent: string, message: string, more: object = {}, headers: Record<string, string> = {}) =>
    told.tell('POST', `/v1/agents/${agent}/invoke`, { body: { message, ...more }, headers })
  const run = async (name: string, agent: string, message: string, more: object = {}, headers = {}) => {
    const { body } = await invoke(agent, message, more, headers)
    runs[name] = body.data?.request_id ?? body.request_id
  }
  const pathOf = (agent: string, name: string) => `/v1/agents/${agent}/invocations/${runs[name]}`
  /** Its stream tells nothing before the run works; the clock may continue then. */
  const begun = async (agent: string, name: string) => {
    const { url, admin } = told.service
    const headers = { Authorization: `Bearer ${admin}` }
    for await (const _ of readEvents(await fetch(`${url}${pathOf(agent, name)}/stream`, { headers }))) break
  }
  const ended = (agent: string, name: string) =>
    until(`${name} has ended`, async () => {
      const { body } = await told.service.call('GET', pathOf(agent, name))
      return ['completed', 'failed', 'cancelled'].includes(body.data.status)
    })

  chapter('runs/runs.txt', async () => {
    await makeCrew(told, world())
    await run('echo', 'hello', 'ahoy', { context: ANN })
    await told.tell('GET', pathOf('hello', 'echo'))
    await run('weather', 'pilot', 'How is the weather?', { context: ANN })
    await told.tell('GET', pathOf('pilot', 'weather'))
    await run('again', 'pilot', 'And tomorrow?', { context: ANN })
    await run('structured', 'pilot', 'count the ships', { output: { schema: SHIPS } })
    await told.tell('GET', pathOf('pilot', 'structured'))
    await run('cut', 'pilot', 'cut it short')
    await run('refused', 'pilot', 'refuse this')
    await told.tell('GET', pathOf('pilot', 'refused'))
    await run('captain', 'captain', 'how is the weather at sea?', { context: { user_id: 'bob' } })
    await told.tell('GET', pathOf('captain', 'captain'))
    await told.tell('GET', `/v1/invocations?parent_request_id=${runs['captain']}`, { only: ['message', 'response'] })
    await run('unanswered', 'captain', 'refuse this at sea')
    await told.tell('GET', pathOf('captain', 'unanswered'))
    await run('stopped', 'captain', 'stop now')
    await run('late', 'captain', 'late, please', {}, ASYNC)
    await begun('captain', 'late')
    await told.tell('POST', `${pathOf('captain', 'late')}/cancel`)
    await told.tell('POST', `${pathOf('captain', 'late')}/cancel`)
    await told.tell('GET', pathOf('captain', 'late'))
  })

  chapter('runs/run-files.txt', async () => {
    const file = await upload(told.service, 'The tide turns at noon.\n', {
      type: 'text/plain',
      query: '?name=tide.txt',
    })
    told.show('the file', file.body)
    const attachments = [
      { file_id: file.body.data.id },
      { data: Buffer.from('a,b\n1,2\n').toString('base64'), media_type: 'text/csv', name: 'table.csv' },
    ]
    await run('read', 'pilot', 'What do they say?', { attachments })
    await told.tell('GET', pathOf('pilot', 'read'))
    await told.tell('GET', `${pathOf('pilot', 'read')}/prompt`)
    await told.tell('GET', `${pathOf('pilot', 'read')}/files/${file.body.data.id}`)
  })

  chapter('runs/prompts.txt', async () => {
    for (const [agent, name, step] of [
      ['pilot', 'weather', '1'],
      ['pilot', 'weather', '0'],
      ['pilot', 'weather', '3'],
      ['pilot', 'again', ''],
      ['pilot', 'structured', ''],
      ['hello', 'echo', ''],
    ] as const) {
      await told.tell('GET', `${pathOf(agent, name)}/prompt${step && `?step=${step}`}`)
    }
    const long = await told.call('POST', '/v1/agents/hello/invoke', { body: { message: 'x'.repeat(25_000) } })
    const { body } = await told.call('GET', `/v1/agents/hello/invocations/${long.body.data.request_id}/prompt`)
    const [{ content, characters }] = body.data.messages
    told.show('a long message', { shown: content.length, characters })
    await told.tell('GET', `${pathOf('pilot', 'weather')}/effects`)
    await told.tell('GET', `${pathOf('captain', 'stopped')}/effects`)
  })

  chapter('runs/approvals.txt', async () => {
    await run('berth', 'master', 'a berth for Anna', { context: ANN })
    await run('berth2', 'master', 'a berth for Bella')
    await run('berth3', 'master', 'a berth for Carla', { context: { user_id: 'bob' } })
    await told.tell('GET', pathOf('master', 'berth'))
    await told.tell('GET', `${pathOf('master', 'berth')}/approvals/call_1`)
    await told.tell('GET', '/v1/approvals')
    const decide = (name: string, body: object) =>
      told.tell('POST', `${pathOf('master', name)}/approvals/call_1`, { body })
    await decide('berth', { decision: 'approve', arguments: { ship: 'Anna', nights: 4 }, note: 'For four nights' })
    await ended('master', 'berth')
    await decide('berth2', { decision: 'reject', note: 'No room' })
    await ended('master', 'berth2')
    await decide('berth2', { decision: 'approve' })
    await told.tell('GET', pathOf('master', 'berth'))
    await told.tell('GET', pathOf('master', 'berth2'))
    await told.tell('POST', `${pathOf('master', 'berth3')}/cancel`)
    await told.everySort('/v1/approvals', '/v1/approvals', ['request_id', 'status'])
    for (const filter of [
      'status=approved',
      'status=cancelled',
      'kind=tool',
      'kind=question',
      'user_id=ann',
      'session_id=monday',
    ])
      await told.tell('GET', `/v1/approvals?${filter}`, { only: ['request_id', 'status'] })
    await told.tell('GET', '/v1/approvals?agent_id=master&limit=1&offset=1', { only: ['status'] })
    await told.tell('GET', '/v1/approvals?agent_id=pilot', { only: ['status'] })
    await told.tell('GET', `/v1/approvals?request_id=${runs['berth2']}`)
  })

  chapter('runs/questions.txt', async () => {
    await run('question', 'asking', 'May we?', { context: ANN }, ASYNC)
    await until(
      'it asks',
      async () => (await told.service.call('GET', pathOf('asking', 'question'))).body.data.status === 'waiting',
    )
    const path = `${pathOf('asking', 'question')}/approvals/call_1`
    await told.tell('GET', path)
    await told.tell('POST', path, { body: { decision: 'approve' } })
    await told.tell('POST', path, { body: { decision: 'approve', answer: 'Yes, you may.' } })
    await ended('asking', 'question')
    await told.tell('GET', pathOf('asking', 'question'))
    await run('expired', 'asking', 'May they?')
    told.time += 600_000
    wakeJobs(told.service)
    await until('it has expired', async () => {
      const { body } = await told.service.call('GET', pathOf('asking', 'expired'))
      return body.data.status === 'completed'
    })
    await told.tell('GET', `/v1/approvals?status=expired`)
  })

  chapter('runs/run-lists.txt', async () => {
    const all = '/v1/agents/{agent_id}/invocations'
    await told.everySort('/v1/agents/pilot/invocations', all, ['message', 'tokens_used'])
    for (const filter of [
      'status=failed',
      'status=completed',
      'user_id=ann',
      'session_id=monday',
      'door=api',
      'door=mcp',
    ])
      await told.tell('GET', `/v1/agents/pilot/invocations?${filter}`, { only: ['message', 'status'] })
    await told.tell('GET', '/v1/agents/pilot/invocations?limit=2&offset=1', { only: ['message'] })
    await told.everySort('/v1/invocations', '/v1/invocations', ['message', 'status'])
    for (const filter of [
      'agent_id=captain',
      'status=cancelled',
      'user_id=bob',
      'session_id=monday',
      'door=api&limit=1',
    ])
      await told.tell('GET', `/v1/invocations?${filter}`, { only: ['message', 'status'] })
    await told.tell('GET', `/v1/invocations?request_id=${runs['cut']}`)
    await told.tell('DELETE', pathOf('pilot', 'cut'))
    await told.tell('GET', pathOf('pilot', 'cut'))
    await told.tell('GET', `${pathOf('pilot', 'cut')}/prompt`)
  })

  chapter('runs/usage.txt', async () => {
    for (const query of [
      '',
      'group_by=model',
      'group_by=agent,model',
      'group_by=user&agent_id=pilot',
      'group_by=key,door',
      'group_by=environment,version,purpose',
      'granularity=hour&from=2026-03-02T06:00:00Z&to=2026-03-02T10:00:00Z',
      'granularity=day&timezone=Asia/Tokyo',
      'model=local/tiny&door=api&purpose=run',
      `request_id=${runs['weather']}`,
      'user_id=bob',
    ])
      await told.tell('GET', `/v1/usage?${query}`)
    await told.tell('GET', '/v1/usage?group_by=agent,model&format=csv')
    await told.tell('GET', '/v1/prices')
    await told.tell('GET', '/v1/prices?sort=-model&limit=1', { only: ['model', 'input'] })
    await told.tell('POST', '/v1/usage/reprice', { body: { from: '2026-03-02T00:00:00Z' } })
  })

  chapter('runs/figures.txt', async () => {
    for (const metric of ['response_time', 'throughput', 'error_rate'])
      for (const aggregation of ['avg', 'p50', 'p95', 'p99', 'max'])
        await told.tell('GET', `/v1/agents/pilot/metrics?metric=${metric}&aggregation=${aggregation}&granularity=1h`)
    await told.tell(
      'GET',
      '/v1/agents/pilot/metrics?granularity=1m&start_time=2026-03-02T08:00:00Z&end_time=2026-03-02T08:02:00Z',
    )
    await told.tell('GET', '/v1/agents/pilot/performance?granularity=1h')
    await told.tell('GET', '/v1/overview?sort=name')
    await told.tell('GET', '/v1/agents/pilot/logs?sort=timestamp')
    for (const query of [
      'level=error',
      'level=warn,error',
      'search=refuse',
      `request_id=${runs['weather']}`,
      'limit=2&offset=1',
    ])
      await told.tell('GET', `/v1/agents/pilot/logs?${query}`, { only: ['level', 'message'] })
    await told.tell('GET', '/v1/agents/captain/logs')
  })
})
