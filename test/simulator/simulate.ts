// npm run simulate -- [--seconds 60] [--seed N] [--scripts 1] [--engine sqlite|postgres] [--steps 40]
// npm run simulate -- --world provider [--seconds 60] [--seed N] [--scripts 1]
// Plays one script after the other, each made by a seed. Stops at the first that finds something, shortens it, and prints
// how to play it again. With --world provider it asks one agent after the other whose provider misbehaves.
import { parseArgs } from 'node:util'
import type { Engine } from '../support/service/service.ts'
import { type Step, scriptOf } from './generate.ts'
import { AGENTS, openHostileStage } from './hostile.ts'
import { play } from './play.ts'
import { KEPT_SEEDS } from './seeds.ts'
import { shorten } from './shorten.ts'
import { abilitiesOf, openStage } from './stage.ts'

export type Wish = { engine: Engine; seconds: number; seed: number; scripts: number; steps: number }

export type Failure = { seed: number; wrong: string; steps: Step[] }

/** Resolves with the first failure, and with how many scripts were played. */
export async function simulate({
  engine,
  seconds,
  seed,
  scripts,
  steps,
}: Wish): Promise<{ played: number; failure?: Failure }> {
  const abilities = abilitiesOf(engine)
  const end = performance.now() + seconds * 1_000
  let played = 0
  const seeds = function* () {
    yield* KEPT_SEEDS[engine]
    for (let i = 0; i < scripts; i++) yield seed + i
  }
  for (const next of seeds()) {
    if (performance.now() > end) break
    const script = scriptOf(next, steps, abilities)
    const wrong = await play(script, (outside) => openStage(engine, outside))
    played += 1
    if (wrong !== undefined) return { played, failure: { seed: next, wrong, steps: script } }
  }
  return { played }
}

type Asking = Omit<Wish, 'steps'>

/** Stops at the first answer that is wrong, or goes on. */
export async function askHostile({ engine, seconds, seed, scripts }: Asking, goesOn = false) {
  const stage = await openHostileStage(engine)
  const end = performance.now() + seconds * 1_000
  const wrong: string[] = []
  let asked = 0
  const askAll = async (agent: number) => {
    while (asked < scripts && performance.now() < end && (goesOn || wrong.length === 0)) {
      wrong.push(...(await stage.ask(seed + asked++, agent)))
    }
  }
  try {
    await Promise.all(Array.from({ length: AGENTS }, (_, agent) => askAll(agent)))
  } finally {
    await stage.close()
  }
  return { asked, wrong }
}

export function shown({ seed, steps, wrong }: Failure, engine: Engine, length: number): string {
  const lines = steps.map((step, i) => `${i + 1}. ${JSON.stringify(step)}`)
  return [
    ...lines,
    '',
    wrong,
    '',
    `npm run simulate -- --engine ${engine} --seed ${seed} --scripts 1 --steps ${length}`,
  ].join('\n')
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      engine: { type: 'string', default: 'sqlite' },
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string' },
      scripts: { type: 'string', default: '1000000' },
      steps: { type: 'string', default: '40' },
      whole: { type: 'boolean', default: false },
      world: { type: 'string', default: 'scripts' },
      all: { type: 'boolean', default: false },
    },
  })
  const engine = values.engine as Engine
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed)
  const steps = Number(values.steps)
  console.log(`${engine}, from seed ${seed}`)
  if (values.world === 'provider') {
    const wish = { engine, seed, seconds: Number(values.seconds), scripts: Number(values.scripts) }
    const { asked, wrong } = await askHostile(wish, values.all)
    console.log([`${asked} answers`, ...wrong].join('\n'))
    if (wrong.length > 0) process.exitCode = 1
    return
  }
  const { played, failure } = await simulate({
    engine,
    seed,
    steps,
    seconds: Number(values.seconds),
    scripts: Number(values.scripts),
  })
  console.log(`${played} scripts`)
  if (!failure) return
  const shortest = values.whole
    ? failure
    : await shorten(failure, (script) => play(script, (outside) => openStage(engine, outside)))
  console.log(shown(shortest, engine, steps))
  process.exitCode = 1
}

if (import.meta.main) {
  // Stores on PostgreSQL are checked too.
  process.env['MOORAGE_TEST_ALL'] = '1'
  await main()
}
