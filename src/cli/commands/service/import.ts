import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { recipientOf } from '../../../security/sealed-box.ts'
import { configOption, dataOption } from '../../command.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success, warn } from '../../terminal/output.ts'
import { counting } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'
import { printDigests } from './export.ts'

type ImportOptions = {
  as?: string
  recipient?: boolean
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
    .option('--recipient', 'print what `moorage export --seal-to` needs to include secrets for this service')
    .option('--skip-secrets', 'leave out the secrets in the file')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: ImportOptions) => {
      if ((given === undefined) !== (options.recipient === true)) throw usage('Specify either a file or --recipient.')
      const { openLocalStore } = await import('../../connect/local-store.ts')
      const path = given === undefined ? undefined : resolve(world.cwd, given)
      if (path !== undefined && !existsSync(path)) throw new Failure(EXIT.notFound, `There is no file ${path}.`)
      const store = await openLocalStore(world, options)
      try {
        if (path === undefined) {
          const recipient = recipientOf(store.parts.keyring)
          if (options.json) printJson(world, { recipient })
          else print(world, recipient)
        } else await importFile(world, store.parts, path, options)
      } finally {
        await store.close()
      }
    })
}

type StoreParts = Awaited<ReturnType<typeof import('../../connect/local-store.ts').openLocalStore>>['parts']

const DOING = { checking: 'Checking', importing: 'Importing' }

async function importFile(world: World, parts: StoreParts, path: string, options: ImportOptions): Promise<void> {
  const { importProject: read } = await import('../../../transfer/import-project.ts')
  const progress = counting(world)
  const { as, skipSecrets, json } = options
  try {
    const report = await read(parts, { path, as, skipSecrets }, (phase, table, rows) => {
      world.signal.throwIfAborted()
      progress.tell(`${DOING[phase]} ${table}: ${rows}`)
    })
    progress.end()
    const { project, tables, began, secrets, without_secrets } = report
    if (began === 'done before') note(world, `This file was already imported as ${project.name} (${project.id})`)
    else
      success(
        world,
        `Imported ${project.name} (${project.id})${began === 'resumed' ? ', from where it had stopped' : ''}`,
      )
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
  } finally {
    progress.end()
  }
}
