import { type Client, createClient } from '../../../sdk/client.ts'
import { note } from '../terminal/output.ts'
import type { World } from '../world.ts'
import { withSuggestion } from './known-names.ts'
import type { LocalStore } from './local-store.ts'
import { addressOf, noKey } from './service-address.ts'
import { clientOf } from './service-client.ts'

/** The options that every command accepts. */
export type Common = {
  json?: boolean
  url?: string
  profile?: string
  project?: string
  otp?: string
  /** Set for commands that can work on the store itself. */
  local?: boolean
  config?: string
  data?: string
}

/** Runs `work` with a client of the service. */
export async function withClient<T>(world: World, options: Common, work: (client: Client) => Promise<T>): Promise<T> {
  const address = addressOf(world, options)
  const { url, key } = address
  if (key === undefined) throw noKey(world, address)
  return suggesting(clientOf(world, { url, key, project: projectOf(world, options), otp: options.otp }), work)
}

/** The same, but if neither a service nor a key is given, `work` uses this machine's store. */
export async function withClientOrStore<T>(
  world: World,
  options: Common,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  if (!isLocal(world, options)) return withClient(world, options, work)

  return withLocalStore(world, options, ({ name, fetch }) => {
    const who = options.local ? 'Using' : 'No key is configured. Using'
    note(world, `${who} the local data directly (${name})`, 'dim')
    const project = projectOf(world, options)
    return suggesting(createClient({ url: 'http://local', project, fetch, retries: 0 }), work)
  })
}

/** Opens this machine's store for `work`. */
export async function withLocalStore<T>(
  world: World,
  options: Pick<Common, 'config' | 'data'>,
  work: (store: LocalStore) => Promise<T>,
): Promise<T> {
  const { openLocalStore } = await import('./local-store.ts')
  const store = await openLocalStore(world, options)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Whether a command that can use this machine's store does so. */
export function isLocal(world: World, options: Common): boolean {
  const { key, isNamed } = addressOf(world, options)
  return options.local === true || (key === undefined && !isNamed)
}

/** A command for the same service and project, with the same key. */
export function sameWay({ url, profile, project, local, config, data }: Common, words: string): string {
  const flags = Object.entries({ url, profile, project, config, data })
  const given = flags.flatMap(([name, value]) => (value === undefined ? [] : ` --${name} ${value}`))
  return `moorage ${words}${given.join('')}${local ? ' --local' : ''}`
}

/** The project that is given by a flag or the environment. */
function projectOf({ env }: World, { project }: Common): string | undefined {
  return project ?? (env['MOORAGE_PROJECT'] || undefined)
}

async function suggesting<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } catch (error) {
    throw await withSuggestion(client, error)
  }
}
