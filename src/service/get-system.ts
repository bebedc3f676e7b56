import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { Time } from '../shapes.ts'
import { readSchemaVersions } from '../storage/schema/migrate.ts'
import { listBacklogs } from './store.ts'

const Commit = z.string().nullable().describe('The git commit that it was built from, if known')

const System = z
  .object({
    version: z.string(),
    commit: Commit,
    schema: z
      .object({
        current: z.string().describe("The database's latest migration"),
        supported_from: z.string().describe('The oldest schema that this version can migrate'),
      })
      .describe("Versions of the database's schema, by the names of migrations"),
    node: z.string().describe('The process that answered, one of those that share the database'),
    engine: z.enum(['sqlite', 'postgres']),
    started_at: Time.describe('When this process started'),
    now: Time.describe("The service's clock"),
    runs_live: z.int().describe('Active runs on this node'),
    nodes: z
      .array(
        z.object({
          node: z.string(),
          status: z
            .enum(['live', 'silent'])
            .describe('silent: it has not reported for 7 seconds, and other nodes take over its work'),
          version: z.string(),
          commit: Commit,
          started_at: Time,
          seen_at: Time.describe('When it last reported; every second'),
          runs_live: z.int(),
          busy_percent: z.int().describe('The share of the last half minute in which its event loop was busy'),
          memory_bytes: z.int(),
        }),
      )
      .describe('The processes that use this database, including those that stopped unexpectedly in the last hour'),
    queues: z
      .array(
        z.object({
          queue: z.enum(['runs', 'deliveries', 'jobs']),
          waiting: z.int(),
          leased: z.int().describe('In progress on a node'),
          oldest: Time.nullable().describe('When the oldest of them started waiting'),
        }),
      )
      .describe('On all nodes'),
    storage: z.object({
      measured_at: Time.describe(
        'When the sizes were measured. In a large database, this happens every hour, and when they are requested and older than a minute',
      ),
      bytes: z.int().describe('Database size'),
      rows: z.record(z.string(), z.int()).describe('How many rows there are of each kind of data'),
      days: z
        .array(z.object({ day: z.iso.date(), invocations: z.int(), logs: z.int(), audit_log: z.int() }))
        .describe('How many of these rows are from each of the last 30 days in UTC, oldest first'),
    }),
    settings: z
      .array(z.object({ setting: z.string(), value: z.unknown(), origin: z.string().nullable() }))
      .describe("This node's current configuration; secrets appear as `(set)`"),
  })
  .meta({ id: 'System' })

type SystemNeeds = Needs<'db' | 'storage' | 'live' | 'node' | 'nodes' | 'settings' | 'sizes' | 'version' | 'now'>

export const getSystem = operation({
  id: 'getSystem',
  method: 'GET',
  path: '/v1/system',
  summary: 'Get service status',
  description:
    "Returns the version, nodes, queues, the database's size and growth, and the current configuration without its secrets. Requires access to all projects.",
  access: { permission: 'manage', reach: 'operator' },
  answer: { data: System },

  async run(_input, { db, storage, live, node, nodes, settings, sizes, version, now }: SystemNeeds) {
    const time = now()
    const [serving, queues, measured, schema] = await Promise.all([
      nodes.list(),
      listBacklogs(db, time),
      sizes(),
      readSchemaVersions(db),
    ])
    return {
      ...version,
      schema,
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
