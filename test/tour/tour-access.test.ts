import { authenticator, enrol } from '../support/clients/mfa.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { makePerson } from '../support/slices/people.ts'
import { tour } from '../support/tour/tour.ts'

const SETTINGS = {
  MOORAGE_CONSOLE__OIDC: JSON.stringify([{ name: 'sample', issuer: 'https://sample.example.com', clientId: 'sample' }]),
}

/** What a project has stored is counted in the background. */
const STORED = [/(?<=\},\n +"stored_bytes": )(null|\d+)/g, 'n'] as const

/** When keys were last used is stored in the background. */
const USED = [/(?<="last_used_at": )(null|"[^"]+")/g, 'when'] as const

tour(
  'a tour of access',
  (told, chapter, world) => {
    chapter('access/keys.txt', async () => {
      const create = async (body: object) => (await told.tell('POST', '/v1/keys', { body })).body.data
      const reader = await create({
        name: 'reader',
        agent_id: 'hello',
        permissions: ['read', 'invoke'],
        tier: 'free',
        expires_at: '2026-03-09T00:00:00Z',
      })
      const developer = await create({ name: 'developer', role: 'developer' })
      const everywhere = await create({ name: 'everywhere', role: 'admin', all_projects: true })
      await told.tell('GET', '/v1/keys/self', { key: reader.secret, headersToo: true })
      await told.tell('GET', '/v1/keys/self')
      await told.tell('POST', '/v1/keys', { body: { name: 'more', role: 'admin' }, key: developer.secret })
      await told.tell('PATCH', '/v1/agents/hello', { body: { description: 'x' }, key: reader.secret })
      await told.tell('GET', '/v1/agents/nobody', { key: reader.secret })
      await told.tell('GET', '/v1/agents/nobody', { key: developer.secret })
      await told.tell('GET', '/v1/agents', { key: reader.secret, only: ['name'] })
      await told.tell('GET', `/v1/keys/${developer.id}`)
      const rotated = await told.tell('POST', `/v1/keys/${developer.id}/rotate`, {
        body: { grace_period_seconds: 600 },
      })
      await told.tell('GET', '/v1/keys/self', { key: rotated.body.data.secret })
      await told.tell('DELETE', `/v1/keys/${everywhere.id}`)
      await told.tell('GET', '/v1/keys/self', { key: everywhere.secret })
      await told.everySort('/v1/keys', '/v1/keys', ['name'])
      for (const filter of ['status=active', 'status=revoked', 'status=expired', 'agent_id=hello', 'limit=1&offset=1'])
        await told.tell('GET', `/v1/keys?${filter}`, { only: ['name', 'status'] })
      told.time += 8 * 24 * 3600 * 1000
      await told.tell('GET', '/v1/keys/self', { key: reader.secret })
      await told.tell('GET', '/v1/keys?status=expired')
      const factor = `/v1/keys/${developer.id}/mfa`
      await told.tell('GET', factor)
      await told.tell('POST', factor)
      const { body } = await told.call('GET', '/v1/keys/self')
      const app = await enrol(told.service, body.data.id)
      const code = () => {
        told.time += 60_000
        return { 'X-Service-OTP': app.code() }
      }
      await told.tell('POST', factor, { headers: { 'X-Service-OTP': app.wrong() } })
      const enrolled = await told.tell('POST', factor, { headers: code() })
      await told.tell('POST', `${factor}/confirm`, { body: { code: '000000' } })
      const own = authenticator(told.service, enrolled.body.data.secret)
      const reply = await told.call('POST', `${factor}/confirm`, { body: { code: own.code() } })
      told.show('confirmed', reply.body)
      await told.tell('GET', factor)
      await told.tell('DELETE', factor)
      await told.tell('DELETE', factor, { headers: code() })
      await told.call('DELETE', `/v1/keys/${body.data.id}/mfa`, { headers: code() })
    }, [USED])

    chapter('access/projects.txt', async () => {
      const limits = {
        requests_per_minute: 100,
        concurrent_runs: 3,
        stored_bytes: 50_000,
        file_bytes: 70_000,
        retention_days: 5,
      }
      const { body } = await told.tell('POST', '/v1/projects', {
        body: { name: 'north', description: 'Up there', limits },
      })
      await told.tell('POST', '/v1/projects', { body: { name: 'south' } })
      const north = `/v1/projects/${body.data.id}`
      await told.tell('PATCH', north, { body: { name: 'far-north', limits: { concurrent_runs: 4 } } })
      await told.everySort('/v1/projects', '/v1/projects', ['name'])
      await told.tell('GET', '/v1/projects?limit=1')
      const inNorth = { 'Moorage-Project': 'far-north' }
      await told.tell('POST', '/v1/agents', { body: { name: 'seal' }, headers: inNorth })
      await told.tell('POST', '/v1/agents/seal/invoke', { body: { message: 'oink' }, headers: inNorth })
      await told.tell('POST', '/v1/pause', { body: { reason: 'Too much ice' }, headers: inNorth })
      await told.tell('GET', '/v1/pause', { headers: inNorth })
      await told.tell('POST', '/v1/agents/seal/invoke', { body: { message: 'oink' }, headers: inNorth })
      await told.tell('POST', '/v1/pause', { body: { reason: 'The whole sea is closed', scope: 'service' } })
      await told.tell('GET', '/v1/pause', { headers: inNorth })
      await told.tell('POST', '/v1/resume', { body: { scope: 'service' } })
      await told.tell('POST', '/v1/resume', { headers: inNorth, body: {} })
      await told.tell('GET', '/v1/pause')
      await told.tell('POST', '/v1/agents/seal/move', { body: { project: 'default' }, headers: inNorth })
      await told.tell('GET', north)
      await told.tell('DELETE', `${north}?name=north`)
      await told.tell('DELETE', `${north}?name=far-north`)
      await told.tell('GET', north)
    }, [STORED])

    chapter('access/secrets.txt', async () => {
      await told.tell('PUT', '/v1/secrets/TIDES', {
        body: { value: 'tide-password', hosts: ['tides.example.com', '*.sea.example.com'] },
      })
      await told.tell('PUT', '/v1/secrets/BERTHS', { body: { value: 'berth-password', hosts: ['berths.example.com'] } })
      await told.tell('PUT', '/v1/secrets/TIDES', { body: { value: 'new-password', hosts: ['tides.example.com'] } })
      await told.tell('GET', '/v1/secrets')
      await told.everySort('/v1/secrets', '/v1/secrets', ['name'])
      await told.tell('DELETE', '/v1/secrets/TIDES')
      await told.tell('DELETE', '/v1/secrets/TIDES')
      const base_url = world().model.url
      await told.tell('PUT', '/v1/providers/mine', {
        body: { base_url, api_key: 'sk-mine-1234567890', vision: { 'big-*': true } },
      })
      await told.tell('PUT', '/v1/providers/claude', {
        body: { type: 'anthropic', api_key: 'sk-ant-1234567890', vision: false },
      })
      await told.tell('GET', '/v1/providers')
      await told.tell('GET', '/v1/providers?sort=-name&limit=2', { only: ['name'] })
      await told.tell('GET', '/v1/providers/mine/models')
      await told.tell('POST', '/v1/providers/mine/test', { body: { model: 'tiny' } })
      await told.tell('POST', '/v1/providers/mine/test', { body: {} })
      await told.tell('DELETE', '/v1/providers/mine')
      await told.tell('GET', '/v1/providers/mine/models')
      told.show(
        'what the provider was asked',
        world().model.requests.map(({ path, body }) => ({ path, body })),
      )
    })

    chapter('access/people.txt', async () => {
      const ann = await makePerson(told.service, 'Ann')
      await makePerson(told.service, 'Bob')
      await told.tell('GET', '/v1/people')
      await told.everySort('/v1/people', '/v1/people', ['name'])
      await told.tell('PUT', `/v1/people/${ann}/role`, { body: { role: 'admin', all_projects: true } })
      await told.tell('GET', `/v1/people/${ann}`)
      await told.tell('PUT', `/v1/people/${ann}/role`, { body: { role: null } })
      const invite = (body: object) => told.tell('POST', '/v1/invitations', { body })
      const { body } = await invite({ email: 'carla@example.com', role: 'developer', expires_in_hours: 5 })
      await invite({ email: 'dora@example.com', role: 'viewer', all_projects: true })
      await invite({ email: 'dora@example.com', role: 'owner' })
      await told.tell('GET', `/v1/invitations/${body.data.id}`)
      await told.tell('GET', '/v1/invitations')
      await told.everySort('/v1/invitations', '/v1/invitations', ['email'])
      await told.tell('DELETE', `/v1/invitations/${body.data.id}`)
      await told.tell('DELETE', `/v1/people/${ann}`)
      await told.tell('GET', `/v1/people/${ann}`)
      await told.tell('POST', '/v1/personal-keys', { body: { name: 'mine', role: 'viewer' } })
      await told.tell('POST', '/v1/console-links', { body: {} })
      const tab = new ConsoleTab(() => told.service)
      const signedIn = await tab.signIn(told.service.admin)
      told.show('signed in', signedIn.body)
      await told.tell('GET', '/v1/console-sessions')
      await told.tell('DELETE', `/v1/console-sessions/${signedIn.body.data.session_id}`)
      await told.tell('GET', '/v1/console-sessions')
    })

    chapter('access/audit.txt', async () => {
      const { body } = await told.call('GET', '/v1/audit-log?limit=100&sort=created_at')
      for (const { id: _, hash: __, prev_hash: ___, seq: ____, ...entry } of body.data) told.say(JSON.stringify(entry))
      const [, { actor, agent_id }] = body.data
      for (const filter of [
        'action=createKey',
        'outcome=refused',
        'outcome=started',
        `agent_id=${agent_id}`,
        `actor=${actor}`,
      ])
        await told.tell('GET', `/v1/audit-log?${filter}`, { only: ['action', 'outcome', 'created_at'] })
      const range = 'since=2026-03-10T00:00:00Z&until=2026-03-10T08:01:00Z&limit=2'
      await told.tell('GET', `/v1/audit-log?${range}`, { only: ['action', 'outcome', 'created_at'] })
    })

    chapter('access/locked.txt', async () => {
      const { body } = await told.call('GET', '/v1/keys/self')
      const path = `/v1/keys/${body.data.id}/mfa`
      const app = await enrol(told.service, body.data.id)
      const wrong = { 'X-Service-OTP': app.wrong() }
      for (let count = 0; count < 10; count++) await told.service.call('POST', path, { headers: wrong })
      await told.tell('POST', path, { headers: wrong })
      await told.tell('GET', path)
    })
  },
  SETTINGS,
)
