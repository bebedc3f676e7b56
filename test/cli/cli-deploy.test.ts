import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'

/** Forwards everything to the service, but runs `act` before the first matching request. */
async function startBusyNeighbour(
  service: Service,
  fits: (request: IncomingMessage) => boolean,
  act: () => Promise<unknown>,
) {
  let hasActed = false
  return startLocalServer(async (incoming, outgoing) => {
    if (!hasActed && fits(incoming)) {
      hasActed = true
      await act()
    }
    const { method, url = '/', headers } = incoming
    const forward = httpRequest(new URL(url, service.url), { method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(outgoing)
    })
    incoming.pipe(forward)
  })
}

onAnyEngine('moorage deploy', (service) => {
  const write = (shell: Shell, name: string, instructions: string) =>
    writeFileSync(join(shell.folder, 'agent.yaml'), `name: ${name}\ninstructions: ${instructions}\n`)
  const agentOf = async (name: string) => (await service().call('GET', `/v1/agents/${name}`)).body.data
  const deploymentsOf = async (name: string) =>
    (await service().call('GET', `/v1/agents/${name}/deployments`)).body.data as { version: string; digest: string }[]
  const change = (name: string, body: object) => service().call('PATCH', `/v1/agents/${name}`, { body })

  test('without a file, it names the command that writes one', async () => {
    const shell = newShell(service())
    const { code, stderr } = await shell.moorage(['deploy'])
    assert.equal(code, 2)
    assert.equal(
      stderr,
      'error: agent.yaml not found in this folder.\n  Create one with `moorage init <name>`, or name another file with -f\n',
    )
    shell.remove()
  })

  /** Deploys the file while another client acts before the first request with this method. */
  async function deployBeside(
    name: string,
    method: string,
    path: RegExp,
    act: () => Promise<unknown>,
    ...args: string[]
  ) {
    const neighbour = await startBusyNeighbour(
      service(),
      (request) => request.method === method && path.test(request.url ?? ''),
      act,
    )
    const shell = newShell({ url: neighbour.url, admin: service().admin })
    write(shell, name, 'ours')
    const told = await shell.moorage(['deploy', ...args])
    const again = await shell.moorage(['deploy', ...args])
    shell.remove()
    await neighbour.close()
    return { told, again }
  }

  test('warns about a secret that a tool uses and that is not configured, on each deployment', async () => {
    const shell = newShell(service())
    const tool = '{type: http, name: ask, url: https://api.example.com/, headers: {x-key: "{{secret.NOBODYS}}"}}'
    writeFileSync(join(shell.folder, 'agent.yaml'), `name: warned\ntools: [${tool}]\n`)
    const deployed = await shell.moorage(['deploy', 'v1'])
    const again = await shell.moorage(['deployments', 'create', 'warned', 'v1', '-e', 'staging'])
    shell.remove()
    for (const { code, stderr } of [deployed, again]) {
      assert.equal(code, 0, stderr)
      assert.equal(stderr.match(/warning Tool ask will fail: The secret NOBODYS is not configured/g)?.length, 1)
    }
  })

  test('a change by another client before the snapshot does not end up under our label', async () => {
    const { told, again } = await deployBeside('raced', 'POST', /\/deployments/, () =>
      change('raced', { instructions: 'theirs' }),
    )
    assert.equal(told.code, 1, told.stderr)
    assert.match(told.stderr, /has changed since/)
    assert.equal(again.code, 0, again.stderr)
    const [only, ...more] = await deploymentsOf('raced')
    const { instructions, digest } = await agentOf('raced')
    assert.deepEqual([only?.digest, only?.version, more], [digest, digest.slice(0, 12), []])
    assert.equal(instructions, 'ours')
  })

  test('a change by another client between reading and updating is detected', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'mixed' } })
    const { told, again } = await deployBeside(
      'mixed',
      'PATCH',
      /mixed|agt_/,
      () => change('mixed', { temperature: 2 }),
      'v1',
    )
    assert.equal(told.code, 1)
    assert.match(told.stderr, /Agent "mixed" was changed by another client during the deploy/)
    assert.equal(again.code, 0, again.stderr)
    const { instructions, temperature, digest } = await agentOf('mixed')
    assert.deepEqual([instructions, temperature], ['ours', null])
    assert.deepEqual(
      (await deploymentsOf('mixed')).map((deployment) => deployment.digest),
      [digest],
    )
  })

  test('a label that another client creates at the last moment is refused', async () => {
    const take = async () => {
      const ours = await agentOf('taken')
      await change('taken', { instructions: 'theirs' })
      await service().call('POST', '/v1/agents/taken/deployments', {
        body: { environment: 'production', version: 'v1' },
      })
      await change('taken', { instructions: ours.instructions })
    }
    const { told } = await deployBeside('taken', 'POST', /\/deployments/, take, 'v1')
    assert.equal(told.code, 1)
    assert.match(told.stderr, /Version "v1" already exists/)
  })

  test('a deploy that is refused because of its label does not change the draft', async () => {
    const shell = newShell(service())
    write(shell, 'kept', 'one')
    assert.equal((await shell.moorage(['deploy', 'v1'])).code, 0)
    const before = await agentOf('kept')
    write(shell, 'kept', 'two')
    const { code, stderr } = await shell.moorage(['deploy', 'v1'])
    shell.remove()
    assert.equal(code, 1)
    assert.match(stderr, /Version v1 of kept already exists with different content/)
    assert.doesNotMatch(stderr, /Updated/)
    assert.deepEqual(await agentOf('kept'), before)
  })

  test('a content label that another client used for other content is refused, not served', async () => {
    const shell = newShell(service())
    write(shell, 'squatted', 'ours')
    const { stdout } = await shell.moorage(['deploy', '-e', 'elsewhere', '--json'])
    const { version } = JSON.parse(stdout)
    await service().call('DELETE', '/v1/agents/squatted')
    await service().call('POST', '/v1/agents', { body: { name: 'squatted', instructions: 'theirs' } })
    await service().call('POST', '/v1/agents/squatted/deployments', { body: { environment: 'production', version } })
    const { code, stderr } = await shell.moorage(['deploy'])
    shell.remove()
    assert.equal(code, 1)
    assert.match(stderr, /exists already and is something else|already exists/)
    assert.equal((await agentOf('squatted')).instructions, 'theirs')
  })

  test('deployments create --digest deploys the definition with that digest, or nothing', async () => {
    const shell = newShell(service())
    await service().call('POST', '/v1/agents', { body: { name: 'known' } })
    const { digest } = await agentOf('known')
    await change('known', { instructions: 'other' })
    const refused = await shell.moorage(['deployments', 'create', 'known', 'v1', '--digest', digest])
    assert.equal(refused.code, 1)
    const now = (await agentOf('known')).digest
    assert.equal((await shell.moorage(['deployments', 'create', 'known', 'v1', '--digest', now])).code, 0)
    shell.remove()
  })
})
