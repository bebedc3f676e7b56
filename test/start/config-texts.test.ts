import { describe, type TestContext, test } from 'node:test'
import { readEnvironment, variablesOf } from '../../src/config/environment.ts'
import { configSchema } from '../../src/config/rules.ts'
import { listSettings, type Setting } from '../../src/config/settings.ts'
import { ConfigError, loadConfig } from '../../src/config.ts'
import { approve } from '../support/running/approved.ts'
import { configFolder } from '../support/service/config-folder.ts'

const SETTINGS = listSettings(configSchema())

/** What an operator reads who starts a service so; nothing if it starts. */
function problemsOf(load: () => unknown): string[] {
  try {
    load()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/** Values that are wrong for most settings of a kind, in one way or another. */
const WRONG: Record<Setting['kind'], readonly string[]> = {
  text: ['x y', '1ms', '9999999d', '9000TiB', '7', 'https://user:secret@example.com/?x=1#y'],
  integer: ['-1', '1.5', 'many', '99999999999999', '0x10', ' 7'],
  boolean: ['yes', '2', 'TRUE', 'on', 'false ', 'nil'],
  list: ['x y', '[1]', '[', '{"a":1}', '[[]]', 'a,,b'],
  json: ['[', '7', '[7]', '{"A B":7}', '[{"nmae":"x"}]', '{"x":{"nmae":"x"}}'],
}

/** Which variant is meant if there are several. */
const SHAPES: Record<string, string>[] = [
  { MOORAGE_AUTH__TYPE: 'oauth2', MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible' },
  { MOORAGE_AUTH__TYPE: 'jwt', MOORAGE_MEMORY__EMBEDDER__TYPE: 'local' },
]

const SECTIONS = Map.groupBy(
  SETTINGS.filter(({ variable }) => variable !== undefined),
  ({ path }) => (path.length === 1 ? 'the rest' : String(path[0])),
)

describe('what an operator sees of the configuration', () => {
  test('every variable and its setting', (t) => {
    const rows = SETTINGS.map((setting) => {
      const { path, kind, default: fallback, description } = setting
      const names = variablesOf(setting).join(', ') || '(inside)'
      return `${path.join('.')}\n    ${names}\n    ${kind}, ${JSON.stringify(fallback) ?? 'no default'}\n    ${description}\n`
    })
    approve(t, 'start/settings.txt', rows.join(''))
  })

  test('each variable is read for its setting', (t) => {
    const given = { text: '12h', integer: '7', boolean: 'true', list: 'a, b', json: '{"x":[1]}' }
    const lines = SETTINGS.flatMap((setting) =>
      variablesOf(setting).map((name) => {
        const { entries, problems } = readEnvironment({ [name]: given[setting.kind] }, SETTINGS, '/')
        const read = entries.map(
          ({ path, value, origin }) => `${path.join('.')} = ${JSON.stringify(value)} (${origin})`,
        )
        return `${name}: ${[...read, ...problems.map(({ text }) => text)].join('; ')}\n`
      }),
    )
    const keys = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'ANTHROPIC_API_KEY', 'NO_COLOR', 'MOORAGE_CONFIG'].map(
      (name) => {
        const { entries, providers, config_file } = readEnvironment({ [name]: 'x' }, SETTINGS, '/')
        return `${name}: ${JSON.stringify({ entries, providers, config_file })}\n`
      },
    )
    approve(t, 'start/variables.txt', [...lines, ...keys].join(''))
  })

  test('wrong values of every variable', (t) => {
    const { load } = configFolder(t)
    const texts = [...SECTIONS].flatMap(([section, settings]) => {
      const told = WRONG.text.flatMap((_, index) => {
        const given = settings.map(({ variable, kind }) => [variable, WRONG[kind][index]] as const)
        return SHAPES.flatMap((shapes) => {
          const ours = Object.entries(shapes).filter(([name]) => settings.some(({ variable }) => variable === name))
          return problemsOf(() => load(Object.fromEntries([...given, ...ours]))).map((line) => `${line} [${index + 1}]`)
        })
      })
      return [`== ${section} ==`, ...new Set(told)]
    })
    const values = Object.entries(WRONG).map(
      ([kind, wrong]) => `${kind}: ${wrong.map((value) => JSON.stringify(value)).join(' ')}`,
    )
    approve(t, 'start/wrong-variables.txt', `${[...values, ...texts].join('\n')}\n`)
  })

  test('misspelt names', (t) => {
    const misspelt = (name: string) => name.replace(/(.)(.)$/, '$2$1')
    const variables = SETTINGS.flatMap(variablesOf).map((name) => [misspelt(name), '1'])
    const names = problemsOf(() => configFolder(t).load(Object.fromEntries(variables)))
    const inFile = [...SECTIONS.values()].flatMap((settings) => {
      const wrong = settings.map((setting) => ({
        ...setting,
        path: [...setting.path.slice(0, -1), misspelt(setting.path.at(-1) ?? '')],
      }))
      return problemsOf(() => loadFile(t, stringify(wrong, '1')))
    })
    approve(t, 'start/misspelt.txt', `${[...names, ...inFile].join('\n')}\n`)
  })

  test('wrong values in the file', (t) => {
    const values = ['7', 'true', '[]', '~', '"\\u0000"', '[{}]', '{ x: 7 }', '"text"']
    const texts = values.flatMap((value) =>
      [...SECTIONS].flatMap(([section, settings]) => {
        const yaml = stringify(settings, value)
        return [`== ${section}: ${value} ==`, ...problemsOf(() => loadFile(t, yaml))]
      }),
    )
    approve(t, 'start/wrong-file.txt', `${texts.join('\n')}\n`)
  })
})

/** All settings of a section with one value. */
function stringify(settings: readonly Setting[], value: string): string {
  let before: readonly string[] = []
  const lines = settings.flatMap(({ path }) => {
    const shared = path.findIndex((key, depth) => key !== before[depth])
    before = path
    const rest = path.slice(shared).map((key, depth) => `${'  '.repeat(shared + depth)}${key}:`)
    return [...rest.slice(0, -1), `${rest.at(-1)} ${value}`]
  })
  return `${lines.join('\n')}\n`
}

function loadFile(t: TestContext, yaml: string) {
  return loadConfig({ env: {}, cwd: configFolder(t, { 'moorage.yaml': yaml }).path })
}
