import type { Connection, SetConnection } from '../../../../sdk/client.ts'

/** What the form shows of a connection. */
export type ConnectionValues = Record<
  'url' | 'issuer' | 'authorize_url' | 'token_url' | 'revoke_url' | 'client_id' | 'scopes' | 'hosts' | 'return_origins',
  string
> &
  Pick<Connection, 'kind' | 'as'>

/** Who signs in. */
export const WHO: Record<Connection['as'], string> = { user: 'each user', service: 'the project, once' }

/** Where it leads, in a few words. */
export function placeOf({ kind, url, issuer, token_url }: Connection): string {
  const place = (kind === 'mcp' ? url : (issuer ?? token_url)) ?? ''
  return kind === 'mcp' ? place : hostOf(place)
}

export function valuesOf(connection: Connection | undefined): ConnectionValues {
  const { kind = 'mcp', as = 'user', scopes = [], hosts = [], return_origins = [] } = connection ?? {}
  const text = (name: 'url' | 'issuer' | 'authorize_url' | 'token_url' | 'revoke_url' | 'client_id') =>
    connection?.[name] ?? ''
  return {
    kind,
    as,
    url: text('url'),
    issuer: text('issuer'),
    authorize_url: text('authorize_url'),
    token_url: text('token_url'),
    revoke_url: text('revoke_url'),
    client_id: text('client_id'),
    scopes: scopes.join(' '),
    hosts: hosts.join(', '),
    return_origins: return_origins.join(', '),
  }
}

/** Fields of the other kind aren't sent. */
export function bodyOf(values: ConnectionValues): SetConnection {
  const { kind, as } = values
  const text = (name: keyof ConnectionValues) => values[name].trim() || null
  const hosts = listOf(values.hosts).map(hostOf)
  const common = {
    kind,
    as,
    client_id: text('client_id'),
    scopes: listOf(values.scopes),
    return_origins: listOf(values.return_origins),
    ...(hosts.length > 0 && { hosts }),
  }
  if (kind === 'mcp') return { ...common, url: text('url') }
  if (text('issuer') !== null) return { ...common, issuer: text('issuer') }
  const [authorize_url, token_url, revoke_url] = [text('authorize_url'), text('token_url'), text('revoke_url')]
  return { ...common, authorize_url, token_url, revoke_url }
}

/** A name for the connection to this URL: `notes` for https://notes.example.com/mcp. */
export function nameFor(url: string): string {
  if (!URL.canParse(url)) return ''
  const telling = new URL(url).hostname.split('.').find((part) => !/^(www|mcp|api|app|auth|accounts|login)$/.test(part))
  const name = (telling ?? '').replaceAll(/[^A-Za-z0-9_]/g, '_')
  return /^\d/.test(name) ? `_${name}` : name.slice(0, 64)
}

const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean)

/** Reads a host, because people paste whole URLs. */
function hostOf(text: string): string {
  return text.includes('://') && URL.canParse(text) ? new URL(text).host : text.toLowerCase()
}
