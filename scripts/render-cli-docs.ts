import type { Command } from 'commander'
import { buildProgram } from '../src/cli/commands.ts'
import { COMMANDS } from '../src/cli/listed-commands.ts'

/** A table of commands in docs/cli.md, between its comments. */
const TABLE = /(<!-- commands: (\w+) -->\n)[\s\S]*?(<!-- end of commands -->)/g

/** Writes the tables of docs/cli.md again: a row for each command. The rest of the page is written by hand. */
export async function renderCliDocs(page: string): Promise<string> {
  const { stdin, stdout, stderr } = process
  const world = { env: {}, cwd: '/', serviceFolder: '/', signal: AbortSignal.abort(), stdin, stdout, stderr }
  const program = await buildProgram(world, () => true)
  return page.replaceAll(TABLE, (_, start: string, group: string, end: string) => {
    const names = new Set(COMMANDS.filter((command) => command.group === group).map(({ name }) => name))
    const commands = program.commands.filter((command) => names.has(command.name()))
    const rows = commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command])).map(row)
    return `${start}\n| Command | Description |\n|---|---|\n${rows.join('\n')}\n\n${end}`
  })
}

function row(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const shown = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${shown}>` : `[${shown}]`
  })
  const group = command.parent?.parent ? [command.parent.name()] : []
  return `| \`${[...group, command.name(), ...words].join(' ')}\` | ${command.description()} |`
}
