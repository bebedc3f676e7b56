import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { recipientOf } from '../../../security/sealed-box.ts'
import { configOption, dataOption } from '../../command.ts'
import { withLocalStore } from '../../connect/connect.ts'
import type { LocalStore } from '../../connect/local-store.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success, warn } from '../../terminal/output.ts'
import { counting } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'
import { printDigests } from './export.ts'

type ImportOptions = {
  as?: string
  recipient?: boolean
  discard?: string
  skipSecrets?: boolean
  config?: string
  data?: string
  json?: boolean
}

export { importProject as import }

function importProject(command: Command, world: World): void {
  command
    .argument('[file]', 'a file from `moorage export`')
    .option('--as <name>', "the project's name here (default: the name that it had)")
    .option('--recipient', "print this service's recipient, for `moorage export --seal-to`")
    .option('--skip-secrets', 'leave out the secrets in the file')
    .option('--discard <project>', 'delete the project of an incomplete import')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: ImportOptions) => {
      const { discard, recipient = false } = options
      if ([given !== undefined, recipient, discard !== undefined].filter(Boolean).length !== 1)
        throw usage('Specify either a file, --recipient or --discard.')
      const path = given === undefined ? undefined : resolve(world.cwd, given)
      if (path !== undefined && !existsSync(path)) throw new Failure(EXIT.notFound, `There is no file ${path}.`)
      await withLocalStore(world, options, async ({ parts }) => {
        if (discard !== undefined) {
          const { discardImport } = await import('../../../transfer/discard-import.ts')
          const project = await discardImport(parts, discard)
          success(world, `Removed what was imported into ${project.name}`)
          if (options.json) printJson(world, { project })
        } else if (path === undefined) {
          const shown = recipientOf(parts.keyring)
          if (options.json) printJson(world, { recipient: shown })
          else print(world, shown)
        } else await importFile(world, parts, path, options)
      })
    })
}

const DOING = { checking: 'Checking', importing: 'Importing', comparing: 'Comparing' }

async function importFile(
  world: World,
  parts: LocalStore['parts'],
  path: string,
  options: ImportOptions,
): Promise<void> {
  const { importProject: read } = await import('../../../transfer/import-project.ts')
  const progress = counting(world)
  const { as, skipSecrets, json } = options
  try {
    const report = await read(parts, { path, as, skipSecrets }, (phase, table, rows) => {
      world.signal.throwIfAborted()
      progress.tell(`${DOING[phase]} ${table}: ${rows}`)
    })
    progress.end()
    const { project, tables, began, differences, known_calls, secrets, warnings, without_secrets } = report
    if (began === 'done before') note(world, `This file was already imported as ${project.name} (${project.id})`)
    else
      success(
        world,
        `Imported ${project.name} (${project.id})${began === 'resumed' ? ', from where it had stopped' : ''}`,
      )
    for (const { what, names } of warnings) warn(world, `${names.length} ${what}: ${names.join(', ')}`)
    if (known_calls > 0) {
      note(
        world,
        `  ${known_calls} calls of an earlier life of the project are in this service's usage already, and stay there`,
      )
    }
    for (const { table, rows } of without_secrets)
      warn(world, `Left out: ${table} (${rows}), because their secrets are left out`)
    if (secrets === 'left out') {
      note(
        world,
        '  Secrets were left out: webhooks are disabled and have new secrets. `moorage export` said which others',
      )
    }
    if (began !== 'done before') {
      note(world, `  The project is paused. When the original no longer runs: moorage resume --project ${project.name}`)
    }
    if (json) printJson(world, { file: path, ...report })
    else {
      printDigests(world, tables)
      print(world, project.id)
    }
    if (differences.length === 0) {
      const except = secrets === 'left out' ? ', except for the secrets' : ''
      note(world, `  Read back and compared: every table is equal to the file${except}`)
      return
    }
    const named = differences.map(({ table, in_file, here }) => `${table} (${in_file} in the file, ${here} here)`)
    throw new Failure(
      EXIT.failed,
      `The project was not equal to its file when its import ended: ${named.join(', ')}`,
      '  Something changed it during the import, or it is a defect. Delete the project and import the file again, or keep it as it is',
    )
  } finally {
    progress.end()
  }
}
