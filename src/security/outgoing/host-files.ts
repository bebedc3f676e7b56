import type { LookupAddress } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

export type HostFiles = {
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
