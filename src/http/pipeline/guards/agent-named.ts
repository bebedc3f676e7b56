import { readBytes } from '../../input/read-bytes.ts'
import type { Arrived } from '../stages.ts'

/**
 * The agent that a request means although its path does not name it. This reads the body, which is kept for later.
 * Undefined if it names none or cannot be read: then the request is refused as if there were no such agent.
 */
export async function agentNamed(arrived: Arrived, bodyLimit: number): Promise<string | undefined> {
  const { route, params, message } = arrived
  if (!route?.agentIn) return undefined
  try {
    arrived.bytes ??= Promise.resolve(readBytes(message, bodyLimit))
    return route.agentIn({ params, bytes: await arrived.bytes })
  } catch {
    return undefined
  }
}
