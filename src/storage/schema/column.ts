import type { Generated } from 'kysely'

/** The engines' names for the column types. PostgreSQL compares text by bytes as SQLite does, so both sort alike. */
export const SQL_TYPES = {
  sqlite: {
    text: 'text',
    integer: 'integer',
    smallint: 'integer',
    bytes: 'blob',
    sequence: 'integer primary key autoincrement',
  },
  postgres: {
    text: 'text collate "C"',
    integer: 'bigint',
    smallint: 'smallint',
    bytes: 'bytea',
    sequence: 'bigint generated always as identity primary key',
  },
} as const

type SqlEngine = keyof typeof SQL_TYPES

type ColumnFacts = {
  kind: keyof (typeof SQL_TYPES)['sqlite']
  /** The SQL after the type. */
  rules: string
  isKey: boolean
  isNullable: boolean
  only?: SqlEngine
  /** What the column's values mean, if the kind doesn't say it. */
  format?: 'json' | 'flag' | 'time'
}

/**
 * A column as its table describes it. `Type` is the type that the code reads and writes. Nulls are only allowed if the
 * column is `nullable`.
 */
export class TableColumn<Type> {
  /** Exists only for the compiler. */
  declare readonly type: Type
  readonly facts: ColumnFacts

  constructor(facts: ColumnFacts) {
    this.facts = facts
  }

  get nullable(): TableColumn<Type | null> {
    return new TableColumn({ ...this.facts, isNullable: true })
  }

  /** Makes the column the table's key. */
  get primary(): TableColumn<Type> {
    return new TableColumn({ ...this.#with('primary key').facts, isKey: true })
  }

  get unique(): TableColumn<Type> {
    return this.#with('unique')
  }

  /** For a column that has only a few different values, which the type lists. */
  of<Few extends Type>(): TableColumn<Few> {
    return new TableColumn(this.facts)
  }

  /** For a column that only one engine has. */
  only(engine: SqlEngine): TableColumn<Type> {
    return new TableColumn({ ...this.facts, only: engine })
  }

  /** The value, as SQL, for rows that don't set one. */
  default(value: string | number): TableColumn<Generated<Type>> {
    return new TableColumn(this.#with(`default ${value}`).facts)
  }

  /** Deletes the row together with the other table's row. */
  references(table: string, column = 'id'): TableColumn<Type> {
    return this.#with(`references ${table} (${column}) on delete cascade`)
  }

  /** Prevents the other table's row from being deleted before this one. */
  needs(table: string, column = 'id'): TableColumn<Type> {
    return this.#with(`references ${table} (${column})`)
  }

  #with(rule: string): TableColumn<Type> {
    return new TableColumn({ ...this.facts, rules: `${this.facts.rules} ${rule}` })
  }
}

function columnOf<Type>(kind: ColumnFacts['kind'], format?: ColumnFacts['format']): TableColumn<Type> {
  return new TableColumn({ kind, rules: '', isKey: kind === 'sequence', isNullable: false, ...(format && { format }) })
}

export const text = columnOf<string>('text')
export const json = columnOf<string>('text', 'json')
export const integer = columnOf<number>('integer')
export const smallint = columnOf<number>('smallint')
/** 0 or 1. */
export const flag = columnOf<number>('integer', 'flag')
/** In milliseconds since the epoch. */
export const time = columnOf<number>('integer', 'time')
export const bytes = columnOf<Uint8Array>('bytes')
/** An integer key that is never reused. */
export const sequence = columnOf<Generated<number>>('sequence')
