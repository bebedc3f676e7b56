// Finds what has held the event loop of this thread: one callback of a socket, a timer or a file, with everything that
// follows in microtasks before the loop gets to the next one. Only processor time counts, so a busy machine changes
// nothing, and a profile tells what the service has used from garbage collection, modules that are loaded, and the test.
import { createHook } from 'node:async_hooks'
import { type Profiler, Session } from 'node:inspector'
import { cpuTime } from '../running/cpu-time.ts'
import { isForService } from './left-open.ts'

/** No callback of a service may take longer. */
const MOST_HELD_MS = 50
const SAMPLED_EVERY_US = 2_000
const MOST_FRAMES = 6

/** One callback. The times are those of the profile, in microseconds. */
type Lap = { from: number; to: number; tookMs: number }

const long: Lap[] = []
let begun = { at: 0, cpu: 0, isOwn: false }
/** Services that are just starting, and serve nobody yet. */
let starting = 0

/** Kinds of resources that the loop itself calls. Ticks and microtasks run before it can get to the next one. */
const isOfLoop = (type: string) => /^(Timeout|Immediate|[A-Z0-9]+)$/.test(type)
const kinds = new Map<string, boolean>()
const ofLoop = new Set<number>()

const hook = createHook({
  init(id, type) {
    let isMeant = kinds.get(type)
    if (isMeant === undefined) kinds.set(type, (isMeant = isOfLoop(type)))
    if (isMeant) ofLoop.add(id)
  },
  before(id) {
    if (ofLoop.has(id)) lap()
  },
  destroy(id) {
    ofLoop.delete(id)
  },
  trackPromises: false,
} as Parameters<typeof createHook>[0])

function lap(): void {
  const [at, cpu] = [Number(process.hrtime.bigint() / 1_000n), cpuTime()]
  const tookMs = cpu - begun.cpu
  if (begun.isOwn && starting === 0 && tookMs > MOST_HELD_MS) long.push({ from: begun.at, to: at, tookMs })
  begun = { at, cpu, isOwn: isForService() && starting === 0 }
}

let session: Session | undefined

/** Watches this thread from now on, except while services start. */
export async function watchLoopAfter(started: Promise<unknown>): Promise<void> {
  watchLoop()
  starting++
  await started.finally(() => {
    starting--
  })
}

function watchLoop(): void {
  if (session) return
  session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: SAMPLED_EVERY_US })
  session.post('Profiler.start')
  lap()
  long.length = 0
  hook.enable()
}

/** What has held the loop since this was asked last, as text. */
export function heldLoop(): string[] {
  if (long.length === 0) return []
  const laps = long.splice(0)
  let profile: Profiler.Profile | undefined
  session?.post('Profiler.stop', (_error, stopped) => {
    profile = stopped?.profile
  })
  session?.post('Profiler.start')
  return profile ? heldIn(profile, laps) : []
}

type Frame = Profiler.ProfileNode['callFrame']

function heldIn({ nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile, laps: readonly Lap[]): string[] {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const stackOf = (id: number | undefined): Frame[] => {
    const frame = id === undefined ? undefined : frames.get(id)
    return frame ? [frame, ...stackOf(parents.get(id as number))] : []
  }
  let time = startTime
  const taken = samples.map((id, i) => ({ id, at: (time += timeDeltas[i] ?? 0) }))
  return laps.flatMap(({ from, to, tookMs }) => {
    const inside = taken.filter(({ at }) => at > from && at <= to).map(({ id }) => stackOf(id))
    const own = inside.filter(isOfService)
    const heldMs = (tookMs * own.length) / Math.max(1, inside.length)
    if (heldMs <= MOST_HELD_MS) return []
    const places = Map.groupBy(own, (stack) => stack.filter(isCode).slice(0, MOST_FRAMES).map(shown).join(' < '))
    const [place, most] = [...places].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? ['', []]
    const share = Math.round((100 * most.length) / own.length)
    return [`the event loop was held for ${Math.round(heldMs)} ms, ${share} % of it in ${place}`]
  })
}

const isCode = ({ url }: Frame) => url !== '' && !url.startsWith('node:')

/** Neither idle, nor garbage collection, nor the loading of modules, nor begun by the test. */
function isOfService(stack: readonly Frame[]): boolean {
  if (stack[0]?.functionName.startsWith('(')) return false
  if (stack.some(({ url }) => url.startsWith('node:internal/modules/'))) return false
  const outermost = stack.findLast(isCode)
  return outermost !== undefined && !outermost.url.includes('/test/')
}

function shown({ functionName, url, lineNumber }: Frame): string {
  return `${functionName || '(anonymous)'} (${url.replace(/^.*\/(?=(?:src|test|node_modules)\/)/, '')}:${lineNumber + 1})`
}
