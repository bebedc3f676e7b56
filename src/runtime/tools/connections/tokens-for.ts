import type { Secrets } from '../fill-secrets.ts'
import { ToolError, type ToolWorld } from '../tool.ts'

/** The tokens that a tool sends, by connection. Throws ToolError. `refused`: the server didn't accept these. */
export async function tokensFor(
  names: readonly string[],
  { connections }: Pick<ToolWorld, 'connections'>,
  refused: Secrets = {},
): Promise<Secrets> {
  const tokens: Record<string, Secrets[string]> = {}
  for (const name of names) {
    const found = await connections.use(name, refused[name]?.value)
    if (found.state === 'refused') throw new ToolError(found.why)
    if (found.state === 'missing') throw new ToolError(`The user has not signed in to ${name}`)
    tokens[name] = { value: found.token, hosts: found.hosts }
  }
  return tokens
}
