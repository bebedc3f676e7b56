import type { SQL_TYPES, TableColumn } from './column.ts'

type PerEngine<Value> = Partial<Record<keyof typeof SQL_TYPES, Value>>

type TableFacts = {
  key?: readonly string[]
  /** Rows are reached by their whole key and never by another: SQLite need not number them as well. */
  isKeyed?: true
  /** What follows `create index … on …`, by the name of the index. With `unique` before it, it's a unique index. */
  indexes: Readonly<Record<string, string | PerEngine<string>>>
  /** The engine that has the table, if it's one alone. */
  only?: keyof typeof SQL_TYPES
  /** How the table is stored, as SQL. */
  stored: PerEngine<string>
  /** Further statements. They run when all tables are there. */
  also: PerEngine<readonly string[]>
}

type Columns = Readonly<Record<string, TableColumn<unknown>>>

/**
 * A table, described once: from it come the statements that make it on both engines, the type of its rows, and the
 * columns that the journal writes.
 */
export class Table<Described extends Columns = Columns, IndexName extends string = string> {
  /** In the order of the table. SQLite reads through a long text to what stands behind it. */
  readonly columns: Described
  readonly facts: TableFacts
  /** For the compiler alone. */
  declare readonly indexNames: IndexName

  constructor(columns: Described, facts: TableFacts) {
    this.columns = columns
    this.facts = facts
  }

  /** A key of several columns. */
  primaryKey(...key: (keyof Described & string)[]): Table<Described, IndexName> {
    return this.#with({ key })
  }

  /** As above, for rows that are never reached otherwise. */
  keyedBy(...key: (keyof Described & string)[]): Table<Described, IndexName> {
    return this.#with({ key, isKeyed: true })
  }

  indexes<Name extends string>(indexes: Record<Name, string | PerEngine<string>>): Table<Described, Name> {
    return new Table(this.columns, { ...this.facts, indexes })
  }

  only(engine: keyof typeof SQL_TYPES): Table<Described, IndexName> {
    return this.#with({ only: engine })
  }

  stored(stored: PerEngine<string>): Table<Described, IndexName> {
    return this.#with({ stored })
  }

  also(also: PerEngine<readonly string[]>): Table<Described, IndexName> {
    return this.#with({ also })
  }

  #with(facts: Partial<TableFacts>): Table<Described, IndexName> {
    return new Table(this.columns, { ...this.facts, ...facts })
  }
}

export function table<Described extends Columns>(columns: Described): Table<Described, never> {
  return new Table(columns, { indexes: {}, stored: {}, also: {} })
}

/** The rows of tables, as Kysely wants their types. */
export type RowsOf<Tables extends Record<string, { columns: Columns }>> = {
  [Name in keyof Tables]: { [Key in keyof Tables[Name]['columns']]: Tables[Name]['columns'][Key]['type'] }
}
