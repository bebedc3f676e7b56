// npm run plant -- --seed 7 --count 60 --in src/invocations,src/runtime
// Plants mistakes in a copy of the checkout, one at a time, and runs the test files that execute their line. It lists the
// mistakes that no test fails for.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ExecutedBy, measureExecuted } from './plant/executed-by.ts'
import { type Mistake, openSources, type Sources, withMistake } from './plant/mistakes.ts'
import { type Outcome, runFiles } from './plant/run-files.ts'
import { openTestBed, type TestBed } from './plant/test-bed.ts'

const ROOT = join(import.meta.dirname, '..')

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '60' },
    /** Leaves out this many of the first mistakes, because an earlier run has planted them. */
    skip: { type: 'string', default: '0' },
    in: { type: 'string', default: 'src' },
    /** Only test files with one of these words in their name run. */
    tests: { type: 'string' },
    /** The time limit for the tests of one mistake. */
    seconds: { type: 'string', default: '60' },
    jobs: { type: 'string', default: '2' },
    /** Plants these mistakes, named by their IDs, instead of random ones. */
    mistake: { type: 'string', multiple: true },
    /** Prints the mistakes and plants none. */
    list: { type: 'boolean', default: false },
  },
})

/** The time limit for a file without a mistake. */
const PATIENT_MS = 600_000

type Result = { mistake: Mistake; outcome: Outcome | { kind: 'not executed' }; files: number }

process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const folders = options.mistake?.map(fileOf) ?? options.in.split(',')
const drawn = chooseMistakes()
if (options.list) for (const mistake of drawn) console.log(described(mistake))
else await plantAll()

function chooseMistakes(): Mistake[] {
  const sources = openSources(ROOT)
  try {
    return options.mistake?.map((id) => named(sources, id)) ?? draw(sources)
  } finally {
    sources.close()
  }
}

/** `src/a.ts:12:5:await` */
function fileOf(id: string): string {
  return id.replace(/:\d+:\d+:[\w-]+$/, '')
}

function named(sources: Sources, id: string): Mistake {
  const found = sources.mistakesIn(fileOf(id)).find((mistake) => mistake.id === id)
  if (!found) throw new Error(`there is no place for ${id}`)
  return found
}

/** Every line is equally likely to be drawn, however many mistakes it has room for. One of them is planted. */
function draw(sources: Sources): Mistake[] {
  const files = globSync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  )
  const lines = Map.groupBy(files.toSorted().flatMap(sources.mistakesIn), ({ file, line }) => `${file}:${line}`)
  const random = randomFrom(Number(options.seed))
  const chosen: Mistake[] = []
  const most = Number(options.skip) + Number(options.count)
  for (const mistakes of shuffled([...lines.values()], random)) {
    if (chosen.length === most) break
    const compiling = shuffled(mistakes, random).find(sources.compiles)
    if (compiling) chosen.push(compiling)
  }
  console.log(`${lines.size} lines of ${files.length} files have room for a mistake. Seed ${options.seed}.`)
  return chosen.slice(Number(options.skip))
}

async function plantAll(): Promise<void> {
  const beds = await Promise.all(
    Array.from({ length: Math.min(drawn.length, Number(options.jobs)) }, () => openTestBed(ROOT)),
  )
  const [first] = beds
  if (!first) return
  const executed = await measureExecuted(ROOT, { folders, tests: options.tests?.split(',') ?? [] }, first)
  const left = drawn.entries()
  const results: Result[] = []
  await Promise.all(
    beds.map(async (bed) => {
      for (const [i, mistake] of left) {
        const began = performance.now()
        const result = await plant(mistake, bed, executed)
        results.push(result)
        const seconds = ((performance.now() - began) / 1000).toFixed(1)
        console.log(`${i + 1 + Number(options.skip)}  ${described(mistake)}\n    ${said(result)} (${seconds} s)`)
      }
    }),
  )
  await Promise.all(beds.map((bed) => bed.close()))
  tell(results)
}

async function plant(mistake: Mistake, bed: TestBed, executed: ExecutedBy): Promise<Result> {
  const files = executed.filesFor(mistake)
  const result = (outcome: Result['outcome']): Result => ({ mistake, outcome, files: files.length })
  if (files.length === 0) return result({ kind: 'not executed' })
  const original = bed.read(mistake.file)
  const changed = withMistake(original, mistake)
  const runWith = (text: string, some: string[], limits?: Limits) => {
    bed.write(mistake.file, text)
    return run(some, bed, executed, limits)
  }
  try {
    let passed = 0
    while (passed < files.length) {
      const outcome = await runWith(changed, files.slice(passed))
      if (outcome.kind === 'passed') break
      if (outcome.kind === 'unfinished') return result({ kind: 'unfinished', passed: passed + outcome.passed })
      const { file } = outcome
      // Some tests fail by chance, and a busy machine is slow: the file must pass without the mistake, and fail again.
      const began = performance.now()
      const isFine = (await runWith(original, [file], { ms: PATIENT_MS, fileMs: PATIENT_MS })).kind === 'passed'
      const fileMs = limitFor(performance.now() - began)
      const again = isFine ? await runWith(changed, [file], { ms: fileMs + 1_000, fileMs }) : undefined
      if (again && again.kind !== 'passed') return result(again)
      console.log(`    ${isFine ? 'only once' : 'also without the mistake'}: ${said(result(outcome))}`)
      passed = files.indexOf(file) + 1
    }
    return result({ kind: 'passed' })
  } finally {
    bed.write(mistake.file, original)
  }
}

type Limits = { ms: number; fileMs: number }

/** A file that takes longer than this doesn't end. */
function limitFor(usualMs: number): number {
  return 20_000 + 5 * usualMs
}

async function run(files: string[], bed: TestBed, executed: ExecutedBy, limits?: Limits): Promise<Outcome> {
  const limitMs = limits?.ms ?? Number(options.seconds) * 1000
  const limitOf = (file: string) => limits?.fileMs ?? limitFor(executed.msOf(file))
  if (files.some(executed.needsBuild)) await bed.build()
  const { root, env, folder } = bed
  const outcome = await runFiles({ root, files, env, folder, limitMs, limitOf })
  await bed.clear()
  return outcome
}

function described({ id, before, replacement }: Mistake): string {
  return `${id}\n    ${short(before)}  →  ${short(replacement) || 'nothing'}`
}

function short(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 160)
}

function said({ outcome, files }: Result): string {
  switch (outcome.kind) {
    case 'failed':
      return `caught by ${outcome.file}: ${short(outcome.test)}`
    case 'hung':
      return `caught: ${outcome.file} does not end`
    case 'passed':
      return `SURVIVED ${files} test files`
    case 'unfinished':
      return `SURVIVED the first ${outcome.passed} of ${files} test files, then the time was up`
    default:
      return 'SURVIVED: no test executes it'
  }
}

function tell(results: Result[]): void {
  const survived = results.filter(({ outcome }) => outcome.kind !== 'failed' && outcome.kind !== 'hung')
  console.log(`\n${results.length - survived.length} of ${results.length} mistakes were caught.`)
  for (const result of survived) {
    const { mistake } = result
    console.log(`\n${described(mistake)}\n    ${said(result)}\n    npm run plant -- --mistake ${mistake.id}`)
  }
}

function shuffled<T>(items: T[], random: () => number): T[] {
  const rest = [...items]
  for (let i = rest.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [one, other] = [rest[i] as T, rest[j] as T]
    rest[i] = other
    rest[j] = one
  }
  return rest
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
