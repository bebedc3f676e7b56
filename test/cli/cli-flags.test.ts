import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Command, type Option } from 'commander'
import { takesStore, yesOption } from '../../src/cli/command.ts'
import { buildProgram } from '../../src/cli/commands.ts'
import type { World } from '../../src/cli/world.ts'
import { shellOfAdmin } from '../support/clients/cli.ts'

/** No command is run: only the declarations are read. */
const world = { stdout: process.stdout, stderr: process.stderr } as unknown as World

/** Every command that does something, with its options. */
async function everyCommand(): Promise<[string, Option[]][]> {
  const program = await buildProgram(world, () => true)
  const walk = (command: Command, path: string): [string, Option[]][] => [
    [path, [...command.options]],
    ...command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`)),
  ]
  return program.commands.flatMap((command) => walk(command, command.name()))
}

/** Options that have the same meaning in every command. */
const COMMON = [...takesStore(new Command()).addOption(yesOption()).options]

const namesOf = ({ long, short }: Option) => [long, short].filter((name) => name !== undefined)

/** Options of a command that use the name of a common option for something else. */
function takenNames(path: string, options: Option[]): string[] {
  return options.flatMap((option) => {
    const common = COMMON.find((known) => namesOf(known).some((name) => namesOf(option).includes(name)))
    const isSame =
      !common || (common.flags === option.flags && (common.description === option.description || isLogin(path, option)))
    return isSame ? [] : [`${path} ${option.flags}: ${option.description}`]
  })
}

/** Here the option is about the login or the project itself, which is still the one that --profile or --project names. */
const isLogin = (path: string, { long = '' }: Option) =>
  ['login', 'logout', 'export'].includes(path) && ['--profile', '--project'].includes(long)

describe('the flags of every command', () => {
  test('no command uses the name of a common flag for something else', async () => {
    const commands = await everyCommand()
    assert.ok(commands.length > 40 && commands.some(([path]) => path === 'webhooks update'), 'looked at all of them')
    assert.deepEqual(
      commands.flatMap(([path, options]) => takenNames(path, options)),
      [],
    )
  })

  test('a command has each name only once', async () => {
    for (const [path, options] of await everyCommand()) {
      const names = options.flatMap(namesOf)
      assert.deepEqual(names, [...new Set(names)], path)
    }
  })

  test('a command that talks to a service takes every common option of a service', async () => {
    for (const [path, options] of await everyCommand()) {
      const names = new Set(options.flatMap(namesOf))
      if (!names.has('--otp')) continue
      for (const name of ['--json', '--url', '--profile']) assert.ok(names.has(name), `${path} ${name}`)
    }
  })

  test('the guard sees a name that is taken', () => {
    const command = new Command('update').option('--url <url>', 'the new address').option('--json', 'as one line')
    assert.deepEqual(takenNames('webhooks update', [...command.options]), [
      'webhooks update --url <url>: the new address',
      'webhooks update --json: as one line',
    ])
  })
})

describe('--limit', () => {
  const { shell } = shellOfAdmin()

  test('0 is refused; only followed logs can start with no entries', async () => {
    for (const list of [
      ['agents', 'list'],
      ['keys', 'list'],
      ['logs', 'hello'],
      ['memory', 'list', 'hello'],
    ]) {
      const { code, stderr } = await shell().moorage([...list, '--limit', '0'])
      assert.equal(code, 2, list.join(' '))
      assert.match(stderr, /--limit.* 1 or more/)
    }
  })
})
