import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Client, LogEntry, RequestOptions } from '../../../../sdk/client.ts'
import { visible, visibleLine } from '../../../lib/text/visible.ts'
import { integer, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { patiently } from '../../connect/patiently.ts'
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
/** Entries are stored when their run ends, with the times at which they were made. A run may take ten minutes. */
const LATE_MS = 610_000

export function logs(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'id or name')
    .option('-f, --follow', 'go on as entries come; Ctrl-C ends it')
    .option('--level <levels>', 'debug, info, warn, error; several with commas')
    .option('--since <when>', 'a duration such as 15m, or a time')
    .option('--until <when>', 'the same')
    .option('--request <request_id>', 'of one invocation')
    .option('--search <text>', 'whose message or metadata hold this')
    .option('-n, --limit <n>', 'the latest so many', integer, 100)
    .action(async (agent: string, options: LogOptions) => {
      if (options.limit === 0 && !options.follow) throw usage('--limit must be 1 or more, or 0 with --follow')
      await withClient(world, options, async (client) => {
        // These are read before the latest entries, so that an entry that arrives between the two is printed once.
        const known = options.follow ? await recentLogs(client, agent, options) : []
        const entries = await latest(world, client, agent, options)
        if (options.json && !options.follow) return printJson(world, entries)
        if (entries.length === 0 && !options.follow) return note(world, 'none')
        for (const entry of entries) printEntry(world, entry, options)
        if (options.follow) await followLogs(world, client, agent, options, known, entries)
      })
    })
}

/** The latest entries that match, oldest first. */
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

/** All entries from the period in which a new entry can still appear after `since`, oldest first. */
export async function recentLogs(
  client: Client,
  agent: string,
  options: FollowOptions,
  { since = Date.now(), ...request }: RequestOptions & { since?: number } = {},
): Promise<LogEntry[]> {
  const { level, request: request_id, search } = options
  const start_time = new Date(since - LATE_MS).toISOString()
  const { data } = await client.logs.list(agent, { level, request_id, search, start_time, limit: PAGE_LIMIT }, request)
  return data.toReversed()
}

/** Prints new entries as they come, except those in `known`, until Ctrl-C. */
export async function followLogs(
  world: World,
  client: Client,
  agent: string,
  options: FollowOptions,
  ...known: LogEntry[][]
): Promise<never> {
  let seen = known.map(countOf)
  let since = Date.now()
  for (;;) {
    await sleep(POLL_MS, undefined, { signal: world.signal })
    // It starts from the last look, however long the service was away.
    const look = () => recentLogs(client, agent, options, { since, retries: 0 })
    const entries = await patiently(world, look)
    since = Date.now()
    for (const [id, entry, nth] of numbered(entries)) {
      if (!seen.some((counts) => (counts.get(id) ?? 0) >= nth)) printEntry(world, entry, options)
    }
    seen = [countOf(entries)]
  }
}

/** Equal entries are numbered, so that two of them still count as two. */
function* numbered(entries: LogEntry[]): Iterable<[string, LogEntry, number]> {
  const counts = new Map<string, number>()
  for (const entry of entries) {
    const id = JSON.stringify(entry)
    const nth = (counts.get(id) ?? 0) + 1
    counts.set(id, nth)
    yield [id, entry, nth]
  }
}

function countOf(entries: LogEntry[]): Map<string, number> {
  return new Map([...numbered(entries)].map(([id, , nth]) => [id, nth]))
}

const COLORS = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' } as const

function printEntry(world: World, entry: LogEntry, { json }: { json?: boolean | undefined }): void {
  if (json) return print(world, JSON.stringify(entry))
  const { timestamp, level, message, metadata } = entry
  const { request_id, ...rest } = metadata
  const details = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : ''
  const head = paint(world, 'stdout', 'dim', timestamp)
  const tail = paint(world, 'stdout', 'dim', visibleLine(`${details} ${request_id}`))
  // Further lines of a message are indented, so that none can be taken for an entry.
  const said = visible(message).replaceAll('\n', '\n  ')
  printPainted(world, `${head} ${paint(world, 'stdout', COLORS[level], level.padEnd(5))} ${said}${tail}`)
}
