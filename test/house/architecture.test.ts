import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CONSOLE_FLOORS, floorOf, wrongConsoleArrows } from '../support/house/console-rules.ts'
import { crowdedRooms, MOST_FILES, repeatedFileNames, repeatedTypes } from '../support/house/house-names.ts'
import { ROOMS, roomOf, wrongArrows } from '../support/house/house-rules.ts'
import { cyclesOf, filesOf, loadedBy, readImports, readSources, type SourceFile } from '../support/house/imports.ts'
import { unorderedLocks } from '../support/house/lock-rules.ts'
import { OF_ALL_PROJECTS, unboundStatements, uncheckedLookups } from '../support/house/project-rules.ts'
import { copiedContexts, unsaidNeeds } from '../support/house/signatures.ts'

const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))

const LONGEST = 300
const MOST_WORDS = 30

function tooLong(files: readonly { file: string; text: string }[]): string[] {
  return files.filter(({ text }) => text.split('\n').length > LONGEST).map(({ file }) => file)
}

describe('the house', () => {
  test('arrows go down only', () => {
    assert.deepEqual(wrongArrows(sources), [])
  })

  test('every file stands in a room that has its place', () => {
    const homeless = sources.map(({ file }) => file).filter((file) => !ROOMS.includes(roomOf(file)))
    assert.deepEqual(homeless, [], 'give the new room its place in test/support/house/house-rules.ts')
  })

  test('no module imports itself in a circle, not even for a type', () => {
    assert.deepEqual(cyclesOf(sources), [])
  })

  test('only the list of runners knows the rooms of the kinds of agents', () => {
    const users = (room: string) =>
      sources
        .filter(({ file, imports }) => !file.startsWith(room) && imports.some(({ to }) => to.startsWith(room)))
        .map(({ file }) => file)
        .toSorted()
    assert.deepEqual(users('runtime/model-agent/'), ['runtime/runners.ts'])
    // Remote agents ask for steps from outside: one operation takes them, nodes pass them on, and an operation and the
    // command line check agents as the service calls them.
    assert.deepEqual(users('runtime/remote-agent/'), [
      'agents/check-remote-agent.ts',
      'build-parts.ts',
      'cli/commands/agents/check-remote.ts',
      'cli/remote/play-host.ts',
      'invocations/steps/take-steps.ts',
      'memory/run-memory.ts',
      'operation/parts.ts',
      'runtime/runners.ts',
      'runtime/runtime.ts',
    ])
  })

  test('the command line starts without the server', () => {
    const loaded = [...loadedBy('cli/main.ts', sources)]
    assert.ok(loaded.includes('commander') && loaded.length > 5, 'looked at the right file')
    const ofServer = loaded.filter((file) =>
      ['http', 'storage', 'app', 'build-parts', 'main', 'operations'].includes(roomOf(file)),
    )
    assert.deepEqual([...ofServer, ...loaded.filter((file) => file === 'node:http' || file === 'pg')], [])
  })

  test('tests reach into a running service in one place', () => {
    const tests = filesOf(fileURLToPath(new URL('..', import.meta.url)), ['.ts'])
    const inside = /\bapp\.(parts|jobs)\b|\.app\.stop\b|\bparts\b[^\n]*\.app\b/
    const readers = tests.filter(({ text }) => inside.test(text) && /\/service\.ts'/.test(text))
    assert.deepEqual(
      readers.map(({ file }) => file),
      [],
      'take it through test/support/inside.ts',
    )
    const verbs = tests.find(({ file }) => file === 'support/inside.ts')
    assert.match(verbs?.text ?? '', inside, 'looked for the right words')
  })

  test('the environment is read in the configuration only', () => {
    const readers = sources.filter(({ text }) => /\bprocess\s*(\?\.|\.)\s*env\b|node:process/.test(text))
    assert.deepEqual(
      readers.map(({ file }) => file).filter((file) => roomOf(file) !== 'config'),
      // It holds the text of a program that people run by themselves.
      ['cli/commands/agents/remote-template.ts'],
    )
    assert.ok(readers.length > 0, 'looked for the right words')
  })

  test('sentences name the client, the node or the operator, and numbers by their names', () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const read = (folder: string, ...endings: string[]) =>
      filesOf(root + folder, endings).map(({ file, text }) => ({ file: `${folder}/${file}`, text }))
    const written = [...read('src', '.ts'), ...read('console', '.ts', '.tsx'), ...read('docs', '.md')]
    const vague = written.flatMap(({ file, text }) =>
      [...text.matchAll(/\b(?:no|some)body\b|\bso (?:many|much|long)\b(?! as\b)/gi)].map(
        ([word]) => `${file}: ${word}`,
      ),
    )
    assert.deepEqual(vague, [])
    assert.ok(written.length > 1_000, 'looked at the right files')
  })

  test('no variable lives outside of a function', () => {
    const found = sources.filter(({ text }) => /^(export )?(let|var) /m.test(text))
    assert.deepEqual(
      found.map(({ file }) => file),
      [],
    )
  })

  test('files are named for what they hold', () => {
    const files = sources.map(({ file }) => file)
    const bad = files.filter((file) => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/.test(file))
    const empty = /(^|\/|-)(index|manager|helpers?|utils?|service|base|impl|common|misc|types)\.ts$/
    assert.deepEqual([...bad, ...files.filter((file) => empty.test(file))], [])
  })

  test('a file name says what the file is about: it stands in one room only', () => {
    assert.deepEqual(repeatedFileNames(sources.map(({ file }) => file)), [], 'test/support/house/house-names.ts')
  })

  test(`no room has more than ${MOST_FILES} files without a reason`, () => {
    assert.deepEqual(crowdedRooms(sources.map(({ file }) => file)), [], 'give the second subject a folder of its own')
  })

  test('a type has a name of its own', () => {
    assert.deepEqual(repeatedTypes(sources), [], 'choose another word, and put it into docs/ARCHITECTURE.md')
  })

  test(`no file is longer than ${LONGEST} lines`, () => {
    assert.deepEqual(tooLong(sources), [])
  })

  test('a signature says what is used: no operation and no slice takes all parts or the whole context', () => {
    assert.deepEqual(unsaidNeeds(sources), [], 'take what is used by name, or say `Needs<…>` or `Pick<Parts, …>`')
  })

  test('no operation copies its context', () => {
    assert.deepEqual(copiedContexts(sources), [], 'take what is used out of it by name')
    const imports = [{ to: 'operation/context.ts', kind: 'type' as const }]
    const copies = [
      "run({ params }, { db, ...context }: Needs<'db' | 'now'>) {",
      'run({ params }, needs: RoleNeeds) {\n  const cause = { ...needs, at: 1 }',
      'function find(context: KeepNeeds) {\n  return get({ ...context, db })',
    ]
    for (const text of copies) assert.deepEqual(copiedContexts([{ file: 'files/a.ts', text, imports }]), ['files/a.ts'])
  })

  test('a statement on what belongs to projects names the project, or a row', () => {
    assert.deepEqual(unboundStatements(sources).toSorted(), Object.keys(OF_ALL_PROJECTS), 'or say why it means all')
  })

  test('an operation that looks up a row by the id in the request asks whether the actor may know of it', () => {
    assert.deepEqual(uncheckedLookups(sources), [])
  })

  test('a statement that waits for locks says which row it locks, or in which order', () => {
    assert.deepEqual(unorderedLocks(sources), [])
    const inOrder = sources.filter(({ text }) => /orderBy\([^\n]*\.forUpdate\(\)/.test(text))
    assert.ok(inOrder.length > 1, 'looked at the right statements')
    const planted = inOrder.map(({ file, text }) => ({ file, text: text.replaceAll(/\.orderBy\('\w+'\)/g, '') }))
    const found = planted.filter((source) => unorderedLocks([source]).length > 0)
    assert.deepEqual(
      found.map(({ file }) => file),
      inOrder.map(({ file }) => file),
    )
  })

  test(`the table of words has at most ${MOST_WORDS}`, () => {
    const text = readFileSync(new URL('../../docs/ARCHITECTURE.md', import.meta.url), 'utf8')
    const [, table = ''] = text.split(/^## (?:Words|Code map)$/m)
    const words = Array.from(table.matchAll(/\*\*(.+?)\*\*/g), ([, word]) => word)
    assert.ok(words.includes('agent') && words.length > 20, 'looked at the right table')
    assert.ok(words.length <= MOST_WORDS, `${words.length}: merge words, or drop those that need no explanation`)
  })
})

describe('what stands beside the house', () => {
  for (const [name, files] of Object.entries({ console: 100, bench: 10, sdk: 5, test: 200 })) {
    test(`no module of ${name} imports itself in a circle, not even for a type`, () => {
      const beside = readSources(fileURLToPath(new URL(`../../${name}`, import.meta.url)))
      assert.ok(beside.length > files, 'looked at the right folder')
      assert.deepEqual(cyclesOf(beside), [])
    })
  }
})

describe('the console', () => {
  const folder = fileURLToPath(new URL('../../console', import.meta.url))
  const files = filesOf(folder, ['.ts', '.tsx', '.css'])
  const ofConsole = readSources(folder)

  test('arrows go down only, and no page knows another', () => {
    assert.ok(ofConsole.length > 100, 'looked at the right folder')
    assert.deepEqual(wrongConsoleArrows(ofConsole), [], 'move what both need to ui/ or lib/')
  })

  test('every file stands on a floor that has its place', () => {
    const homeless = ofConsole.filter(({ file }) => !CONSOLE_FLOORS.includes(floorOf(file))).map(({ file }) => file)
    assert.deepEqual(homeless, [], 'give the new floor its place in test/support/house/console-rules.ts')
  })

  test(`no folder has more than ${MOST_FILES} files, and no file more than ${LONGEST} lines`, () => {
    assert.deepEqual(crowdedRooms(files.map(({ file }) => file)), [], 'give the second subject a folder of its own')
    assert.deepEqual(tooLong(files), [])
  })

  test('a file name and the name of a type stand once', () => {
    assert.deepEqual(repeatedFileNames(ofConsole.map(({ file }) => file)), [])
    assert.deepEqual(repeatedTypes(ofConsole), [])
  })

  for (const [name, [file, to]] of Object.entries({
    'a page uses another': ['pages/keys/key-page.tsx', 'pages/logs/log-tail.ts'],
    'the kit uses a page': ['ui/page.tsx', 'pages/agent/tabs.ts'],
    'a library draws': ['lib/resource.ts', 'ui/failure.tsx'],
    'a page knows the shell': ['pages/keys/keys-page.tsx', 'shell/sidebar.tsx'],
    'a page knows the insides of the server': ['pages/keys/keys-page.tsx', '../src/keys/key.ts'],
  } satisfies Record<string, [string, string]>)) {
    test(`it is seen when ${name}`, () => {
      assert.deepEqual(wrongConsoleArrows([{ file, imports: [{ to, kind: 'value' }] }]), [`${file} → ${to}`])
    })
  }
})

describe('the guards of the house', () => {
  test('see every way to import', () => {
    const text = `
      import 'bare'
import 'side-effect'
import whole from 'default'
import * as all from "star"
import type { T } from './types-only.ts'
import { type A, type B } from './inline-types.ts'
import { type A, b } from './mixed.ts'
import {
  one,
  type Two,
} from './many-lines.ts'
export { again } from './exported.ts'
export * from './star-exported.ts'
export type { Again } from './type-exported.ts'
const later = await import('./later.ts')
type Inner = import('./inner.ts').Inner
const worker = new Worker(new URL('./worker.ts', import.meta.url))
const text = "import x from './in-a-string.ts'"
`
    assert.deepEqual(
      readImports(text)
        .map(({ to, kind }) => `${kind} ${to}`)
        .toSorted(),
      [
        'value side-effect',
        'value default',
        'value star',
        'type ./types-only.ts',
        'type ./inline-types.ts',
        'value ./mixed.ts',
        'value ./many-lines.ts',
        'value ./exported.ts',
        'value ./star-exported.ts',
        'type ./type-exported.ts',
        'dynamic ./later.ts',
        'dynamic ./inner.ts',
        'dynamic ./worker.ts',
      ].toSorted(),
    )
  })

  const store = (parameters: string, statement = "selectFrom('keys')") => {
    const text = `type Filter = { shown: ShownAgents }\n\nexport async function planted(${parameters}) {\n  return db.${statement}\n}\n`
    return unboundStatements([{ file: 'keys/store.ts', text }])
  }
  for (const parameters of ['db: Database', 'db: Database, now: number', 'db: Database, is: (key: Key) => boolean']) {
    test(`see a statement on keys that names no project: (${parameters})`, () => {
      assert.deepEqual(store(parameters), ['keys/store.ts planted'])
      assert.deepEqual(store(parameters, 'sql`update keys set x = 1`'), ['keys/store.ts planted'])
      assert.deepEqual(store(parameters, "selectFrom('settings')"), [])
    })
  }
  for (const bound of ['project_id: string', '{ id }: Key', 'filter: Filter', 'seq: number', 'key_ids: string[]']) {
    test(`let a statement pass that names one, or a row: ${bound}`, () => {
      assert.deepEqual(store(`db: Database, ${bound}`), [])
    })
  }

  test('see an operation that trusts the id in a request', () => {
    const text = 'export const x = operation({\n  run: ({ params }) => keys.find(db, params.key_id),\n})\n'
    const checked = text.replace('keys.find', 'requireFound(actor, await keys.find')
    assert.deepEqual(
      uncheckedLookups([
        { file: 'keys/x.ts', text },
        { file: 'keys/y.ts', text: checked },
      ]),
      ['keys/x.ts'],
    )
  })

  test('see the imports of this very house', () => {
    const count = (kind: string) =>
      sources.flatMap(({ imports }) => imports).filter((found) => found.kind === kind).length
    assert.ok(sources.length > 100 && count('value') > 300 && count('type') > 100 && count('dynamic') > 0)
    const seen = sources.find(({ file }) => file === 'http/pipeline/pipeline.ts')?.imports.map(({ to }) => to) ?? []
    for (const to of [
      'http/pipeline/request.ts',
      'http/pipeline/guards/authenticate.ts',
      'security/ip-list.ts',
      'storage/tables/project-tables.ts',
    ])
      assert.ok(seen.includes(to), to)
  })

  const planted: Record<string, [file: string, to: string]> = {
    'a slice uses HTTP': ['agents/create-agent.ts', 'http/dialects/moorage.ts'],
    'HTTP knows a slice': ['http/pipeline/pipeline.ts', 'agents/store.ts'],
    'HTTP knows the list of operations': ['http/server/server.ts', 'operations.ts'],
    'the pipeline knows the server': ['http/pipeline/pipeline.ts', 'http/server/front.ts'],
    'a dialect decides who may come in': ['http/dialects/moorage.ts', 'http/pipeline/guards/authorise.ts'],
    'the edge knows a dialect by name': ['http/server/front.ts', 'http/dialects/moorage.ts'],
    'the lowest slice uses another': ['agents/store.ts', 'keys/store.ts'],
    'neighbours use each other': ['keys/create-key.ts', 'webhooks/store.ts'],
    'somebody uses the topmost slice': ['deployments/store.ts', 'invocations/invocation.ts'],
    "another slice's operation": ['keys/create-key.ts', 'agents/get-agent.ts'],
    'storage throws HTTP errors': ['storage/queries/page.ts', 'errors.ts'],
    'the runtime reaches the database': ['runtime/runtime.ts', 'storage/database.ts'],
    'security reads the configuration': ['security/tokens/jwt.ts', 'config.ts'],
    'a library uses the house': ['lib/id.ts', 'operation.ts'],
    'a slice builds the app': ['keys/create-key.ts', 'app.ts'],
    'a slice speaks HTTP': ['agents/create-agent.ts', 'node:http'],
    'a store drives PostgreSQL': ['agents/store.ts', 'pg'],
    'a store drives SQLite': ['keys/store.ts', 'node:sqlite'],
    'a slice has its own Redis': ['logs/store.ts', 'ioredis'],
    'a slice calls a model': ['invocations/invoke-agent.ts', 'undici'],
    'the server uses the client': ['http/server/server.ts', '../sdk/client.ts'],
    'a new room without a place': ['agents/store.ts', 'helpers/strings.ts'],
  }
  for (const [name, [file, to]] of Object.entries(planted)) {
    test(`catch it when ${name}`, () => {
      for (const kind of ['value', 'type', 'dynamic'] as const) {
        assert.deepEqual(wrongArrows([{ file, imports: [{ to, kind }] }]), [`${file} → ${to}`])
      }
    })
  }

  test('let right arrows pass', () => {
    const right: [string, string][] = [
      ['invocations/invoke-agent.ts', 'agents/store.ts'],
      ['keys/create-key.ts', 'agents/agent.ts'],
      ['agents/store.ts', 'storage/database.ts'],
      ['http/server/server.ts', 'node:http'],
      ['http/pipeline/pipeline.ts', 'http/dialects/dialect.ts'],
      ['http/dialects/dialects.ts', 'http/dialects/moorage.ts'],
      ['storage/postgres/postgres.ts', 'pg'],
      ['cli/main.ts', '../sdk/client.ts'],
      ['lib/id.ts', 'node:crypto'],
    ]
    const files = right.map(([file, to]) => ({ file, imports: [{ to, kind: 'value' as const }] }))
    assert.deepEqual(wrongArrows(files), [])
  })

  test('see a file name that stands in two rooms', () => {
    assert.deepEqual(repeatedFileNames(['keys/key.ts', 'http/key.ts', 'keys/store.ts', 'logs/store.ts']), [
      'key.ts: keys/key.ts, http/key.ts',
    ])
  })

  test('see a room with too many files', () => {
    const files = (room: string, count: number) => Array.from({ length: count }, (_, i) => `${room}/file-${i}.ts`)
    const rooms = [...files('keys', MOST_FILES), ...files('logs', MOST_FILES + 1), ...files('logs/inside', MOST_FILES)]
    assert.deepEqual(crowdedRooms(rooms), ['logs'])
  })

  test('see a type that is declared twice, and take a shape and its type for one', () => {
    const shape = { file: 'a.ts', text: 'export const Turn = z.object({})\nexport type Turn = z.output<typeof Turn>' }
    const local = { file: 'b.ts', text: 'type Turn = string\nexport const LIMIT = 1' }
    assert.deepEqual(repeatedTypes([shape, local, { file: 'c.ts', text: 'export const LIMIT = 2' }]), [])
    assert.deepEqual(repeatedTypes([shape, { file: 'd.ts', text: 'export class Turn {}' }]), ['Turn: a.ts, d.ts'])
  })

  test('see a function that takes all parts, and an operation that does not say what it uses', () => {
    const imports = ['operation/parts.ts', 'operation/context.ts'].map((to) => ({ to, kind: 'type' as const }))
    const seen = (text: string) => unsaidNeeds([{ file: 'keys/store.ts', text, imports }]).length > 0
    const run = (parameters: string) => `export const getKey = operation({\n  async run(${parameters}) {\n  },\n})`
    for (const text of [
      'function start(parts: Parts): void {}',
      'function start({ db, now }: Context) {}',
      'class Queue {\n  readonly #parts: Parts\n}',
      'type All = Parts & { audit: OpenTrail }',
      "function start(\n  parts: Pick<Parts, 'now'>,\n  context: Context,\n) {}",
      'export const getKey = operation({\n  run: ({ params }, context) => find(params, context),\n})',
      run('{ params }, context'),
    ]) {
      assert.ok(seen(text), text)
    }
    for (const text of [
      "function start({ now }: Pick<Parts, 'now'>) {}",
      "type Recording = Pick<\n  Parts,\n  'events' | 'now'\n>",
      "function keyOf(actor: Context['actor']) {}",
      '/** The whole Context, or all Parts: Parts */',
      run('_input'),
      run('{ params: { key_id } }, { db, config: { limits } }'),
      run('{ params }, context: KeyNeeds'),
    ]) {
      assert.ok(!seen(text), text)
    }
  })

  test('find a circle, also where a type closes it, and none where a later import does', () => {
    const file = (name: string, to: string, kind: 'value' | 'type' | 'dynamic'): SourceFile => ({
      file: name,
      text: '',
      imports: [{ to, kind }],
    })
    const open = [file('a.ts', 'b.ts', 'value'), file('b.ts', 'c.ts', 'value')]
    assert.deepEqual(cyclesOf([...open, file('c.ts', 'a.ts', 'value')]), ['a.ts → b.ts → c.ts → a.ts'])
    assert.deepEqual(cyclesOf([...open, file('c.ts', 'a.ts', 'type')]), ['a.ts → b.ts → c.ts → a.ts'])
    assert.deepEqual(cyclesOf([...open, file('c.ts', 'a.ts', 'dynamic')]), [])
  })
})
