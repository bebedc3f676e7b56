import { hostname, userInfo } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Self } from '../../../../sdk/client.ts'
import { readData } from '../../../../sdk/reply.ts'
import { sender } from '../../../../sdk/request.ts'
import { isLoopback } from '../../../lib/loopback.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { projectNames, withProjectName } from '../../connect/known-names.ts'
import {
  chosenProfile,
  DEFAULT_PROFILE,
  DEFAULT_URL,
  noProfile,
  profilesPath,
  readProfiles,
  writeProfiles,
} from '../../connect/profiles.ts'
import { addressOf } from '../../connect/service-address.ts'
import { clientOf, patiently, proxiedFetch } from '../../connect/service-client.ts'
import { EXIT, usage } from '../../failure.ts'
import { note, printDone, printJson, printRecord, printRows, success, warn } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'
import { isInteractive, type World } from '../../world.ts'

export function login(command: Command, world: World): void {
  command
    .argument('[url]', 'URL of the service')
    .option('--profile <name>', 'save the login under this name', DEFAULT_PROFILE)
    .option('--sso [provider]', 'sign in with an identity provider, in any browser')
    .option('--project <project>', "with --sso: the new key's project (ID or name)")
    .option('--json', 'print JSON')
    .addHelpText('after', '\nAsks for the key, or reads it from stdin: moorage login http://127.0.0.1:8787 < key.txt')
    .action((url: string | undefined, options: LoginOptions) => logIn(world, url, options))
}

export function logout(command: Command, world: World): void {
  command
    .option('--profile <name>', 'the login profile')
    .option('--json', 'print JSON')
    .action((options: { profile?: string; json?: boolean }) => {
      const stored = readProfiles(world)
      const name = chosenProfile(world, options, stored)
      if (!stored.profiles[name]) throw noProfile(EXIT.notFound, name, stored)
      const { [name]: _, ...profiles } = stored.profiles
      writeProfiles(world, { current: name === stored.current ? DEFAULT_PROFILE : stored.current, profiles })
      printDone(world, { profile: name }, options, `Logged out of ${name}`)
    })
}

export function whoami(command: Command, world: World): void {
  takesService(command).action(async (options: Common) => {
    const { url, origin } = addressOf(world, options)
    await withClient(world, options, async (client) => {
      const self = await client.keys.self()
      if (options.json) return printJson(world, { url, from: origin, ...self })
      const project_id = withProjectName(self.project_id, await projectNames(client))
      const tiers = self.tiers.map(({ name, requests_per_minute: rate }) => `${name} (${rate} per minute)`)
      const roles = self.roles.map(({ name, permissions }) => `${name} (${permissions.join(', ')})`)
      printRecord(world, { url, from: origin, ...self, project_id, tiers, roles }, options)
    })
  })
}

type LoginOptions = { profile: string; json?: boolean; sso?: string | true; project?: string }

async function logIn(world: World, givenUrl: string | undefined, options: LoginOptions): Promise<void> {
  const { profile: name } = options
  const stored = readProfiles(world)
  const initial = world.env.MOORAGE_URL || stored.profiles[name]?.url || DEFAULT_URL
  const missing = 'Specify the URL of the service: moorage login <url>'
  const asked = givenUrl ?? (isInteractive(world) ? await ask(world, { message: 'URL', initial, missing }) : initial)
  const url = URL.parse(asked)
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`"${asked}" is not an http(s) URL.`)
  const device = options.sso === undefined ? undefined : await signInDevice(world, url, options)
  const key = device?.secret ?? (await readKey(world))
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    warn(world, `Your key is sent to ${url.host} unencrypted. Use https.`)
  }
  const self: Self = await clientOf(world, { url: url.href, key }).keys.self()
  // A sign-in can take minutes, and another login may have been stored in the meantime.
  const { profiles } = readProfiles(world)
  writeProfiles(world, { current: name, profiles: { ...profiles, [name]: { url: asked, key } } })
  if (options.json) return printJson(world, { profile: name, url: asked, ...self })
  success(world, `Logged in to ${asked} as ${self.name ?? self.id} (${self.permissions.join(', ')})`)
  note(world, `  Saved in ${profilesPath(world)} (only you can read it)`)
  if (device && device.projects.length > 1) {
    const others = device.projects.filter((one) => one !== device.project).join(', ')
    note(
      world,
      `  The key is for the project ${device.project}. To use another project, sign in again with --project: ${others}`,
    )
  }
}

async function readKey(world: World): Promise<string> {
  const key = isInteractive(world)
    ? await ask(world, { message: 'API key', secret: true, missing: '' })
    : (await text(world.stdin)).trim()
  if (key === '') throw usage('Specify the key on stdin: moorage login <url> < key.txt')
  return key
}

export function profile(command: Command, world: World): void {
  command
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List logins')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const stored = readProfiles(world)
      const current = chosenProfile(world, {}, stored)
      const rows = Object.entries(stored.profiles).map(([name, { url }]) => ({ name, url, current: name === current }))
      printRows(world, rows, [['', (row) => (row.current ? '*' : ' ')], 'name', 'url'], options)
    })

  command
    .command('use')
    .description('Switch to another login')
    .argument('<name>')
    .option('--json', 'print JSON')
    .action((name: string, options: { json?: boolean }) => {
      const stored = readProfiles(world)
      if (!stored.profiles[name]) throw noProfile(EXIT.notFound, name, stored)
      writeProfiles(world, { ...stored, current: name })
      printDone(world, { current: name }, options, `Using ${name} (${stored.profiles[name].url})`)
    })
}

type DeviceStart = {
  device: string
  user_code: string
  verification_uri: string
  verification_uri_complete?: string
  interval: number
}

type DeviceKey = { secret: string; project: string | null; projects: string[] }

/** Each `slow_down` of the provider increases the time between two requests by this much, as RFC 8628 requires. */
const SLOWER_SECONDS = 5

/**
 * Signs a person in with an identity provider: the person opens a page in any browser, and this command gets a key for
 * them. Returns the key, the project that it is for, and the projects that could be chosen instead.
 */
async function signInDevice(
  world: World,
  url: URL,
  { sso, project }: { sso?: string | true; project?: string },
): Promise<DeviceKey> {
  const begun = await post<DeviceStart>(world, url, 'console/devices', sso === true ? {} : { issuer: sso })
  note(world, `Open ${begun.verification_uri} in a browser and enter the code ${begun.user_code}`)
  if (begun.verification_uri_complete) note(world, `  or open ${begun.verification_uri_complete}`, 'dim')
  const asked = { device: begun.device, name: `CLI of ${userInfo().username} on ${hostname()}`, project }
  let seconds = begun.interval
  for (;;) {
    await delay(seconds * 1000, undefined, { signal: world.signal })
    // The service can ask devices on the same network to wait, and a provider can be unavailable for a moment.
    const answer = await patiently(world, () =>
      post<DeviceKey | { status: string }>(world, url, 'console/devices/key', asked),
    )
    if ('secret' in answer) return answer
    if (answer.status === 'slow_down') seconds += SLOWER_SECONDS
  }
}

function post<T>(world: World, url: URL, path: string, body: object): Promise<T> {
  const { send } = sender({ url: url.href, fetch: proxiedFetch(world), signal: world.signal, retries: 0 })
  return send({ method: 'POST', path: `/${path}`, body }).then(readData<T>)
}
