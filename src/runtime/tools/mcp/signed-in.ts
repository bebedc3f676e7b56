import type { McpTool } from '../../spec.ts'
import type { MissingGrant } from '../connections/connected.ts'
import { sendSigned } from '../connections/send-signed.ts'
import { tokensFor } from '../connections/tokens-for.ts'
import { requireHost, type Secret } from '../fill-secrets.ts'
import { type Fetch, NeedsGrant, type RunTool, type ToolWorld } from '../tool.ts'

/**
 * A server says which tools it has only to users who are signed in. Until then the model is offered this tool: its call
 * waits for the sign-in. Afterwards it is hidden, and answers the call that was waiting. With `missing`, the user is
 * signed in, and the server asks for more scopes.
 */
export function signInTool(
  { connection: name = '', url }: McpTool,
  { isSignedIn, missing }: { isSignedIn: boolean; missing?: MissingGrant | undefined },
  world: ToolWorld,
): RunTool {
  const { host } = new URL(url)
  return {
    definition: {
      name: `connect_${name}`,
      description: `Signs the user in to ${name} (${host}). Its tools can be used afterwards. Call it when the user asks for something that needs ${name}.`,
      input_schema: { type: 'object', properties: {}, additionalProperties: false },
    },
    retry: 'safe',
    approval: 'never',
    connections: [name],
    isHidden: isSignedIn,
    async call() {
      if (missing) throw new NeedsGrant(missing)
      await tokensFor([name], world)
      const when = isSignedIn ? 'Use its tools now' : 'Its tools can be used with the next message'
      return { result: `The user is signed in to ${name}. ${when}.` }
    },
  }
}

/** Sends the token with each request. */
export function signedFetch(name: string, world: ToolWorld): Fetch {
  return (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    return sendSigned([name], world, (tokens) => {
      const { value, hosts } = tokens[name] as Secret
      requireHost(`connection ${name}`, { hosts }, url)
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${value}`)
      return world.fetch(input, { ...init, headers })
    })
  }
}
