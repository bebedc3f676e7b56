import type { Engine } from '../database.ts'
import { SQL_TYPES, type TableColumn } from './column.ts'
import type { Table } from './described-table.ts'

/** The statements that create the described tables, with everything that belongs to them, in an empty database. */
export function schemaStatements(engine: Engine, tables: Readonly<Record<string, Table>>): string[] {
  const described = Object.entries(tables).filter(([, { facts }]) => (facts.only ?? engine) === engine)
  return [
    ...described.flatMap(([name, table]) => [
      tableStatement(engine, name, table),
      ...indexStatements(engine, name, table),
    ]),
    ...described.flatMap(([, { facts }]) => facts.also[engine] ?? []),
  ]
}

function tableStatement(engine: Engine, name: string, { columns, facts }: Table): string {
  const parts = Object.entries(columns)
    .filter(([, column]) => (column.facts.only ?? engine) === engine)
    .map(([columnName, column]) => `"${columnName}" ${columnTerms(engine, column)}`)
  if (facts.key) parts.push(`primary key (${facts.key.join(', ')})`)
  const rowid = engine === 'sqlite' && facts.isKeyed ? ' without rowid' : ''
  return `create table ${name} (\n  ${parts.join(',\n  ')}\n)${rowid}${facts.stored[engine] ?? ''}`
}

function columnTerms(engine: Engine, { facts: { kind, isNullable, rules } }: TableColumn<unknown>): string {
  return `${SQL_TYPES[engine][kind]}${isNullable ? '' : ' not null'}${rules}`
}

function indexStatements(engine: Engine, table: string, { facts }: Table): string[] {
  return Object.entries(facts.indexes).flatMap(([name, terms]) => {
    const words = typeof terms === 'string' ? terms : terms[engine]
    if (words === undefined) return []
    const [unique, rest] = words.startsWith('unique ') ? ['unique ', words.slice('unique '.length)] : ['', words]
    return [`create ${unique}index ${name} on ${table} ${rest}`]
  })
}
