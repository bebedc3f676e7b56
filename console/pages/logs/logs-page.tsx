import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import { exactText } from '../../lib/text/format.ts'
import { saveFile } from '../../lib/text/save-file.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { TextFilter } from '../../ui/forms/filter.tsx'
import { RangeFilter, useRangeStart } from '../../ui/forms/range-filter.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import type { LogQuery } from './follow-log.ts'
import { LogLines } from './log-lines.tsx'
import { useLogTail } from './log-tail.ts'

const LEVELS = ['debug', 'info', 'warn', 'error']

export function LogsPage({ params: { agent = '' } }: { params: Params }) {
  const query = useLogQuery()
  return (
    <AgentFrame
      name={agent}
      tab="logs"
      api={{ operation: 'getLogs', method: 'logs.list', params: { agent_id: agent }, query }}
    >
      {(loaded) => <Logs agent={loaded} query={query} />}
    </AgentFrame>
  )
}

function useLogQuery(): LogQuery {
  const [level, search, request_id, start_time] = [param('level'), param('search'), param('request'), useRangeStart()]
  return {
    ...(level && { level }),
    ...(search && { search }),
    ...(request_id && { request_id }),
    ...(start_time && { start_time }),
  }
}

function Logs({ agent: { name }, query }: { agent: Agent; query: LogQuery }) {
  // The line at which the reader had stopped when leaving the page. The log ends there until newer lines are requested.
  const [until, setUntil] = useState(param('until'))
  const isLive = param('live') !== 'off' && !until
  const tail = useLogTail(name, until ? { ...query, end_time: after(until) } : query, isLive)
  const toNewest = () => {
    setUntil(undefined)
    setParams({ until: undefined })
  }
  const follow = () => {
    setUntil(undefined)
    setParams({ until: undefined, live: undefined })
  }
  const chosen = query.level?.split(',') ?? []
  const toggle = (level: string) => {
    const next = chosen.includes(level) ? chosen.filter((one) => one !== level) : [...chosen, level]
    setParams({ level: LEVELS.filter((one) => next.includes(one)).join(',') }, { push: true })
  }
  return (
    <>
      <div class="filters">
        {isLive ? (
          <Button icon="pause" onClick={() => setParams({ live: 'off' })}>
            Stop following
          </Button>
        ) : (
          <Button icon="play" onClick={follow}>
            Follow log
          </Button>
        )}
        <div class="segments" role="group" aria-label="Levels">
          {LEVELS.map((level) => (
            <button key={level} type="button" aria-pressed={chosen.includes(level)} onClick={() => toggle(level)}>
              {level}
            </button>
          ))}
        </div>
        <RangeFilter />
        <TextFilter name="search" label="Search text" />
        <Button
          look="quiet"
          icon="download"
          label="Download these entries"
          onClick={() => download(name, tail.entries ?? [])}
        />
      </div>
      {query.request_id && (
        <p class="only">
          Only entries of <Id id={query.request_id} />
          <Button
            look="quiet"
            icon="close"
            label="Show all requests"
            onClick={() => setParams({ request: undefined })}
          />
        </p>
      )}
      <Failure error={tail.error} retry={tail.reload} />
      {tail.entries?.length === 0 && !tail.hasOlder ? (
        <Empty title="No log entries yet" filters={['level', 'search', 'request', 'range']}>
          <p>
            Every invocation writes log entries. Send a message in the playground.{' '}
            {isLive ? 'New entries appear automatically.' : 'New entries appear when you follow the log.'}
          </p>
        </Empty>
      ) : (
        <LogLines key={`${until} ${JSON.stringify(query)}`} tail={tail} />
      )}
      {until && (
        <p class="pager">
          Entries until {exactText(until)}
          <Button icon="down" onClick={toNewest}>
            Newest entries
          </Button>
        </p>
      )}
    </>
  )
}

/** The end of a range is exclusive. */
function after(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString()
}

/** Saves one JSON object per line, as the service returned them. */
function download(agent: string, entries: object[]): void {
  const lines = new Blob(
    entries.map((entry) => `${JSON.stringify(entry)}\n`),
    { type: 'application/x-ndjson' },
  )
  saveFile(lines, `${agent}.log.jsonl`)
}
