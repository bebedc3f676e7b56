import { createHash, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { counted } from '../../../lib/text/counted.ts'
import { configOption, dataOption, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import type { ImportItem } from '../../import/import-item.ts'
import { readImport } from '../../import/read-import.ts'
import { readFile, readMessage } from '../../terminal/input.ts'
import { note, printDone, printJson, success } from '../../terminal/output.ts'
import { progress } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'

type OwnerOptions = Common & { user?: string; session?: string }
type ImportOptions = OwnerOptions & { dryRun?: boolean; again?: boolean }

const ITEMS_PER_REQUEST = 100
/** A request can have one megabyte, and a character may take several bytes. */
const CHARACTERS_AT_ONCE = 200_000

/** Commands that write memories, and one that repairs their counts. */
export function addMemoryImport(command: Command, world: World): void {
  takesService(command.command('add'))
    .description("Add a note to an agent's memory")
    .argument('<agent>', 'ID or name')
    .argument('[content...]', 'the note; read from stdin if not given')
    .option('--user <user_id>', 'the user that it is about')
    .option('--session <session_id>', 'the session that it belongs to')
    .option('--kind <kind>', 'note or fact', 'note')
    .action(async (agent: string, words: string[], options: OwnerOptions & { kind: 'note' | 'fact' }) => {
      const item = { content: await readMessage(world, words), kind: options.kind, context: contextOf({}, options) }
      const { items } = await withClient(world, options, (client) =>
        client.memory.write(agent, { items: [item] }, options),
      )
      printDone(world, items[0], options, `Added ${items[0]?.id}`)
    })

  takesService(command.command('import'))
    .description('Import the memories of a Moorage, Letta or mem0 export')
    .argument('<agent>', 'ID or name')
    .argument('<file>', 'JSON lines of `users export`, a Letta agent file or its messages, or mem0 memories')
    .option('--user <user_id>', 'the user, instead of the one in the file')
    .option('--session <session_id>', 'the session, instead of the one in the file')
    .option('--dry-run', 'only show what is in the file')
    .option('--again', 'import it even if the same file was imported within the last 24 hours')
    .action(async (agent: string, file: string, options: ImportOptions) => {
      const text = readFile(resolve(world.cwd, file))
      const found = readImport(text)
      if (!found) throw usage(`${file} is not a Moorage, Letta or mem0 export.`)
      const items = found.items.map((item) => ({ ...item, context: contextOf(item, options) }))
      const memories = counted(items.length, 'memory', 'memories')
      if (options.dryRun) {
        if (options.json) return printJson(world, { format: found.format, items })
        return note(world, `${memories} of ${found.format}`)
      }
      const again = options.again ? randomUUID() : undefined
      let repeated = 0
      await withClient(world, options, (client) =>
        progress(world, `Importing ${memories}`, async () => {
          for (const [i, batch] of inBatches(items).entries()) {
            // The same file within a day is the same request, so a retry after a failure repeats nothing.
            const idempotencyKey = createHash('sha256')
              .update(JSON.stringify([agent, i, batch, again]))
              .digest('hex')
            const onReplay = () => {
              repeated += batch.length
            }
            await client.memory.write(agent, { items: batch }, { ...options, idempotencyKey, onReplay })
          }
        }),
      )
      const imported = items.length - repeated
      if (options.json) return printJson(world, { format: found.format, imported, imported_before: repeated })
      if (imported > 0) {
        success(world, `Imported ${counted(imported, 'memory', 'memories')} of ${found.format} into ${agent}`)
      }
      if (repeated > 0) {
        const before = counted(repeated, 'memory was', 'memories were')
        note(
          world,
          `${before} imported within the last 24 hours and not written again. Use --again to write them again.`,
        )
      }
    })

  command
    .command('rebuild')
    .description('Recount the memories of all agents, on the server')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (options: Common) => {
      const { openLocalStore } = await import('../../connect/local-store.ts')
      const { recount } = await import('../../../memory/warm/scope-counts.ts')
      const store = await openLocalStore(world, options)
      try {
        const { storage, newId, now } = store.parts
        await storage.transaction((db) => recount(db, `+${newId('req', now())}`))
        if (options.json) printJson(world, { rebuilt: true })
        else success(world, `Recounted the memories (${store.name})`)
      } finally {
        await store.close()
      }
    })
}

function contextOf({ context = {} }: Pick<ImportItem, 'context'>, { user, session }: OwnerOptions) {
  return {
    ...context,
    ...(user !== undefined && { user_id: user }),
    ...(session !== undefined && { session_id: session }),
  }
}

function inBatches<T extends { content: string; metadata?: object }>(items: T[]): T[][] {
  const batches: T[][] = []
  let room = 0
  for (const item of items) {
    const size = item.content.length + JSON.stringify(item.metadata ?? {}).length
    const batch = batches.at(-1)
    if (batch && batch.length < ITEMS_PER_REQUEST && size <= room) batch.push(item)
    else batches.push([item])
    room = (batches.at(-1)?.length === 1 ? CHARACTERS_AT_ONCE : room) - size
  }
  return batches
}
