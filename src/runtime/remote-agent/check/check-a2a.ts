import { randomUUID } from 'node:crypto'
import { A2AError } from '@a2a-js/sdk/errors'
import { AgentFailure } from '../../outcome.ts'
import type { A2aRemote } from '../../spec.ts'
import { openPeer, type Peer, type PeerWay } from '../a2a/a2a-peer.ts'
import { failureIn, peerError } from '../a2a/peer-failure.ts'
import { wordsOf } from './call-remote.ts'
import type { CheckedPoint } from './check-points.ts'

const CARD = 'the agent card is readable and contains a URL'
const ADDRESS = 'the URL responds: a task that does not exist is not found'

/** Checks an A2A agent without sending it a message, because a message would make it work. */
export async function* checkA2a(
  remote: A2aRemote,
  way: Omit<PeerWay, 'log'>,
  { signal, timeout_ms }: { signal: AbortSignal; timeout_ms: number },
): AsyncGenerator<CheckedPoint> {
  const soon = () => AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)])
  const why = (error: unknown) => {
    signal.throwIfAborted()
    if ((error as Error).name === 'TimeoutError') return `it did not answer within ${timeout_ms / 1000} s`
    const failure = failureIn(error, Date.now, false)
    if (!(failure instanceof AgentFailure)) throw failure
    return wordsOf(failure)
  }
  const warnings: string[] = []
  let peer: Peer
  try {
    peer = await openPeer(remote, { ...way, log: (_level, message) => warnings.push(message) }, soon())
  } catch (error) {
    yield { point: CARD, status: 'failed', detail: why(error) }
    yield { point: ADDRESS, status: 'not_tried', detail: 'the card could not be read' }
    return
  }
  const { client, url, version, streams } = peer
  const answers = streams ? 'its answers are streamed' : 'its answers are not streamed'
  yield { point: CARD, status: 'ok', detail: [`A2A ${version} at ${url}; ${answers}`, ...warnings].join('. ') }
  try {
    await client.getTask({ tenant: '', id: randomUUID(), historyLength: 0 }, { signal: soon() })
    yield { point: ADDRESS, status: 'failed', detail: "it returned a task for an ID that doesn't exist" }
  } catch (thrown) {
    const error = peerError(thrown)
    const isNotFound = error instanceof A2AError && error.reason === 'TASK_NOT_FOUND'
    yield isNotFound
      ? { point: ADDRESS, status: 'ok', detail: null }
      : { point: ADDRESS, status: 'failed', detail: why(error) }
  }
}
