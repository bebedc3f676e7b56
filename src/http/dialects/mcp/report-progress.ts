import type { Notification, ProgressToken } from '@modelcontextprotocol/server'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'

/** Text is told in pieces, at most so often. */
const INTERVAL_MS = 100

/** Tells a client how its call goes on: what the agent says, and which tools it calls. */
export function progressReporter(
  progressToken: ProgressToken,
  notify: (notification: Notification) => Promise<void>,
): (event: StreamEvent) => void {
  let progress = 0
  let told_at = Number.NEGATIVE_INFINITY
  let unsaid = ''
  const tell = (message: string) => {
    told_at = performance.now()
    progress += 1
    // A client that has gone cannot be told. The run hears of that in another way.
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {})
  }
  return ({ event, data }) => {
    if (event === 'tool_call') return tell(`Calling the tool ${(data as { name: string }).name}`)
    if (event === 'waiting') return tell((data as { reason?: string }).reason ?? 'Waiting for a person to decide')
    if (event !== 'delta') return
    unsaid += (data as { text: string }).text
    if (performance.now() - told_at < INTERVAL_MS) return
    tell(unsaid)
    unsaid = ''
  }
}
