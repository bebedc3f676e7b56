// Finds what still keeps a process running after a service has stopped: sockets, listeners, timers, threads. Everything
// that is opened on behalf of a service, however indirectly, runs in the service's asynchronous context.
import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE } from '../running/patience.ts'

const KINDS = new Map([
  ['Timeout', 'timer'],
  ['TCPWRAP', 'socket'],
  ['TCPSERVERWRAP', 'listener'],
  ['WORKER', 'thread'],
  ['UDPWRAP', 'UDP socket'],
  ['FSEVENTWRAP', 'watched file'],
])

type Opened = { kind: string; from: string; resource: WeakRef<object> }

/** What one service has open. */
export type OpenThings = Map<number, Opened>

const contexts = new AsyncLocalStorage<OpenThings>()
const ownerOf = new Map<number, OpenThings>()

const hook = createHook({
  init(id, type, _trigger, resource) {
    const kind = KINDS.get(type)
    if (!kind) return
    const opened = contexts.getStore()
    if (!opened) return
    opened.set(id, { kind, from: callerOf(new Error('opened')), resource: new WeakRef(resource) })
    ownerOf.set(id, opened)
  },
  destroy(id) {
    const opened = ownerOf.get(id)
    if (!opened) return
    opened.delete(id)
    ownerOf.delete(id)
  },
  trackPromises: false,
} as Parameters<typeof createHook>[0])

/** Starts a service, and remembers everything that it opens from then on. */
export function watchOpened<T>(start: () => Promise<T>): { started: Promise<T>; opened: OpenThings } {
  hook.enable()
  const opened: OpenThings = new Map()
  return { started: contexts.run(opened, start), opened }
}

/** Whether this is done on behalf of a service. */
export const isForService = (): boolean => contexts.getStore() !== undefined

/** What is left open, as text. Things that are just being closed get a moment. */
export async function leftOpen(opened: OpenThings): Promise<string[]> {
  for (let waited = 0; waited < 200 * PATIENCE && stillOpen(opened).length > 0; waited += 5) await delay(5)
  return stillOpen(opened).map(({ kind, from }) => `a ${kind} was left open, from ${from}`)
}

/**
 * What keeps the process running. Everything else ends by itself, such as timers of `AbortSignal.timeout` and idle
 * sockets of `fetch`.
 */
function stillOpen(opened: OpenThings): Opened[] {
  return [...opened.values()].filter(({ resource }) => {
    const left = resource.deref() as { hasRef?(): boolean } | undefined
    return left?.hasRef?.() === true
  })
}

/** The place in our own source, or else the first one outside of Node. */
function callerOf({ stack = '' }: Error): string {
  const lines = stack
    .split('\n')
    .slice(2)
    .map((line) => line.trim().replace('file://', ''))
  const own = lines.find((line) => line.includes('/src/'))
  return (own ?? lines.find((line) => !line.includes('node:')) ?? lines.at(-1) ?? '').replace(/^at /, '')
}
