import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { enrol } from '../support/clients/mfa.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { refundingAgent, startWaiting } from '../support/slices/approvals.ts'
import { createKey } from '../support/slices/resources.ts'

onAnyEngine('moorage users erase, of a user with a run that waits for a person', (service) => {
  let shell: Shell
  before(() => (shell = newShell(service())))
  after(() => shell.remove())

  const waitingRun = async (user_id: string) => {
    const agent = await newAgent(service(), refundingAgent({ url: NOWHERE }))
    const { path } = await startWaiting(service(), agent, 'order-1', { user_id })
    const statusOf = async () => (await service().call('GET', path)).body.data
    return { id: path.split('/').at(-1), statusOf }
  }

  test('says which run has not ended, offers --cancel, and exits with 1 until it is done', async () => {
    const { id, statusOf } = await waitingRun('anna')
    for (let i = 0; i < 2; i++) {
      const { code, stdout, stderr } = await shell.moorage(['users', 'erase', 'anna', '--yes'])
      const told = `anna is not erased yet: 1 run has not ended: ${id} (waiting). Add --cancel, or erase again after all runs have ended.`
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `error: ${told}\n` })
    }
    assert.equal((await statusOf()).message, 'order-1')

    const done = await shell.moorage(['users', 'erase', 'anna', '--cancel', '--yes'])
    const told = 'Erased anna: 0 memories, 0 files, the texts of 1 receipt, and their logs and events'
    assert.deepEqual(done, { code: 0, stdout: '', stderr: `✔ ${told}\n` })
    const { status, message } = await statusOf()
    assert.deepEqual({ status, message }, { status: 'cancelled', message: '' })

    const again = await shell.moorage(['users', 'erase', 'anna', '--yes'])
    assert.equal(again.code, 0, again.stderr)
  })

  test('--json: the counts and the runs on stdout, with the same exit codes', async () => {
    const { id } = await waitingRun('bert')
    const first = await shell.moorage(['users', 'erase', 'bert', '--yes', '--json'])
    assert.equal(first.code, 1)
    const { unfinished, unfinished_runs } = JSON.parse(first.stdout)
    assert.deepEqual([unfinished, unfinished_runs[0].request_id, unfinished_runs[0].status], [1, id, 'waiting'])
    const done = await shell.moorage(['users', 'erase', 'bert', '--yes', '--json', '--cancel'])
    assert.equal(done.code, 0, done.stderr)
    const { invocations, ...rest } = JSON.parse(done.stdout)
    assert.deepEqual([invocations, rest.unfinished, rest.unfinished_runs], [1, 0, []])
  })

  test('--otp 1,2: a code for each time that the user is erased', async () => {
    const { id, secret } = await createKey(service(), { name: 'careful', role: 'admin' })
    const app = await enrol(service(), id)
    const security = { mfa: { enabled: true, requiredFor: ['clear_memory'] } }
    await newAgent(service(), { security })
    const run = await waitingRun('carla')
    const erase = (...otp: string[]) =>
      shell.moorage(['users', 'erase', 'carla', '--yes', '--cancel', '--otp', otp.join()], {
        env: { MOORAGE_API_KEY: secret },
      })
    const { code, stderr } = await erase(app.code(), app.code(1))
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^✔ Erased carla: /)
    assert.equal((await run.statusOf()).status, 'cancelled')
  })
})
