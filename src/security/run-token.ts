import { LRUCache } from 'lru-cache'
import { constantTimeEqual } from './digest.ts'
import type { Keyring } from './keyring.ts'

/** One attempt of one run. */
export type TokenRun = {
  project_id: string
  agent_id: string
  request_id: string
  attempt: number
  /** When the attempt's time is over. The token then ends too. */
  until: number
  /** The files that aren't included in the call and that the agent may read. */
  file_ids: readonly string[]
}

export const RUN_TOKEN_PREFIX = 'mrun_'
const PURPOSE = 'run token'
const KNOWN_TOKENS = 1_000

/**
 * The token that a remote agent sends when it requests steps of this attempt or reads its files. It can't be used for
 * anything else. It is signed but not encrypted, because the agent knows its content, and each step is checked against
 * it.
 */
export function runToken(run: TokenRun, keyring: Keyring): string {
  const { project_id, agent_id, request_id, attempt, until, file_ids } = run
  const parts: TokenFields = [project_id, agent_id, request_id, attempt, until, file_ids]
  const said = Buffer.from(JSON.stringify(parts)).toString('base64url')
  return `${RUN_TOKEN_PREFIX}${said}.${keyring.digest(said, PURPOSE)}`
}

/** Returns undefined for a token that isn't ours. A remote agent sends the same one with each step. */
export function runTokenReader(keyring: Keyring): (token: string) => TokenRun | undefined {
  const known = new LRUCache<string, TokenRun>({ max: KNOWN_TOKENS })
  return (token) => {
    const run = known.get(token) ?? readRunToken(token, keyring)
    if (run) known.set(token, run)
    return run
  }
}

function readRunToken(token: string, keyring: Keyring): TokenRun | undefined {
  if (!token.startsWith(RUN_TOKEN_PREFIX)) return undefined
  const [said = '', signature = '', ...more] = token.slice(RUN_TOKEN_PREFIX.length).split('.')
  if (more.length > 0 || !constantTimeEqual(signature, keyring.digest(said, PURPOSE))) return undefined
  const json = Buffer.from(said, 'base64url').toString()
  const [project_id, agent_id, request_id, attempt, until, file_ids] = JSON.parse(json) as TokenFields
  return { project_id, agent_id, request_id, attempt, until, file_ids }
}

type TokenFields = [
  project_id: string,
  agent_id: string,
  request_id: string,
  attempt: number,
  until: number,
  file_ids: readonly string[],
]
