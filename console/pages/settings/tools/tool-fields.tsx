import { href } from '../../../lib/base.ts'
import { namesIn, numberIn } from '../../../lib/forms/typed-values.ts'
import { may } from '../../../lib/session-state.ts'
import { Field, Select } from '../../../ui/forms/field.tsx'
import { ValueField } from '../../../ui/forms/value-field.tsx'
import { HeaderRows } from './header-rows.tsx'
import { ParameterRows } from './parameter-rows.tsx'
import type { AgentTool, HttpTool, McpTool, PersonTool, ProjectNames, Tool } from './tool-kinds.ts'

type Props<Kind extends Tool> = {
  tool: Kind
  onChange(tool: Kind): void
  names: ProjectNames
  /** The service's objection to a field of this tool. */
  reason(field: string): string | undefined
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export function HttpFields({ tool, names, onChange, reason }: Props<HttpTool>) {
  const set = (changes: Partial<HttpTool>) => onChange({ ...tool, ...changes })
  return (
    <>
      <Naming tool={tool} onChange={set} reason={reason} />
      <div class="tool-address">
        <Select
          label="Method"
          value={tool.method}
          choices={METHODS.map((value) => ({ value, label: value }))}
          onChange={(method) => set({ method: method as HttpTool['method'] })}
        />
        <Field
          label="URL"
          value={tool.url}
          onInput={(url) => set({ url })}
          error={reason('url')}
          placeholder="https://api.example.com/orders/{order}"
          hint="Use {name} to insert an argument into the URL."
          isMono
          isRequired
        />
      </div>
      <ParameterRows tool={tool} onChange={(input_schema) => set({ input_schema })} error={reason('input_schema')} />
      <HeaderRows
        headers={tool.headers}
        names={names}
        onChange={(headers) => set({ headers })}
        error={reason('headers')}
      />
      <Calling tool={tool} onChange={set} reason={reason} />
    </>
  )
}

export function McpFields({ tool, names, onChange, reason }: Props<McpTool>) {
  const set = (changes: Partial<McpTool>) => onChange({ ...tool, ...changes })
  return (
    <>
      <Field
        label="URL"
        value={tool.url}
        onInput={(url) => set({ url })}
        error={reason('url')}
        placeholder="https://mcp.example.com/mcp"
        isMono
        isRequired
      />
      <Field
        label="Connection"
        value={tool.connection ?? ''}
        onInput={(name) => set({ connection: name.trim() || undefined })}
        error={reason('connection')}
        suggestions={names.connections}
        hint={
          <>
            If the server asks for OAuth: the connection that users sign in to.{' '}
            {may('listConnections') && <a href={href('/connections?view=sign-ins')}>Manage sign-ins</a>}
          </>
        }
        isMono
      />
      <HeaderRows
        headers={tool.headers}
        names={names}
        onChange={(headers) => set({ headers })}
        error={reason('headers')}
      />
      <ValueField
        label="Allowed tools"
        value={tool.allow ?? []}
        read={namesIn}
        write={(allowed) => allowed.join(', ')}
        onInput={(allow) => set({ allow: allow.length > 0 ? allow : null })}
        error={reason('allow')}
        hint="Comma-separated names. Leave empty to allow all. Use Test to list them."
        isMono
      />
      <Calling tool={tool} onChange={set} reason={reason} />
    </>
  )
}

export function PersonFields({ tool, onChange, reason }: Omit<Props<PersonTool>, 'names'>) {
  const set = (changes: Partial<PersonTool>) => onChange({ ...tool, ...changes })
  return (
    <>
      <Naming tool={tool} onChange={set} reason={reason} />
      <ValueField
        label="Reject automatically after (seconds)"
        value={tool.expires_after_seconds}
        read={numberIn}
        write={(seconds) => String(seconds ?? '')}
        onInput={(expires_after_seconds) => set({ expires_after_seconds })}
        error={reason('expires_after_seconds')}
        hint="If no one answers in time. Default: the agent's setting"
        inputMode="decimal"
      />
    </>
  )
}

const MEMORIES: { value: AgentTool['memory']; label: string }[] = [
  { value: 'own', label: 'Its own, as if the user had called it directly' },
  { value: 'none', label: 'None' },
  { value: 'shared', label: "This agent's, read-only" },
]

export function AgentFields({ tool, onChange, reason }: Omit<Props<AgentTool>, 'names'>) {
  const set = (changes: Partial<AgentTool>) => onChange({ ...tool, ...changes })
  return (
    <>
      <Naming tool={tool} onChange={set} reason={reason} />
      <Field
        label="Agent"
        value={tool.agent}
        onInput={(agent) => set({ agent })}
        error={reason('agent')}
        hint="Name or ID of another agent in this project."
        isMono
        isRequired
      />
      <Field
        label="Environment"
        value={tool.environment}
        onInput={(environment) => set({ environment })}
        error={reason('environment')}
        hint="The environment whose version is called."
        isMono
        isRequired
      />
      <Select
        label="Memory"
        value={tool.memory}
        choices={MEMORIES}
        onChange={(memory) => set({ memory: memory as AgentTool['memory'] })}
      />
    </>
  )
}

type NamingProps<Kind> = {
  tool: { name: string; description: string }
  onChange(changes: Partial<Kind>): void
  reason(field: string): string | undefined
}

function Naming<Kind extends HttpTool | PersonTool | AgentTool>({ tool, onChange, reason }: NamingProps<Kind>) {
  return (
    <>
      <Field
        label="Name"
        value={tool.name}
        onInput={(name) => onChange({ name } as Partial<Kind>)}
        error={reason('name')}
        pattern="[A-Za-z][A-Za-z0-9_\-]{0,63}"
        placeholder="find_order"
        hint="Letters, digits, _ and -. The model calls the tool by this name."
        isMono
        isRequired
      />
      <Field
        label="Description"
        value={tool.description}
        onInput={(description) => onChange({ description } as Partial<Kind>)}
        error={reason('description')}
        rows={2}
        hint="Tells the model when to use the tool and what it returns."
      />
    </>
  )
}

type CallingProps = {
  tool: Pick<HttpTool, 'timeout_ms' | 'approval'>
  onChange(changes: Partial<Pick<HttpTool, 'timeout_ms' | 'approval'>>): void
  reason(field: string): string | undefined
}

function Calling({ tool: { timeout_ms, approval }, onChange, reason }: CallingProps) {
  const isPlain = typeof approval === 'string'
  return (
    <div class="columns">
      <Select
        label="Approval required"
        value={isPlain ? approval : 'conditions'}
        choices={[
          { value: 'never', label: 'no' },
          { value: 'always', label: 'every call' },
          ...(isPlain ? [] : [{ value: 'conditions', label: 'conditional (edit in YAML)' }]),
        ]}
        onChange={(value) => value !== 'conditions' && onChange({ approval: value as 'never' | 'always' })}
      />
      <ValueField<number | null>
        label="Timeout (ms)"
        value={timeout_ms}
        read={numberIn}
        write={(ms) => String(ms ?? '')}
        onInput={(ms) => onChange({ timeout_ms: ms as number })}
        error={reason('timeout_ms')}
        inputMode="decimal"
      />
    </div>
  )
}
