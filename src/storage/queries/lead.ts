import { type ReferenceExpression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import type { CountedList } from './counted-lists.ts'

/** A column to filter by, and the list of the rows that have one value in it. */
export type Lead<Column extends string> = { column: Column; list: CountedList }

type Led<Column extends string> = {
  /** The filter whose list and index serve the query; undefined when there is none. */
  lead: (Lead<Column> & { value: string }) | undefined
  others: { column: Column; value: string }[]
}

/** Of several filters the first of `leads` leads: they are in order, those that fewest rows pass first. */
export function leadOf<Column extends string>(
  leads: readonly Lead<Column>[],
  filter: { [column in Column]?: string | undefined },
): Led<Column> {
  const [lead, ...others] = leads.flatMap(({ column, list }) => {
    const value = filter[column]
    return value === undefined ? [] : [{ column, list, value }]
  })
  return { lead, others }
}

/** The rows that pass all filters. Those that do not lead are expressions, so that no other index is thought of. */
export function whereLed<TB extends keyof Tables, Row, Column extends string>(
  select: SelectQueryBuilder<Tables, TB, Row>,
  { lead, others }: Led<Column>,
): SelectQueryBuilder<Tables, TB, Row> {
  let led = lead ? select.where(lead.column as ReferenceExpression<Tables, TB>, '=', lead.value as never) : select
  for (const { column, value } of others) led = led.where(sql<SqlBool>`${sql.ref(column)} || '' = ${value}`)
  return led
}
