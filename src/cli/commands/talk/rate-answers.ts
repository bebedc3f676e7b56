import type { Command } from 'commander'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  giveFeedback: {
    about: "Rate an invocation's answer, replacing an earlier rating",
    options: {
      score: 'from -1 (bad) to 1 (good)',
      comment: 'why the answer is good or bad',
    },
    more: (command) => command.option('--good', 'short for --score 1').option('--bad', 'short for --score -1'),
    read({ body, options }) {
      if (options['good']) body['score'] = 1
      if (options['bad']) body['score'] = -1
    },
    done: ({ request_id, key, score }) => `Rated ${request_id}: ${key} is ${score}`,
  },
  getFeedback: {
    about: 'Show the feedback of an invocation',
    columns: { of: ['key', 'score', 'comment', 'created_by', 'updated_at'] },
  },
  listFeedback: {
    about: 'List feedback, most recent first',
    limit: 20,
    columns: { of: ['score', 'comment', 'key', 'agent_id', 'version', 'request_id', 'created_at'] },
  },
  deleteFeedback: {
    about: 'Delete feedback, with its score',
    confirm: 'Delete the feedback of {}?',
    done: ({ request_id, key }) => `Deleted the feedback "${key}" of ${request_id}`,
  },
}

export function feedback(command: Command, world: World): void {
  addOperations(command, world, 'feedback', SPECS)
}
