import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { shellOfNobody } from '../support/clients/cli.ts'
import { startService } from '../support/service/service.ts'
import { download, storedBytes, uploaded } from '../support/slices/files.ts'

describe('the files in a backup', () => {
  const { service, shell } = shellOfNobody()
  let [chart, log] = ['', '']
  before(async () => {
    chart = await uploaded(service(), 'a chart of the harbour')
    log = await uploaded(service(), 'the log of the day')
  })
  const moorage = (...args: string[]) => shell().moorage(args)
  const backup = (folder: string, ...more: string[]) =>
    moorage('backup', folder, '--data', service().data, '--include-master-key', ...more)
  const at = (...path: string[]) => join(shell().folder, ...path)

  test('a restore is refused if one is missing or altered, and says which; nothing is written', async () => {
    for (const [name, harm] of Object.entries({
      altered: (file: string) => writeFileSync(file, 'a chart of the desert.'),
      missing: (file: string) => rmSync(file),
    })) {
      assert.equal((await backup(name)).code, 0)
      const [id = ''] = readdirSync(at(name, 'files'))
      harm(at(name, 'files', id))
      const { code, stderr } = await moorage('restore', name, '--data', 'nowhere')
      assert.equal(code, 1, stderr)
      assert.match(stderr, new RegExp(`Nothing was restored from .*: 1 file is missing or altered: files/${id}\n`))
      assert.equal(existsSync(at('nowhere')), false)
    }
    rmSync(at('missing', 'files'), { recursive: true })
    assert.match((await moorage('restore', 'missing', '--data', 'nowhere')).stderr, /2 files are missing or altered/)
  })

  test('--allow-missing restores the rest, and names what is not there', async (t) => {
    assert.equal((await backup('part')).code, 0)
    const [id = ''] = readdirSync(at('part', 'files'))
    rmSync(at('part', 'files', id))
    const { code, stderr } = await moorage('restore', 'part', '--data', 'rest', '--allow-missing')
    assert.equal(code, 0, stderr)
    assert.match(stderr, new RegExp(`1 file is missing or altered: files/${id}\n`))
    const other = await startService('sqlite', { MOORAGE_DATA: at('rest') })
    t.after(() => other.stop())
    const found = await Promise.all([chart, log].map((file) => download(other, file, { key: service().admin })))
    assert.equal(found.filter(({ status }) => status === 200).length, 1)
  })

  test('no backup is written if the service has lost one, unless that is allowed', async (t) => {
    const [id = ''] = await storedBytes(service())
    const [file, aside] = [join(service().data, 'files', id), join(service().data, 'aside')]
    renameSync(file, aside)
    t.after(() => renameSync(aside, file))
    const refused = await backup('lossy')
    assert.equal(refused.code, 1, refused.stderr)
    assert.match(refused.stderr, new RegExp(`Nothing was backed up: 1 file is missing or altered: files/${id}\n`))
    assert.deepEqual(readdirSync(at('lossy')), [])

    const allowed = await backup('lossy', '--allow-missing')
    assert.equal(allowed.code, 0, allowed.stderr)
    assert.match(allowed.stderr, /with 1 file\n.*1 file is missing or altered/)
    assert.equal((await moorage('restore', 'lossy', '--data', 'nowhere')).code, 1)
  })

  test('a restore that fails halfway changes nothing', async () => {
    assert.equal((await backup('whole')).code, 0)
    // Another service, whose files are on a disk that is not mounted.
    const data = at('unmounted')
    const other = await startService('sqlite', { MOORAGE_DATA: data })
    assert.equal((await other.call('POST', '/v1/agents', { body: { name: 'theirs' } })).status, 201)
    await other.stop()
    symlinkSync('/nowhere/files', join(data, 'files'))
    const look = () => ({ names: readdirSync(data).toSorted(), key: readFileSync(join(data, 'master.key'), 'utf8') })
    const untouched = look()
    const { code, stderr } = await moorage('restore', 'whole', '--data', data, '--yes')
    assert.equal(code, 1, stderr)
    assert.match(stderr, /Nothing was restored: ENOTDIR/)
    assert.deepEqual(look(), untouched)

    const again = await startService('sqlite', { MOORAGE_DATA: data })
    assert.equal((await again.call('GET', '/v1/agents/theirs', { key: other.admin })).status, 200)
    await again.stop()
    rmSync(join(data, 'files'))
    assert.equal((await moorage('restore', 'whole', '--data', data, '--yes')).code, 0)
    assert.equal(readdirSync(join(data, 'files')).length, 2)
    assert.notEqual(look().key, untouched.key)
  })
})
