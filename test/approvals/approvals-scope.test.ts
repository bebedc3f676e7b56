import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { asHost } from '../support/clients/mfa.ts'
import { wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine, type Service, withService } from '../support/service/service.ts'
import { approver, decide, refundingAgent, startTill, startWaiting, type Till } from '../support/slices/approvals.ts'
import { createKey } from '../support/slices/resources.ts'

const OTHER_KEY =
  "The key that started a run can't decide on its approvals. Use a key that wasn't created with that key, or set the agent's `approvals.self` to true to allow this in its next runs (docs/approvals.md#decide)."
const OTHER_PERSON =
  "The person who started the run, or who set up its schedule or trigger, can't decide on its approvals. The same applies to keys that this person created or rotated, and to anyone who created or rotated this person's keys. Use another person's key, or set the agent's `approvals.self` to true to allow this in its next runs (docs/approvals.md#decide)."
const FEWER_MAKERS =
  "The chain of keys and people that created your key, or the key that started the run, is longer than 50, which is too long to check. Use a key created on the server with --local, or set the agent's `approvals.self` to true to allow this in its next runs (docs/approvals.md#decide)."
const APPROVE = { decision: 'approve' }
const TOKEN = 'mrg_a_secret_that_looks_like_a_key'

onAnyEngine(
  'who sees and decides approvals',
  (service, engine) => {
    let till: Till
    before(async () => {
      till = await startTill()
    })
    after(() => till.close())
    const listed = async (at: Service, key: string, query = '') => {
      const { body } = await at.call('GET', `/v1/approvals${query}`, { key })
      return body.data?.map(({ request_id }: { request_id: string }) => request_id)
    }

    test("the key that started a run can't decide, unless the agent allows it", async () => {
      const starter = (await createKey(service(), { permissions: ['read', 'write', 'approve'] })).secret
      for (const [self, expected] of [
        [false, 403],
        [true, 200],
      ] as const) {
        const agent = await newAgent(service(), { ...refundingAgent(till), approvals: { self } })
        const body = { message: `self-${self}` }
        const { body: reply } = await service().call('POST', `/v1/agents/${agent}/invoke`, { key: starter, body })
        const path = `/v1/agents/${agent}/invocations/${reply.data.request_id}/approvals/call_1`
        const [shown, inList] = [
          (await service().call('GET', path, { key: starter })).body.data.not_for_you,
          (await service().call('GET', `/v1/approvals?request_id=${reply.data.request_id}`, { key: starter })).body
            .data[0].not_for_you,
        ]
        const { status, body: decided } = await decide(service(), path, starter, APPROVE)
        assert.equal(status, expected)
        assert.deepEqual([shown, inList], Array(2).fill(self ? null : OTHER_KEY))
        if (!self) assert.equal(decided.error.message, OTHER_KEY)
      }
    })

    test("keys that the starter created, even through other keys, can't decide", async () => {
      const starter = (await createKey(service(), { role: 'admin', tier: 'enterprise' })).secret
      const child = (await createKey(service(), { role: 'admin', tier: 'enterprise' }, starter)).secret
      const grandchild = (await createKey(service(), { role: 'approver', tier: 'enterprise' }, child)).secret
      for (const [self, expected] of [
        [false, 403],
        [true, 200],
      ] as const) {
        const agent = await newAgent(service(), { ...refundingAgent(till), approvals: { self } })
        const { approval } = await startWaiting(service(), agent, `made-${self}`, {}, starter)
        for (const key of self ? [grandchild] : [child, grandchild]) {
          assert.equal(
            (await service().call('GET', approval, { key })).body.data.not_for_you,
            self ? null : OTHER_PERSON,
          )
          const { status, body } = await decide(service(), approval, key, APPROVE)
          assert.equal(status, expected)
          if (!self) assert.equal(body.error.message, OTHER_PERSON)
        }
        if (!self) assert.equal((await decide(service(), approval, await approver(service()), APPROVE)).status, 200)
      }
    })

    test("a key can't decide if the starter has rotated it, even after it rotates itself", async () => {
      const lead = await asHost(service(), 'POST', '/v1/keys', { name: 'lead', role: 'admin', tier: 'enterprise' })
      const path = `/v1/keys/${lead.body.data.id}/rotate`
      const rotate = async (key: string) => {
        const { status, body } = await service().call('POST', path, { key, body: { grace_period_seconds: 0 } })
        assert.equal(status, 200, JSON.stringify(body))
        return body.data.secret as string
      }
      const hostMade = async () =>
        (await asHost(service(), 'POST', '/v1/keys', { name: 'other', role: 'admin', tier: 'enterprise' })).body.data
      const [starter, third] = [await hostMade(), await hostMade()]
      const agent = await newAgent(service(), refundingAgent(till))
      const { approval } = await startWaiting(service(), agent, 'rotated', {}, starter.secret)

      let secret = await rotate(starter.secret)
      const refused = async () => {
        const { status, body } = await decide(service(), approval, secret, APPROVE)
        assert.deepEqual([status, body.error?.message], [403, OTHER_PERSON])
      }
      await refused()
      secret = await rotate(secret)
      await refused()
      // The starter rotates a key that it has taken over the same way.
      const taken = await service().call('POST', `/v1/keys/${third.id}/rotate`, { key: starter.secret })
      secret = await rotate(taken.body.data.secret)
      await refused()

      // A secret from the command line on the server is known to no one else.
      const { body } = await asHost(service(), 'POST', path, { grace_period_seconds: 0 })
      assert.equal((await decide(service(), approval, body.data.secret, APPROVE)).status, 200)
    })

    test("anyone who created or rotated the key that started a run can't decide for it", async () => {
      const hostMade = async () =>
        (await asHost(service(), 'POST', '/v1/keys', { name: 'boss', role: 'admin', tier: 'enterprise' })).body.data
          .secret as string
      const [maker, rotator] = [await hostMade(), await hostMade()]
      const made = await createKey(service(), { role: 'admin', tier: 'enterprise' }, maker)
      const rotated = await service().call('POST', `/v1/keys/${made.id}/rotate`, { key: rotator })
      const agent = await newAgent(service(), refundingAgent(till))
      const { approval } = await startWaiting(service(), agent, 'parent', {}, rotated.body.data.secret)
      for (const key of [maker, rotator]) {
        const { status, body } = await decide(service(), approval, key, APPROVE)
        assert.deepEqual([status, body.error?.message], [403, OTHER_PERSON])
      }
      assert.equal((await decide(service(), approval, await approver(service()), APPROVE)).status, 200)
    })

    test("a key created through a chain of more than fifty others can't decide on others' runs", async () => {
      const first = (await createKey(service(), { role: 'admin', tier: 'enterprise' })).secret
      let last = first
      for (let i = 0; i < 52; i++)
        last = (await createKey(service(), { role: 'admin', tier: 'enterprise' }, last)).secret
      const agent = await newAgent(service(), refundingAgent(till))
      const { approval } = await startWaiting(service(), agent, 'chain', {}, first)
      const { status, body } = await decide(service(), approval, last, APPROVE)
      assert.deepEqual([status, body.error?.message], [403, FEWER_MAKERS])
    })

    test("the authors of a schedule can't decide on its runs, even after others have changed it", () =>
      withService(
        engine,
        async (own) => {
          const agent = await newAgent(own, refundingAgent(till))
          const permissions = ['read', 'write', 'approve']
          const keyOf = async (more: object) => (await createKey(own, { tier: 'enterprise', ...more })).secret
          const [author, other] = [await keyOf({ permissions }), await keyOf({ permissions })]
          const at = `/v1/agents/${agent}/schedules`
          const asked = { key: author, body: { every: '1h', overlap: 'queue', message: 'by-schedule' } }
          const schedule = `${at}/${(await own.call('POST', at, asked)).body.data.id}`
          for (const enabled of [false, true]) {
            assert.equal((await own.call('PATCH', schedule, { key: other, body: { enabled } })).status, 200)
          }
          const runner = await keyOf({ permissions })
          assert.equal((await own.call('POST', `${schedule}/run`, { key: runner })).status, 202)
          own.advance(3_600_000)
          wakeJobs(own)
          const runs = await until('both runs wait', async () => {
            const { body } = await own.call('GET', `/v1/agents/${agent}/invocations?status=waiting`)
            return body.data.length === 2 && body.data
          })
          for (const { request_id, door } of runs) {
            const approval = `/v1/agents/${agent}/invocations/${request_id}/approvals/call_1`
            const refused = door === 'schedule' ? [author, other] : [author, other, runner]
            for (const key of refused) assert.equal((await decide(own, approval, key, APPROVE)).status, 403, door)
            assert.equal((await decide(own, approval, await approver(own), APPROVE)).status, 200)
          }
        },
        LOCAL_TOOLS,
      ))

    test("another token of the user who started a run can't decide", async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const token = (sub: string, more: object = {}) =>
        signJwt({ user_id: 'eve', sub, permissions: ['read', 'invoke', 'approve'], ...more })
      const { approval } = await startWaiting(service(), agent, 'token-1', { user_id: 'eve' }, await token('phone'))
      for (const same of [await token('phone'), await token('laptop')]) {
        assert.equal((await decide(service(), approval, same, APPROVE)).status, 403)
      }
      assert.equal((await decide(service(), approval, await approver(service()), APPROVE)).status, 200)
      // A key that starts a run for a user is not that user.
      const asked = await startWaiting(service(), agent, 'token-2', { user_id: 'eve' })
      assert.equal((await decide(service(), asked.approval, await token('laptop'), APPROVE)).status, 200)
    })

    test('an approval shows each reader whether they can decide, and if not, why', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { approval } = await startWaiting(service(), agent, 'told-who')
      const whyNot = async (key: string) => (await service().call('GET', approval, { key })).body.data.not_for_you
      const decider = await approver(service())
      const reader = (await createKey(service(), { role: 'viewer' })).secret
      assert.equal(await whyNot(decider), null)
      assert.equal(await whyNot(service().admin), OTHER_KEY)
      const needsPermission =
        'Deciding requires the permission `approve`. Use a key with the role `approver` or `admin`.'
      assert.equal(await whyNot(reader), needsPermission)
      const { body } = await decide(service(), approval, decider, APPROVE)
      assert.equal(body.data.not_for_you, null)
      assert.equal(await whyNot(service().admin), null, 'nothing is left to decide')
    })

    test("a key of another agent can't see an approval, and a key without approve can't decide", async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const elsewhere = await newAgent(service())
      const { approval, request_id } = await startWaiting(service(), agent, 'scoped-1')
      const own = await approver(service(), { agent_id: agent })
      const other = await approver(service(), { agent_id: elsewhere })
      assert.deepEqual(await listed(service(), other), [])
      assert.equal((await service().call('GET', approval, { key: other })).status, 403)
      assert.equal((await decide(service(), approval, other, APPROVE)).status, 403)
      const reader = (await createKey(service(), { role: 'developer' })).secret
      assert.equal((await decide(service(), approval, reader, APPROVE)).status, 403)
      assert.deepEqual(await listed(service(), own, '?status=pending'), [request_id])
      assert.equal((await decide(service(), approval, own, { decision: 'reject' })).status, 200)
    })

    test("a user's token can see and decide only that user's approvals", async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const adas = await startWaiting(service(), agent, 'ada-1', { user_id: 'ada' })
      const bobs = await startWaiting(service(), agent, 'bob-1', { user_id: 'bob' })
      const ada = await signJwt({ user_id: 'ada', permissions: ['read', 'approve'] })
      assert.deepEqual(await listed(service(), ada, `?agent_id=${agent}`), [adas.request_id])
      assert.equal((await service().call('GET', bobs.approval, { key: ada })).status, 404)
      assert.equal((await decide(service(), bobs.approval, ada, APPROVE)).status, 404)
      assert.equal((await decide(service(), adas.approval, ada, { decision: 'reject' })).status, 200)
    })

    test('an approver sees the arguments that the tool gets, even if they look like secrets', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const order = `${TOKEN} -----BEGIN PRIVATE KEY----- and all the others`
      const { approval } = await startWaiting(service(), agent, order)
      const { body } = await service().call('GET', approval)
      assert.equal(body.data.arguments.order, order)
      const changed = { ...body.data.arguments, order: `${order}!` }
      const decided = await decide(service(), approval, await approver(service()), { ...APPROVE, arguments: changed })
      assert.deepEqual(decided.body.data.changed_arguments, changed)
      await until('the call', () => till.of(`${order}!`).length === 1)
    })
  },
  { ...LOCAL_TOOLS, ...JWT_SETTINGS },
)
