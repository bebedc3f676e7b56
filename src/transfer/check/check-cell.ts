import { isDeeper, parseIfJson } from '../../lib/json.ts'
import { type CarriedName, carriedTable, factsOf } from '../carried-tables.ts'

const LATEST = 8.64e15
/** Sums of many such numbers are still exact. */
const MOST = 2 ** 50
const MOST_CHARACTERS = 2 ** 25
const DEEPEST = 64
const ID = /^[a-z]{3,4}_[0-9A-HJKMNP-TV-Z]{26}$/

/** What is wrong with a column's value in a file. Undefined if the column can have it. */
export function problemOfCell(table: CarriedName, column: string, value: unknown): string | undefined {
  const facts = factsOf(table)[column]
  const { sealed = {}, memories = [] } = carriedTable(table)
  if (!facts) return 'is not a column of this version'
  if (Object.hasOwn(sealed, column)) {
    return value === null || value === true || typeof value === 'string' ? undefined : 'is not a sealed value'
  }
  if (memories.includes(column)) return value === null || isId(value) ? undefined : 'is not the ID of a memory'
  if (value === null) return facts.isNullable ? undefined : "can't be null"
  if (column === 'agent_seq') return isId(value) ? undefined : 'is not the ID of an agent'
  if (column === 'id') return isId(value) ? undefined : 'is not an ID'
  if (facts.kind === 'bytes') return isBase64(value) ? undefined : 'is not base64'
  if (facts.kind === 'text') return problemOfText(value, facts.format === 'json')
  if (!Number.isSafeInteger(value)) return 'is not a whole number'
  const number = Number(value)
  if (facts.format === 'flag') return number === 0 || number === 1 ? undefined : 'is not 0 or 1'
  // Nothing was stored before 1970, and some cron patterns take minutes to find their next time after such a date.
  if (facts.format === 'time') return number >= 0 && number <= LATEST ? undefined : 'is not a time'
  const most = facts.kind === 'smallint' ? 2 ** 15 - 1 : MOST
  return Math.abs(number) <= most ? undefined : 'is too large'
}

/** Finds JSON that may contain unsafe text, and so must be parsed. */
const UNSAFE = /\\u|__proto__/

/**
 * Whether a value contains what requests can't contain either. PostgreSQL fails on such text when it reads JSON, even
 * in statements about the rows of all projects.
 */
function isUnsafe(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed()
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, inner]) => key === '__proto__' || isUnsafe(key) || isUnsafe(inner))
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && ID.test(value)
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && Buffer.from(value, 'base64').toString('base64') === value
}

function problemOfText(value: unknown, isJson: boolean): string | undefined {
  if (typeof value !== 'string') return 'is not text'
  if (value.includes('\0')) return "contains the character U+0000, which can't be stored"
  if (!value.isWellFormed()) return 'is not well-formed text'
  if (value.length > MOST_CHARACTERS) return 'is too long'
  if (!isJson) return undefined
  const read = parseIfJson(value)
  if (read === undefined) return 'is not JSON'
  if (isDeeper(read, DEEPEST)) return 'has too many lists and objects in each other'
  return UNSAFE.test(value) && isUnsafe(read) ? "has text that can't be stored in JSON" : undefined
}
