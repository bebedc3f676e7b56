import type { LookupAddress } from 'node:dns'
import { NODATA, NOTFOUND, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

export type ResolveOptions = {
  /** The owner on whose behalf a name is resolved. Slow names delay only other names of the same owner. */
  owner: string
  signal: AbortSignal
}

type NamesOptions = {
  /** Name servers to use instead of the system's, as `address:port`. */
  nameservers?: readonly string[] | undefined
  readFiles?: () => Promise<HostFiles>
  now?: () => number
}

type TimedValue<T> = { value: T; until: number }

const PER_OWNER = 8
const SERVER_TIMEOUT_MS = 2_000
const TRIES = 2
/**
 * How long the addresses of one family wait for those of the other, in case a name server doesn't answer for the other.
 */
const OTHER_FAMILY_MS = 300
const KEEP_FILES_MS = 5_000
const KEEP_ADDRESSES_MS = 30_000
const MAX_NAMES = 1_000

const LOOPBACK = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Finds the addresses of names in the hosts file, or by asking a name server. The system's own look-up isn't used,
 * because it can't be cancelled and occupies a thread that files and encryption need too, so one agent's slow names
 * would stop the calls of all agents. A name server's client doesn't read the hosts file and the search domains, so
 * they are read here.
 */
export class Names {
  readonly #nameservers: readonly string[] | undefined
  readonly #readFiles: () => Promise<HostFiles>
  readonly #now: () => number
  readonly #searches = new PerOwnerLimit(PER_OWNER)
  readonly #known = new LRUCache<string, TimedValue<LookupAddress[]>>({ max: MAX_NAMES })
  #files: TimedValue<Promise<HostFiles>> | undefined

  constructor({ nameservers, readFiles = readHostFiles, now = Date.now }: NamesOptions = {}) {
    this.#nameservers = nameservers
    this.#readFiles = readFiles
    this.#now = now
  }

  /** Returns at least one address. Throws if the name has no address, or if no server answers. */
  async resolve(name: string, { owner, signal }: ResolveOptions): Promise<readonly LookupAddress[]> {
    const files = await this.#hostFiles()
    const local = files.hosts.get(name)
    if (local) return local
    if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK
    const known = this.#recall(name)
    if (known) return known
    const leave = await this.#searches.take(owner, signal)
    try {
      return this.#recall(name) ?? (await this.#search(name, files, signal))
    } finally {
      leave()
    }
  }

  #hostFiles(): Promise<HostFiles> {
    if (!this.#files || this.#files.until < this.#now()) {
      this.#files = { value: this.#readFiles(), until: this.#now() + KEEP_FILES_MS }
    }
    return this.#files.value
  }

  #recall(name: string): LookupAddress[] | undefined {
    const known = this.#known.get(name)
    return known && known.until >= this.#now() ? known.value : undefined
  }

  /** Asks for the name itself and for the name in the search domains, in the same order as the C library. */
  async #search(name: string, { search, ndots }: HostFiles, signal: AbortSignal): Promise<LookupAddress[]> {
    const within = search.map((domain) => `${name}.${domain}`)
    const isShort = name.split('.').length - 1 < ndots
    let unknown: unknown
    for (const candidate of isShort ? [...within, name] : [name, ...within]) {
      try {
        const { addresses, ttl } = await this.#ask(candidate, signal)
        this.#keep(name, addresses, ttl)
        return addresses
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code !== NOTFOUND && code !== NODATA) throw error
        unknown = error
      }
    }
    throw unknown
  }

  /** Uses a separate resolver for each query, because cancelling a resolver ends all its queries. */
  async #ask(name: string, signal: AbortSignal): Promise<{ addresses: LookupAddress[]; ttl: number }> {
    signal.throwIfAborted()
    const resolver = new Resolver({ timeout: SERVER_TIMEOUT_MS, tries: TRIES })
    if (this.#nameservers) resolver.setServers(this.#nameservers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel)
    try {
      const both = [resolver.resolve4(name, { ttl: true }), resolver.resolve6(name, { ttl: true })]
      const all = Promise.allSettled(both)
      const first = Promise.any(both).then(() => setTimeout(OTHER_FAMILY_MS, undefined, { ref: false }))
      await Promise.race([all, first.catch(() => all)])
      cancel()
      const answers = await all
      const records = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (records.length === 0) {
        throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error(`${name} has no address`)
      }
      return {
        addresses: records.map(({ address }) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ttl: Math.min(...records.map((record) => record.ttl)),
      }
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  #keep(name: string, addresses: LookupAddress[], ttl: number): void {
    this.#known.set(name, { value: addresses, until: this.#now() + Math.min(ttl * 1000, KEEP_ADDRESSES_MS) })
  }
}

type HostFiles = {
  hosts: ReadonlyMap<string, readonly LookupAddress[]>
  /** The domains in which a short name is searched. A name with fewer dots than `ndots` is searched there first. */
  search: readonly string[]
  ndots: number
}

const HOSTS = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
const RESOLVER = '/etc/resolv.conf'

export async function readHostFiles(hosts = HOSTS, resolver = RESOLVER): Promise<HostFiles> {
  const [hostLines, resolverLines] = await Promise.all([linesOf(hosts), linesOf(resolver)])
  return { hosts: parseHosts(hostLines), ...parseResolver(resolverLines) }
}

/** A missing file counts as empty. */
async function linesOf(path: string): Promise<string[][]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  )
}

function parseHosts(lines: string[][]): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const [address = '', ...names] of lines) {
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names.map((written) => written.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }])
    }
  }
  return hosts
}

function parseResolver(lines: string[][]): Pick<HostFiles, 'search' | 'ndots'> {
  // The last line is used, as in the C library.
  const search = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain')?.slice(1) ?? []
  const options = lines.filter(([keyword]) => keyword === 'options').flat()
  const ndots = Number(options.findLast((option) => /^ndots:\d+$/.test(option))?.slice('ndots:'.length) ?? 1)
  return { search: search.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, '')), ndots }
}

type Owner = { held: number; waiting: Set<() => void> }

/**
 * Gives each owner a few places at a time. A call without a place waits only for other calls of the same owner. A
 * `FairRoom` has a fixed number of places, which agents with slow names could use up together.
 */
class PerOwnerLimit {
  readonly #perOwner: number
  readonly #owners = new Map<string, Owner>()

  constructor(perOwner: number) {
    this.#perOwner = perOwner
  }

  /** Resolves with the function that releases the place. Rejects if the signal aborts during the wait. */
  async take(name: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const owner = this.#owners.get(name) ?? { held: 0, waiting: new Set() }
    this.#owners.set(name, owner)
    if (owner.held >= this.#perOwner) await waitForPlace(owner, signal)
    else owner.held += 1
    return () => this.#leave(name, owner)
  }

  /** The place goes directly to the call that has waited longest, so no other call can take it. */
  #leave(name: string, owner: Owner): void {
    const [next] = owner.waiting
    if (next) next()
    else owner.held -= 1
    if (owner.held === 0) this.#owners.delete(name)
  }
}

function waitForPlace({ waiting }: Owner, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      leaveQueue()
      resolve()
    }
    const giveUp = () => {
      leaveQueue()
      reject(signal.reason)
    }
    const leaveQueue = () => {
      waiting.delete(enter)
      signal.removeEventListener('abort', giveUp)
    }
    waiting.add(enter)
    signal.addEventListener('abort', giveUp)
  })
}
