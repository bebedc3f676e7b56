import { Option } from 'commander'
import type { Pages } from '../../../sdk/client.ts'
import { count } from '../command.ts'
import type { World } from '../world.ts'
import { note } from './output.ts'

export type Limit = { limit: number }

const DEFAULT_LIMIT = 50
const PAGE_LIMIT = 100

export function limitOption(fallback = DEFAULT_LIMIT): Option {
  return new Option('--limit <n>', 'show at most this many').argParser(count).default(fallback)
}

/** The first `limit` items, from as many pages as needed. Says so if there are more. */
export async function gather<T>(
  world: World,
  { limit }: Limit,
  load: (pageLimit: number) => Pages<T>,
  longestPage = PAGE_LIMIT,
): Promise<T[]> {
  const pages = load(Math.min(limit, longestPage))
  const { total, searched_to } = (await pages).pagination
  const items: T[] = []
  for await (const item of pages) {
    items.push(item)
    if (items.length === limit) break
  }
  // A search that stopped early counted only what it had found until then.
  if (searched_to !== undefined && items.length === limit) {
    note(world, `There might be more. Use --limit ${Math.max(total, 2 * limit)}.`, 'dim')
  } else if (total > items.length) {
    note(world, `${total - items.length} more not shown. Use --limit ${total} to see all.`, 'dim')
  }
  return items
}
