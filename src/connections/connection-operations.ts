import { deleteConnection } from './delete-connection.ts'
import { getConnection } from './get-connection.ts'
import { listGrants } from './grants/list-grants.ts'
import { revokeGrant } from './grants/revoke-grant.ts'
import { confirmConnectionLink } from './links/confirm-link.ts'
import { createConnectionLink } from './links/create-connection-link.ts'
import { listConnections } from './list-connections.ts'
import { setConnection } from './set-connection.ts'
import { testConnection } from './test-connection.ts'

/** Users sign in on pages that need no key. See `http/server/connect/connect-pages.ts`. */
export const connectionOperations = [
  setConnection,
  listConnections,
  getConnection,
  deleteConnection,
  testConnection,
  createConnectionLink,
  confirmConnectionLink,
  listGrants,
  revokeGrant,
] as const
