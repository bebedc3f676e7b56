import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { shellOfAdmin } from '../support/clients/cli.ts'
import { longestPass } from '../support/running/longest-pass.ts'

describe('moorage diff shows what a deploy would change, line by line', () => {
  const { service, shell } = shellOfAdmin()
  const moorage = async (...args: string[]) => {
    const told = await shell().moorage(args)
    assert.equal(told.code, 0, told.stderr)
    return told
  }
  const write = (text: string) => writeFileSync(join(shell().folder, 'agent.yaml'), text)
  const first = `name: poet
instructions: |
  Line one.
  Line two.
  Line three.
model: builtin/echo
`
  const second = first.replace('Line two.', 'Line 2.').concat('temperature: 0.5\n')

  test("shows the whole definition of an agent that doesn't exist yet, and that it would be created", async () => {
    write(first)
    const { stdout, stderr } = await moorage('diff')
    assert.match(stderr, /Agent "poet" doesn't exist yet. Deploying creates it/)
    assert.equal(
      stdout,
      `--- nothing
+++ agent.yaml
+instructions: |
+  Line one.
+  Line two.
+  Line three.
`,
    )
    assert.equal((await service().call('GET', '/v1/agents/poet')).status, 404)
  })

  test('compares with what the environment serves, as does deploy --dry-run, and changes nothing', async () => {
    await moorage('deploy', 'v1')
    assert.match((await moorage('diff')).stderr, /No changes: production already serves what is in agent\.yaml/)
    write(second)
    const expected = `--- production (v1)
+++ agent.yaml
 instructions: |
   Line one.
-  Line two.
+  Line 2.
   Line three.
-temperature: null
+temperature: 0.5
`
    assert.equal((await moorage('diff')).stdout, expected)
    assert.equal((await moorage('deploy', 'v2', '--dry-run')).stdout, expected)
    const { body } = await service().call('GET', '/v1/agents/poet')
    assert.match(body.data.instructions, /Line two/)
    assert.equal((await service().call('GET', '/v1/agents/poet/deployments')).body.pagination.total, 1)
    assert.match((await moorage('diff', '-e', 'staging')).stdout, /^--- staging \(the draft\)\n/)
  })

  test('deploy --dry-run refuses an existing label, as deploy would', async () => {
    const told = await shell().moorage(['deploy', 'v1', '--dry-run'])
    assert.equal(told.code, 1)
    assert.match(told.stderr, /Version v1 of poet already exists/)
  })

  test('--json prints the fields that change', async () => {
    const changes = JSON.parse((await moorage('diff', '--json')).stdout)
    assert.deepEqual(changes[0], { field: 'temperature', from: null, to: 0.5 })
    assert.deepEqual(
      changes.map(({ field }: { field: string }) => field),
      ['temperature', 'instructions'],
    )
  })

  test('compares with the deployed version, not with the draft', async () => {
    await moorage('deploy', 'v2')
    await moorage('agents', 'update', 'poet', '--temperature', '1')
    assert.match((await moorage('diff')).stderr, /already serves what is in agent\.yaml/)
  })

  test('compares security and auth only if the file contains them, and ignores the order of keys', async () => {
    await moorage('agents', 'update', 'poet', '--temperature', '0.5')
    write(`${second}security:\n  enforceHttps: true\n`)
    const { stdout } = await moorage('diff')
    assert.match(stdout, /^-security: null\n\+security:\n\+ {2}enforceHttps: true$/m)
    write(`temperature: 0.5\n${second.replace('temperature: 0.5\n', '')}`)
    assert.match((await moorage('diff')).stderr, /No changes: production already serves/)
  })

  test('rollback --dry-run shows the lines, too', async () => {
    const { stdout, stderr } = await moorage('rollback', 'poet', '--dry-run')
    assert.match(stderr, /Dry run: nothing was changed/)
    assert.match(stdout, /^--- now \(v2\)\n\+\+\+ then \(v1\)\n/)
    assert.match(stdout, /^- {2}Line 2\.\n\+ {2}Line two\.$/m)
  })

  test('two texts of 5,000 lines without a common line are compared within seconds', async () => {
    const lines = (word: string) => Array.from({ length: 5_000 }, (_, i) => `  ${word} ${i}\n`).join('')
    write(`name: long\ninstructions: |\n${lines('old')}`)
    await moorage('deploy')
    write(`name: long\ninstructions: |\n${lines('new')}`)
    let stdout = ''
    const ms = await longestPass(async () => ({ stdout } = await moorage('diff')))
    assert.equal(stdout.match(/^\+ {2}new/gm)?.length, 5_000)
    assert.ok(ms < 3_000, `${ms} ms`)
  })

  test('an error in the file is reported as deploy reports it', async () => {
    write('name: poet\nmodle: x\n')
    const told = await shell().moorage(['diff'])
    assert.equal(told.code, 2)
    assert.match(told.stderr, /agent\.yaml:2:1: modle: unknown field/)
    assert.match(readFileSync(join(shell().folder, 'agent.yaml'), 'utf8'), /modle/)
  })
})
