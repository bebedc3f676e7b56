import type { Command } from 'commander'
import type { FoundMemory } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { number, takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { pointInTime, readMessage } from '../../terminal/input.ts'
import { type Column, printDone } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { memoryImport } from './memory-import.ts'
import { memoryItems } from './memory-items.ts'
import { sessionSummary } from './session-summary.ts'

const COLUMNS: Column<FoundMemory>[] = [
  { title: 'SCORE', of: (found) => found.score.toFixed(2) },
  { title: 'BY', of: (found) => found.matched.join(' ') },
  { title: 'KIND', of: (found) => found.role ?? found.kind },
  { title: 'USER', of: (found) => found.user_id },
  { title: 'CREATED', of: (found) => found.created_at },
  { title: 'CONTENT', of: (found) => found.content },
]

type ScopeOptions = { user?: string; session?: string }

export function memory(command: Command, world: World): void {
  takesScope(takesService(command.command('search')))
    .description('Search what an agent remembers')
    .argument('<agent>', 'id or name')
    .argument('<query...>', 'what to look for')
    .addOption(limitOption(10))
    .option('--min-score <score>', '0 to 1', number)
    .action(async (agent: string, words: string[], options: Common & Limit & ScopeOptions & { minScore?: number }) => {
      const search = { query: words.join(' '), context: contextOf(options), min_score: options.minScore }
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.memory.search(agent, { ...search, limit })),
      )
    })

  takesScope(takesService(command.command('add')))
    .description('Give an agent a note to remember')
    .argument('<agent>', 'id or name')
    .argument('[content...]', 'the note; without it stdin is read')
    .option('--kind <kind>', 'note or fact', 'note')
    .action(async (agent: string, words: string[], options: Common & ScopeOptions & { kind: FoundMemory['kind'] }) => {
      const item = { content: await readMessage(world, words), kind: options.kind, context: contextOf(options) }
      const { items } = await withClient(world, options, (client) =>
        client.memory.write(agent, { items: [item] }, options),
      )
      printDone(world, items[0], options, `Remembered as ${items[0]?.id}`)
    })

  takesScope(takesService(command.command('clear')))
    .description('Make an agent forget: everything, or what a user, a session or a time names')
    .argument('<agent>', 'id or name')
    .option('--before <when>', 'what is older: a duration such as 30d, or a time')
    .addOption(yesOption())
    .action(async (agent: string, options: Common & ScopeOptions & { before?: string; yes?: boolean }) => {
      const query = {
        user_id: options.user,
        session_id: options.session,
        before: options.before && pointInTime(options.before),
      }
      const isAll = Object.values(query).every((value) => value === undefined)
      await confirm(world, `Clear ${isAll ? 'the whole' : 'this part of the'} memory of ${agent}?`, options)
      const cleared = await withClient(world, options, (client) => client.memory.clear(agent, query, options))
      printDone(world, cleared, options, `Forgot ${counted(cleared.deleted, 'memory', 'memories')}`)
    })

  memoryItems(command, world)
  memoryImport(command, world)
  sessionSummary(command, world)
}

function takesScope(command: Command): Command {
  return command.option('--user <user_id>', 'of this user').option('--session <session_id>', 'of this session')
}

function contextOf({ user, session }: ScopeOptions) {
  return { ...(user !== undefined && { user_id: user }), ...(session !== undefined && { session_id: session }) }
}
