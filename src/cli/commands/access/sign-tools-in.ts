import { serviceCommands, storeCommands } from '../../from-operations/operation-command.ts'
import { readSecret } from '../../terminal/prompts.ts'

const PROMPT = 'Client secret (empty: keep the stored secret)'

export const connections = serviceCommands('connections', {
  setConnection: {
    about:
      "Create or change a connection. With --client-id, asks for the client's secret, or reads it from stdin. If you enter nothing, the stored secret is kept",
    options: {
      client_secret: false,
      client_id: { flags: '--client-id <id>', about: 'the client ID that the provider gave you' },
      url: { flags: '--server <url>', about: 'for mcp: the URL of the MCP server' },
    },
    more: (command) => command.option('--no-secret', 'the client has no secret'),
    async read({ body, options }, world) {
      if (body['client_id'] === undefined) return
      const typed = options['secret'] === false ? null : await readSecret(world, PROMPT)
      if (typed !== '') body['client_secret'] = typed
    },
    done: ({ name, redirect_uri }) =>
      `Set the connection ${name}${redirect_uri ? `. Its redirect URI is ${redirect_uri}` : ''}`,
  },
  listConnections: {
    about: 'List connections',
    columns: { of: ['name', 'kind', 'as', 'hosts', 'updated_at'] },
  },
  getConnection: { about: 'Show a connection' },
  deleteConnection: {
    about: 'Delete a connection and end all sign-ins',
    confirm: 'Delete the connection {} and end all sign-ins?',
    done: ({ name }) => `Deleted the connection ${name}`,
  },
  testConnection: { about: 'Test a connection: find its provider, and register or check the client' },
  createConnectionLink: { about: 'Create a link where a user signs in' },
  confirmConnectionLink: {
    about: 'Confirm that it was this user who signed in',
    done: ({ connection }) => `The sign-in to ${connection} is used from now on`,
  },
  listGrants: {
    about: 'List who has signed in',
    columns: { of: ['user_id', 'status', 'scopes', 'created_at', 'ended_reason'] },
  },
  revokeGrant: {
    about: "End a user's sign-in",
    confirm: 'End the sign-in of {}?',
    done: ({ connection }) => `Ended the sign-in to ${connection}`,
  },
})

export const applications = storeCommands('applications', {
  listConnectedApplications: {
    about: 'List MCP clients that people have connected by signing in',
    columns: {
      of: [
        'id',
        'name',
        ['CLIENT', ({ client_id }) => new URL(client_id).host],
        ['CONNECTED BY', ({ created_by, created_by_name }) => created_by_name ?? created_by],
        'last_used_at',
        'expires_at',
      ],
    },
  },
  revokeConnectedApplication: {
    about: "Revoke an application's access",
    confirm: 'Revoke the access of {}?',
    done: 'Revoked {}',
  },
})
