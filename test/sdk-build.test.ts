import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Service, startService } from './support/service.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('npm run sdk:build', () => {
  let folder: string
  let service: Service
  before(async () => {
    service = await startService('sqlite')
    folder = mkdtempSync(join(tmpdir(), 'moorage-sdk-'))
    await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', 'sdk', '--outDir', folder], { cwd: root })
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await service.stop()
  })

  test('writes JavaScript and types that work', async () => {
    const { createClient } = (await import(
      pathToFileURL(join(folder, 'client.js')).href
    )) as typeof import('../sdk/client.ts')
    const client = createClient({ url: service.url, key: service.admin })
    assert.equal((await client.agents.invoke('hello', { message: 'built' })).response, 'built')
    assert.ok(readdirSync(folder).includes('client.d.ts'))
  })

  test('needs nothing that a browser lacks', () => {
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
      const code = readFileSync(join(folder, name), 'utf8')
      assert.doesNotMatch(
        code,
        /\bfrom '(?!\.\/)|\brequire\(|\bprocess\.|\bBuffer\b|\bsetImmediate\b|randomUUID\(/,
        name,
      )
    }
  })
})
