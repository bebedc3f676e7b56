import type { Client } from '../../../sdk/client.ts'
import { agentNames, type NameOf, type PlaceOf, projectNames } from '../connect/known-names.ts'
import { fieldColumn, printRows } from '../terminal/output.ts'
import type { World } from '../world.ts'

/** Finds the names of what a list contains by ID. */
type Look = { agent: NameOf; project: PlaceOf }

type ItemColumn<T> = (keyof T & string) | readonly [title: string, of: (row: T, look: Look) => unknown]

/** The fields to show, or values that are made from them. `agents` and `projects` say which names the values need. */
export type Columns<T> = {
  agents?: (row: T) => string | null
  projects?: true
  /** Columns that are shown only if one of the items has a value. */
  if?: Readonly<Record<string, (row: T) => boolean>>
  of: readonly ItemColumn<T>[]
}

/** Without a definition of columns, an item shows its fields that aren't objects, up to this number. */
const MOST_COLUMNS = 7

export async function printTable<T extends object>(
  world: World,
  client: Client,
  rows: T[],
  columns: Columns<T> | undefined,
  options: { json?: boolean } = {},
): Promise<void> {
  const { agents, projects, of, if: shownIf = {} } = columns ?? { of: plainFields(rows[0]) }
  const shown = of.map((column) => (typeof column === 'string' ? itemField<T>(column) : column))
  const agentOf = agents ?? (of.includes('agent_id' as never) ? agentIdOf : undefined)
  const look: Look = {
    agent: agentOf && !options.json ? await agentNames(client, rows.map(agentOf)) : (id) => id,
    project: projects && !options.json ? await projectNames(client) : (id) => id ?? undefined,
  }
  const wanted = shown.filter(([title]) => shownIf[title] === undefined || rows.some(shownIf[title]))
  printRows(
    world,
    rows,
    wanted.map(([title, value]) => [title, (row: T) => value(row, look)] as const),
    options,
  )
}

function plainFields<T extends object>(row: T | undefined): (keyof T & string)[] {
  const names = Object.entries(row ?? {}).filter(([, value]) => value === null || typeof value !== 'object')
  return names.slice(0, MOST_COLUMNS).map(([name]) => name as keyof T & string)
}

function itemField<T extends object>(name: keyof T & string): [string, (row: T, look: Look) => unknown] {
  const [title, of] = fieldColumn<T>(name)
  return [
    title,
    name !== 'agent_id' ? of : (row, look) => (agentIdOf(row) === null ? 'all' : look.agent(agentIdOf(row) ?? '')),
  ]
}

function agentIdOf(row: object): string | null {
  return (row as { agent_id?: string | null }).agent_id ?? null
}
