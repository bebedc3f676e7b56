import { resolve } from 'node:path'
import { readConfigFile } from './config/config-file.ts'
import { type EnvironmentVariables, fromText, readEnvironment, type SourcedValue } from './config/environment.ts'
import { fileProblems, PATH_SETTINGS } from './config/named-files.ts'
import { inOrder, misfitsOf, plainMessage, tellFirst, unknownKey } from './config/problems.ts'
import { ConfigShape, configSchema } from './config/rules.ts'
import {
  defaultAt,
  isSamePath,
  isSecretAt,
  keysAt,
  listSettings,
  type Path,
  pathText,
  type Setting,
  type SettingsSchema,
} from './config/settings.ts'
import type { Config, ConfigInput } from './config/shape.ts'
import { locate, mergeSources, originOf, type Sources, valueAt } from './config/sources.ts'
import { isObject } from './lib/json.ts'
import { firstFound } from './lib/lazily.ts'

export type { Config } from './config/shape.ts'

/** Settings from the command line, by their paths in the configuration. Texts are read like environment variables. */
export type Flags = { config?: string | undefined } & Partially<ConfigInput>

type Partially<T> = T extends readonly unknown[]
  ? T | string
  : T extends object
    ? { [Key in keyof T]?: Partially<T[Key]> | undefined }
    : T | string

/**
 * A setting as `moorage config show` prints it. A secret is shown as `(set)`. A setting that is not set has no value.
 */
export type ShownSetting = { path: string; value: unknown; origin: string | null }

export type LoadedConfig = { config: Config; settings: ShownSetting[] }

/** Everything that is wrong with the configuration, one line each. */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const DEFAULT_FILE = 'moorage.yaml'

/**
 * A flag takes precedence over the environment, the environment over the file, and the file over the default. Throws a
 * ConfigError that names every mistake.
 */
export function loadConfig(options: { flags?: Flags; env?: EnvironmentVariables; cwd?: string } = {}): LoadedConfig {
  const { flags = {}, env = process.env, cwd = process.cwd() } = options
  const { config: fileFlag, ...given } = flags
  const { schema, settings } = knownSettings()

  const environment = readEnvironment(env, settings, cwd)
  const chosen = fileFlag ?? environment.config_file
  const file = readConfigFile(chosen ?? DEFAULT_FILE, cwd, chosen !== undefined)
  const entries = [...environment.entries, ...flagEntries(given, settings)]
  const sources = mergeSources(file, entries, environment.providers)

  const parsed = ConfigShape.safeParse(sources.input, { error: plainMessage })
  const misfits = tellFirst(misfitsOf(parsed.error?.issues), ({ path, message }) => {
    if (message !== undefined) return locate(path, message, 'value', sources)
    return locate(path, unknownKey(String(path.at(-1)), keysAt(schema, path.slice(0, -1))), 'key', sources)
  })
  const problems = inOrder([...file.problems, ...environment.problems, ...misfits, ...fileProblems(sources, cwd)])
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)

  const config = withAbsolutePaths(parsed.data, cwd)
  return { config, settings: settings.flatMap((setting) => show(setting, config, sources, schema)) }
}

/** The settings of a configuration whose sources are no longer known. */
export function shownSettings(config: Config): ShownSetting[] {
  const { schema, settings } = knownSettings()
  return settings.flatMap((setting) => show(setting, config, undefined, schema))
}

/** Listing them takes longer than loading a configuration. */
const knownSettings = firstFound(() => {
  const schema = configSchema()
  return { schema, settings: listSettings(schema) }
})

function flagEntries(flags: Record<string, unknown>, settings: readonly Setting[], above: Path = []): SourcedValue[] {
  return Object.entries(flags).flatMap(([key, value]): SourcedValue[] => {
    const path = [...above, key]
    if (value === undefined) return []
    const setting = settings.find((candidate) => isSamePath(candidate.path, path))
    if (setting === undefined && isObject(value)) return flagEntries(value, settings, path)
    const isText = setting !== undefined && typeof value === 'string'
    return [{ path, value: isText ? (fromText(value, setting.kind) ?? value) : value, origin: 'flag' }]
  })
}

function withAbsolutePaths(config: Config, cwd: string): Config {
  const absolute = structuredClone(config)
  for (const path of PATH_SETTINGS) {
    const parent = valueAt(absolute, path.slice(0, -1))
    const key = path.at(-1) as string
    if (isObject(parent) && typeof parent[key] === 'string') parent[key] = resolve(cwd, parent[key])
  }
  return absolute
}

function show(setting: Setting, config: Config, sources: Sources | undefined, schema: SettingsSchema): ShownSetting[] {
  const leaves = (value: unknown, path: Path): ShownSetting[] => {
    const isGroup = isObject(value) || (Array.isArray(value) && value.some(isObject))
    if (isGroup && Object.keys(value).length > 0) {
      const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
      return keys.flatMap((key) => leaves(valueAt(value, [key]), [...path, key]))
    }
    // Durations and sizes are shown as they were written.
    const written = (sources && valueAt(sources.input, path)) ?? defaultAt(schema, path)
    const readable = typeof value === 'number' && typeof written === 'string' ? written : value
    const isHidden = value !== undefined && isSecretAt(schema, path)
    return [
      { path: pathText(path), value: isHidden ? '(set)' : readable, origin: sources ? originOf(path, sources) : null },
    ]
  }
  // Inner settings are listed with the list or record that holds them.
  return setting.variable === undefined ? [] : leaves(valueAt(config, setting.path), setting.path)
}

/**
 * How a person calls the command line. The way in which they started it works in any folder, unless npm has chosen the
 * folder.
 */
export function commandOf(script: string, main: string, { npm_command, npm_lifecycle_event } = process.env): string {
  const isCommandLine = /[\\/](?:cli[\\/]main\.ts|cli\.js)$/.test(script)
  if (npm_command === 'exec') return 'npx moorage'
  if (isCommandLine && npm_lifecycle_event !== 'moorage') return 'moorage'
  return /[\\/]node_modules[\\/]/.test(main) ? 'npx moorage' : 'npm run -s moorage --'
}
