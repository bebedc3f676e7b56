// A script: what several clients do, one step after the other or at the same time. It's data, so that it can be shortened
// and shown; the world of the model says which names exist, so that most of it makes sense.
import { type Act, type Invoke, LISTS, type Role } from '../model/act.ts'
import { askedBy, DAY_MS, isPost, promised } from '../model/promise.ts'
import { messageOf } from '../model/run-ends.ts'
import { PLANS } from '../model/runs.ts'
import { passTime } from '../model/schedules.ts'
import { emptyWorld, type World } from '../model/world.ts'
import { type Random, randomOf } from './random.ts'

/** What goes wrong during a step. */
export type Fault =
  | 'hang up'
  | 'refuse runs'
  | 'refuse ends'
  | 'break off runs'
  | 'break off ends'
  /** The node dies, as by kill -9. */
  | 'kill'
  /** PostgreSQL has committed, and its answer does not arrive. */
  | 'lose a commit'
  /** The clock jumps, beyond the end of leases. */
  | 'jump'
  /** The node stands still until its leases have ended, and notices that before another does. */
  | 'oversleep'
  /** The node stands still until another takes its work for a dead node's, and then goes on. */
  | 'stand still'

/** A node that goes on with its work itself has lost nothing, and clients notice nothing. */
export const isHarmless = (fault: Fault | undefined): boolean => fault === 'jump' || fault === 'oversleep'

/** By how much the clock jumps. */
export const JUMP_MS = 45_000

/**
 * When it goes wrong: at which call of a model or tool, or at which commit. A call at which a node stands still is
 * answered at once, or after its run is back in the queue, or after the node or another has taken it.
 */
export type Moment = { call: number } | { commit: number; isDone: boolean } | StandStill
export type StandStill = { call: number; isTakenBack: boolean; answered: 'at once' | 'when queued' | 'when taken' }

export type Step =
  | { acts: Act[]; fault?: Fault; at?: Moment }
  /** The clock goes on by so much. */
  | { pass: number }
  | { restart: true }

export type Abilities = { passesTime: boolean; standsStill: boolean; faults: readonly Fault[] }

const ENVIRONMENTS = ['production', 'staging']
const USERS = ['ada', 'bob']
const SESSIONS = ['s1', 's2']
const EVENTS = [
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
  'agent.waiting',
  'deployment.created',
  'deployment.rolled_back',
]

/** Of another number than the script, so that a script is the same whether its node dies or not. */
const MORTAL = 1_000_003
const MORTAL_SHARE = 1 / 8
/** The same for scripts whose node stands still. */
const STILL = 1_000_033
const STILL_SHARE = 1 / 8

export function scriptOf(seed: number, length: number, abilities: Abilities): Step[] {
  const random = randomOf(seed)
  const isMortal = randomOf(seed + MORTAL).chance(MORTAL_SHARE)
  const standsStill = !isMortal && randomOf(seed + STILL).chance(STILL_SHARE)
  const writer = new Writer(random, random.chance(1 / 3), isMortal, standsStill)
  const steps: Step[] = []
  while (steps.length < length) {
    const step = writer.next(abilities)
    steps.push(step)
    writer.follow(step)
  }
  return steps
}

class Writer {
  readonly #random: Random
  #world: World = emptyWorld(0)
  #named = 0
  /** What was sent with an Idempotency-Key. */
  #tried: Act[] = []

  /** In a script without faults that cut runs off, every token is known. */
  readonly #isRough: boolean
  /** In such a script a node is killed, and nothing else goes wrong. */
  readonly #isMortal: boolean
  /** Its clock jumps too. */
  readonly #standsStill: boolean

  constructor(random: Random, isRough: boolean, isMortal: boolean, standsStill: boolean) {
    this.#random = random
    this.#isRough = isRough
    this.#isMortal = isMortal
    this.#standsStill = standsStill
  }

  next(abilities: Abilities): Step {
    const random = this.#random
    const { passesTime } = abilities
    const faults = this.#isMortal
      ? (['kill', 'kill', 'hang up'] as const)
      : this.#standsStill && abilities.standsStill
        ? (['stand still', 'oversleep', passesTime ? 'jump' : 'oversleep'] as const)
        : abilities.faults.filter((fault) => this.#isRough || fault === 'hang up')
    if (this.#agents().length === 0) return { acts: [this.#createAgent()] }
    const chance = random.next()
    if (chance < 0.06 && passesTime) return { pass: this.#minutes() * 60_000 + random.of([0, 0, 30_000]) }
    if (chance < 0.08) return { restart: true }
    if (chance < 0.2 && faults.length > 0) {
      const fault = random.of<Fault>(faults)
      const act = fault === 'hang up' ? this.#hungUp() : this.#act(true)
      if (fault === 'kill' || fault === 'lose a commit') return { acts: [act], fault, at: this.#moment(fault) }
      if (fault === 'stand still' || isHarmless(fault))
        return { acts: [this.#goingOn()], fault, at: this.#standStill() }
      return { acts: [act], fault }
    }
    const acts = [this.#act()]
    while (random.chance(0.15) && acts.length < 3) {
      const act = this.#act()
      // While the first request is running, a different one with its key is refused, whatever becomes of the first.
      if (act.once === undefined || acts.every(({ once }) => once !== act.once)) acts.push(act)
    }
    return { acts }
  }

  #isKept({ agent, message }: Invoke): boolean {
    return Object.values(this.#world.replies).some(({ run }) => run?.agent === agent && run.name === message)
  }

  /** Less than the seven days after which an approval expires. */
  #minutes(): number {
    const isEarly = this.#world.time < 5 * 24 * 3_600_000
    return this.#random.of([30, 60, 61, 90, 130, 600, ...(isEarly ? [1_430, 1_500] : [])])
  }

  #moment(fault: Fault): Moment {
    const random = this.#random
    if (fault === 'kill' && random.chance(0.5)) return { call: 1 + random.below(2) }
    return { commit: 1 + random.below(5), isDone: fault !== 'kill' || random.chance(0.5) }
  }

  /** Mostly a run that another node continues. */
  #goingOn(): Act {
    const act = this.#invoke()
    return this.#random.chance(0.5) ? { ...act, how: 'background' } : this.#maybeOnce(act, true)
  }

  #standStill(): StandStill {
    const random = this.#random
    const answered = random.of(['at once', 'when queued', 'when queued', 'when taken'] as const)
    return { call: 1 + random.below(2), isTakenBack: random.chance(0.7), answered }
  }

  /** Where the script is then, if everything goes well. */
  follow(step: Step): void {
    if ('pass' in step) return passTime(this.#world, step.pass)
    if ('restart' in step) return
    for (const act of step.acts) {
      this.#world = promised(this.#world, act).world
      if (act.once !== undefined) this.#tried.push(act)
      // Nobody can tell the runs of a deleted agent from those of an agent with its name.
      if (act.do === 'delete agent') this.#tried = this.#tried.filter((one) => one.do !== 'invoke' || this.#isKept(one))
    }
  }

  #act(isFaulty = false): Act {
    const random = this.#random
    const weights: [number, () => Act][] = [
      [30, () => this.#invoke()],
      [4, () => this.#createAgent()],
      [5, () => ({ do: 'update agent', ...this.#target(), persona: this.#name('p') })],
      [2, () => ({ do: random.of(['pause agent', 'resume agent', 'resume agent']), ...this.#target() })],
      [1, () => ({ do: 'delete agent', ...this.#target() })],
      [
        7,
        () => ({ do: 'deploy', ...this.#target(), environment: this.#environment(), version: `v${random.below(4)}` }),
      ],
      [4, () => ({ do: 'roll back', ...this.#target(), environment: this.#environment() })],
      [3, () => this.#createKey()],
      [
        2,
        () => ({
          do: 'revoke key',
          ...this.#asker(),
          key: random.of(Object.keys(this.#world.keys).concat('nokey')),
        }),
      ],
      [3, () => ({ do: 'cancel', ...this.#aRun() })],
      [2, () => ({ do: 'erase run', ...this.#aRun() })],
      [6, () => ({ do: 'decide', ...this.#aRun('waiting'), decision: random.of(['approve', 'approve', 'reject']) })],
      [4, () => ({ do: 'write memory', ...this.#target(), about: this.#name('n'), ...this.#whose() })],
      [2, () => ({ do: 'forget', ...this.#target(), ...this.#whose() })],
      [3, () => this.#createSchedule()],
      [1, () => ({ do: 'delete schedule', ...this.#target(), schedule: this.#existing('schedules') })],
      [3, () => this.#createBudget()],
      [2, () => ({ do: 'delete budget', ...this.#asker(), budget: this.#ofProject('budgets') })],
      [3, () => this.#createWebhook()],
      [
        3,
        () => ({
          do: random.of(['delete webhook', 'disable webhook', 'enable webhook']),
          ...this.#asker(),
          webhook: this.#ofProject('webhooks'),
        }),
      ],
      [3, () => this.#upload()],
      [1, () => ({ do: 'delete file', ...this.#asker(), file: this.#ofProject('files') })],
      [2, () => ({ do: 'erase user', ...this.#asker(), user: random.of(USERS) })],
      [8, () => ({ do: 'list', ...this.#target(), what: random.of(LISTS) })],
    ]
    let left = random.below(weights.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, make] of weights) {
      left -= weight
      if (left < 0) return this.#maybeOnce(make(), isFaulty)
    }
    return this.#invoke()
  }

  /** A careful client sends a key, and sometimes asks again, or asks something else with it. */
  #maybeOnce(act: Act, isFaulty: boolean): Act {
    const random = this.#random
    if (act.do === 'list' || act.by === 'nobody' || !random.chance(isPost(act) ? 0.25 : 0.1)) return act
    // Of a run that failed and is sent again, nobody knows after a fault which one was cut off.
    const known = isFaulty ? this.#tried.filter((one) => one.do !== 'invoke') : this.#tried
    const ofKey = known.filter(({ by, project }) => by === act.by && project === act.project)
    const used = ofKey.filter((one) => !this.#wouldMakeTwo(one))
    if (used.length > 0 && random.chance(0.5)) {
      const before = random.of(used)
      if (random.chance(0.2)) return { ...act, once: before.once as string }
      const isOfApi = before.do === 'invoke' && before.how !== 'openai'
      return isOfApi ? { ...before, how: random.of(['plain', 'stream', 'background']) } : before
    }
    return { ...act, once: this.#name('once') }
  }

  /** A day later, the request makes another thing with the same name, which the model doesn't tell apart. */
  #wouldMakeTwo(act: Act): boolean {
    const asked = askedBy(act)
    const reply = Object.values(this.#world.replies).find((one) => one.asked === asked)
    return /^(create|upload)/.test(act.do) && reply !== undefined && this.#world.time >= reply.at + DAY_MS
  }

  #invoke(): Invoke {
    const random = this.#random
    const how = random.of(['plain', 'plain', 'stream', 'background', 'openai'] as const)
    const plan = random.of([...PLANS, 'answer', 'answer'] as const)
    const whose = how === 'openai' ? { user: null, session: null } : this.#whose()
    return {
      do: 'invoke',
      ...this.#target(),
      message: this.#name('m'),
      plan,
      ...whose,
      environment: this.#environment(),
      how,
    }
  }

  #hungUp(): Invoke {
    const once = !this.#isRough || this.#random.chance(0.5) ? { once: this.#name('once') } : {}
    return { ...this.#invoke(), plan: 'answer', how: this.#random.of(['plain', 'stream']), ...once }
  }

  #createAgent(): Act {
    const history = this.#random.of([0, 1, 2, 3, 20])
    const fields = { persona: this.#name('p'), remember: this.#random.chance(0.85), history }
    return { do: 'create agent', ...this.#asker(), agent: this.#random.of(['mate', 'cook', 'pilot']), ...fields }
  }

  #createKey(): Act {
    const role = this.#random.of<Role>([
      'admin',
      'admin',
      'developer',
      'viewer',
      'caller',
      'approver',
      'approver',
      'deleter',
      'manager',
    ])
    const { by, project, agent } = this.#target()
    return {
      do: 'create key',
      by,
      project,
      key: this.#name('key'),
      role,
      agent: this.#random.chance(0.3) ? agent : null,
    }
  }

  #createSchedule(): Act {
    const every = this.#random.of([30, 60]) * 60_000
    return { do: 'create schedule', ...this.#target(), schedule: this.#name('sch'), message: this.#name('m'), every }
  }

  #createBudget(): Act {
    const random = this.#random
    const { by, project, agent } = this.#target()
    const limit = random.chance(0.5)
      ? {
          kind: 'runs' as const,
          amount: 1 + random.below(6),
          action: random.of(['refuse', 'refuse', 'notify'] as const),
        }
      : {
          kind: 'tokens' as const,
          amount: random.of([100, 1_000_000, 1_000_000]),
          action: random.of(['refuse', 'notify'] as const),
        }
    return {
      do: 'create budget',
      by,
      project,
      agent: random.chance(0.5) ? agent : null,
      budget: this.#name('bud'),
      ...limit,
    }
  }

  #createWebhook(): Act {
    const random = this.#random
    const { by, project, agent } = this.#target()
    const events = random.chance(0.3) ? ['*'] : [...new Set([random.of(EVENTS), random.of(EVENTS)])]
    return {
      do: 'create webhook',
      by,
      project,
      agent: random.chance(0.5) ? agent : null,
      webhook: `/${this.#name('hook')}`,
      events,
    }
  }

  #upload(): Act {
    const content = this.#random.of(['the tide is in', 'the tide is out', this.#name('text')])
    const user = this.#random.chance(0.5) ? this.#random.of(USERS) : null
    return { do: 'upload', ...this.#asker(), file: `${this.#name('file')}.txt`, content, user }
  }

  /** Mostly the administrator; else a key that exists, of whichever project, or none at all. */
  #asker(): { by: string; project: string } {
    const random = this.#random
    const by = random.chance(0.6) ? 'root' : random.of([...Object.keys(this.#world.keys), 'nobody'])
    const project = this.#world.keys[by]?.project ?? random.of(['default', 'default', 'harbour'])
    return { by, project }
  }

  /** Mostly an agent that exists, and a key of its project. */
  #target(): { by: string; project: string; agent: string } {
    const random = this.#random
    const all = Object.entries(this.#world.projects).flatMap(([project, { agents }]) =>
      Object.keys(agents).map((agent) => ({ project, agent })),
    )
    if (random.chance(0.05)) return { ...this.#asker(), agent: random.of(['mate', 'cook', 'pilot']) }
    const { project, agent } = random.of(all)
    const keys = Object.entries(this.#world.keys).filter(([, key]) => key.project === project || random.chance(0.1))
    const by = random.chance(0.5) || keys.length === 0 ? 'root' : random.of(keys)[0]
    return { by, project: this.#world.keys[by]?.project ?? project, agent }
  }

  #aRun(status?: string) {
    const target = this.#target()
    const runs = Object.entries(this.#world.projects[target.project]?.agents[target.agent]?.runs ?? {})
    // Of several runs with one message, no client says which one it means.
    const several = new Set(runs.flatMap(([name]) => (name.includes('.') ? [name, messageOf(name)] : [])))
    const fitting = runs.filter(
      ([name, run]) => !several.has(name) && run.message && (!status || run.status === status),
    )
    return { ...target, message: fitting.length > 0 ? this.#random.of(fitting)[0] : 'm0' }
  }

  #existing(things: 'schedules'): string {
    const all = Object.values(this.#world.projects).flatMap(({ agents }) => Object.values(agents))
    const names = all.flatMap((agent) => Object.keys(agent[things]))
    return names.length > 0 ? this.#random.of(names) : 'none'
  }

  #ofProject(things: 'budgets' | 'webhooks' | 'files'): string {
    const names = Object.values(this.#world.projects).flatMap((project) => Object.keys(project[things]))
    return names.length > 0 ? this.#random.of(names) : 'none'
  }

  #whose(): { user: string | null; session: string | null } {
    const random = this.#random
    return {
      user: random.chance(0.7) ? random.of(USERS) : null,
      session: random.chance(0.7) ? random.of(SESSIONS) : null,
    }
  }

  #environment(): string {
    return this.#random.of(ENVIRONMENTS.concat('production'))
  }

  #agents(): string[] {
    return Object.values(this.#world.projects).flatMap(({ agents }) => Object.keys(agents))
  }

  #name(kind: string): string {
    this.#named += 1
    return `${kind}${this.#named}`
  }
}
