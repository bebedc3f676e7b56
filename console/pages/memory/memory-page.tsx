import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { AddNoteDialog } from './add-note-dialog.tsx'
import { ClearMemoryDialog } from './clear-memory-dialog.tsx'
import { MemoryList } from './memory-list.tsx'
import { PeopleList } from './people-list.tsx'

type View = 'memories' | 'users' | 'sessions'

export function MemoryPage({ params: { agent = '' } }: { params: Params }) {
  return (
    <AgentFrame
      name={agent}
      tab="memory"
      api={{ operation: 'listMemory', method: 'memory.list', params: { agent_id: agent } }}
    >
      {(loaded) => <MemoryView agent={loaded} />}
    </AgentFrame>
  )
}

function MemoryView({ agent }: { agent: Agent }) {
  const [asking, setAsking] = useState<'add' | 'clear'>()
  const [changes, setChanges] = useState(0)
  const view = (param('view') ?? 'memories') as View
  const close = () => setAsking(undefined)
  const done = () => setChanges(changes + 1)
  return (
    <>
      <div class="filters">
        <Segments
          label="View"
          value={view}
          choices={[
            { value: 'memories', label: 'Memories' },
            { value: 'users', label: 'Users' },
            { value: 'sessions', label: 'Sessions' },
          ]}
          onChange={(value) =>
            setParams(
              { view: value === 'memories' ? undefined : value, offset: undefined, sort: undefined },
              { push: true },
            )
          }
        />
        {may('writeMemory') && (
          <Button icon="plus" onClick={() => setAsking('add')}>
            Add note
          </Button>
        )}
        {may('clearMemory') && (
          <Button look="danger" onClick={() => setAsking('clear')}>
            Clear …
          </Button>
        )}
      </div>
      {view === 'memories' ? (
        <MemoryList key={changes} agent={agent} />
      ) : (
        <PeopleList key={`${view} ${changes}`} agent={agent} of={view} />
      )}
      {asking === 'add' && <AddNoteDialog agent={agent} onClose={close} onDone={done} />}
      {asking === 'clear' && <ClearMemoryDialog agent={agent} onClose={close} onDone={done} />}
    </>
  )
}
