import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Step, scriptOf } from '../../simulator/generate.ts'
import { play } from '../../simulator/play.ts'
import { askHostile, shown, simulate } from '../../simulator/simulate.ts'
import { abilitiesOf, openStage } from '../../simulator/stage.ts'
import { underAllRules } from '../../support/invariants/watch-invariants.ts'
import { ENGINES, type Engine } from '../../support/service/service.ts'

const SECONDS = 4
const STEPS = 30
const SEED = 20_261_119

const ROOT = { by: 'root', project: 'default', agent: 'mate' }
const MADE = { ...ROOT, do: 'create agent', persona: 'p1', remember: true, history: 3 } as const
const ASKED = { ...ROOT, do: 'invoke', user: 'bob', session: 's1', environment: 'production' } as const
const ALONE = { ...ASKED, user: null, session: null, plan: 'answer', how: 'openai' } as const
const lost = { fault: 'lose a commit', at: { commit: 1, isDone: true } } as const

/** A dead node on PostgreSQL is noticed after seven seconds, and a lost lease after thirty: only `npm run simulate` waits. */
const CUT_OFF: Record<Engine, Step[]> = {
  sqlite: [
    { acts: [MADE] },
    { acts: [{ ...ASKED, message: 'm2', plan: 'tool', how: 'background' }], fault: 'kill', at: { call: 2 } },
  ],
  postgres: [
    { acts: [{ ...MADE, once: 'k1' }], ...lost },
    { acts: [{ ...ROOT, do: 'write memory', about: 'n2', user: 'ada', session: null, once: 'k2' }], ...lost },
    { acts: [{ ...ROOT, do: 'deploy', environment: 'production', version: 'v1', once: 'k3' }], ...lost },
    { acts: [{ ...ALONE, message: 'm5' }] },
    { acts: [{ ...ALONE, message: 'm6' }], fault: 'lose a commit', at: { commit: 2, isDone: true } },
    { acts: [{ ...ALONE, plan: 'ask', message: 'm8' }], fault: 'lose a commit', at: { commit: 2, isDone: true } },
    {
      acts: [{ ...ALONE, how: 'plain', message: 'm7', once: 'k4' }],
      fault: 'lose a commit',
      at: { commit: 3, isDone: true },
    },
  ],
}

const late = { call: 1, isTakenBack: true, answered: 'when queued' } as const
const plain = { ...ASKED, session: null, plan: 'answer', how: 'plain' } as const

/** The node takes its own runs for a dead node's. */
const STOOD_STILL: Step[] = [
  { acts: [MADE] },
  { acts: [{ ...plain, message: 'm2', once: 'k1' }], fault: 'oversleep', at: late },
  { acts: [{ ...plain, message: 'm3' }], fault: 'oversleep', at: late },
  { acts: [{ ...plain, message: 'm4', how: 'background' }], fault: 'stand still', at: late },
]

underAllRules()

describe('scripts by seed', () => {
  for (const engine of ENGINES) {
    test(`the service does what the model predicts, on ${engine}`, async () => {
      const { failure, played } = await simulate({ engine, seed: SEED, seconds: SECONDS, scripts: 4, steps: STEPS })
      assert.equal(failure && shown(failure, engine, STEPS), undefined)
      assert.ok(played > 0)
    })
  }

  for (const engine of ENGINES) {
    test(`what was acknowledged outlives ${engine === 'sqlite' ? 'a killed process' : 'a lost commit'}`, async () => {
      const script = CUT_OFF[engine]
      assert.equal(await play(script, (outside) => openStage(engine, outside, script)), undefined)
    })
  }

  for (const engine of ENGINES) {
    test(`a node that has stood still does nothing twice, on ${engine}`, async () => {
      assert.equal(await play(STOOD_STILL, (outside) => openStage(engine, outside, STOOD_STILL)), undefined)
    })
  }

  for (const world of ['tools', 'receiver', 'remote', 'a2a', 'identity', 'connections', 's3', 'questions'] as const) {
    test(`misbehaving ${world}: the right outcome or a clear failure`, async () => {
      const { asked, wrong } = await askHostile({ world, engine: 'sqlite', seed: SEED, seconds: 1, scripts: 6 })
      assert.deepEqual([asked, wrong], [6, []])
    })
  }

  test('a misbehaving provider leads to the right answer or a clear failure', async () => {
    const { asked, wrong } = await askHostile({
      world: 'provider',
      engine: 'sqlite',
      seed: SEED,
      seconds: SECONDS,
      scripts: 60,
    })
    assert.deepEqual(wrong, [])
    assert.ok(asked > 5)
  })
})

describe('the simulator notices', () => {
  const noted = { ...ROOT, do: 'write memory', about: 'n1', user: 'ada', session: null } as const
  const script: Step[] = [
    { acts: [MADE] },
    { acts: [noted] },
    { acts: [{ ...ASKED, message: 'm2', plan: 'answer', how: 'plain' }] },
    { restart: true },
  ]

  /** A service that does something else than it should when it is started again. */
  const playBroken = (doWrong: (ask: (method: string, path: string) => Promise<unknown>) => Promise<void>) =>
    play(script, async (outside) => {
      const stage = await openStage('sqlite', outside, script)
      const ask = (method: string, path: string) =>
        fetch(stage.urls()[0] + path, { method, headers: { Authorization: `Bearer ${stage.admin}` } })
      return { ...stage, restart: () => doWrong(ask) }
    })

  test('nothing, if nothing is wrong', async () => {
    assert.equal(await playBroken(async () => {}), undefined)
  })

  test('a memory that is gone', async () => {
    const wrong = await playBroken(async (ask) => void (await ask('DELETE', '/v1/agents/mate/memory?user_id=ada')))
    assert.match(wrong ?? '', /^memories of mate of default: promised \["note - n1 ada -"/)
  })

  test('a run that was erased', async () => {
    const wrong = await playBroken(async (ask) => void (await ask('DELETE', '/v1/users/bob')))
    assert.match(wrong ?? '', /runs of mate of default: promised \["m2 completed/)
  })

  test('the same script for the same seed', () => {
    const abilities = abilitiesOf('sqlite')
    assert.deepEqual(scriptOf(7, 50, abilities), scriptOf(7, 50, abilities))
    assert.notDeepEqual(scriptOf(7, 50, abilities), scriptOf(8, 50, abilities))
  })
})
