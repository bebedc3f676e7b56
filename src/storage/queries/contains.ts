import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/** Whether a text contains another, ignoring case. No character is a wildcard. */
export function contains(db: Database, text: Expression<string>, wanted: string): RawBuilder<SqlBool> {
  const sqlite = engineOf(db) === 'sqlite'
  const forms = [...wanted].map(caseForms)
  // lower() only handles ASCII letters on both engines, but is several times as fast as a pattern.
  if (forms.every(([letter = '', ...others]) => letter < '\x80' || others.length === 0)) {
    const lower = wanted.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
    return sql<SqlBool>`${sql.raw(sqlite ? 'instr' : 'strpos')}(lower(${text}), ${lower}) > 0`
  }
  if (sqlite) return sql<SqlBool>`${text} glob ${`*${forms.map(globOf).join('')}*`}`
  return sql<SqlBool>`${text} ~ ${forms.map(regexOf).join('')}`
}

/** A letter in lower and upper case, ignoring forms with several letters (SS for ß). */
function caseForms(letter: string): string[] {
  const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()]
  const forms = [letter, lower, upper, upper.toLowerCase(), lower.toUpperCase()]
  return [...new Set(forms)].filter((form) => [...form].length === 1)
}

function globOf(forms: string[]): string {
  const all = forms.join('')
  return forms.length > 1 || /[*?[]/.test(all) ? `[${all}]` : all
}

function regexOf(forms: string[]): string {
  const all = forms.join('')
  return forms.length > 1 ? `[${all}]` : all.replace(/[^\p{L}\p{N}\s]/u, '\\$&')
}
