import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DefinitionFields } from '../../src/agents/definition.ts'
import { promoteCandidate } from '../../src/deployments/rollouts/end-rollout.ts'
import * as rollouts from '../../src/deployments/rollouts/rollout-store.ts'
import { chooseVersion } from '../../src/deployments/rollouts/split.ts'
import { databaseUrl, inTransaction, nodeOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Service, startService } from '../support/service/service.ts'

const MASTER_KEY = { MOORAGE_MASTER_KEY: '00'.repeat(32) }
const PERCENT = 40

const scriptOf = (version: string, fails: boolean) => ({
  model: 'builtin/script',
  script: { rules: fails ? [{ match: { contains: 'fail' }, fail: 'broken' }] : [], fallback: version },
})

test('a gradual deployment outlives kill -9 of the node that judges it, and is rolled back once', async (t) => {
  const survivor = await startService('postgres', MASTER_KEY)
  t.after(() => survivor.stop())
  const mortal = await startChildService(t, 'postgres', {
    ...MASTER_KEY,
    MOORAGE_INIT_KEY: survivor.admin,
    DATABASE_URL: databaseUrl(survivor),
  })
  const { data: hook } = (
    await survivor.call('POST', '/v1/listeners', { body: { events: ['deployment.rolled_back'] } })
  ).body
  const agent = await newAgent(survivor, scriptOf('v1', false))
  const path = `/v1/agents/${agent}`
  const deploy = async (version: string, more: object = {}) =>
    (await mortal.call('POST', `${path}/deployments`, { environment: 'production', version, ...more })).data
  await deploy('v1')
  await survivor.call('PATCH', path, { body: scriptOf('v2', true) })
  const candidate = await deploy('v2', { strategy: { steps: [{ percent: PERCENT, minutes: 600 }] } })
  const say = {
    survivor: async (message: string, context: object) =>
      (await survivor.call('POST', `${path}/invoke`, { body: { message, context } })).body,
    mortal: async (message: string, context: object) =>
      (await mortal.send('POST', `${path}/invoke`, { message, context }))?.body,
  }
  const sessions = Array.from({ length: 40 }, (_, i) => `s${i}`)

  // Both nodes choose what the deployment and the session say.
  await until('both nodes know about it', async () => {
    const versions = await answersOf(say.survivor, sessions)
    return versions.includes('v2') && versions
  })
  const { split_key } = (await rollouts.find(storeOf(survivor), candidate.id)) ?? {}
  const versionOf = (session: string) => versionFor(candidate.id, split_key ?? '', session)
  const expected = sessions.map(versionOf)
  assert.deepEqual(await answersOf(say.survivor, sessions), expected)
  assert.deepEqual(await answersOf(say.mortal, sessions), expected)

  const judge = await blockedJudge(survivor, candidate.id)
  const load = (node: keyof typeof say, round: string) =>
    Promise.all(sessions.map((id) => say[node]('fail', { user_id: 'ann', session_id: `${id} ${round}` })))
  const failing = [load('survivor', 'a'), load('survivor', 'b').then(() => load('survivor', 'c'))]
  const lost = load('mortal', 'd')
  await mortal.kill()
  judge.release()
  await judge.done
  await Promise.all([...failing, lost])

  const told = await until('the other node rolls it back', async () => {
    const { body } = await survivor.call('GET', `/v1/listeners/${hook.id}?wait_ms=5000`)
    return body.data.deliveries.length > 0 && body.data.deliveries
  })
  assert.equal(told.length, 1)
  const aborted = (await survivor.call('GET', `${path}/deployments/${candidate.id}`)).body.data
  assert.equal(aborted.status, 'aborted')
  assert.equal(aborted.evidence.verdict, 'failures')
  const audit = await survivor.call('GET', '/v1/audit-log?action=abortDeployment')
  assert.equal(audit.body.data.length, 1)
  const stale = await rollouts.find(storeOf(survivor), candidate.id)
  assert.ok(stale)
  const again = { ...stale, ended_at: null, revision: stale.revision - 1 }
  assert.equal(await inTransaction(survivor, (db) => promoteCandidate(db, again, survivor.now())), false)

  // Receipts name what ran, on whichever node.
  const { body: list } = await survivor.call('GET', `${path}/invocations?limit=100`)
  for (const { request_id } of list.data.slice(0, 20)) {
    const { body } = await survivor.call('GET', `${path}/invocations/${request_id}`)
    const { version, deployment_id, context, status } = body.data
    assert.equal(deployment_id === candidate.id, version === 'v2')
    if (version === 'v2') assert.equal(versionOf(context.session_id), 'v2')
    assert.equal(status === 'failed', version === 'v2' && body.data.message === 'fail')
  }
})

type Say = (message: string, context: object) => Promise<{ data?: { response: string } } | undefined>

const answersOf = (say: Say, sessions: string[]) =>
  Promise.all(
    sessions.map(async (session) => (await say('hello', { user_id: 'ann', session_id: session }))?.data?.response),
  )

function versionFor(deployment_id: string, split_key: string, session_id: string): string | null {
  const served = (version: string) => ({ version, deployment_id, definition: DefinitionFields.parse({}) })
  const candidate = { served: served('v2'), deployment_id, share: PERCENT * 100, split_key }
  const versions = { stable: served('v1'), candidate }
  return chooseVersion(versions, { user_id: 'ann', session_id, request_id: '' }).version
}

/** Locks the rollout's row at a moment when the other node is the judge, which then waits for the lock. */
async function blockedJudge(survivor: Service, deployment_id: string) {
  for (;;) {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: locked, resolve: hold } = Promise.withResolvers<void>()
    const done = inTransaction(survivor, async (db) => {
      await db
        .selectFrom('rollouts')
        .select('share')
        .where('deployment_id', '=', deployment_id)
        .forUpdate()
        .executeTakeFirst()
      hold()
      await released
    })
    await locked
    const owner = await until('a node looks', async () => {
      const job = await storeOf(survivor)
        .selectFrom('jobs')
        .select('owner')
        .where('kind', '=', rollouts.LOOK_JOB)
        .where('owner', 'is not', null)
        .executeTakeFirst()
      return job?.owner
    })
    if (!owner.startsWith(nodeOf(survivor))) return { release, done }
    release()
    await done
  }
}
