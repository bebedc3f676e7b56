import { z } from 'zod'
import { badRequest } from '../../../errors.ts'
import { acceptsRedirect, type ClientDocuments, ClientRefusal } from '../../../security/oauth/client-document.ts'

/** What a client asks for, once it was checked. The browser keeps it, encrypted, until its person has decided. */
export const AuthorizationRequest = z.object({
  client_id: z.string(),
  client_name: z.string(),
  client_host: z.string(),
  redirect_uri: z.string(),
  resource: z.string(),
  /** The agent in the path of the resource, by ID or name. */
  agent: z.string().optional(),
  code_challenge: z.string(),
  state: z.string().optional(),
})
export type AuthorizationRequest = z.output<typeof AuthorizationRequest>

const ONCE = [
  'response_type',
  'response_mode',
  'client_id',
  'redirect_uri',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'state',
  'scope',
  'request',
  'request_uri',
]
/** The SHA-256 of a verifier, in base64url. */
const CHALLENGE = /^[\w-]{43}$/
const STATE = /^[\x20-\x7e]{1,512}$/
const PATH_OF_RESOURCE = /^\/v1\/(?:mcp|agents\/([A-Za-z0-9_-]{1,100})\/mcp)$/

type RequestNeeds = {
  publicUrl: string
  clients: ClientDocuments
  beforeFetch(): Promise<void>
  warn(reason: unknown): void
}

/**
 * Reads the request with which a client sends a browser. Anyone can be a client, so a browser is never sent back because
 * of a mistake: its person sees the mistake here. Otherwise this would be an open redirector (RFC 9700, 4.11.2).
 */
export async function readAuthorizationRequest(query: string, needs: RequestNeeds): Promise<AuthorizationRequest> {
  const params = new URLSearchParams(query)
  const repeated = ONCE.find((name) => params.getAll(name).length > 1)
  if (repeated !== undefined) throw badRequest(`The parameter ${repeated} appears more than once.`)
  const get = (name: string) => params.get(name) || undefined
  if (get('request') !== undefined || get('request_uri') !== undefined)
    throw badRequest('The parameters request and request_uri are not supported.')
  if (get('response_type') !== 'code') throw badRequest('The parameter response_type must be code.')
  if ((get('response_mode') ?? 'query') !== 'query') throw badRequest('The only supported response_mode is query.')
  const client = await findClient(get('client_id') ?? '', needs)
  const redirect_uri = get('redirect_uri') ?? ''
  if (!acceptsRedirect(client, redirect_uri))
    throw badRequest("The redirect_uri is not one of those in the application's metadata document.")
  const code_challenge = get('code_challenge') ?? ''
  if (get('code_challenge_method') !== 'S256' || !CHALLENGE.test(code_challenge))
    throw badRequest('The application must use PKCE with the method S256.')
  const state = get('state')
  if (state !== undefined && !STATE.test(state)) throw badRequest('The parameter state is too long or not plain text.')
  const { resource, agent } = readResource(get('resource'), needs.publicUrl)
  const { client_id, name: client_name, host: client_host } = client
  return { client_id, client_name, client_host, redirect_uri, resource, agent, code_challenge, state }
}

async function findClient(client_id: string, { clients, beforeFetch, warn }: RequestNeeds) {
  try {
    return await clients.find(client_id, beforeFetch)
  } catch (error) {
    if (!(error instanceof ClientRefusal)) throw error
    warn(error.cause ?? error)
    throw badRequest(error.message)
  }
}

/** The MCP server for which the tokens are (RFC 8707). They are accepted nowhere else. */
function readResource(asked: string | undefined, publicUrl: string): { resource: string; agent: string | undefined } {
  const url = URL.parse(asked ?? '')
  const path = url?.pathname.replace(/\/$/, '') ?? ''
  const found = PATH_OF_RESOURCE.exec(path)
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === ''
  if (!url || !found || !isPlain || url.origin !== publicUrl)
    throw badRequest(
      `The parameter resource must be the URL of an MCP server of this service, such as ${publicUrl}/v1/mcp.`,
    )
  return { resource: publicUrl + path, agent: found[1] }
}
