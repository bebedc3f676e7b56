import type { System } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Failure } from '../../ui/failure.tsx'

type Setting = System['settings'][number]

const COLUMNS: Column<Setting>[] = [
  { title: 'Setting', cell: ({ setting }) => <code>{setting}</code> },
  { title: 'Value', isWide: true, cell: ({ value }) => valueOf(value) },
  { title: 'Set by', isExtra: true, cell: ({ origin }) => origin ?? <span class="soft">default</span> },
]

/** A setting as people write it: text without quotes, and a word for unset values. */
function valueOf(value: unknown) {
  if (value === null || value === undefined) return <span class="soft">not set</span>
  if (value === '') return <span class="soft">empty</span>
  return <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
}

/** The current configuration. The service itself leaves out secrets. */
export function SettingsView() {
  const system = useResource('system', (signal) => service.system.get({ signal }))
  const own = (system.data?.settings ?? []).toSorted((a, b) => Number(b.origin !== null) - Number(a.origin !== null))
  return (
    <>
      <Failure error={system.error} retry={system.reload} />
      <Table label="Configuration" columns={COLUMNS} rows={system.data && own} keyOf={({ setting }) => setting} />
    </>
  )
}
