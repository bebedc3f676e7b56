import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrol } from '../support/clients/mfa.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { callerOf, named } from '../support/slices/agent-tools.ts'

const INSIDE = '192.0.2.10'
const OUTSIDE = '203.0.113.5'
const LISTED = { ipWhitelist: { enabled: true, addresses: [INSIDE] } }

onAnyEngine(
  'access restrictions of agents that are called by other agents',
  (service) => {
    const from = (address: string, code?: string) => ({
      'X-Forwarded-For': address,
      ...(code !== undefined && { 'X-Service-OTP': code }),
    })
    const send = (method: string, path: string, body: object, headers: Record<string, string>, key?: string) =>
      service().call(method, path, { body, headers, ...(key !== undefined && { key }) })
    const answer = async (agent: string) => {
      const { status, body, text } = await send(
        'POST',
        `/v1/agents/${agent}/invoke`,
        { message: 'Ahoy' },
        from(OUTSIDE),
      )
      assert.equal(status, 200, text)
      return body.data.response as string
    }

    test('a tool that names an agent hidden from the request gets the same error as for a missing agent', async () => {
      await named(service(), 'payroll', { security: { ...LISTED, callers: ['payroll-front', 'payroll-late'] } })
      const create = (name: string, agent: string, address: string) =>
        send('POST', '/v1/agents', { name, ...callerOf(agent) }, from(address))
      const closed = await create('payroll-thief', 'payroll', OUTSIDE)
      const missing = await create('payroll-thief', 'nobody', OUTSIDE)
      assert.equal(closed.status, 400, closed.text)
      assert.deepEqual(fieldsOf(closed.body), ['tools.0.agent'])
      assert.equal(closed.body.error.message, missing.body.error.message)
      assert.equal((await create('payroll-front', 'payroll', INSIDE)).status, 201)

      // The same applies to changing, deploying and rolling back an agent that someone else saved.
      await named(service(), 'payroll-late')
      const path = '/v1/agents/payroll-late'
      const { tools } = callerOf('payroll')
      assert.equal((await send('PATCH', path, { tools }, from(OUTSIDE))).status, 400)
      assert.equal((await send('PATCH', path, { tools }, from(INSIDE))).status, 200)
      const deploy = (version: string, address: string) =>
        send('POST', `${path}/deployments`, { environment: 'production', version }, from(address))
      assert.equal((await deploy('v1', OUTSIDE)).status, 400)
      assert.equal((await deploy('v1', INSIDE)).status, 201)
      assert.equal((await send('PATCH', path, { tools: [] }, from(OUTSIDE))).status, 200)
      const { body } = await deploy('v2', OUTSIDE)
      const rollback = `${path}/deployments/${body.data.id}/rollback`
      assert.equal((await send('POST', rollback, {}, from(OUTSIDE))).status, 400)
      assert.equal((await send('POST', rollback, {}, from(INSIDE))).status, 200)
    })

    test('the agent answers only the agents in security.callers', async () => {
      const vault = await named(service(), 'vault', { security: LISTED })
      await send('POST', '/v1/agents', { name: 'teller', ...callerOf('vault') }, from(INSIDE))
      await send('POST', '/v1/agents', { name: 'clerk', ...callerOf('vault') }, from(INSIDE))
      const refused = /Agent vault can't be called by agent teller\. .*security\.callers of vault/
      assert.match(await answer('teller'), refused)
      const allow = (callers: string[]) =>
        send('PATCH', `/v1/agents/${vault}`, { security: { ...LISTED, callers } }, from(INSIDE))
      assert.equal((await allow(['teller'])).status, 200)
      assert.equal(await answer('teller'), 'Said: Ahoy')
      assert.match(await answer('clerk'), /Agent vault can't be called by agent clerk/)
      assert.equal((await allow([])).status, 200)
      assert.match(await answer('teller'), refused)
    })

    test('security.callers also applies without other restrictions; without both, any agent can call', async () => {
      await named(service(), 'open', { security: { hsts: { enabled: true } } })
      await named(service(), 'choosy', { security: { callers: ['friend'] } })
      await named(service(), 'friend', callerOf('choosy'))
      await named(service(), 'stranger', callerOf('choosy'))
      await named(service(), 'anybody', callerOf('open'))
      assert.equal(await answer('anybody'), 'Said: Ahoy')
      assert.equal(await answer('friend'), 'Said: Ahoy')
      assert.match(await answer('stranger'), /can't be called by agent stranger/)
    })

    test('a tool that calls an agent with mfa for invoke can be saved only with a code', async () => {
      const { body } = await service().call('POST', '/v1/keys', { body: { name: 'dev', role: 'admin' } })
      const app = await enrol(service(), body.data.id)
      service().advance(600_000)
      const security = { mfa: { enabled: true, requiredFor: ['invoke'] } }
      await named(service(), 'locked', { security })
      await named(service(), 'closed-and-locked', { security: { ...security, ...LISTED } })
      const create = (name: string, agent: string, code?: string) =>
        send('POST', '/v1/agents', { name, ...callerOf(agent) }, from(OUTSIDE, code), body.data.secret)
      assert.equal((await create('key-holder', 'locked')).body.error.code, 'mfa_required')
      // Asking for a code must not reveal that the agent exists.
      assert.equal((await create('key-thief', 'closed-and-locked')).status, 400)
      assert.equal((await create('key-holder', 'locked', app.code())).status, 201)
      const deployment = { environment: 'production', version: 'v1' }
      const deploy = (code?: string) =>
        send('POST', '/v1/agents/key-holder/deployments', deployment, from(OUTSIDE, code), body.data.secret)
      assert.equal((await deploy()).body.error.code, 'mfa_required')
      service().advance(30_000)
      assert.equal((await deploy(app.code())).status, 201)
      assert.match(await answer('key-holder'), /Agent locked can't be called by agent key-holder/)
    })

    test("the called agent's own rate limit counts calls of other agents", async () => {
      const rateLimit = { enabled: true, requests: 1, window: '1h' }
      await named(service(), 'seldom', { security: { rateLimit } })
      await named(service(), 'eager', callerOf('seldom'))
      assert.equal(await answer('eager'), 'Said: Ahoy')
      const refused = /Agent seldom allows 1 requests .*\(security\.rateLimit\)\. Try again in \d+ s/
      assert.match(await answer('eager'), refused)
      const asked = await send('POST', '/v1/agents/seldom/invoke', { message: 'Ahoy' }, from(OUTSIDE))
      assert.equal(asked.status, 429, 'it is one limit for all')
    })
  },
  { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1' },
)
