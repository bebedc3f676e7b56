import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Client } from '../../../../sdk/client.ts'
import { readConfigFile } from '../../../config/config-file.ts'
import { inOrder } from '../../../config/problems.ts'
import { EXIT, Failure } from '../../failure.ts'
import { success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

/** The folder of the sets, beside the agent file. */
const FOLDER = 'sets'
const ENDINGS = ['.yaml', '.yml', '.json']

type SetBody = Parameters<Client['sets']['put']>[2]

/** Reads a set's cases from YAML or JSON. */
export async function readSetFile({ cwd }: World, path: string): Promise<SetBody> {
  if (path.endsWith('.json')) return readJson(path, resolve(cwd, path))
  const { value, problems } = readConfigFile(path, cwd, true)
  if (problems.length > 0) throw new Failure(EXIT.usage, inOrder(problems).join('\n'))
  return value
}

async function readJson(path: string, at: string): Promise<SetBody> {
  try {
    return JSON.parse(await readFile(at, 'utf8')) as SetBody
  } catch (error) {
    throw new Failure(EXIT.usage, `Can't read ${path} as JSON: ${(error as Error).message}`)
  }
}

/**
 * Saves the set that this folder has a file for, and returns its digest. Without a file, the service's set is used.
 */
export async function saveSetOfFolder(
  world: World,
  client: Client,
  agent: string,
  set: string,
): Promise<string | undefined> {
  const path = ENDINGS.map((ending) => join(FOLDER, set + ending)).find((one) => existsSync(resolve(world.cwd, one)))
  if (path === undefined) return undefined
  const { name, case_count, digest } = await client.sets.put(agent, set, await readSetFile(world, path))
  success(world, `Saved the set "${name}" from ${path} (cases: ${case_count})`)
  return digest
}
