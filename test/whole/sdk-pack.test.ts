import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { codeBlocks, readDoc } from '../support/house/docs.ts'
import { childEnv } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

describe('npm pack ./sdk', () => {
  let folder: string
  let project: string
  let service: Service
  before(async () => {
    service = await startService('sqlite')
    folder = mkdtempSync(join(tmpdir(), 'moorage-pack-'))
    project = join(folder, 'another-project')
    mkdirSync(project)
    const env = { ...childEnv(), HOME: folder }
    await run('npm', ['pack', './sdk', '--pack-destination', folder], { cwd: root, env })
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    await run('npm', ['install', '--offline', join(folder, 'moorage-sdk-0.1.0.tgz')], { cwd: project, env })
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await service.stop()
  })

  test('makes a package of plain JavaScript and types, with its licence and nothing else', () => {
    const files = readdirSync(join(project, 'node_modules/moorage-sdk'), { recursive: true }).map(String)
    assert.ok(files.includes('dist/client.js') && files.includes('LICENSE') && files.includes('README.md'))
    assert.deepEqual(
      files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')),
      [],
    )
    assert.deepEqual(
      readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['moorage-sdk'],
    )
  })

  test("that another project uses by its name, as in the package's README", async () => {
    const [sample] = codeBlocks(readDoc('sdk/README.md'))
    const program = (sample?.code ?? '').replaceAll('http://127.0.0.1:8787', service.url)
    assert.match(program, /from 'moorage-sdk'/)
    writeFileSync(join(project, 'program.js'), program)
    const { stdout } = await run(process.execPath, ['program.js'], {
      cwd: project,
      env: { MOORAGE_API_KEY: service.admin },
    })
    assert.equal(stdout, 'Ahoy!\n')
  })

  test('needs nothing that browsers lack, except for opening paths', () => {
    const dist = join(project, 'node_modules/moorage-sdk/dist')
    for (const name of readdirSync(dist).filter((file) => file.endsWith('.js') && file !== 'from-path.js')) {
      const code = readFileSync(join(dist, name), 'utf8')
      const foreign = /\bfrom '(?!\.\/)|\brequire\(|\bprocess\.|\bBuffer\b|\bsetImmediate\b|randomUUID\(/
      assert.doesNotMatch(code, foreign, name)
    }
  })

  test('and its types are correct there', async () => {
    const program = (field: string) => `import { createClient, type Client } from 'moorage-sdk'
export { fromPath } from 'moorage-sdk/node'
export async function say(client: Client = createClient({ url: '' })): Promise<string> {
  return (await client.agents.invoke('hello', { message: 'x' })).${field}
}
`
    const check = async (field: string) => {
      writeFileSync(join(project, 'typed.ts'), program(field))
      const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '']
      return run(join(root, 'node_modules/.bin/tsc'), [...options, 'typed.ts'], { cwd: project })
    }
    await check('response')
    await assert.rejects(check('respond'), ({ stdout }: { stdout: string }) => stdout.includes("'respond'"))
  })
})
