import { storeCommands } from '../../from-operations/operation-command.ts'
import { note } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'

export const projects = storeCommands('projects', {
  createProject: {
    about: 'Create a project. Other commands select it with --project',
    args: ['name'],
    done: ({ name, id }) => `Created ${name} (${id})`,
  },
  listProjects: {
    about: 'List the projects that this key has access to',
    query: { sort: 'name' },
    columns: {
      of: [
        'name',
        'id',
        'description',
        ['REQUESTS PER MINUTE', ({ limits }) => limits.requests_per_minute ?? 'no limit'],
        ['CONCURRENT RUNS', ({ limits }) => limits.concurrent_runs ?? 'no limit'],
        ['STORED BYTES', ({ limits }) => limits.stored_bytes ?? 'no limit'],
        ['FILE BYTES', ({ limits }) => limits.file_bytes ?? 'no limit'],
        ['RETENTION DAYS', ({ limits }) => limits.retention_days ?? 'service default'],
        'created_at',
      ],
    },
  },
  getProject: {},
  updateProject: { done: ({ name }) => `Updated ${name}` },
  deleteProject: {
    about: 'Delete a project with all its agents, keys, webhooks, secrets and providers',
    options: {
      name: { flags: '--confirm <name>', about: "confirm with the project's name instead of a prompt" },
    },
    async read({ params, query }, world) {
      const message = `Everything in ${params['project_id']} will be deleted. Type the project's name to confirm`
      query['name'] ??= await ask(world, { message, missing: 'Confirm with --confirm and the name of the project.' })
    },
    confirm: false,
  },
  moveAgent: {
    name: 'move',
    about: 'Move an agent of --project, with its history, to another project',
    args: ['project'],
    done: (_moved, { params, body }) => `Moved ${params['agent_id']} to ${body['project']}`,
    after(world, { revoked_keys }) {
      if (revoked_keys.length > 0) note(world, `  Personal keys that stopped working: ${revoked_keys.join(', ')}`)
    },
  },
})
