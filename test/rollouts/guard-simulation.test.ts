import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DefinitionFields } from '../../src/agents/definition.ts'
import { type BothSides, beginSums, NO_SUMS, type SideSums } from '../../src/deployments/rollouts/compared-sums.ts'
import { atStep, newRollout, RolloutStrategy } from '../../src/deployments/rollouts/rollout.ts'
import { chooseVersion, type Sender } from '../../src/deployments/rollouts/split.ts'
import { judgeAnswers } from '../../src/judge/guard.ts'
import { addBlock, NO_EVIDENCE } from '../../src/lib/statistics/sequential-test.ts'

const MINUTE = 60_000
const AT = { now: 0, split_key: 'secret' }
const OF = {
  deployment_id: 'dep_new',
  agent_id: 'agt',
  environment: 'production',
  version: 'v2',
  serving_id: 'dep_old',
}

type Rates = { candidate: number; serving: number }

type Release = {
  /** How often an answer is the candidate's. */
  share: number
  /** How often each version fails when the candidate has given this number of answers. */
  rates(candidate_answers: number): Rates
  most: number
  /** Whether the guard looks after an answer. */
  looks(random: () => number): boolean
  guard?: object
}

const always = () => true
const equal = (rate: number) => () => ({ candidate: rate, serving: rate })
/** Both fail while their provider is down. */
const outage = (answers: number) => equal(answers > 60 && answers < 110 ? 0.7 : 0.02)()

/** After how many of the candidate's answers the guard rolls it back. Undefined if it doesn't. */
function rolledBackAfter({ share, rates, most, looks, guard = {} }: Release, random: () => number): number | undefined {
  const strategy = RolloutStrategy.parse({ steps: [{ percent: share * 100, minutes: 1e4 }], guard })
  const rollout = newRollout(OF, strategy, undefined, AT)
  const step = { candidate: { ...NO_SUMS }, serving: { ...NO_SUMS } }
  let sums = beginSums()
  while (step.candidate.answers < most) {
    const side = random() < share ? 'candidate' : 'serving'
    step[side].answers++
    if (random() < rates(step.candidate.answers)[side]) step[side].failures++
    // Between two answers of the candidate, nothing changes that a look could find.
    if (side === 'serving' || !looks(random)) continue
    const judged = judgeAnswers(rollout, sums, step, 0)
    if (judged.finding.kind === 'bad') return step.candidate.answers
    sums = judged.sums
  }
  return undefined
}

/** The share of the releases that are rolled back, within that number of the candidate's answers. */
function simulate(releases: number, seed: number, release: Release): number {
  const random = randomFrom(seed)
  let found = 0
  for (let i = 0; i < releases; i++) if (rolledBackAfter(release, random) !== undefined) found++
  return found / releases
}

describe('the guard, over 6,000 simulated releases', () => {
  for (const [name, rates] of Object.entries({ 'fail at 2 %': equal(0.02), 'fail at 30 %': equal(0.3), outage })) {
    for (const share of [0.1, 0.5]) {
      test(`rolls back at most 5 % if both versions are equal: ${name}, ${share * 100} % of the messages`, () => {
        const wrong = simulate(500, 7, { share, rates, most: 200, looks: always })
        assert.ok(wrong <= 0.05, `${wrong}`)
      })
    }
  }

  test('looking less often does not change that', () => {
    const looks = (random: () => number) => random() < 0.1
    const wrong = simulate(500, 11, { share: 0.25, rates: equal(0.05), most: 300, looks })
    assert.ok(wrong <= 0.05, `${wrong}`)
  })

  for (const { share, within, least } of [
    { share: 0.05, within: 60, least: 0.95 },
    { share: 0.1, within: 60, least: 0.95 },
    { share: 0.25, within: 60, least: 0.94 },
    { share: 0.5, within: 100, least: 0.94 },
  ]) {
    test(`finds 20 % failures instead of 2 % within ${within} answers, with ${share * 100} % of the messages`, () => {
      const rates = () => ({ candidate: 0.2, serving: 0.02 })
      const found = simulate(600, 3, { share, rates, most: within, looks: always })
      assert.ok(found >= least, `${found}`)
    })
  }

  for (const failing of [1, 3]) {
    test(`${failing} of 100 senders whose messages always fail are no reason, in three steps`, () => {
      const strategy = RolloutStrategy.parse({ steps: [5, 20, 50].map((percent) => ({ percent, minutes: 1 })) })
      const random = randomFrom(failing)
      let wrong = 0
      for (let release = 0; release < 400; release++) {
        if (isRolledBack(strategy, failing, random)) wrong++
      }
      assert.ok(wrong / 400 <= 0.05, `${wrong / 400}`)
    })
  }

  /** In each step, each sender counts once. Those who had the candidate keep it. */
  function isRolledBack(strategy: RolloutStrategy, failing: number, random: () => number): boolean {
    const places = Array.from({ length: 100 }, () => random() * 10_000)
    let rollout = newRollout(OF, strategy, undefined, AT)
    let sums = beginSums()
    for (const number of strategy.steps.keys()) {
      rollout = atStep(rollout, number + 1, 0)
      sums = beginSums(sums)
      const step = { candidate: { ...NO_SUMS }, serving: { ...NO_SUMS } }
      const order = [...places.keys()].toSorted(() => random() - 0.5)
      for (const sender of order) {
        const side = (places[sender] as number) < rollout.share ? 'candidate' : 'serving'
        step[side].answers++
        if (sender < failing) step[side].failures++
        const judged = judgeAnswers(rollout, sums, step, 0)
        if (judged.finding.kind === 'bad') return true
        sums = judged.sums
      }
    }
    return false
  }

  test('a ratio that is tolerated is not found, and a higher one is', () => {
    const guard = { max_failure_ratio: 3 }
    const tolerated = {
      share: 0.5,
      rates: () => ({ candidate: 0.05, serving: 0.02 }),
      most: 1_000,
      looks: always,
      guard,
    }
    assert.ok(simulate(200, 5, tolerated) <= 0.05)
    const higher = { ...tolerated, rates: () => ({ candidate: 0.3, serving: 0.02 }) }
    assert.ok(simulate(100, 5, higher) >= 0.95)
  })

  test('a slower candidate is found, and an equal one is not', () => {
    const strategy = { steps: [{ percent: 50, minutes: 1 }], guard: { max_latency_ratio: 1.2 } }
    const rollout = newRollout(OF, RolloutStrategy.parse(strategy), undefined, AT)
    const slowerBy = (ratio: number, seed: number) => {
      const random = randomFrom(seed)
      const step = { candidate: NO_SUMS, serving: NO_SUMS }
      for (let i = 0; i < 600; i++) {
        step.candidate = withDuration(step.candidate, ratio * 1_000 * -Math.log(1 - random()))
        step.serving = withDuration(step.serving, 1_000 * -Math.log(1 - random()))
        const { finding } = judgeAnswers(rollout, beginSums(), step, 0)
        if (finding.kind === 'bad') return finding.verdict
      }
      return undefined
    }
    const found = (ratio: number) => Array.from({ length: 100 }, (_, seed) => slowerBy(ratio, seed))
    assert.ok(found(1.2).filter((verdict) => verdict !== undefined).length <= 5)
    assert.ok(found(1.8).filter((verdict) => verdict === 'latency').length >= 95)
  })

  const ratedBadAfter = (good: { candidate: number; serving: number }, min_feedback: number, seed: number) => {
    const strategy = { steps: [{ percent: 50, minutes: 1 }], guard: { min_feedback } }
    const rollout = newRollout(OF, RolloutStrategy.parse(strategy), undefined, AT)
    const random = randomFrom(seed)
    const step = { candidate: NO_SUMS, serving: NO_SUMS }
    for (let i = 1; i <= 300; i++) {
      for (const side of ['candidate', 'serving'] as const) {
        const { count, sum, squares } = step[side].score
        const score = random() < good[side] ? 1 : -1
        step[side] = { ...NO_SUMS, score: { count: count + 1, sum: sum + score, squares: squares + 1 } }
      }
      if (judgeAnswers(rollout, beginSums(), step, 0).finding.kind === 'bad') return i
    }
    return undefined
  }

  for (const good of [0.5, 0.8, 0.97]) {
    test(`versions whose answers are equally liked are rolled back at most in 5 %: ${good * 100} % are good`, () => {
      for (const min_feedback of [2 * good - 1, 1]) {
        const found = Array.from({ length: 200 }, (_, seed) =>
          ratedBadAfter({ candidate: good, serving: good }, min_feedback, seed),
        )
        const wrong = found.filter((after) => after !== undefined).length / found.length
        assert.ok(wrong <= 0.05, `${wrong}`)
      }
    })
  }

  test('a candidate whose answers are liked much less is found', () => {
    const found = Array.from({ length: 100 }, (_, seed) => ratedBadAfter({ candidate: 0.4, serving: 0.9 }, 0.5, seed))
    assert.ok(found.filter((after) => after !== undefined && after <= 100).length >= 95)
  })
})

describe('a step of a gradual deployment', () => {
  const strategy = RolloutStrategy.parse({ steps: [{ percent: 10, minutes: 30 }] })
  const rollout = newRollout(OF, strategy, undefined, AT)
  const answered = (candidate: number, serving: number): BothSides<SideSums> => ({
    candidate: { ...NO_SUMS, answers: candidate },
    serving: { ...NO_SUMS, answers: serving },
  })
  const findingOf = (step: BothSides<SideSums>, minutes: number, of: object = {}) =>
    judgeAnswers({ ...rollout, ...of }, beginSums(), step, minutes * MINUTE).finding.kind

  test('never ends without enough answers of both versions', () => {
    for (const [candidate, serving] of [
      [0, 0],
      [0, 9_000],
      [9_000, 0],
      [49, 9_000],
      [9_000, 49],
    ] as const) {
      assert.equal(findingOf(answered(candidate, serving), 1e6), 'wait')
    }
    assert.equal(findingOf(answered(50, 50), 30), 'step over')
  })

  test('ends after its minutes, and not while it is paused', () => {
    assert.equal(findingOf(answered(900, 9_000), 29.9), 'wait')
    assert.equal(findingOf(answered(900, 9_000), 1e6, { clock_at: null }), 'wait')
    assert.equal(findingOf(answered(900, 9_000), 1, { clock_ms: 29 * MINUTE }), 'step over')
  })

  test('with all messages ends without answers of the previous version', () => {
    assert.equal(findingOf(answered(50, 0), 30, { steps: [{ percent: 100, minutes: 30 }] }), 'step over')
  })

  test('low feedback alone is no reason if the other version is not rated higher', () => {
    const guard = { ...strategy.guard, min_feedback: 0.5 }
    const rated = (candidate: number, serving: number, count = 60) => ({
      candidate: { ...NO_SUMS, score: { count, sum: candidate * count, squares: count } },
      serving: { ...NO_SUMS, score: { count, sum: serving * count, squares: count } },
    })
    assert.equal(findingOf(rated(-0.3, 0.9), 1, { guard }), 'bad')
    assert.equal(findingOf(rated(0.1, 0.1), 1, { guard }), 'wait')
    assert.equal(findingOf(rated(0.6, 0.9), 1, { guard }), 'wait')
    assert.equal(findingOf(rated(-1, 1, 9), 1, { guard }), 'wait')
  })
})

describe('the split of messages', () => {
  const version = (name: string) => ({ version: name, deployment_id: name, definition: DefinitionFields.parse({}) })
  const share = (percent: number, split_key = 'secret') => ({
    stable: version('v1'),
    candidate: { served: version('v2'), deployment_id: 'dep_2', share: percent * 100, split_key },
  })
  const senders = Array.from({ length: 20_000 }, (_, i) => ({
    user_id: i % 3 === 0 ? undefined : `user ${i % 7_000}`,
    session_id: i % 3 === 1 ? `session ${i}` : undefined,
    request_id: `req_${i}`,
  }))
  const chosen = (percent: number) => senders.map((sender) => chooseVersion(share(percent), sender).version)

  test('is within two points of the share, and whoever has the candidate keeps it when the share grows', () => {
    const [few, more] = [chosen(10), chosen(35)]
    const shareOf = (versions: (string | null)[]) => versions.filter((one) => one === 'v2').length / versions.length
    assert.ok(Math.abs(shareOf(few) - 0.1) < 0.02 && Math.abs(shareOf(more) - 0.35) < 0.02)
    assert.ok(few.every((one, i) => one === 'v1' || more[i] === 'v2'))
    assert.deepEqual([shareOf(chosen(0)), shareOf(chosen(100))], [0, 1])
    // With another secret, others have the candidate: their share is still the same.
    const others = senders.filter(
      (sender, i) => few[i] === 'v2' && chooseVersion(share(10, 'other'), sender).version === 'v2',
    )
    assert.ok(others.length < 0.2 * shareOf(few) * senders.length, `${others.length}`)
  })

  test('depends on the session, or else on the user, or else on the request', () => {
    const of = (sender: Partial<Sender>) =>
      chooseVersion(share(50), { user_id: undefined, session_id: undefined, request_id: 'req', ...sender }).version
    const kinds = (count: number, sender: (i: number) => Partial<Sender>) =>
      new Set(Array.from({ length: count }, (_, i) => of(sender(i)))).size
    assert.equal(
      kinds(50, (i) => ({ user_id: 'ann', session_id: 's', request_id: `r${i}` })),
      1,
    )
    assert.equal(
      kinds(50, (i) => ({ user_id: 'ann', request_id: `r${i}` })),
      1,
    )
    assert.equal(
      kinds(50, (i) => ({ user_id: 'ann', session_id: `s${i}` })),
      2,
    )
    assert.equal(
      kinds(50, (i) => ({ user_id: `u${i}`, session_id: 's' })),
      2,
    )
    assert.equal(
      kinds(50, (i) => ({ request_id: `r${i}` })),
      2,
    )
    assert.equal(chooseVersion(share(100), null).version, 'v1')
  })
})

test('a block says nothing if all of its answers failed, or none', () => {
  const block = (failures: number) =>
    addBlock(NO_EVIDENCE, { answers: 20, failures }, { answers: 180, failures: failures * 9 }, 1)
  assert.deepEqual(block(0), NO_EVIDENCE)
  assert.deepEqual(block(20), NO_EVIDENCE)
})

function withDuration(sums: SideSums, ms: number): SideSums {
  const { count, sum, squares } = sums.ms
  return { ...sums, answers: sums.answers + 1, ms: { count: count + 1, sum: sum + ms, squares: squares + ms * ms } }
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
