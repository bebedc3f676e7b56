// npm run simulate -- [--seconds 60] [--seed N] [--scripts 1] [--engine sqlite|postgres] [--steps 40]
// npm run simulate -- --world provider|tools|… [--seconds 60] [--seed N] [--scripts 1]
// npm run simulate -- --service ../older-checkout …
// Plays one script after the other, each made by a seed. Stops at the first that finds something, shortens it, and prints
// how to play it again. With --world it asks one agent after the other whose world misbehaves; with --all it goes on.
import { parseArgs } from 'node:util'
import { ALL_RULES } from '../support/invariants/watch-invariants.ts'
import type { Engine } from '../support/service/service.ts'
import { play } from './play.ts'
import { shorten } from './shorten.ts'
import { askHostile, type HOSTILE, shown, simulate } from './simulate.ts'
import { openStageOf } from './stage.ts'

process.env[ALL_RULES] = '1'

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
      /** A built checkout, whose service is asked instead of this one. */
      service: { type: 'string' },
    },
  })
  const engine = values.engine as Engine
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed)
  const steps = Number(values.steps)
  const checkout = values.service
  console.log(`${engine}, from seed ${seed}`)
  if (values.world !== 'scripts') {
    const world = values.world as keyof typeof HOSTILE
    const wish = { world, engine, seed, seconds: Number(values.seconds), scripts: Number(values.scripts), checkout }
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
    checkout,
  })
  console.log(`${played} scripts`)
  if (!failure) return
  const shortest = values.whole
    ? failure
    : await shorten(failure, (script) => play(script, openStageOf(engine, checkout)))
  console.log(shown(shortest, engine, steps))
  process.exitCode = 1
}

await main()
