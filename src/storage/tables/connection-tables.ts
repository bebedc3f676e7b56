import { flag, integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** The providers that tools sign in to, for the project or for each user. */
export const connectionTables = {
  connections: table({
    id: text.primary,
    project_id: text.references('projects'),
    name: text,
    kind: text.of<'mcp' | 'oauth2'>(),
    /** `user`: each user of a run signs in. `service`: the project does, once. */
    acts_as: text.of<'user' | 'service'>(),
    /** The MCP server. */
    url: text.nullable,
    issuer: text.nullable,
    authorize_url: text.nullable,
    token_url: text.nullable,
    revoke_url: text.nullable,
    client_id: text.nullable,
    /** Encrypted. */
    client_secret: text.nullable,
    /** The client that this service has registered itself as, with its provider. Encrypted JSON. */
    registration: text.nullable,
    scopes: json,
    hosts: json,
    return_origins: json,
    created_at: time,
    updated_at: time,
  }).indexes({ connections_by_name: 'unique (project_id, name)' }),
  /** A sign-in of a user, or of the project. */
  connection_grants: table({
    id: text.primary,
    project_id: text.references('projects'),
    connection_id: text.references('connections'),
    /** The user's ID. Empty: the project itself. */
    holder: text,
    status: text.of<'pending' | 'active' | 'expired' | 'revoked'>(),
    link_id: text.nullable,
    /** Encrypted JSON. Null when it has ended. */
    tokens: text.nullable,
    /** Counts up with each refresh. */
    version: integer,
    can_refresh: flag,
    /** When the access token expires. Null: unknown. */
    expires_at: time.nullable,
    scopes: json,
    /** How many times another user was named when it was to be confirmed. */
    wrong_users: integer,
    created_at: time,
    updated_at: time,
    confirmed_by: text.nullable,
    ended_reason: text.nullable,
    /** What the sign-in asked for. Null: the same as `scopes`. */
    asked_scopes: json.nullable,
    /** What servers have asked for since then. The next sign-in asks for it too. */
    wanted_scopes: json.nullable,
    /** The node that refreshes it. */
    owner: text.nullable,
    lease_until: time.nullable,
  }).indexes({
    connection_grants_in_use: "unique (connection_id, holder) where status = 'active'",
    connection_grants_by_holder: '(connection_id, holder, id)',
    connection_grants_by_link: '(link_id) where link_id is not null',
    connection_grants_by_user: '(project_id, holder)',
    connection_grants_refreshing: '(lease_until) where owner is not null',
  }),
  /** Where a user signs in. */
  connection_links: table({
    id: text.primary,
    project_id: text.references('projects'),
    connection_id: text.references('connections'),
    /** The user's ID. Empty: the project itself. */
    holder: text,
    return_to: text.nullable,
    created_by: text,
    created_at: time,
    expires_at: time,
    /** When a sign-in was completed with it. */
    spent_at: time.nullable,
  }).indexes({
    connection_links_by_holder: '(connection_id, holder, id)',
    connection_links_by_user: '(project_id, holder)',
  }),
}
