import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { wakeJobs } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'

onAnyEngine('moorage deployments', (service) => {
  let shell: Shell
  before(() => (shell = newShell(service())))
  after(() => shell.remove())

  test('a bad answer becomes a case; what its replay does not find, the guard does', async () => {
    const run = async (...args: string[]) => {
      const ended = await shell.moorage(args)
      assert.equal(ended.code, 0, ended.stderr)
      return ended.stderr + ended.stdout
    }
    const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [], fallback: 'No.' } })
    await run('deployments', 'create', agent, 'v1')
    const invoke = async (message: string, context: object = {}) => {
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      return (body.data?.request_id as string | undefined) ?? ''
    }
    const bad = await invoke('Is the tide in?')
    await run('feedback', 'give', agent, bad, '--bad')
    await run('sets', 'put', agent, 'tides', '--runs', bad)

    // The new prompt answers the question, and fails for others.
    const rules = [
      { match: { contains: 'tide' }, reply: 'The tide is in.' },
      { match: { contains: 'wind' }, fail: 'broken' },
    ]
    const body = { instructions: 'You know the tides.', script: { rules, fallback: 'No.' } }
    await service().call('PATCH', `/v1/agents/${agent}`, { body })
    assert.match(await run('replay', '--agent', agent, '--set', 'tides', '--contains', 'tide'), /✔ passed/)
    const made = await run('deployments', 'create', agent, 'v2', '--steps', '10:60', '--require-replay', 'tides')
    assert.match(made, /✔ v2 is served in production once its replay has passed \(dep_/)

    let isOver = false
    const watched = shell.moorage(['deployments', 'watch', agent]).finally(() => {
      isOver = true
    })
    for (let round = 0; !isOver; round++) {
      service().advance(2_000)
      wakeJobs(service())
      const users = Array.from({ length: 20 }, (_, i) => `user ${round} ${i}`)
      await Promise.all(users.map((user_id) => invoke('How is the wind?', { user_id })))
    }
    const { code, stderr } = await watched
    assert.equal(code, 1)
    assert.match(stderr, /v2 waits for its replay/)
    assert.match(
      stderr,
      /error: dep_\w+ was aborted\. The candidate failed (\d+) of \1 times, and the other version 0 of/,
    )
    assert.match(await run('deployments', 'list', agent), /v2 +aborted[^]*v1 +active/)

    const wrong = await shell.moorage(['deployments', 'create', agent, 'v3', '--steps', '10'])
    assert.deepEqual([wrong.code, /10:30,50:60/.test(wrong.stderr)], [2, true])
    const none = await shell.moorage(['deployments', 'watch', agent])
    assert.match(none.stderr, /No deployment to production is in progress/)
    await run('deployments', 'create', agent, 'v3', '--steps', '10:30,50:60')
    const { data } = (await service().call('GET', `/v1/agents/${agent}/deployments?status=rolling_out`)).body
    assert.match(await run('deployments', 'pause', agent, data[0].id), /✔ dep_\w+ is paused at 10 %/)
    assert.match(await run('deployments', 'resume', agent, data[0].id), /✔ production serves v3 for 10 % of the/)
    assert.match(await run('deployments', 'promote', agent, data[0].id), /✔ production serves v3 \(dep_/)
  })
})
