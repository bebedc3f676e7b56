// Plays a script against a real service, and says what is not as it was promised.
import type { Act, Invoke } from '../model/act.ts'
import { isPost, promised } from '../model/promise.ts'
import { passTime } from '../model/schedules.ts'
import { type Answer, emptyWorld, type World } from '../model/world.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { ask, type Client, prepare, send } from './client.ts'
import { differences, lookAt } from './differences.ts'
import { type Fault, isHarmless, JUMP_MS, type Moment, type Step } from './generate.ts'
import { type Outside, openOutside } from './outside.ts'
import { DONE, follow, isCut, isRepeatable, type Told } from './worlds.ts'

/** A service under the simulator. */
export type Stage = {
  urls(): string[]
  admin: string
  pass(ms: number): Promise<void>
  restart(): Promise<void>
  /** Makes something go wrong while `work` is done. */
  during(fault: Exclude<Fault, 'hang up'>, work: () => Promise<void>, at?: Moment): Promise<void>
  close(): Promise<void>
}

export type OpenStage = (outside: Outside, steps: readonly Step[]) => Promise<Stage>

/** Work in the background is done in so much time. */
const SETTLED_MS = 10_000 * PATIENCE
/** A node has died, or does not know what it has stored: the lease of its work ends first. */
const TAKEN_OVER_MS = 60_000 * PATIENCE
const LOOK_AGAIN_MS = 10

/** What went wrong, or undefined. */
export async function play(steps: readonly Step[], open: OpenStage): Promise<string | undefined> {
  const outside = await openOutside()
  let stage: Stage | undefined
  let wrong: string | undefined
  try {
    stage = await open(outside, steps)
    wrong = await playOn(steps, stage, outside)
  } catch (error) {
    wrong = error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  try {
    await stage?.close()
  } catch (error) {
    wrong ??= error instanceof Error ? error.message : String(error)
  }
  await outside.close()
  return wrong
}

async function playOn(steps: readonly Step[], stage: Stage, outside: Outside): Promise<string | undefined> {
  let turn = 0
  const client: Client = {
    // Each request goes to the next node.
    url: () => stage.urls()[turn++ % stage.urls().length] as string,
    outside,
    secrets: new Map([['root', stage.admin]]),
    runs: new Map(),
    waited: new Set(),
    agents: new Map(),
    sent: new Map(),
  }
  await makeReady(client)
  let worlds = [emptyWorld(0)]
  let patience = SETTLED_MS
  for (const [i, step] of steps.entries()) {
    const at = `step ${i + 1}`
    if ('pass' in step) {
      await stage.pass(step.pass)
      for (const world of worlds) passTime(world, step.pass)
    } else if ('restart' in step) {
      await stage.restart()
    } else {
      const acts = step.acts.filter(({ by }) => by === 'nobody' || client.secrets.has(by))
      const before = worlds
      const told = await perform(client, stage, acts, step, before)
      if (isHarmless(step.fault) && told.includes(undefined)) return `${at}: the service did not answer`
      worlds = step.fault === 'jump' ? followJump(before, acts, told) : follow(before, acts, told, step.fault)
      if (worlds.length === 0) return `${at}: ${contradiction(before, acts, told)}`
    }
    const wasCut = 'acts' in step && isCut(step.fault)
    // Its client was told 503, and its lease ends by itself.
    const isUnstored = 'acts' in step && step.fault?.startsWith('break off')
    if (wasCut || isUnstored) patience = TAKEN_OVER_MS
    await settle(client, worlds, patience)
    if (wasCut) {
      const { wrong, fitting } = await compare(client, worlds, patience)
      if (wrong !== undefined) return `${at}: ${wrong}`
      worlds = fitting
      const again = 'fault' in step && step.fault === 'stand still' ? await askedTooOften(client, step.acts) : undefined
      if (again !== undefined) return `${at}: ${again}`
    }
  }
  return (await compare(client, worlds, patience)).wrong
}

/** What is due after the jump may be done before the act or after it. */
function followJump(before: World[], acts: Act[], told: Told): World[] {
  const passed = structuredClone(before)
  for (const world of passed) passTime(world, JUMP_MS)
  const after = follow(before, acts, told, undefined)
  for (const world of after) passTime(world, JUMP_MS)
  return [...follow(passed, acts, told, undefined), ...after]
}

/** The model's rounds are in the receipt. In each attempt but the last, one more call may have been lost. */
async function askedTooOften(client: Client, acts: Act[]): Promise<string | undefined> {
  for (const { agent, project, message } of acts.filter((act) => act.do === 'invoke')) {
    const path = `/v1/agents/${agent}/invocations?limit=100`
    const { body } = (await send(client, { by: 'root', project }, { method: 'GET', path })) ?? {}
    const runs = body?.data?.filter((run: { message: string | null }) => run.message?.startsWith(`${message} `)) ?? []
    const rounds = runs.flatMap(({ steps }: { steps: { kind: string }[] }) =>
      steps.filter(({ kind }) => kind === 'model'),
    )
    const lost = runs.reduce(
      (sum: number, run: { attempts: unknown[] }) => sum + Math.max(0, run.attempts.length - 1),
      0,
    )
    const asked = client.outside.calls[message]?.model ?? 0
    const isOver = runs.length > 0 && runs.every(({ status }: { status: string }) => status === 'completed')
    if (isOver && asked > rounds.length + lost)
      return `the model was asked ${asked} times about ${message}, its receipts have ${rounds.length} rounds and ${lost} attempts that were lost`
  }
  return undefined
}

async function makeReady(client: Client): Promise<void> {
  const body = { name: 'harbour' }
  const made = await send(client, { by: 'root', project: 'default' }, { method: 'POST', path: '/v1/projects', body })
  if (made?.status !== 201) throw new Error(`the project was not made: ${JSON.stringify(made)}`)
  // The agent that a new service brings is not part of the script.
  await send(client, { by: 'root', project: 'default' }, { method: 'DELETE', path: '/v1/agents/hello' })
}

async function perform(
  client: Client,
  stage: Stage,
  acts: Act[],
  { fault, at }: Extract<Step, { acts: Act[] }>,
  worlds: World[],
): Promise<Told> {
  if (fault === 'hang up') return [await hangUp(client, acts[0] as Invoke | undefined)]
  let told: Told = []
  const all = async () => {
    told = await Promise.all(acts.map((act) => ask(client, act)))
    // While something is wrong with the store, an error says nothing about what was done.
    if (isHarmless(fault)) return
    if (fault) told = told.map((answer) => (answer && answer.status < 500 ? answer : undefined))
    // docs/runs.md: another node has it now, so this answer doesn't say how it ends.
    if (fault === 'stand still') told = told.map((answer) => (answer?.status === 409 ? undefined : answer))
  }
  if (fault === undefined) await all()
  else {
    if (isCut(fault)) for (const act of acts) await prepare(client, act)
    await stage.during(fault, all, at)
  }
  if (isCut(fault)) told = await Promise.all(acts.map((act, i) => told[i] ?? askAgain(client, act, worlds)))
  for (const act of acts) if (act.once === undefined) client.sent.delete(JSON.stringify(act))
  return told
}

/** A careful client asks again until it is answered, if that does no harm. */
async function askAgain(client: Client, act: Act, worlds: World[]): Promise<Answer | undefined> {
  const isKept = act.once !== undefined && isPost(act) && worlds.every((world) => isStored(promised(world, act).answer))
  if (!isKept && !isRepeatable(act)) return undefined
  for (const end = Date.now() + TAKEN_OVER_MS; Date.now() < end; await pause()) {
    const answer = await ask(client, act)
    if (answer && answer.status < 500) return isKept ? answer : DONE
  }
  throw new Error(`${JSON.stringify(act)} was not answered again`)
}

const isStored = ({ status, code }: Answer) => status < 300 || code === 'run_waits'

/** The client hangs up while its model thinks. */
async function hangUp(client: Client, act: Invoke | undefined): Promise<Answer | undefined> {
  if (!act) return undefined
  const hold = Promise.withResolvers<void>()
  const came = client.outside.hold(act.message, hold.promise)
  const gone = new AbortController()
  const answer = ask(client, act, gone.signal)
  await Promise.race([came, answer])
  gone.abort()
  const told = await answer
  // Without an Idempotency-Key the run is cancelled, however long its model would have taken.
  if (act.once === undefined && told === undefined) await ended(client, act)
  hold.resolve()
  if (told === undefined) await ended(client, act)
  return told
}

async function ended(client: Client, { agent, project, message }: Invoke): Promise<void> {
  const path = `/v1/agents/${agent}/invocations?limit=20`
  for (const end = Date.now() + SETTLED_MS; Date.now() < end; await pause()) {
    const reply = await send(client, { by: 'root', project }, { method: 'GET', path })
    const run = reply?.body.data?.find?.((one: { message: string }) => String(one.message).startsWith(`${message} `))
    if (run) client.runs.set(run.request_id, message)
    if (reply?.status === 404 || (run && run.status !== 'running' && run.status !== 'queued')) return
  }
  throw new Error(`${message} did not end after its client had hung up`)
}

const pause = () => new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))

function contradiction(worlds: World[], acts: Act[], told: Told): string {
  const world = worlds[0] as World
  const lines = acts.map((act, i) => {
    const { answer } = promised(world, act)
    return `${JSON.stringify(act)}\n  promised ${JSON.stringify(answer)}\n  answered ${JSON.stringify(told[i])}`
  })
  return lines.join('\n')
}

/** Background runs end before the next step, so that one client sees what another has left. */
async function settle(client: Client, worlds: World[], patience: number): Promise<void> {
  const busy = '/v1/invocations?limit=1&status='
  const projects = Object.keys(worlds[0]?.projects ?? {})
  for (const end = Date.now() + patience; ; await pause()) {
    const listed = (status: string) =>
      Promise.all(
        projects.map((project) => send(client, { by: 'root', project }, { method: 'GET', path: busy + status })),
      )
    // In this order, because a queued run may begin in between.
    const replies = [...(await listed('queued')), ...(await listed('running'))]
    if (replies.every((reply) => reply?.body.pagination?.total === 0)) return
    if (Date.now() > end) throw new Error(`runs do not end: ${JSON.stringify(replies.map((reply) => reply?.body))}`)
  }
}

/** The world that the service is in is one of those that are possible. Deliveries take a moment. */
async function compare(
  client: Client,
  worlds: World[],
  patience: number,
): Promise<{ wrong?: string; fitting: World[] }> {
  for (const end = Date.now() + patience; ; await pause()) {
    const seen = await lookAt(client, Object.keys(worlds[0]?.projects ?? {}))
    const found = worlds.map((world) => differences(world, client, seen))
    // What is on its way to a receiver may belong to another world that fits.
    const fitting = worlds.filter((_, i) => found[i]?.every((difference) => difference.includes('not delivered')))
    if (found.some(({ length }) => length === 0)) return { fitting }
    const least = found.toSorted((a, b) => a.length - b.length)[0] as string[]
    // What is wrong for good is wrong at once.
    const mayPass = least.every((difference) => /not delivered|schedules|runs of|usage|calls/.test(difference))
    if (Date.now() > end || !mayPass) return { wrong: least.join('\n'), fitting }
  }
}
