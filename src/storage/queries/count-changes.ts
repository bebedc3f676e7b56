import type { Engine } from '../database.ts'
import { type MergedColumns, mergeRows } from '../journal/merge-rows.ts'
import type { Value } from '../journal/rows.ts'
import type { SqliteStatement } from '../sqlite/sqlite-messages.ts'
import { type CountedList, NO_QUARTER, QUARTER_MS } from './counted-lists.ts'

const KEY = 'list, owner, part, quarter'
const ADD = `on conflict (${KEY}) do update set count = list_counts.count + excluded.count`

/** Rows that are counted: of a table, or with `row` the one row that SQLite has at hand in a trigger. */
type Source = { from: string } | { row: 'new' | 'old' }

/** One row for each count that these rows are in. */
function countText(lists: readonly CountedList[], source: Source, count: 1 | -1): string {
  const of = 'row' in source ? `${source.row}.` : ''
  const from = 'row' in source ? '' : ` from ${source.from}`
  const selects = lists.map(({ name, owner, part, order, byTime, except }) => {
    const whose = owner.map((column) => `cast(${of}${column} as text)`).join(` || ' ' || `) || `''`
    const conditions = owner.map((column) => `${of}${column} is not null`)
    if (except) conditions.push(`${of}${except.column} <> '${except.value}'`)
    const given = conditions.join(' and ') || 'true'
    const quarter = byTime ? `${of}${order} / ${QUARTER_MS}` : NO_QUARTER
    return `select '${name}' as list, ${whose} as owner, cast(${of}${part} as text) as part, ${quarter} as quarter, ${count} as count${from} where ${given}`
  })
  return selects.join(' union all ')
}

/** Adds up counts and writes them in the order of their keys, so that nodes lock the same rows in the same order. */
function addText(counts: string): string {
  return `insert into list_counts (${KEY}, count)
    select ${KEY}, sum(count) from (${counts}) as changes
    group by ${KEY} having sum(count) <> 0 order by ${KEY} ${ADD}`
}

/** Removes counts that have become 0. Otherwise the name of a user who was erased would stay in the key. */
function clearText(counts: string): string {
  return `delete from list_counts where count = 0 and (${KEY}) in (select ${KEY} from (${counts}) as gone)`
}

/** Counts all rows of a table's lists, which have no counts yet. */
export function countAllText(list: CountedList): string {
  return addText(countText([list], { from: list.table }, 1))
}

/**
 * The triggers of one table's lists. On SQLite they work row by row, which would cost every invocation several microseconds:
 * if `insertsCounted` is false, the code that inserts the rows must count them with `countInserted`.
 */
export function countTriggers(
  engine: Engine,
  lists: readonly CountedList[],
  { insertsCounted }: { insertsCounted: boolean },
): string[] {
  const table = lists[0]?.table as string
  return engine === 'postgres' ? postgresTriggers(table, lists) : sqliteTriggers(table, lists, insertsCounted)
}

const CHANGES = ['insert', 'update', 'delete'] as const

function postgresTriggers(table: string, lists: readonly CountedList[]): string[] {
  const seen = {
    insert: 'new table as new_rows',
    update: 'old table as old_rows new table as new_rows',
    delete: 'old table as old_rows',
  }
  const triggers = CHANGES.map(
    (change) => `create trigger ${table}_counted_${change} after ${change} on ${table} referencing ${seen[change]}
      for each statement execute function count_${table}_${change}()`,
  )
  return [...postgresFunctions(table, lists), ...triggers]
}

function postgresFunctions(table: string, lists: readonly CountedList[]): string[] {
  const added = countText(lists, { from: 'new_rows' }, 1)
  const removed = countText(lists, { from: 'old_rows' }, -1)
  const work = {
    insert: `${addText(added)};`,
    update: `${addText(`${added} union all ${removed}`)}; ${clearText(removed)};`,
    delete: `${addText(removed)}; ${clearText(removed)};`,
  }
  return CHANGES.map(
    (change) =>
      `create or replace function count_${table}_${change}() returns trigger language plpgsql as $$ begin ${work[change]} return null; end $$`,
  )
}

function sqliteTriggers(table: string, lists: readonly CountedList[], insertsCounted: boolean): string[] {
  const added = countText(lists, { row: 'new' }, 1)
  const removed = countText(lists, { row: 'old' }, -1)
  const add = (counts: string) => `insert into list_counts (${KEY}, count) ${counts} ${ADD};`
  const columns = [...new Set(lists.flatMap(({ owner, part }) => [...owner, part]))]
  const changed = columns.map((column) => `old.${column} is not new.${column}`).join(' or ')
  return [
    ...(insertsCounted
      ? [`create trigger ${table}_counted_insert after insert on ${table} begin ${add(added)} end`]
      : []),
    `create trigger ${table}_counted_update after update of ${columns.join(', ')} on ${table} when ${changed}
      begin ${add(added)} ${add(removed)} ${clearText(removed)}; end`,
    `create trigger ${table}_counted_delete after delete on ${table} begin ${add(removed)} ${clearText(removed)}; end`,
  ]
}

/** The columns of a row of `list_counts`. */
const COUNTED: MergedColumns = { key: [0, 1, 2, 3], add: [4], max: [] }

/**
 * Counts rows on their way into a table, for SQLite. Neighbours are mostly alike, so they are counted together.
 * PostgreSQL's triggers see all rows of a statement at once, and count them there.
 */
export function countInserted(lists: readonly CountedList[], columns: readonly string[]) {
  const at = (column: string) => columns.indexOf(column)
  const counted = lists.map(({ name, owner, part, order, byTime, except }) => {
    const excepted = except && { place: at(except.column), value: except.value }
    return { name, owner: owner.map(at), part: at(part), time: byTime ? at(order) : undefined, excepted }
  })
  const sql = `insert into list_counts (${KEY}, count) values (?, ?, ?, ?, ?) ${ADD}`

  return (rows: Value[][]): SqliteStatement => {
    const counts: Value[][] = []
    for (const { name, owner, part, time, excepted } of counted) {
      const isAlike = (a: Value[], b: Value[]) =>
        a[part] === b[part] &&
        owner.every((place) => a[place] === b[place]) &&
        quarterOf(a, time) === quarterOf(b, time)
      let first = 0
      for (let i = 1; i <= rows.length; i++) {
        const [row, next] = [rows[first] as Value[], rows[i]]
        if (next && isAlike(row, next)) continue
        const isIn = !excepted || row[excepted.place] !== excepted.value
        if (isIn && owner.every((place) => row[place] !== null)) {
          const whose = owner.map((place) => row[place]).join(' ')
          counts.push([name, whose, String(row[part]), quarterOf(row, time), i - first])
        }
        first = i
      }
    }
    return { sql, values: mergeRows(counts, COUNTED), many: true }
  }
}

function quarterOf(row: Value[], time: number | undefined): number {
  return time === undefined ? NO_QUARTER : Math.floor(Number(row[time]) / QUARTER_MS)
}
