import type { HttpTool, McpTool } from '../../spec.ts'

/** Whose token a run uses. */
export type TokenUser = { project_id: string; user_id: string | undefined }

/** A user must sign in before a run can continue. Without an ID and a URL, only the project's own people can. */
export type SignInLink = { name: string; link_id: string | null; url: string | null }

/**
 * The holder of the grant hasn't signed in, or their sign-in has ended. With `grant_id`, that sign-in doesn't allow
 * enough.
 */
export type MissingGrant = { state: 'missing'; connection_id: string; holder: string; grant_id?: string }

/** The message is for the model. */
export type RefusedUse = { state: 'refused'; why: string }

export type ConnectionState =
  | { state: 'ready'; token: string; hosts: readonly string[]; grant_id: string }
  | MissingGrant
  | RefusedUse

/** A server accepts this token only with more scopes. */
export type ScopesNeeded = { token: string; scopes: readonly string[] }

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
  /** The next sign-in asks for these scopes too. Refused if they were asked for before, or may not be. */
  widen(whose: TokenUser, name: string, needed: ScopesNeeded): Promise<MissingGrant | RefusedUse>
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
  widen(name: string, needed: ScopesNeeded): Promise<MissingGrant | RefusedUse>
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
    widen: (name, needed) => connections.widen(whose, name, needed),
    link: (missing) => connections.link(missing),
  }
}
