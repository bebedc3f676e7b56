import type { SQL_TYPES, TableColumn } from './column.ts'

type PerEngine<Value> = Partial<Record<keyof typeof SQL_TYPES, Value>>

type TableFacts = {
  key?: readonly string[]
  /** Set if rows are always looked up by their whole key, so SQLite doesn't need to number them. */
  isKeyed?: true
  /** The SQL after `create index … on …`, by index name. If it starts with `unique`, the index is unique. */
  indexes: Readonly<Record<string, string | PerEngine<string>>>
  /** The engine that has the table, if only one has it. */
  only?: keyof typeof SQL_TYPES
  /** How the table is stored, as SQL. */
  stored: PerEngine<string>
  /** Further statements, which run when all tables have been created. */
  also: PerEngine<readonly string[]>
}

type Columns = Readonly<Record<string, TableColumn<unknown>>>

/**
 * A table, described in one place. The statements that create it on both engines, the type of its rows and the columns
 * that the journal writes are derived from this description.
 */
export class Table<Described extends Columns = Columns, IndexName extends string = string> {
  /** In the table's order. SQLite reads through a long text to reach the columns after it. */
  readonly columns: Described
  readonly facts: TableFacts
  /** Exists only for the compiler. */
  declare readonly indexNames: IndexName

  constructor(columns: Described, facts: TableFacts) {
    this.columns = columns
    this.facts = facts
  }

  /** Makes several columns the table's key. */
  primaryKey(...key: (keyof Described & string)[]): Table<Described, IndexName> {
    return this.#with({ key })
  }

  /** The same, for rows that are only looked up by this key. */
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

/** The types of the tables' rows, as Kysely needs them. */
export type RowsOf<Tables extends Record<string, { columns: Columns }>> = {
  [Name in keyof Tables]: { [Key in keyof Tables[Name]['columns']]: Tables[Name]['columns'][Key]['type'] }
}
