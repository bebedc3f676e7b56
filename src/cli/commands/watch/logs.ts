import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Client, LogEntry } from '../../../../sdk/client.ts'
import { visible, visibleLine } from '../../../lib/text/visible.ts'
import { integer, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { patiently } from '../../connect/service-client.ts'
import { usage } from '../../failure.ts'
import { gather } from '../../terminal/gather.ts'
import { pointInTime } from '../../terminal/input.ts'
import { note, paint, print, printJson, printPainted } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type LogOptions = Common & {
  follow?: boolean
  level?: string
  since?: string
  until?: string
  request?: string
  search?: string
  limit: number
}

const POLL_MS = 1000
const PAGE_LIMIT = 1000

export function logs(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'ID or name')
    .option('-f, --follow', 'follow new entries (Ctrl-C to stop)')
    .option('--level <levels>', 'debug, info, warn or error; several with commas')
    .option('--since <when>', 'a duration such as 15m, or a time')
    .option('--until <when>', 'a duration, or a time')
    .option('--request <request_id>', 'only entries of this invocation')
    .option('--search <text>', 'only entries whose message or metadata contains this text')
    .option('-n, --limit <n>', 'show at most this many of the latest entries', integer, 100)
    .action(async (agent: string, options: LogOptions) => {
      if (options.limit === 0 && !options.follow) throw usage('--limit must be 1 or more, or 0 with --follow')
      await withClient(world, options, async (client) => {
        // Read before the latest entries, so no entry that arrives in between is missed.
        const end = options.follow ? await findEnd(client, agent) : ''
        const entries = await latest(world, client, agent, options)
        if (options.json && !options.follow) return printJson(world, entries)
        if (entries.length === 0 && !options.follow) return note(world, 'none')
        for (const entry of entries) printEntry(world, entry, options)
        if (options.follow) await followLogs(world, client, agent, options, end, entries)
      })
    })
}

/** The latest matching entries, oldest first. */
async function latest(world: World, client: Client, agent: string, options: LogOptions): Promise<LogEntry[]> {
  if (options.limit === 0) return []
  const query = {
    level: options.level,
    start_time: options.since && pointInTime(options.since),
    end_time: options.until && pointInTime(options.until),
    request_id: options.request,
    search: options.search,
  }
  const load = (limit: number) => client.logs.list(agent, { ...query, limit })
  const found = await gather(world, options, load, PAGE_LIMIT)
  return found.toReversed()
}

type FollowOptions = Pick<LogOptions, 'level' | 'request' | 'search' | 'json'>

/** The current end of the log. Entries that are stored later come after it. */
export async function findEnd(client: Client, agent: string): Promise<string> {
  const { pagination } = await client.logs.list(agent, { after: 'latest' })
  return pagination.next_after ?? ''
}

/** Prints each entry that is stored after `end`, until Ctrl-C. Those in `printed` are left out. */
export async function followLogs(
  world: World,
  client: Client,
  agent: string,
  { level, request: request_id, search, json }: FollowOptions,
  end: string,
  printed: readonly LogEntry[] = [],
): Promise<never> {
  const known = new Set(printed.map(({ id }) => id))
  let after = end
  for (;;) {
    const query = { level, request_id, search, after, limit: PAGE_LIMIT }
    // Continues from the last request, no matter how long the service was unavailable.
    const { data, pagination } = await patiently(world, async () => client.logs.list(agent, query, { retries: 0 }))
    for (const entry of data) if (!known.has(entry.id)) printEntry(world, entry, { json })
    after = pagination.next_after ?? after
    if (!pagination.has_more) await sleep(POLL_MS, undefined, { signal: world.signal })
  }
}

const COLORS = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' } as const

function printEntry(world: World, entry: LogEntry, { json }: { json?: boolean | undefined }): void {
  if (json) return print(world, JSON.stringify(entry))
  const { timestamp, level, message, metadata } = entry
  const { request_id, ...rest } = metadata
  const details = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : ''
  const head = paint(world, 'stdout', 'dim', timestamp)
  const tail = paint(world, 'stdout', 'dim', visibleLine(`${details} ${request_id}`))
  // Further lines of a message are indented, so none can be mistaken for an entry.
  const said = visible(message).replaceAll('\n', '\n  ')
  printPainted(world, `${head} ${paint(world, 'stdout', COLORS[level], level.padEnd(5))} ${said}${tail}`)
}
