import type { Command } from 'commander'
import type { Memory } from '../../../../sdk/client.ts'
import { takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { parseJson, pointInTime } from '../../terminal/input.ts'
import { type Column, printDone, printRecord } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Memory>[] = [
  { title: 'ID', of: (memory) => memory.id },
  { title: 'KIND', of: (memory) => memory.role ?? memory.kind },
  { title: 'USER', of: (memory) => memory.user_id },
  { title: 'SESSION', of: (memory) => memory.session_id },
  { title: 'CREATED', of: (memory) => memory.created_at },
  { title: 'CONTENT', of: (memory) => memory.content },
]

type ListOptions = Common &
  Limit & { user?: string; session?: string; kind?: Memory['kind']; before?: string; after?: string }

type Changes = Common & { kind?: Memory['kind']; role?: 'user' | 'assistant'; metadata?: string; createdAt?: string }

/** Commands for single memories. */
export function memoryItems(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List what an agent remembers, the newest first')
    .argument('<agent>', 'id or name')
    .addOption(limitOption(20))
    .option('--user <user_id>', 'of this user')
    .option('--session <session_id>', 'of this session')
    .option('--kind <kind>', 'turn, fact or note')
    .option('--before <when>', 'what is older: a duration such as 30d, or a time')
    .option('--after <when>', 'what is newer: a duration such as 30d, or a time')
    .action(async (agent: string, options: ListOptions) => {
      const query = {
        user_id: options.user,
        session_id: options.session,
        kind: options.kind,
        before: options.before && pointInTime(options.before),
        after: options.after && pointInTime(options.after),
      }
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.memory.list(agent, { ...query, limit })),
      )
    })

  takesService(command.command('get'))
    .description('Show a memory')
    .argument('<agent>', 'id or name')
    .argument('<memory_id>')
    .action(async (agent: string, id: string, options: Common) => {
      printRecord(world, await withClient(world, options, (client) => client.memory.get(agent, id)), options)
    })

  takesService(command.command('update'))
    .description('Change a memory')
    .argument('<agent>', 'id or name')
    .argument('<memory_id>')
    .argument('[content...]', 'what it says from now on')
    .option('--kind <kind>', 'turn, fact or note')
    .option('--role <role>', 'user or assistant')
    .option('--metadata <json>', 'in place of what it has')
    .option('--created-at <time>', 'when it was said')
    .action(async (agent: string, id: string, words: string[], options: Changes) => {
      const body = {
        ...(words.length > 0 && { content: words.join(' ') }),
        ...(options.kind !== undefined && { kind: options.kind }),
        ...(options.role !== undefined && { role: options.role }),
        ...(options.metadata !== undefined && {
          metadata: parseJson(options.metadata, '--metadata') as Memory['metadata'],
        }),
        ...(options.createdAt !== undefined && { created_at: options.createdAt }),
      }
      if (Object.keys(body).length === 0) throw usage('Say what to change: its content, or an option')
      const updated = await withClient(world, options, (client) => client.memory.update(agent, id, body, options))
      printDone(world, updated, options, `Changed ${updated.id}`)
    })

  takesService(command.command('delete'))
    .alias('rm')
    .description('Make an agent forget one memory')
    .argument('<agent>', 'id or name')
    .argument('<memory_id>')
    .addOption(yesOption())
    .action(async (agent: string, id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete the memory ${id} of ${agent}?`, options)
      const deleted = await withClient(world, options, (client) => client.memory.delete(agent, id, options))
      printDone(world, deleted, options, `Forgot ${deleted.id}`)
    })
}
