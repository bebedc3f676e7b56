import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseIfJson } from '../lib/json.ts'
import { nearest } from '../lib/text/nearest.ts'
import type { Problem } from './problems.ts'
import type { Path, Setting } from './settings.ts'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** A value and its source: `flag` or `environment NAME`. */
export type SourcedValue = { path: Path; value: unknown; origin: string }

export type EnvironmentSettings = {
  entries: SourcedValue[]
  /** Keys and URLs of the two providers that have well-known variables. */
  providers: { name: 'openai' | 'anthropic'; field: 'apiKey' | 'baseUrl'; value: string; origin: string }[]
  config_file: string | undefined
  problems: Problem[]
}

const PLAIN_NAMES: Readonly<Record<string, string>> = {
  HOST: 'server.host',
  PORT: 'server.port',
  DATABASE_URL: 'database.url',
  REDIS_URL: 'redis.url',
  LOG_LEVEL: 'log.level',
  HTTP_PROXY: 'proxy.http',
  http_proxy: 'proxy.http',
  HTTPS_PROXY: 'proxy.https',
  https_proxy: 'proxy.https',
  NO_PROXY: 'proxy.except',
  no_proxy: 'proxy.except',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'otel.endpoint',
  OTEL_EXPORTER_OTLP_HEADERS: 'otel.headers',
  OTEL_SERVICE_NAME: 'otel.serviceName',
  OTEL_RESOURCE_ATTRIBUTES: 'otel.resourceAttributes',
  OTEL_TRACES_SAMPLER: 'otel.sampler',
  OTEL_TRACES_SAMPLER_ARG: 'otel.samplerArg',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'otel.content',
  OTEL_SDK_DISABLED: 'otel.disabled',
}

const PROVIDER_NAMES = {
  OPENAI_API_KEY: ['openai', 'apiKey'],
  OPENAI_BASE_URL: ['openai', 'baseUrl'],
  ANTHROPIC_API_KEY: ['anthropic', 'apiKey'],
} as const

// Kubernetes and Docker set such variables for a service that is named moorage.
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
// Variables of the command line, which is a client, and of the tests.
const NOT_OURS = /^MOORAGE_(URL|API_KEY|PROFILE|TEST_\w+)$/
const SERVICE_LINK_VALUE = /^(tcp|udp|sctp):\/\//

/** A setting's variables, most specific first. */
export function variablesOf(setting: Setting): string[] {
  if (setting.variable === undefined) return []
  const plain = Object.keys(PLAIN_NAMES).filter((name) => PLAIN_NAMES[name] === setting.path.join('.'))
  return [setting.variable, ...plain]
}

export function readEnvironment(
  env: EnvironmentVariables,
  settings: readonly Setting[],
  cwd: string,
): EnvironmentSettings {
  const problems: Problem[] = []
  const report = (name: string, message: string) => problems.push({ text: `environment ${name}: ${message}` })
  const read = (name: string) => readVariable(env, name, cwd, report)

  const entries = settings.flatMap((setting): SourcedValue[] => {
    const found = variablesOf(setting)
      .map(read)
      .find((variable) => variable !== undefined)
    if (found === undefined) return []
    const origin = `environment ${found.name}`
    const value = fromText(found.text, setting.kind)
    if (value === undefined) report(found.name, 'is not valid JSON')
    return value === undefined ? [] : [{ path: setting.path, value, origin }]
  })
  if (env.NO_COLOR && !entries.some(({ path }) => path.join('.') === 'log.color')) {
    entries.push({ path: ['log', 'color'], value: false, origin: 'environment NO_COLOR' })
  }

  const providers = Object.entries(PROVIDER_NAMES).flatMap(([name, [provider, field]]) => {
    const found = read(name)
    return found ? [{ name: provider, field, value: found.text, origin: `environment ${found.name}` }] : []
  })

  const names = [...settings.flatMap(variablesOf), ...Object.keys(PROVIDER_NAMES)]
  const known = ['MOORAGE_CONFIG', ...names.flatMap((name) => [name, `${name}_FILE`])]
  for (const name of unknownVariables(env, new Set(known))) {
    const parent = settings.find(({ kind, variable }) => kind === 'json' && name.startsWith(`${variable}__`))
    const bare = nearest(withoutPrefix(name), known.map(withoutPrefix))
    const meant = known.find((candidate) => withoutPrefix(candidate) === bare)
    if (parent) report(name, `unknown variable; set ${parent.variable} as JSON`)
    else report(name, meant === undefined ? 'unknown variable' : `unknown variable; did you mean ${meant}?`)
  }
  return { entries, providers, config_file: env.MOORAGE_CONFIG || undefined, problems }
}

/**
 * Converts the text of a variable or flag to the type of its setting. Returns undefined if it should be JSON but isn't.
 */
export function fromText(text: string, kind: Setting['kind']): unknown {
  if (kind === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text
  if (kind === 'boolean') return /^(true|1)$/.test(text) || (/^(false|0)$/.test(text) ? false : text)
  if (kind === 'json' || (kind === 'list' && text.startsWith('['))) return parseIfJson(text)
  if (kind !== 'list') return text
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

const withoutPrefix = (name: string) => name.replace(/^MOORAGE_/, '')

type Variable = { name: string; text: string }

function readVariable(
  env: EnvironmentVariables,
  name: string,
  cwd: string,
  report: (name: string, message: string) => void,
): Variable | undefined {
  const text = env[name] || undefined
  const file = env[`${name}_FILE`] || undefined
  if (file === undefined) return text === undefined ? undefined : { name, text }
  if (text !== undefined) {
    report(name, `is set together with ${name}_FILE; remove one of them`)
    return undefined
  }
  try {
    const content = readFileSync(resolve(cwd, file), 'utf8').replace(/\r?\n$/, '')
    if (content !== '') return { name: `${name}_FILE`, text: content }
    report(`${name}_FILE`, 'the file it names is empty')
  } catch (error) {
    // The path isn't shown, because the operator may have put the secret itself here, and it must not get into a log.
    report(`${name}_FILE`, `the file it names can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  return undefined
}

function unknownVariables(env: EnvironmentVariables, known: ReadonlySet<string>): string[] {
  return Object.keys(env).filter((name) => {
    const value = env[name]
    if (!name.startsWith('MOORAGE_') || known.has(name) || NOT_OURS.test(name) || !value) return false
    return !SERVICE_LINK.test(name) && !(name.endsWith('_PORT') && SERVICE_LINK_VALUE.test(value))
  })
}
