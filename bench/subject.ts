import type { Load, LoadResult } from './load.ts'
import type { StoredServer } from './servers.ts'

/** `floor` is no service of ours: `proxy-floor.ts`. */
export type Engine = 'embedded' | 'PostgreSQL' | 'PostgreSQL + Redis' | 'floor'

/** What is measured: one request, repeated, on a server with one engine. */
export type Subject = {
  group: 'models' | 'streams' | 'requests' | 'memory' | 'searching' | 'lists' | 'projects' | 'webhooks' | 'floods'
  name: string
  engine: Engine
  load: Load
  /** What is written through the API before the first measurement. */
  fill?: Fill
  connections?: number
  /** Subjects of one group and engine share a server; those with a store share one that was filled so. */
  store?: Store
  /** Measured for a shorter time: its requests differ little. */
  brief?: boolean
  /** Whether the report shows how much one request adds to the disk. */
  disk?: boolean
  /** The name of the same subject with less in its store. */
  grownFrom?: string
  /** Measures it in another way than by repeating the request for some time. */
  measure?(server: StoredServer): Promise<LoadResult>
}

/** What a server has before anything is measured. If it `restarts`, its start with all of that is measured too. */
export type Store = { name: string; restarts?: boolean; fill(server: StoredServer): Promise<void> }

/** How many memories each of the users gets. */
export type Fill = { users: string[]; memories: number; text(i: number): string; agent?: string; project?: string }
