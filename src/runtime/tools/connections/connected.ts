import type { HttpTool, McpTool } from '../../spec.ts'

/** Whose token a run uses. */
export type TokenUser = { project_id: string; user_id: string | undefined }

/** A user must sign in before a run can continue. Without an ID and a URL, only the project's own people can. */
export type SignInLink = { name: string; link_id: string | null; url: string | null }

export type ConnectionState =
  | { state: 'ready'; token: string; hosts: readonly string[]; grant_id: string }
  /** The holder of the grant hasn't signed in, or their sign-in has ended. */
  | { state: 'missing'; connection_id: string; holder: string }
  /** The message is for the model. */
  | { state: 'refused'; why: string }

type LinkOptions = {
  known?: string | null
  /** Whether the actor can sign in for the project. */
  isForProject?: boolean
  /** No run waits for the sign-in any more. */
  isOver?: boolean
}

/** The connections of projects, as tools use them. */
export type ConnectionSource = {
  /** `refused`: a server didn't accept this token, so another one is needed. */
  use(whose: TokenUser, name: string, refused?: string): Promise<ConnectionState>
  /** Where the holder can sign in. A link that is already `known` stays, if it can still be used. */
  link(missing: { connection_id: string; holder: string }, how?: LinkOptions): Promise<SignInLink>
}

const PLACEHOLDER = /\{\{\s*connection\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g

/** The connections that a tool names. */
export function connectionsOf(tool: HttpTool | McpTool): string[] {
  const texts = Object.values(tool.headers).join('\n')
  const named = Array.from(texts.matchAll(PLACEHOLDER), ([, name]) => name as string)
  const own = tool.type === 'mcp' && tool.connection !== undefined ? [tool.connection] : []
  return [...new Set([...own, ...named])]
}

/** The connections of one run, with the tokens of its own user. */
export type RunConnections = {
  use(name: string, refused?: string): Promise<ConnectionState>
  link: ConnectionSource['link']
}

/** `hide` receives each token before the token is used, so that no text contains it. */
export function connectionsOfRun(
  connections: ConnectionSource,
  whose: TokenUser,
  hide: (name: string, token: string) => void,
): RunConnections {
  return {
    async use(name, refused) {
      const found = await connections.use(whose, name, refused)
      if (found.state === 'ready') hide(`connection.${name}`, found.token)
      return found
    },
    link: (missing) => connections.link(missing),
  }
}
