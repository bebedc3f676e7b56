import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from './database.ts'

/**
 * Whether a text contains another, whatever the case of its letters. LIKE would know the case of ASCII letters only,
 * and each engine's LIKE that of others differently: so every letter is asked for in all its forms.
 */
export function contains(db: Database, text: Expression<string>, wanted: string): RawBuilder<SqlBool> {
  const forms = [...wanted].map(caseForms)
  if (engineOf(db) === 'sqlite') return sql<SqlBool>`${text} glob ${`*${forms.map(globOf).join('')}*`}`
  return sql<SqlBool>`${text} ~ ${forms.map(regexOf).join('')}`
}

function caseForms(letter: string): string[] {
  const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()]
  const forms = [letter, lower, upper, upper.toLowerCase(), lower.toUpperCase()]
  // One that is spelled with several letters (ß and SS) is another text.
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
