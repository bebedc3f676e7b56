import type { LogEntry } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { clockText, exactText } from '../../lib/text/format.ts'
import { requestPath } from '../../lib/paths.ts'

/** One log entry. If all entries belong to one request, the request's ID is left out. */
export function LogLine({ entry, isAlone = false }: { entry: LogEntry; isAlone?: boolean }) {
  const { timestamp, level, message, metadata } = entry
  const { request_id, ...rest } = metadata
  const facts = Object.entries(rest).filter(([, value]) => value !== null)
  return (
    <li class={level}>
      <time dateTime={timestamp} title={exactText(timestamp)}>
        {clockText(timestamp)}
      </time>
      <b>{level}</b>
      <span class="words">
        {message}
        {facts.map(([name, value]) => (
          <span key={name} class="fact">
            {name}={typeof value === 'string' ? value : JSON.stringify(value)}
          </span>
        ))}
      </span>
      {!isAlone && (
        <a href={href(requestPath(request_id))} title={`Open run ${request_id}`}>
          {request_id.slice(-8)}
        </a>
      )}
    </li>
  )
}
