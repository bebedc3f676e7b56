import { z } from 'zod'
import project from '../../package.json' with { type: 'json' }
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { Time } from '../shapes.ts'
import { listBacklogs } from './store.ts'

const System = z
  .object({
    version: z.string(),
    node: z.string().describe('The process that answered, among those that share the database'),
    engine: z.enum(['sqlite', 'postgres']),
    started_at: Time.describe('When this process started'),
    now: Time.describe("The service's clock"),
    runs_live: z.int().describe('Runs under way on this node'),
    nodes: z
      .array(
        z.object({
          node: z.string(),
          status: z
            .enum(['live', 'silent'])
            .describe('silent: it has told nothing for 7 seconds, and others take over its work'),
          version: z.string(),
          started_at: Time,
          seen_at: Time.describe('When it last told; every second'),
          runs_live: z.int(),
          busy_percent: z.int().describe('How much of the last half minute its event loop worked'),
          memory_bytes: z.int(),
        }),
      )
      .describe('The processes that serve this database; those that were killed for an hour'),
    queues: z
      .array(
        z.object({
          queue: z.enum(['runs', 'deliveries', 'jobs']),
          waiting: z.int(),
          leased: z.int().describe('In the hands of a node'),
          oldest: Time.nullable().describe('Since when the oldest waits'),
        }),
      )
      .describe('Of all nodes'),
    storage: z.object({
      measured_at: Time.describe(
        'In a large store earlier than now: it is counted every hour, and again when it is asked for after a minute',
      ),
      bytes: z.int().describe('Size of the database'),
      rows: z.record(z.string(), z.int()).describe('How many rows each kind of data has'),
      days: z
        .array(z.object({ day: z.iso.date(), invocations: z.int(), logs: z.int(), audit_log: z.int() }))
        .describe('The rows that are kept of each of the last 30 days in UTC, oldest first'),
    }),
    settings: z
      .array(z.object({ setting: z.string(), value: z.unknown(), origin: z.string().nullable() }))
      .describe('The configuration in force on this node; secrets appear as `(set)`'),
  })
  .meta({ id: 'System' })

type SystemNeeds = Needs<'db' | 'storage' | 'live' | 'node' | 'nodes' | 'settings' | 'sizes' | 'now'>

export const getSystem = operation({
  id: 'getSystem',
  method: 'GET',
  path: '/v1/system',
  summary: 'Get the state of the service',
  description:
    'Version, nodes, queues, size of the database and how it grows, and the configuration in force without its secrets. For a key for the whole service.',
  permission: 'manage',
  reach: 'operator',
  data: System,

  async run(_input, { db, storage, live, node, nodes, settings, sizes, now }: SystemNeeds) {
    const time = now()
    const [serving, queues, measured] = await Promise.all([nodes.list(), listBacklogs(db, time), sizes()])
    return {
      version: project.version,
      node,
      engine: storage.engine,
      started_at: Math.round(performance.timeOrigin),
      now: time,
      runs_live: live.all().length,
      nodes: serving,
      queues,
      storage: measured,
      settings: settings().map(({ path, value, origin }) => ({
        setting: path,
        value: (value ?? null) as z.input<typeof System>['settings'][number]['value'],
        origin,
      })),
    }
  },
})
