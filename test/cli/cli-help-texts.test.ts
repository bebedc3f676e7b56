import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Command } from 'commander'
import { buildProgram } from '../../src/cli/commands.ts'
import { COMMANDS } from '../../src/cli/listed-commands.ts'
import type { World } from '../../src/cli/world.ts'
import { newShell } from '../support/clients/cli.ts'
import { approve } from '../support/running/approved.ts'

/** Nothing is run: the names of all commands are read. */
const world = { stdout: process.stdout, stderr: process.stderr } as unknown as World

describe('--help', () => {
  const shell = newShell()
  after(() => shell.remove())

  const helpOf = async (path: string[]) => {
    const { code, stdout, stderr } = await shell.moorage([...path, '--help'])
    assert.deepEqual([code, stderr], [0, ''], path.join(' '))
    return `$ moorage ${[...path, '--help'].join(' ')}\n${stdout}\n`
  }

  /** A command, then the commands below it. */
  async function helpBelow(command: Command, path: string[]): Promise<string> {
    const below: string[] = []
    for (const child of command.commands) below.push(await helpBelow(child, [...path, child.name()]))
    return (await helpOf(path)) + below.join('')
  }

  test('lists the commands', async (t) => {
    const { stdout, stderr } = await shell.moorage([])
    assert.equal(stderr, '')
    approve(t, 'cli/help/all.txt', stdout)
  })

  for (const group of new Set(COMMANDS.map((command) => command.group))) {
    test(`describes the commands of ${group}`, async (t) => {
      const program = await buildProgram(world, () => true)
      const names = COMMANDS.filter((command) => command.group === group).map(({ name }) => name)
      const commands = program.commands.filter((command) => names.includes(command.name()))
      assert.equal(commands.length, names.length)
      const texts: string[] = []
      for (const command of commands) texts.push(await helpBelow(command, [command.name()]))
      approve(t, `cli/help/${group.toLowerCase()}.txt`, texts.join(''))
    })
  }
})
