import type { Generated } from 'kysely'

/** What the engines call the types of columns. PostgreSQL compares text by bytes, as SQLite does, so both sort alike. */
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
  /** What follows the type, as SQL. */
  rules: string
  isKey: boolean
  isNullable: boolean
  only?: SqlEngine
  /** What values of the column mean, if the kind does not say it. */
  format?: 'json' | 'flag' | 'time'
}

/** A column as its table describes it. `Type` is what the code reads and writes there. It has no nulls unless it says so. */
export class TableColumn<Type> {
  /** For the compiler alone. */
  declare readonly type: Type
  readonly facts: ColumnFacts

  constructor(facts: ColumnFacts) {
    this.facts = facts
  }

  get nullable(): TableColumn<Type | null> {
    return new TableColumn({ ...this.facts, isNullable: true })
  }

  /** The key of the table. */
  get primary(): TableColumn<Type> {
    return new TableColumn({ ...this.#with('primary key').facts, isKey: true })
  }

  get unique(): TableColumn<Type> {
    return this.#with('unique')
  }

  /** Few values: the type names them. */
  of<Few extends Type>(): TableColumn<Few> {
    return new TableColumn(this.facts)
  }

  /** Only one engine has it. */
  only(engine: SqlEngine): TableColumn<Type> {
    return new TableColumn({ ...this.facts, only: engine })
  }

  /** For rows that come without a value. It's SQL. */
  default(value: string | number): TableColumn<Generated<Type>> {
    return new TableColumn(this.#with(`default ${value}`).facts)
  }

  /** The row goes when the row of the other table goes. */
  references(table: string, column = 'id'): TableColumn<Type> {
    return this.#with(`references ${table} (${column}) on delete cascade`)
  }

  /** The row of the other table cannot go before this one. */
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
/** An integer key that is never handed out twice. */
export const sequence = columnOf<Generated<number>>('sequence')
