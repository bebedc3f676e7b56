import type { McpTool } from '../../spec.ts'
import { tokensFor } from '../connections/tokens-for.ts'
import { requireHost } from '../fill-secrets.ts'
import type { Fetch, RunTool, ToolWorld } from '../tool.ts'

/**
 * A server says which tools it has only to users who are signed in. Until then the model is offered this tool: its call
 * waits for the sign-in. Afterwards it is hidden, and answers the call that was waiting.
 */
export function signInTool({ connection: name = '', url }: McpTool, isSignedIn: boolean, world: ToolWorld): RunTool {
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
      await tokensFor([name], world)
      const when = isSignedIn ? 'Use its tools now' : 'Its tools can be used with the next message'
      return { result: `The user is signed in to ${name}. ${when}.` }
    },
  }
}

/** Sends the token with each request, and another one if the server doesn't accept it. */
export function signedFetch(name: string, world: ToolWorld): Fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const send = (token: { value: string; hosts: readonly string[] } | undefined) => {
      requireHost(`connection ${name}`, token ?? { hosts: [] }, url)
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${token?.value}`)
      return world.fetch(input, { ...init, headers })
    }
    const tokens = await tokensFor([name], world)
    const response = await send(tokens[name])
    if (response.status !== 401) return response
    const renewed = await tokensFor([name], world, tokens)
    if (renewed[name]?.value === tokens[name]?.value) return response
    await response.body?.cancel()
    return send(renewed[name])
  }
}
