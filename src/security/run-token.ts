import type { Keyring } from './keyring.ts'

/** One attempt of one run. */
export type TokenRun = { project_id: string; agent_id: string; request_id: string; attempt: number }

export const RUN_TOKEN_PREFIX = 'mrun_'
const PURPOSE = 'run token'

/** What a remote agent shows when it asks for steps of this attempt. It is worth nothing for anything else. */
export function runToken({ project_id, agent_id, request_id, attempt }: TokenRun, keyring: Keyring): string {
  return RUN_TOKEN_PREFIX + keyring.encrypt(JSON.stringify([project_id, agent_id, request_id, attempt]), PURPOSE)
}

/** Undefined if it is none of ours. */
export function readRunToken(token: string, keyring: Keyring): TokenRun | undefined {
  if (!token.startsWith(RUN_TOKEN_PREFIX)) return undefined
  try {
    const sealed = token.slice(RUN_TOKEN_PREFIX.length)
    const [project_id, agent_id, request_id, attempt] = JSON.parse(keyring.decrypt(sealed, PURPOSE)) as [
      string,
      string,
      string,
      number,
    ]
    return { project_id, agent_id, request_id, attempt }
  } catch {
    return undefined
  }
}
