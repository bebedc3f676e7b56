import { watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Client } from '../../../../sdk/client.ts'
import { AGENT_FILE, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { complain, note } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { findEnd, followLogs } from '../watch/logs.ts'
import { deployFile } from './deploy.ts'

type DevOptions = Common & { file: string; environment: string }

/** Editors save in several steps, so changes are handled after this pause. */
const SETTLE_MS = 100

export function dev(command: Command, world: World): void {
  takesService(command)
    .option('-f, --file <file>', 'the agent file', AGENT_FILE)
    .option('-e, --environment <name>', 'the environment', 'dev')
    .action((options: DevOptions) =>
      withClient(world, options, async (client) => {
        const first = Promise.withResolvers<void>()
        // Starts watching before the file is read, so no change in between is missed.
        const stopWatching = onSave(resolve(world.cwd, options.file), first.promise, () =>
          redeploy(world, client, options).catch((error: unknown) => complain(world, error)),
        )
        try {
          const { name } = await redeploy(world, client, options).finally(first.resolve)
          note(world, hint(name, options), 'dim')
          await followLogs(world, client, name, options, await findEnd(client, name))
        } finally {
          stopWatching()
        }
      }),
    )
}

function hint(name: string, { file, environment }: DevOptions): string {
  return `Watching ${file}. Try: moorage chat ${name} -e ${environment}`
}

async function redeploy(world: World, client: Client, { file, environment }: DevOptions): Promise<{ name: string }> {
  const { readAgentFile } = await import('./agent-file.ts')
  const agent = readAgentFile(world, file)
  await deployFile(world, client, agent, { environment })
  return agent.body
}

/**
 * Watches the folder, because an editor may replace the file with a new one. The runs start after the first one and
 * follow one after the other.
 */
function onSave(file: string, first: Promise<unknown>, run: () => Promise<unknown>): () => void {
  let timer: NodeJS.Timeout | undefined
  let running = first
  const watcher = watch(dirname(file), (_event, name) => {
    if (name !== basename(file)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      running = running.then(run)
    }, SETTLE_MS)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}
