import type { System } from '../../../sdk/client.ts'
import { type Resource, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText, shortText } from '../../lib/text/format.ts'
import { Facts } from '../../ui/data/facts.tsx'
import { Sparkline } from '../../ui/data/sparkline.tsx'
import { Status } from '../../ui/data/status.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Failure } from '../../ui/failure.tsx'

type Queue = System['queues'][number]

const QUEUES: Column<Queue>[] = [
  { title: 'Queue', cell: ({ queue }) => queue },
  { title: 'Waiting', isNumber: true, cell: ({ waiting }) => countText(waiting) },
  { title: 'In progress', isNumber: true, cell: ({ leased }) => countText(leased) },
  { title: 'Oldest', isNumber: true, cell: ({ oldest }) => (oldest ? <Ago time={oldest} /> : '–') },
]

const MEGABYTE = 1024 * 1024

const megabytes = (bytes: number) => `${countText(Math.ceil(bytes / MEGABYTE))} MB`

type Node = System['nodes'][number]

/** The first characters are enough to tell nodes apart. */
const SHORT_NAME = /^\w+:\w{8}/

const nodeColumns = (answering: string): Column<Node>[] => [
  {
    title: 'Node',
    cell: ({ node }) => (
      <>
        <code title={node}>{SHORT_NAME.exec(node)?.[0] ?? node}</code>
        {node === answering && <span class="soft"> this one</span>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  { title: 'Version', isExtra: true, cell: versionText },
  { title: 'Runs', isNumber: true, cell: ({ runs_live }) => countText(runs_live) },
  { title: 'Busy', isNumber: true, isExtra: true, cell: ({ busy_percent }) => `${busy_percent}%` },
  { title: 'Memory', isNumber: true, isExtra: true, cell: ({ memory_bytes }) => megabytes(memory_bytes) },
  { title: 'Started', isNumber: true, isExtra: true, cell: ({ started_at }) => <Ago time={started_at} /> },
  { title: 'Seen', isNumber: true, cell: ({ seen_at }) => <Ago time={seen_at} /> },
]

function versionText({ version, commit }: Pick<System, 'version' | 'commit'>): string {
  return commit ? `${version} (${commit.slice(0, 12)})` : version
}

/** The service's health, and the growth of its store. */
export function StateView() {
  const system = useResource('system', (signal) => service.system.get({ signal }), { everyMs: 10_000 })
  const found = system.data
  return (
    <>
      <Failure error={system.error} retry={system.reload} />
      {found && (
        <>
          <Facts
            of={{
              Health: <Status value={healthOf(system)} />,
              Version: versionText(found),
              Schema: found.schema.current,
              Store: found.engine === 'postgres' ? 'PostgreSQL' : 'SQLite',
              'Database size': (
                <>
                  {megabytes(found.storage.bytes)}{' '}
                  <span class="soft">
                    measured <Ago time={found.storage.measured_at} />
                  </span>
                </>
              ),
            }}
          />
          <div class="section-head">
            <h2>Nodes</h2>
          </div>
          <Table label="Nodes" columns={nodeColumns(found.node)} rows={found.nodes} keyOf={({ node }) => node} />
          <div class="section-head">
            <h2>Queues</h2>
          </div>
          <Table label="Queues" columns={QUEUES} rows={found.queues} keyOf={({ queue }) => queue} />
          <div class="section-head">
            <h2>Stored data</h2>
          </div>
          <Growth storage={found.storage} />
        </>
      )}
    </>
  )
}

/** The last reply may be old, and a node may have died since. */
function healthOf({ error, data }: Resource<System>): string {
  if (error) return 'unknown'
  return data?.nodes.some(({ status }) => status === 'silent') ? 'degraded' : 'healthy'
}

type Row = { kind: string; rows: number; days: number[] | undefined }

const KINDS: Column<Row>[] = [
  { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { title: 'Rows', isNumber: true, cell: ({ rows }) => countText(rows) },
  {
    title: 'Last 30 days',
    isExtra: true,
    cell: ({ kind, days }) =>
      days && <Sparkline values={days} label={`${kind.replaceAll('_', ' ')} of the last 30 days`} />,
  },
  { title: 'Today', isNumber: true, cell: ({ days }) => (days ? shortText(days.at(-1) ?? 0) : '') },
]

function Growth({ storage: { rows, days } }: { storage: System['storage'] }) {
  const daysOf = (kind: string) =>
    kind === 'invocations' || kind === 'logs' || kind === 'audit_log' ? days.map((day) => day[kind]) : undefined
  const kinds = Object.entries(rows).map(([kind, count]) => ({ kind, rows: count, days: daysOf(kind) }))
  return <Table label="Stored data" columns={KINDS} rows={kinds} keyOf={({ kind }) => kind} />
}
