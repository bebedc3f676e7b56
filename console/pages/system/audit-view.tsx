import { useState } from 'preact/hooks'
import type { AuditEntry } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { counted } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ChoiceFilter, TextFilter } from '../../ui/forms/filter.tsx'
import { type Verdict, verifyChain } from './verify-chain.ts'

const LIMIT = 50

const COLUMNS: Column<AuditEntry>[] = [
  { title: 'What', cell: ({ action, times }) => `${action ?? 'an unknown path'}${times > 1 ? ` × ${times}` : ''}` },
  {
    title: 'Outcome',
    cell: ({ outcome, code }) => (
      <>
        <Status value={outcome} />
        {code && <span class="soft"> {code}</span>}
      </>
    ),
  },
  {
    title: 'Who',
    cell: ({ actor, actor_name, actor_kind, key_id }) =>
      actor ? (
        <span title={actor_kind ?? ''}>
          <Who id={actor} name={actor_name} />
          {key_id && (
            <span class="soft">
              {' '}
              with <Who id={key_id} name="a key" />
            </span>
          )}
        </span>
      ) : (
        'not recognized'
      ),
  },
  { title: 'Target', isExtra: true, cell: ({ target }) => target && <code>{target}</code> },
  { title: 'IP address', isExtra: true, cell: ({ address }) => address ?? '–' },
  { title: 'When', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

/** Who did what, and whether the chain of entries is intact. */
export function AuditView() {
  const query = {
    ...pageQuery(LIMIT),
    outcome: param('outcome') as AuditEntry['outcome'] | undefined,
    actor: param('actor'),
    action: param('action'),
  }
  const entries = useResource(`audit ${JSON.stringify(query)}`, (signal) => service.audit.list(query, { signal }), {
    everyMs: 10_000,
  })
  return (
    <>
      <div class="filters">
        <ChoiceFilter name="outcome" label="Outcome" all="All outcomes" choices={['success', 'started', 'refused']} />
        <TextFilter name="actor" label="Who (ID)" />
        <TextFilter name="action" label="Action" />
        {session.value?.agent_id === null && may('getAuditHead') && projects.value.length === 0 && <Verify />}
      </div>
      <List
        of={entries}
        label="Audit log"
        columns={COLUMNS}
        empty={<Empty title="No entries yet" filters={['outcome', 'actor', 'action']} />}
      />
    </>
  )
}

/**
 * Verifies the chain in the browser. Browsers compute hashes only on https and on localhost; the command line always
 * can.
 */
function Verify() {
  const [verdict, setVerdict] = useState<Verdict>()
  const verify = useAction(async () => setVerdict(await verifyChain()))
  if (!globalThis.isSecureContext) {
    return (
      <span class="hint">
        Verify the log with <code>moorage audit verify</code>
      </span>
    )
  }
  return (
    <>
      <Button doing={verify}>Verify log</Button>
      <span role="status">
        {verdict && (
          <>
            <Status value={verdict.problem ? 'broken' : 'intact'} />{' '}
            <span class="soft">
              {verdict.problem ??
                `the newest ${counted(verdict.checked, 'entry', 'entries')} are unchanged; moorage audit verify also checks that only retention removed entries`}
            </span>
          </>
        )}
      </span>
      <Failure error={verify.error} />
    </>
  )
}
