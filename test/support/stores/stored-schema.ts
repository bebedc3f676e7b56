import { sql } from 'kysely'
import { type Database, engineOf } from '../../../src/storage/database.ts'

/**
 * A store's schema as lines of text: what the engine itself reports about columns, keys, indexes, triggers and
 * functions, and SQLite's statistics. Columns are listed without their position, because a migration adds columns at
 * the end.
 */
export async function storedSchema(db: Database): Promise<string[]> {
  const queries = engineOf(db) === 'postgres' ? OF_POSTGRES : OF_SQLITE
  const lines: string[] = []
  for (const query of queries) {
    const { rows } = await sql<{ line: string }>`${sql.raw(query)}`.execute(db)
    lines.push(...rows.map(({ line }) => line.replace(/\s+/g, ' ')))
  }
  return lines.toSorted()
}

const TABLES = `(select name, wr from pragma_table_list where schema = 'main' and type = 'table'
  and name not like 'sqlite%' and name <> 'migrations')`

const OF_SQLITE = [
  `select format('column %s.%s %s notnull=%d default=%s key=%d', t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk) as line
    from ${TABLES} t join pragma_table_xinfo(t.name) c`,
  `select format('reference %s.%s %s.%s %s', t.name, f."from", f."table", f."to", f.on_delete) as line
    from ${TABLES} t join pragma_foreign_key_list(t.name) f`,
  `select format('unique %s %s', t.name, (select group_concat(name) from pragma_index_info(i.name))) as line
    from ${TABLES} t join pragma_index_list(t.name) i where i.origin = 'u'`,
  `select format('table %s without rowid=%d', name, wr) as line from ${TABLES}`,
  `select format('%s %s', name, sql) as line from sqlite_master where type <> 'table' and sql is not null`,
  `select format('%s %s', name, sql) as line from sqlite_master where sql like 'create virtual%'`,
  `select format('statistics %s %s %s', tbl, idx, stat) as line from sqlite_stat1`,
]

const OURS = `'public'::regnamespace`

const OF_POSTGRES = [
  `select format('column %s.%s %s notnull=%s default=%s identity=%s generated=%s collation=%s stored=%s', attrelid::regclass, attname,
      format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attidentity, attgenerated,
      (select collname from pg_collation where oid = attcollation), attstorage) as line
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid in (select oid from pg_class where relnamespace = ${OURS} and relkind in ('r', 'v') and relname <> 'migrations')
      and attnum > 0 and not attisdropped`,
  `select format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) as line from pg_constraint
    where connamespace = ${OURS} and contype <> 'n' and conrelid <> 'migrations'::regclass`,
  `select indexdef as line from pg_indexes where schemaname = 'public'`,
  `select pg_get_functiondef(oid) as line from pg_proc where pronamespace = ${OURS}`,
  `select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal`,
  `select format('view %s %s', viewname, definition) as line from pg_views where schemaname = 'public'`,
  `select format('table %s %s', relname, reloptions) as line from pg_class where relnamespace = ${OURS} and relkind = 'r'`,
]
