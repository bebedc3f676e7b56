import type { CommandInput } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'
import { readSetFile } from './set-file.ts'

export const sets = serviceCommands('sets', {
  putSet: {
    about: 'Save a set from a file with cases, or from past invocations',
    options: {
      cases: { flags: '--cases <json>', about: 'the cases as JSON' },
      from: { flags: '--from <json>', about: 'past invocations: {"request_ids": […]} or {"filter": {…}, "last": 50}' },
    },
    more: (command) =>
      command
        .option('-f, --file <path>', 'a YAML or JSON file with `description` and `cases` or `from`')
        .option('--runs <request_ids...>', 'copy these invocations')
        .option('--last <count>', 'copy the last invocations'),
    read: readSet,
    done: ({ name, case_count }) => `Saved the set "${name}" (cases: ${case_count})`,
  },
  listSets: {
    about: 'List sets',
    limit: 20,
    columns: { of: ['name', 'case_count', 'description', 'updated_at'] },
  },
  getSet: { about: 'Show a set with its cases' },
  deleteSet: {
    about: 'Delete a set',
    confirm: 'Delete the set {}?',
    done: ({ name }) => `Deleted the set "${name}"`,
  },
})

export const replays = serviceCommands('replays', {
  createReplay: {
    about: 'Start a replay and return immediately',
    options: { set: { flags: '-s, --set <name>' } },
    done: ({ id, case_count }) => `Started ${id} (cases: ${case_count})`,
  },
  listReplays: {
    about: 'List replays, most recent first',
    limit: 20,
    columns: { of: ['id', 'status', 'verdict', 'version', 'case_count', 'created_at'] },
  },
  getReplay: { about: 'Show a replay with its report' },
  listReplayCases: {
    about: "List a replay's cases",
    limit: 20,
    columns: { of: ['position', 'outcome', 'name', 'request_id', 'message'] },
  },
  cancelReplay: {
    about: 'Cancel a replay',
    done: ({ id, status }) => `${id} is ${status}`,
  },
})

async function readSet({ body, options }: CommandInput, world: World): Promise<void> {
  const { file, runs, last } = options
  if (typeof file === 'string') Object.assign(body, await readSetFile(world, file))
  if (Array.isArray(runs)) body['from'] = { request_ids: runs }
  if (last !== undefined) body['from'] = { filter: {}, last: Number(last) }
}
