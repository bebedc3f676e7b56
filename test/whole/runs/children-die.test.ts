import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { ENGINES } from '../../support/service/service.ts'
import { SIGNING_SECRET, startRemote } from '../../support/slices/remote-agents.ts'

for (const engine of ENGINES) {
  test(`kill -9 on ${engine}: of two agents that a remote agent called, the finished one is not run again, and none starts twice`, async (t) => {
    const calls: string[] = []
    const release = Promise.withResolvers<void>()
    const server = await startLocalServer(async (request, response) => {
      const path = request.url ?? ''
      calls.push(path)
      if (path === '/slow') await release.promise
      response.end(path)
    })
    const remote = await startRemote()
    t.after(() => Promise.all([server.close(), remote.close()]).then(() => {}))
    remote.answer(async (run) => {
      const answers = await Promise.all([
        run.tool('one', 'quick', { message: 'Go' }),
        run.tool('two', 'slow', { message: 'Go' }),
      ])
      return answers.join(' and ')
    })
    const service = await startChildService(t, engine, LOCAL_TOOLS)
    await service.call('PUT', '/v1/secrets/REMOTE', SIGNING_SECRET)
    const clerk = (name: string) => ({
      name,
      model: 'builtin/script',
      tools: [{ type: 'http', name: 'look', url: `${server.url}/${name}`, method: 'GET' }],
      script: { rules: [{ call: { tool: 'look' }, reply: '{{result}}' }] },
    })
    for (const name of ['quick', 'slow']) await service.call('POST', '/v1/agents', clerk(name))
    const tools = ['quick', 'slow'].map((name) => ({ type: 'agent', name, agent: name }))
    const definition = { name: 'far', kind: 'remote', remote: { url: remote.url, secret: 'REMOTE' }, tools }
    const agent = (await service.call('POST', '/v1/agents', definition)).data.id
    const headers = { 'Idempotency-Key': 'both' }
    const invoke = () => service.send('POST', `/v1/agents/${agent}/invoke`, { message: 'Go' }, headers)
    const children = async (): Promise<{ status: string; parent_request_id: string | null }[]> =>
      (await service.call('GET', '/v1/invocations')).data.filter(
        (run: { parent_request_id: string | null }) => run.parent_request_id !== null,
      )
    const asked = invoke()
    await until('one has ended and one is under way', async () => {
      const found = (await children()).map(({ status }) => status)
      return found.includes('completed') && calls.includes('/slow')
    })
    assert.equal(await service.kill().then(() => asked), undefined)
    release.resolve()
    await service.start()
    const reply = await invoke()
    assert.equal(reply?.body.data?.response, '/quick and /slow', `${reply?.text}`)
    // The call of its tool that was in progress may be made again.
    assert.deepEqual(calls.toSorted(), ['/quick', '/slow', '/slow'])
    assert.deepEqual(
      (await children()).map(({ status }) => status),
      ['completed', 'completed'],
    )
  })
}
