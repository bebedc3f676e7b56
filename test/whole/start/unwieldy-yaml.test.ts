import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readAgentFile } from '../../../src/cli/commands/agents/agent-file.ts'
import { Failure } from '../../../src/cli/failure.ts'
import type { World } from '../../../src/cli/world.ts'
import { ConfigError, loadConfig } from '../../../src/config.ts'
import { cpuTime } from '../../support/running/cpu-time.ts'

const MIB = 1024 * 1024
/** Of the processor: how long a test waits for its turn on a busy machine does not count. */
const LIMIT_MS = 1_500

const lines = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => line(i)).join('')

/** Each is at or below a limit of what is read, or was slow once. */
const FILES: Record<string, { text: string; problem: RegExp }> = {
  '200,000 keys': { text: lines(200_000, (i) => `key${i}: 1\n`), problem: /too large: at most 1 MiB/ },
  '100,000 short keys': { text: lines(100_000, (i) => `k${i}: 1\n`), problem: /too large: at most 1 MiB/ },
  'as many keys as are read': { text: lines(6_200, (i) => `k${i}: 1\n`), problem: /k0: unknown/ },
  'as many keys in braces': { text: `{${lines(6_200, (i) => `k${i}: 1,`)}}`, problem: /k0: unknown/ },
  'the same key again and again': { text: lines(6_200, () => 'k: 1\n'), problem: /:2:1: k: appears twice/ },
  'many mistakes': { text: ']'.repeat(20_000), problem: /not valid YAML|bracket/ },
  'as many aliases': { text: lines(6_000, (i) => `k${i}: *a\n`), problem: /anchors and aliases are not supported/ },
  'braces in braces': { text: '{'.repeat(MIB), problem: /nested more than 64 deep/ },
  'brackets in brackets': { text: '['.repeat(MIB), problem: /nested more than 64 deep/ },
  'lists in lists': { text: '- '.repeat(24_000), problem: /nested too deeply/ },
  'question marks': { text: '? '.repeat(49_000), problem: /without a question mark/ },
  'a mapping in a mapping, 1,400 deep': {
    text: lines(1_400, (i) => `${' '.repeat(i)}a:\n`),
    // How deep the parser can go depends on what it has compiled so far.
    problem: /nested too deeply|a: unknown/,
  },
  'one long key': { text: `${'k'.repeat(MIB - 10)}: 1`, problem: /1,024 characters/ },
  'one long value': { text: `model: "${'x'.repeat(MIB - 20)}"`, problem: /model/ },
  'more bytes than characters': { text: `# ${'é'.repeat(MIB / 2)}`, problem: /too large: at most 1 MiB/ },
}

describe('no YAML is read for long', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'moorage-yaml-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  for (const [name, { text, problem }] of Object.entries(FILES)) {
    test(`${name}: the service refuses to start, moorage deploy to deploy, both at once`, () => {
      writeFileSync(join(folder, 'some.yaml'), text)
      const config = told(() => loadConfig({ flags: { config: 'some.yaml' }, env: {}, cwd: folder }))
      const agent = told(() => readAgentFile({ cwd: folder } as World, 'some.yaml'))
      for (const { problems } of [config, agent]) {
        assert.match(problems.join('\n').slice(0, 5_000), problem)
        assert.ok(problems.length <= 210, `${problems.length} lines`)
      }
      const slowest = Math.max(config.ms, agent.ms)
      assert.ok(slowest < LIMIT_MS, `took ${slowest} ms`)
    })
  }

  test('a device that never ends is too large', () => {
    const { problems } = told(() => loadConfig({ flags: { config: '/dev/zero' }, env: {}, cwd: folder }))
    assert.match(problems.join(), /too large/)
  })

  test('an agent of 1,500 lines is read', () => {
    const properties = lines(
      500,
      (i) => `        field_${i}:\n          type: string\n          description: The ${i}th\n`,
    )
    const schema = `    input_schema:\n      type: object\n      properties:\n${properties}`
    const tool = `  - type: http\n    name: t\n    description: d\n    url: https://example.com/\n${schema}`
    writeFileSync(join(folder, 'agent.yaml'), `name: large\ntools:\n${tool}`)
    assert.equal(readAgentFile({ cwd: folder } as World, 'agent.yaml').body.tools?.length, 1)
  })
})

function told(read: () => unknown): { problems: string[]; ms: number } {
  const started = cpuTime()
  try {
    read()
  } catch (error) {
    const ms = cpuTime() - started
    if (error instanceof ConfigError) return { problems: error.problems, ms }
    if (error instanceof Failure) return { problems: error.message.split('\n'), ms }
    throw error
  }
  return { problems: [], ms: 0 }
}
