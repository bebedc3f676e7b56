import { useId, useState } from 'preact/hooks'
import { routes } from '../../sdk/api.ts'
import { BASE, href } from '../lib/base.ts'
import { namedProject } from '../lib/projects/chosen-project.ts'
import { Snippet } from './copy.tsx'
import { Segments } from './forms/field.tsx'
import { Icon } from './icon.tsx'

type Values = Record<string, string | number | boolean | undefined>

/** An API call that a page has made or would make. */
export type ApiRequest = {
  operation: keyof typeof routes
  /** The method of the TypeScript client, such as `agents.list`. */
  method: string
  params?: Record<string, string>
  query?: Values
  body?: object
}

/** The button "API", which shows the exact request behind this view for use elsewhere. */
export function ApiCall({ request }: { request: ApiRequest }) {
  const id = useId()
  const [language, setLanguage] = useState('curl')
  return (
    <>
      <button type="button" class="button quiet" popovertarget={id}>
        <Icon name="code" />
        API
      </button>
      <div id={id} popover="auto" class="popover">
        <Segments
          label="Language"
          value={language}
          choices={[
            { value: 'curl', label: 'curl' },
            { value: 'ts', label: 'TypeScript' },
          ]}
          onChange={setLanguage}
        />
        <Snippet label="request" text={language === 'curl' ? asCurl(request) : asTypeScript(request)} />
        <p class="hint">
          <a href={`${href('/docs')}#${request.operation}`}>{request.operation}</a> in the API reference
        </p>
      </div>
    </>
  )
}

export function asCurl({ operation, params, query, body }: ApiRequest): string {
  const { method, path } = routes[operation]
  const given = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, `${value}`]],
  )
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''))
  const url = BASE.href.replace(/\/$/, '') + filled + (given.length ? `?${new URLSearchParams(given)}` : '')
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    `-H "Authorization: Bearer $MOORAGE_API_KEY"`,
    ...(namedProject.value ? [`-H 'Moorage-Project: ${namedProject.value}'`] : []),
    ...(body ? [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`] : []),
  ].join(' \\\n  ')
}

export function asTypeScript({ method, params, query, body }: ApiRequest): string {
  const known = query && Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
  const last = body ?? (known && Object.keys(known).length > 0 ? known : undefined)
  const args = [...Object.values(params ?? {}), ...(last ? [last] : [])]
  const project = namedProject.value ? `, project: ${literal(namedProject.value)}` : ''
  return `import { createClient } from 'moorage-sdk'

const moorage = createClient({ url: ${literal(BASE.href)}, key: process.env.MOORAGE_API_KEY${project} })
await moorage.${method}(${args.map((arg) => literal(arg)).join(', ')})`
}

/** Quotes a text for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A value as TypeScript code. */
export function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') {
    return value.includes("'")
      ? JSON.stringify(value)
      : `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"')}'`
  }
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${/^[A-Za-z_]\w*$/.test(name) ? name : literal(name)}: ${literal(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }']
  const line = open + parts.join(', ') + close
  if (line.length <= 72 && !line.includes('\n')) return line
  return `${open.trim()}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close.trim()}`
}
