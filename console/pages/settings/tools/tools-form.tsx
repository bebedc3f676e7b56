import { useState } from 'preact/hooks'
import type { Agent, MoorageError } from '../../../../sdk/client.ts'
import { useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { Button } from '../../../ui/button.tsx'
import { reasonWithin } from '../../../ui/failure.tsx'
import { AgentFields, HttpFields, McpFields, PersonFields } from './tool-fields.tsx'
import { KINDS, type ProjectNames, type Tool } from './tool-kinds.ts'
import { ToolTest } from './tool-test.tsx'

type Props = { agent: Agent; tools: Tool[]; error: MoorageError | undefined; onChange(tools: Tool[]): void }

/** The tools that the model can call, each as a form. */
export function ToolsForm({ agent, tools, error, onChange }: Props) {
  // Keys that stay with their tool, so a removed tool doesn't leave its fields to the next one.
  const [keys, setKeys] = useState(() => tools.map((_, i) => i))
  const { data } = useResource(may('listSecrets') ? 'secret names' : undefined, (signal) =>
    service.secrets.list({ limit: 100, sort: 'name' }, { signal }),
  )
  const signIns = useResource(may('listConnections') ? 'connection names' : undefined, (signal) =>
    service.connections.list({ limit: 100, sort: 'name' }, { signal }),
  )
  const names: ProjectNames = {
    secrets: (data?.data ?? []).map(({ name }) => name),
    connections: (signIns.data?.data ?? []).map(({ name }) => name),
  }
  const [opened, setOpened] = useState<number | undefined>(undefined)
  const add = (tool: Tool) => {
    const key = Math.max(-1, ...keys) + 1
    setKeys([...keys, key])
    setOpened(key)
    onChange([...tools, tool])
  }
  const remove = (index: number) => {
    setKeys(keys.toSpliced(index, 1))
    onChange(tools.toSpliced(index, 1))
  }
  return (
    <fieldset disabled={!may('updateAgent')}>
      <legend>Tools</legend>
      {tools.length === 0 && <p class="hint">This agent has no tools yet.</p>}
      {tools.map((tool, i) => (
        <ToolCard
          key={keys[i]}
          agent={agent}
          tool={tool}
          names={names}
          isOpen={keys[i] === opened || error?.details?.some(({ field }) => field.startsWith(`tools.${i}.`)) === true}
          onChange={(changed) => onChange(tools.with(i, changed))}
          onRemove={() => remove(i)}
          reason={(field) => reasonWithin(error, `tools.${i}.${field}`)}
        />
      ))}
      <div class="kinds">
        {KINDS.map(({ type, label, about, begin }) => (
          <button key={type} type="button" onClick={() => add(begin())}>
            <b>{`Add: ${label}`}</b>
            <span>{about}</span>
          </button>
        ))}
      </div>
    </fieldset>
  )
}

type CardProps = {
  agent: Agent
  tool: Tool
  names: ProjectNames
  isOpen: boolean
  onChange(tool: Tool): void
  onRemove(): void
  reason(field: string): string | undefined
}

function ToolCard({ agent, tool, names, isOpen, onChange, onRemove, reason }: CardProps) {
  const [isTesting, setTesting] = useState(false)
  const kind = KINDS.find(({ type }) => type === tool.type)
  const title = tool.type === 'mcp' ? tool.url : tool.name
  return (
    <details class="tool-card" open={isOpen}>
      <summary>
        <b class="mono">{title || 'new'}</b> <span class="soft">{kind?.label}</span>
      </summary>
      <div class="tool-fields">
        {tool.type === 'http' && <HttpFields tool={tool} names={names} onChange={onChange} reason={reason} />}
        {tool.type === 'mcp' && <McpFields tool={tool} names={names} onChange={onChange} reason={reason} />}
        {tool.type === 'ask_person' && <PersonFields tool={tool} onChange={onChange} reason={reason} />}
        {tool.type === 'agent' && <AgentFields tool={tool} onChange={onChange} reason={reason} />}
        <div class="filters">
          {(tool.type === 'http' || tool.type === 'mcp') && may('testTool') && (
            <Button icon="play" onClick={() => setTesting(!isTesting)}>
              Test
            </Button>
          )}
          <Button look="danger" onClick={onRemove}>
            Remove tool
          </Button>
        </div>
        {isTesting && <ToolTest agent={agent} tool={tool} />}
      </div>
    </details>
  )
}
