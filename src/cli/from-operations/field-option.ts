import { InvalidArgumentError, Option } from 'commander'
import { count, integer, list, number, seconds } from '../command.ts'
import { parseJson, pointInTime, readText, timeAhead } from '../terminal/input.ts'
import type { World } from '../world.ts'
import type { CommandField } from './command-row.ts'

/** How an option differs from its field: flags, a description, or more. `false`: the field has no option. */
export type OwnOption = string | false | OwnFields

type OwnFields = {
  flags?: string
  about?: string
  choices?: readonly string[]
  value?: (given: never) => unknown
}

/** The options of time ranges have the same names, no matter what the fields are called. */
const TIMES: Readonly<Record<string, string>> = {
  start_time: 'since',
  from: 'since',
  end_time: 'until',
  to: 'until',
  expires_at: 'expires',
}

/** The option for a field of the query or body. */
export function fieldOption(field: CommandField, own: OwnOption = {}): Option {
  const said = ownFields(own)
  const option = new Option(said.flags ?? flagsOf(field), said.about ?? aboutOf(field))
  if (option.isBoolean()) return option
  const { choices = field.choices } = said
  // Set directly, so that the choices are shown in the help.
  if (choices) option.argChoices = [...choices]
  const parse = choices ? choiceOf(choices, field.type === 'list') : parserOf(field)
  return parse ? option.argParser<unknown>((text, before) => parse(text, before as string[] | undefined)) : option
}

export function ownFields(own: OwnOption = {}): OwnFields {
  if (typeof own === 'object') return own
  if (own === false) return {}
  return own.startsWith('-') ? { flags: own } : { about: own }
}

/** The value to send for what was given. */
export async function fieldValue(world: World, field: CommandField, given: unknown, own: OwnOption = {}) {
  if (typeof own === 'object' && own.value) return own.value(given as never)
  if (given === 'none' && field.nullable) return null
  if (field.type === 'switch') return given === 'true'
  if (field.type !== 'json') return given
  return parseJson(await readText(world, String(given)), `--${nameOf(field)}`)
}

function nameOf({ path, type }: CommandField): string {
  const name = path.split('.').at(-1) ?? path
  // `--url` is already the service's URL.
  if (name === 'url') return 'target'
  const known = type === 'time' ? TIMES[name] : undefined
  return known ?? name.replace(/(_id|(_period|_in)?_seconds|_ms)$/, '').replaceAll('_', '-')
}

function isDuration({ path, type }: CommandField): boolean {
  return type === 'integer' && /_(seconds|ms)$/.test(path)
}

export function flagsOf(field: CommandField): string {
  const flag = `--${nameOf(field)}`
  if (field.type === 'boolean') return flag
  const name = field.path.split('.').at(-1)
  if (name === 'agent_id') return `${flag} <agent>`
  if (isDuration(field)) return `${flag} <duration>`
  if (field.type === 'switch') return `${flag} <true|false>`
  const shown = {
    time: 'when',
    list: 'list...',
    json: 'json',
    integer: 'number',
    number: 'number',
    text: nameOf(field),
  }
  return `${flag} <${field.path.endsWith('_id') ? name : shown[field.type]}>`
}

function aboutOf(field: CommandField): string {
  const what = aboutField(field)
  const { fallback = false } = field
  const shown = isDuration(field) ? `${Number(fallback) / (field.path.endsWith('_ms') ? 1000 : 1)}s` : fallback
  const usual = fallback === false || fallback === '' ? '' : `(default: ${shown})`
  const time = what === '' ? 'a duration such as 7d, or a time' : `${what} (a duration such as 7d, or a time)`
  return [field.type === 'time' ? time : what, usual].filter(Boolean).join(' ')
}

/** A field's description. The command line writes null as `none`. */
export function aboutField({ about = '', nullable }: CommandField): string {
  return nullable ? phrase(about).replaceAll(/\bnull\b/g, 'none') : phrase(about)
}

/** A description as part of a sentence: without Markdown, and without the capital letter at its beginning. */
function phrase(text: string): string {
  return text
    .replaceAll('`', '')
    .replace(/^true: /, '')
    .replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
}

function choiceOf(choices: readonly string[], isList: boolean) {
  return (text: string, before: string[] | undefined) => {
    const chosen = isList ? list(text, before) : [text]
    if (chosen.every((item) => choices.includes(item))) return isList ? chosen : text
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
  }
}

function isCount({ type }: CommandField): boolean {
  return type === 'integer' || type === 'number'
}

function parserOf(field: CommandField): ((text: string, before: string[] | undefined) => unknown) | undefined {
  const { type, path } = field
  if (type === 'list') return list
  if (type === 'time') return /^(expires_)?at$/.test(path) ? timeAhead : pointInTime
  if (isDuration(field)) return (text) => seconds(text) * (path.endsWith('_ms') ? 1000 : 1)
  if (!isCount(field)) return undefined
  const parse = type === 'integer' ? (field.least === undefined ? integer : count) : number
  return (text) => (field.nullable && text === 'none' ? text : parse(text))
}
