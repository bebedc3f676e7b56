import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { inProject, onAnyEngine } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'

onAnyEngine('moorage projects', (service) => {
  let shell: Shell
  before(() => (shell = newShell(service())))
  after(() => shell.remove())

  const limits = async () => (await service().call('GET', '/v1/projects/shop')).body.data.limits

  test('sets each limit, keeps the others unchanged, and removes one', async () => {
    const made = await shell.moorage(['projects', 'create', 'shop', '--retention-days', '30'])
    assert.equal(made.code, 0, made.stderr)
    assert.deepEqual(await limits(), {
      requests_per_minute: null,
      concurrent_runs: null,
      stored_bytes: null,
      file_bytes: null,
      retention_days: 30,
    })
    const update = ['projects', 'update', 'shop']
    await shell.moorage([...update, '--requests-per-minute', '600', '--concurrent-runs', '5', '--stored-bytes', '9000'])
    await shell.moorage([...update, '--file-bytes', '8000'])
    const three = { requests_per_minute: 600, concurrent_runs: 5, stored_bytes: 9_000, file_bytes: 8_000 }
    assert.deepEqual(await limits(), { ...three, retention_days: 30 })
    await shell.moorage([...update, '--retention-days', 'none'])
    assert.deepEqual(await limits(), { ...three, retention_days: null })
    const { stdout } = await shell.moorage(['projects', 'list'])
    assert.match(stdout, /shop +prj_\w+ +- +600 +5 +9000 +8000 +service default/)
    const zero = await shell.moorage([...update, '--concurrent-runs', '0'])
    assert.deepEqual([zero.code, zero.stdout], [2, ''])
    const nothing = await shell.moorage(update)
    assert.deepEqual(nothing, { code: 2, stdout: '', stderr: 'error: Specify what to change, such as --name\n' })
  })

  test("whoami and usage by project show the project's name next to its ID", async () => {
    const id = (await service().call('GET', '/v1/projects/shop')).body.data.id
    const env = { MOORAGE_PROJECT: 'shop' }
    assert.match((await shell.moorage(['whoami'], { env })).stdout, new RegExp(`^project_id +${id} \\(shop\\)$`, 'm'))
    assert.equal(JSON.parse((await shell.moorage(['whoami', '--json'], { env })).stdout).project_id, id)
    await shell.moorage(['agents', 'create', 'clerk'], { env })
    await shell.moorage(['invoke', 'clerk', 'Hello'], { env })
    const { stdout } = await shell.moorage(['usage', '--by', 'project', '--all-projects'])
    assert.match(stdout, new RegExp(`^${id} \\(shop\\) +1 `, 'm'))
    // A key that can't list projects does not see the name.
    const { secret } = await createKey(inProject(service(), 'shop'), { role: 'caller' })
    const told = await shell.moorage(['whoami'], { env: { MOORAGE_API_KEY: secret } })
    assert.match(told.stdout, new RegExp(`^project_id +${id}$`, 'm'))
  })
})
