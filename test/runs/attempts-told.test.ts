import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { loseRun, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { callerOf, named } from '../support/slices/agent-tools.ts'
import { approver, decide, refundingAgent, startTill, startWaiting, untilStatus } from '../support/slices/approvals.ts'

type Attempt = { number: number; began_at: string; after: string }

const answering = (delay_ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms }] } })

/** Its attempts, each as its number and why it began. They begin in order. */
function causes({ attempts, started_at }: { attempts: Attempt[]; started_at: string }): string[] {
  const times = attempts.map(({ began_at }) => began_at)
  assert.equal(times[0], started_at)
  assert.deepEqual(times, times.toSorted())
  return attempts.map(({ number, after: cause }) => `${number} ${cause}`)
}

onBothEngines(
  'a receipt says why each attempt started',
  (service) => {
    let shell: Shell
    before(() => {
      shell = newShell(service())
    })
    after(() => shell.remove())
    /** What the command line prints below the record. */
    const printed = async (agent: string, request_id: string) => {
      const { code, stdout, stderr } = await shell.moorage(['invocations', 'get', agent, request_id])
      assert.equal(code, 0, stderr)
      return stdout
    }
    const begin = async (agent: string, headers: Record<string, string> = {}) => {
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
      const { request_id } = body.data
      return { request_id, path: `/v1/agents/${agent}/invocations/${request_id}` }
    }
    const inBackground = (agent: string) => begin(agent, { Prefer: 'respond-async' })

    test('a run without interruption has one attempt, for which nothing is stored', async () => {
      const agent = await newAgent(service(), answering(0))
      for (const { request_id, path } of [await begin(agent), await inBackground(agent)]) {
        assert.deepEqual(causes(await untilStatus(service(), path, 'completed')), ['1 start'])
        const db = storeOf(service())
        const row = db.selectFrom('invocations').select('attempts').where('id', '=', request_id)
        assert.deepEqual(await row.executeTakeFirst(), { attempts: null })
        assert.doesNotMatch(await printed(agent, request_id), /Resumed|Attempt \d/)
      }
    })

    test('a run that has not started has no attempts', async () => {
      const agent = await newAgent(service(), { ...answering(60_000), limits: { max_concurrency: 1 } })
      const first = await inBackground(agent)
      await untilStatus(service(), first.path, 'running')
      const { path } = await inBackground(agent)
      const { body } = await service().call('GET', path)
      assert.deepEqual([body.data.status, body.data.attempts], ['queued', []])
      for (const run of [path, first.path]) await service().call('POST', `${run}/cancel`)
    })

    test('a run with an approval was resumed by the decision', async (t) => {
      const till = await startTill()
      t.after(() => till.close())
      const agent = await newAgent(service(), refundingAgent(till))
      const { request_id, path, approval } = await startWaiting(service(), agent, 'told')
      const key = await approver(service(), { name: 'Ada' })
      assert.equal((await decide(service(), approval, key, { decision: 'approve' })).status, 200)
      const receipt = await untilStatus(service(), path, 'completed')
      assert.deepEqual(causes(receipt), ['1 start', '2 wait'])
      const decided = receipt.steps.find(({ kind }: { kind: string }) => kind === 'approval')
      assert.equal(decided.by_name, 'Ada')
      assert.match(await printed(agent, request_id), /^Resumed after approval by Ada, \d+ m?s$/m)
    })

    test('a run that called an agent was resumed when the called run ended', async () => {
      await named(service(), 'harbour', answering(0))
      const agent = await newAgent(service(), callerOf('harbour'))
      const { request_id, path } = await begin(agent)
      const { body } = await service().call('GET', path)
      assert.deepEqual(causes(body.data), ['1 start', '2 wait'])
      assert.match(await printed(agent, request_id), /^Resumed after a run of harbour, \d+ m?s$/m)
    })

    test('a run whose node died was lost and retried', async () => {
      const agent = await newAgent(service(), answering(60_000))
      const { request_id, path } = await inBackground(agent)
      await untilStatus(service(), path, 'running')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: answering(0) })
      await loseRun(service(), request_id)
      assert.deepEqual(causes(await untilStatus(service(), path, 'completed')), ['1 start', '2 lost'])
      assert.match(
        await printed(agent, request_id),
        /^Attempt 2: the node that ran the previous attempt stopped or failed$/m,
      )
    })

    test('a run returned by a stopping node was lost and retried', async () => {
      const agent = await newAgent(service(), answering(60_000))
      const { path } = await inBackground(agent)
      await untilStatus(service(), path, 'running')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: answering(0) })
      await service().restart()
      assert.deepEqual(causes(await untilStatus(service(), path, 'completed')), ['1 start', '2 lost'])
    })
  },
  { ...LOCAL_TOOLS, MOORAGE_SERVER__DRAIN_TIMEOUT: '50ms' },
)
