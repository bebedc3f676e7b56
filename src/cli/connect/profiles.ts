import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { nearest } from '../../lib/text/nearest.ts'
import { EXIT, Failure } from '../failure.ts'
import type { World } from '../world.ts'

export type Profile = { url: string; key: string }

export type Profiles = { current: string; profiles: Record<string, Profile> }

export const DEFAULT_PROFILE = 'default'
export const DEFAULT_URL = 'http://127.0.0.1:8787'

export function profilesPath({ env }: World): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
  return join(home, 'moorage', 'config.json')
}

export function readProfiles(world: World): Profiles {
  const path = profilesPath(world)
  try {
    const { current = DEFAULT_PROFILE, profiles = {} } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Profiles>
    return { current, profiles }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: DEFAULT_PROFILE, profiles: {} }
    throw new Failure(EXIT.failed, `${path} can't be read: ${(error as Error).name}`, '  Delete it and log in again')
  }
}

/** Replaces the whole file. Only its owner can read it, because it contains keys. */
export function writeProfiles(world: World, profiles: Profiles): void {
  const path = profilesPath(world)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(draft, path)
}

export function noProfile(exitCode: number, name: string, { profiles }: Profiles): Failure {
  const meant = nearest(name, Object.keys(profiles))
  const hint = meant === undefined ? '`moorage profile` lists them' : `Did you mean ${meant}?`
  return new Failure(exitCode, `No login profile named "${name}"`, `  ${hint}`)
}

/** The profile given by a flag or the environment, or else the current one. */
export function chosenProfile({ env }: World, { profile }: { profile?: string | undefined }, stored: Profiles): string {
  return profile ?? (env.MOORAGE_PROFILE || stored.current)
}
