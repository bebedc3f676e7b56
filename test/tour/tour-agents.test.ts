import { until } from '../support/running/until.ts'
import { FULL_AGENT, REMOTE_AGENT } from '../support/tour/agents.ts'
import { tour } from '../support/tour/tour.ts'

tour('a tour of agents and what they serve', (told, chapter, world) => {
  let full = ''
  let deployments: string[] = []

  chapter('agents/agents.txt', async () => {
    await told.tell('GET', '/v1/agents', { headersToo: true })
    full = (await told.tell('POST', '/v1/agents', { body: FULL_AGENT })).body.data.id
    await told.tell('POST', '/v1/agents', { body: { name: 'bare' } })
    await told.tell('POST', '/v1/agents', { body: REMOTE_AGENT })
    await told.tell('GET', `/v1/agents/${full}`)
    await told.tell('GET', '/v1/agents/bare')
    await told.tell('PATCH', '/v1/agents/bare', {
      body: { name: 'bared', description: 'Says it again', status: 'paused', limits: { max_steps: 4 } },
    })
    await told.tell('PATCH', `/v1/agents/${full}`, {
      body: { temperature: null, memory: { recall: 3 }, metadata: { team: 'quay', tier: 2 } },
    })
    await told.tell('POST', '/v1/agents/bared/invoke', { body: { message: 'ahoy' } })
    for (const sort of ['created_at', '-created_at', 'updated_at', '-updated_at', 'name', '-name', 'status', '-status'])
      await told.tell('GET', `/v1/agents?sort=${sort}`, { only: ['name'] })
    await told.tell('GET', '/v1/agents?limit=2&offset=1&sort=name', { only: ['name', 'status'] })
    await told.tell('GET', '/v1/agents?limit=2&offset=4', { only: ['name'] })
    await told.tell('GET', '/v1/overview?sort=name')
    await told.tell('GET', '/v1/overview?sort=-created_at&limit=1&offset=2', { only: ['id'] })
    await told.tell('GET', '/v1/keys/self/agents?sort=name')
    await told.tell('GET', '/v1/keys/self/agents?agent_id=hello&sort=-created_at')
    await told.tell('POST', '/v1/agents/bared/tools/test', {
      body: { tool: { type: 'ask_person' } },
    })
    const url = `${world().place.url}/weather/{city}`
    const input_schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tool = { type: 'http', name: 'weather', description: 'The weather', method: 'GET', url, input_schema }
    for (const args of [{ city: 'Oslo' }, { city: 7 }])
      await told.tell('POST', '/v1/agents/bared/tools/test', { body: { tool, call: { arguments: args } } })
    await told.tell('POST', '/v1/agents/far-away/remote/check')
    await told.tell('GET', '/v1/agents?sort=-name&limit=1')
    await told.tell('POST', '/v1/projects', { body: { name: 'north' } })
    await told.tell('POST', '/v1/agents/bared/move', { body: { project: 'north' } })
    await told.tell('DELETE', '/v1/agents/far-away')
    await told.tell('GET', '/v1/agents/far-away')
  })

  chapter('agents/deployments.txt', async () => {
    const path = `/v1/agents/${full}/deployments`
    const deploy = async (body: object) => (await told.tell('POST', path, { body })).body.data.id as string
    deployments = [
      await deploy({ environment: 'production', version: 'v1', message: 'The first one' }),
      await deploy({ environment: 'staging', version: 'v1' }),
    ]
    await told.call('PATCH', `/v1/agents/${full}`, { body: { instructions: 'Be brief.', temperature: 1.5 } })
    await told.tell('POST', path, { body: { environment: 'production', version: 'v2', dry_run: true } })
    deployments.push(await deploy({ environment: 'production', version: 'v2', message: 'Brief answers' }))
    await told.tell('POST', path, { body: { environment: 'production', version: 'v1' } })
    await told.tell('GET', `${path}?sort=created_at`)
    await told.tell('GET', `${path}?environment=production&sort=-created_at`, { only: ['version', 'status'] })
    await told.tell('GET', `${path}?status=superseded`, { only: ['version', 'environment'] })
    await told.tell('GET', `${path}?version=v1&limit=1`, { only: ['version', 'environment'] })
    await told.tell('GET', `${path}/${deployments[2]}`)
    await told.tell('GET', `/v1/deployments/${deployments[1]}`)
    await told.tell('GET', `${path}/${deployments[2]}/diff`)
    await told.tell('GET', `${path}/${deployments[2]}/diff?from=${deployments[0]}`)
    await told.tell('GET', `${path}/${deployments[2]}/diff?from=working_copy`)
    const last = `${path}/${deployments[2]}/rollback`
    await told.tell('POST', last, { body: { dry_run: true } })
    await told.tell('POST', last, { body: { message: 'Too brief' } })
    await told.tell('POST', last, { body: {} })
    await told.tell('GET', `${path}?sort=-created_at`, { only: ['version', 'environment', 'status', 'message'] })
    await told.tell('GET', `/v1/agents/${full}`)
    await told.tell('POST', `/v1/agents/${full}/invoke`, { body: { message: 'ahoy', environment: 'staging' } })
    await told.tell('POST', `/v1/agents/${full}/invoke`, { body: { message: 'ahoy', environment: 'moon' } })
  })

  chapter('agents/schedules.txt', async () => {
    const path = '/v1/agents/hello/schedules'
    const create = async (body: object) => (await told.tell('POST', path, { body })).body.data.id as string
    const daily = await create({
      name: 'daily',
      cron: '30 9 * * 1-5',
      timezone: 'Europe/Berlin',
      message: 'Write the report',
      context: { user_id: 'ann', session_id: 'mornings' },
      environment: 'staging',
      overlap: 'queue',
      catch_up: 'one',
      on_budget: 'wait',
    })
    const often = await create({ every: '90m', message: 'Look around', enabled: false })
    await create({ name: 'once', at: '2026-03-08T12:00:00+01:00', message: 'Say goodbye' })
    await told.tell('GET', `${path}/${daily}`)
    await told.tell('PATCH', `${path}/${often}`, {
      body: { name: 'often', enabled: true, every: '2h', overlap: 'queue' },
    })
    for (const sort of ['created_at', '-updated_at', 'next_at', '-next_at', 'name', '-name'])
      await told.tell('GET', `${path}?sort=${sort}`, { only: ['name', 'next_at'] })
    await told.tell('PATCH', `${path}/${daily}`, { body: { enabled: false } })
    await told.tell('GET', `${path}?enabled=false`, { only: ['name', 'enabled', 'next_at'] })
    await told.tell('GET', `${path}?enabled=true&limit=1&sort=name`, { only: ['name', 'enabled', 'next_at'] })
    const run = await told.tell('POST', `${path}/${daily}/run`)
    await until('the run has ended', async () => {
      const { body } = await told.service.call('GET', `/v1/agents/hello/invocations/${run.body.data.request_id}`)
      return body.data.status === 'completed'
    })
    await told.tell('GET', `/v1/agents/hello/invocations?schedule_id=${daily}`)
    await told.tell('GET', `${path}/${daily}`)
    await told.tell('DELETE', `${path}/${often}`)
    await told.tell('GET', `${path}/${often}`)
  })
})
