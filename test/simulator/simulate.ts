// Plays one script after the other, each made by a seed, and stops at the first that finds something.
import { type Engine, startService } from '../support/service/service.ts'
import { type Step, scriptOf } from './generate.ts'
import { openA2aStage } from './hostile/ask-a2a.ts'
import { openConnectionStage } from './hostile/ask-connections.ts'
import { openIdentityStage } from './hostile/ask-identity.ts'
import { openHostileStage } from './hostile/ask-provider.ts'
import { openQuestionStage } from './hostile/ask-questions.ts'
import { openReceiverStage } from './hostile/ask-receiver.ts'
import { openRemoteStage } from './hostile/ask-remote.ts'
import { openS3Stage } from './hostile/ask-s3.ts'
import { openToolStage } from './hostile/ask-tools.ts'
import { AGENTS, type HostileStage, type StartSubject } from './hostile/hostile-stage.ts'
import { startOlder } from './older-service.ts'
import { play } from './play.ts'
import { KEPT_SEEDS } from './seeds.ts'
import { abilitiesOf, openStageOf } from './stage.ts'

export type Wish = {
  engine: Engine
  seconds: number
  seed: number
  scripts: number
  steps: number
  /** The checkout whose service is asked, if it isn't this one. */
  checkout?: string | undefined
}

export type Failure = { seed: number; wrong: string; steps: Step[] }

/** Resolves with the first failure, and with how many scripts were played. */
export async function simulate({
  engine,
  seconds,
  seed,
  scripts,
  steps,
  checkout,
}: Wish): Promise<{ played: number; failure?: Failure }> {
  const abilities = abilitiesOf(engine, checkout)
  const open = openStageOf(engine, checkout)
  const end = performance.now() + seconds * 1_000
  let played = 0
  const seeds = function* () {
    yield* KEPT_SEEDS[engine]
    for (let i = 0; i < scripts; i++) yield seed + i
  }
  for (const next of seeds()) {
    if (performance.now() > end) break
    const script = scriptOf(next, steps, abilities)
    const wrong = await play(script, open)
    played += 1
    if (wrong !== undefined) return { played, failure: { seed: next, wrong, steps: script } }
  }
  return { played }
}

/** The worlds that misbehave. */
export const HOSTILE = {
  provider: openHostileStage,
  tools: openToolStage,
  receiver: openReceiverStage,
  remote: openRemoteStage,
  a2a: openA2aStage,
  s3: openS3Stage,
  questions: openQuestionStage,
  identity: openIdentityStage,
  connections: openConnectionStage,
} satisfies Record<string, (engine: Engine, start: StartSubject) => Promise<HostileStage>>

type Asking = Omit<Wish, 'steps'> & { world: keyof typeof HOSTILE }

const LATE = /timeout|it took|did not answer|No answer within|still being read|have arrived/

/** Stops at the first answer that is wrong, or goes on. */
export async function askHostile({ world, engine, seconds, seed, scripts, checkout }: Asking, goesOn = false) {
  if (world === 'receiver' && checkout !== undefined) throw new Error('the clock of an older service cannot be moved')
  const start: StartSubject = checkout === undefined ? startService : startOlder.bind(undefined, checkout)
  const stage = await HOSTILE[world](engine, start)
  const end = performance.now() + seconds * 1_000
  const wrong: string[] = []
  let asked = 0
  const askAll = async (agent: number) => {
    while (asked < scripts && performance.now() < end && (goesOn || wrong.length === 0)) {
      const next = seed + asked++
      const found = await stage.ask(next, agent)
      // A busy machine may be too late. What is the service's mistake is too late again.
      wrong.push(...(found.some((one) => LATE.test(one)) ? await stage.ask(next, agent) : found))
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
