import { createHash, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { counted } from '../../../lib/text/counted.ts'
import { takesData, takesService } from '../../command.ts'
import { type Common, withClient, withLocalStore } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { type ImportItem, readImport } from '../../import/read-import.ts'
import { readFile, readMessage } from '../../terminal/input.ts'
import { note, print, printDone, printJson, success } from '../../terminal/output.ts'
import { progress } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'

const SCOPE = { user_id: 'only of this user', session_id: 'only of this session' }

const SPECS: CommandSpecs = {
  searchMemory: {
    about: "Search an agent's memory",
    args: ['query...'],
    limit: 10,
    options: { 'context.user_id': SCOPE.user_id, 'context.session_id': SCOPE.session_id, min_score: '0 to 1' },
    columns: {
      of: [
        ['SCORE', ({ score }) => score.toFixed(2)],
        ['BY', ({ matched }) => matched.join(' ')],
        ['KIND', ({ role, kind }) => role ?? kind],
        'user_id',
        'created_at',
        'content',
      ],
    },
  },
  writeMemory: false,
  clearMemory: {
    about: "Clear an agent's memory, or only a user's, a session's or older memories",
    options: { ...SCOPE, before: 'only older memories: a duration such as 30d, or a time' },
    confirm: ({ ref, query }) =>
      `Clear ${Object.keys(query).length === 0 ? 'the whole' : 'this part of the'} memory of ${ref}?`,
    done: ({ deleted }) => `Deleted ${counted(deleted, 'memory', 'memories')}`,
  },
  listMemory: {
    about: "List an agent's memories, most recent first",
    limit: 20,
    options: {
      ...SCOPE,
      before: 'only older memories: a duration such as 30d, or a time',
      after: 'only newer memories: a duration such as 30d, or a time',
    },
    columns: {
      of: ['id', ['KIND', ({ role, kind }) => role ?? kind], 'user_id', 'session_id', 'created_at', 'content'],
    },
  },
  getMemory: {},
  updateMemory: {
    args: ['[content...]'],
    options: { created_at: '--created-at <time>', metadata: 'replaces the metadata' },
    done: ({ id }) => `Updated ${id}`,
  },
  deleteMemory: { confirm: ({ params }) => `Delete the memory ${params['memory_id']} of ${params['agent_id']}?` },
  getSummary: { name: 'summary', about: "Show a session's summary" },
  replaceSummary: {
    name: 'set-summary',
    about: "Replace a session's summary",
    args: ['content...'],
    stdin: true,
    done: 'Replaced the summary of {}',
  },
  deleteSummary: {
    name: 'delete-summary',
    about: "Delete a session's summary. The model writes a new one",
    confirm: ({ params }) => `Delete the summary of the session ${params['session_id']} of ${params['agent_id']}?`,
    done: 'Deleted the summary of {}',
  },
  getMemoryStatus: {
    name: 'status',
    about: 'Show how many memories the embedder has processed',
    json: ({ embedding }) => ({ embedding }),
    show(world, { embedding }) {
      if (!embedding) {
        return note(
          world,
          'No embedder is configured. Search uses keywords and, in English, the meaning of single words.',
        )
      }
      const { model, embedded, waiting } = embedding
      print(world, `${embedded} of ${embedded + waiting} memories are embedded with ${model}`)
    },
  },
}

export const memory = serviceCommands('memory', SPECS, addMemoryImport)

type OwnerOptions = Common & { user?: string; session?: string }
type ImportOptions = OwnerOptions & { dryRun?: boolean; again?: boolean }

const ITEMS_PER_REQUEST = 100
/** A request can have one megabyte, and a character may take several bytes. */
const CHARACTERS_AT_ONCE = 200_000

/** Commands that write memories, and one that repairs their counts. */
function addMemoryImport(command: Command, world: World): void {
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

  takesData(command.command('rebuild'))
    .description('Recount the memories of all agents, on the server')
    .action(async (options: Common) => {
      const { recount } = await import('../../../memory/warm/scope-counts.ts')
      const store = await withLocalStore(world, options, async ({ name, parts: { storage, newId, now } }) => {
        await storage.transaction((db) => recount(db, `+${newId('req', now())}`))
        return name
      })
      printDone(world, { rebuilt: true }, options, `Recounted the memories (${store})`)
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
