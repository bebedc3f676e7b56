import type { CreateAgent } from '../sdk/client.ts'

type Definition = Omit<CreateAgent, 'name'>

/** An agent that people recognise. It answers without a model key, so that it can be tried before it is changed. */
export type GalleryExample = {
  id: string
  title: string
  about: string
  definition: Definition
  /** Agents that this one calls. Their names begin with its name. */
  helpers?: Record<string, Definition>
  schedule?: { name: string; cron: string; message: string }
  /** The programs and documents beside it, by file name. */
  files?: Record<string, string>
  /** The server of its tools or, for a remote agent, of the agent. */
  server?: { file: string; url: string; install?: string }
  /** Messages to try, each with words of the answer. */
  tries: { message: string; answer: string }[]
}

/** In a definition, this is the name under which the agent is created. */
export const NAME = '{{agent}}'

export type NewAgentBody = Definition & { name: string }

/** The agents of an example in the order in which they must be created. The last one is the one to talk to. */
export function agentsOf(example: GalleryExample, name: string, url = example.server?.url): NewAgentBody[] {
  const helpers = Object.entries(example.helpers ?? {}).map(([helper, definition]) => ({
    name: `${name}-${helper}`,
    ...definition,
  }))
  const all = [...helpers, { name, ...example.definition }]
  const text = JSON.stringify(all)
    .replaceAll(NAME, name)
    .replaceAll(SECRET, secretNameOf(name))
    .replaceAll(example.server?.url ?? NAME, () => JSON.stringify(url ?? NAME).slice(1, -1))
  return JSON.parse(text)
}

/** In a definition, this is the name of the secret that signs the calls. */
export const SECRET = 'AGENT_SECRET_NAME'

const LONGEST_SECRET_NAME = 64

/** Agents with different names have different secrets, however long their names are. */
export function secretNameOf(agent: string): string {
  const name = `REMOTE_${agent.toUpperCase().replaceAll('-', '_')}`
  if (name.length <= LONGEST_SECRET_NAME) return name
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) >>> 0
  const end = `_${hash.toString(16).toUpperCase()}`
  return name.slice(0, LONGEST_SECRET_NAME - end.length) + end
}
