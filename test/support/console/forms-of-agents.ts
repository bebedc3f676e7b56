import type { ReaderAction } from './console-scene.ts'
import type { Harbour } from './harbour-seed.ts'

/** Paths of pages, and what a reader does there, by the name of the approved text. */
export type Forms = Record<string, (harbour: Harbour) => [path: string, deeds: ReaderAction[]][]>

/** Each dialog of an agent as it opens, and what is sent when it is filled in. */
export const FORMS_OF_AGENTS: Forms = {
  'forms-of-agents': () => [
    [
      '/?open=agent',
      [
        ['fill', 'Name', 'tide-clerk'],
        ['check', 'Answers with a model from one of your providers'],
        ['look', 'for a model'],
        ['fill', 'Model', 'local/tide-embed'],
        ['press', 'Create agent'],
        ['sent', 'the agent is created'],
      ],
    ],
    [
      '/agents/tide-clerk/settings',
      [
        ['fill', 'Description', 'Writes down the tides'],
        ['fill', 'Model', 'local/harbour-7b, local/tide-embed'],
        ['fill', 'Temperature', '0.7'],
        ['fill', 'Delete memories after (days)', '14'],
        ['fill', 'Summarize after (turns)', '12'],
        ['choose', 'Extract facts', 'model'],
        ['fill', 'Max concurrent runs', '2'],
        ['fill', 'Max cost per run (USD)', '0.25'],
        ['choose', 'Allow the requester to decide', 'true'],
        ['press', 'Save'],
        ['sent', 'the agent is changed'],
      ],
    ],
    [
      '/agents/ferry/settings',
      [
        ['press', 'Run check'],
        ['look', 'the remote agent is checked'],
      ],
    ],
    [
      '/agents/support/settings?open=pause',
      [
        ['press', 'Pause agent'],
        ['look', 'the agent is paused'],
        ['press', 'Resume'],
        ['sent', 'and resumed'],
      ],
    ],
    [
      '/system?view=settings&open=pause',
      [
        ['fill', 'Reason', 'The bill is too high'],
        ['press', 'Pause service'],
        ['look', 'everything is paused'],
      ],
    ],
  ],
  'forms-of-deployments': () => [
    [
      '/agents/support/deployments?open=deploy',
      [
        ['fill', 'Message', 'Brief'],
        ['press', 'Deploy v1.2.1 to production'],
        ['sent', 'it is deployed'],
      ],
    ],
    [
      '/agents/support/deployments?open=rollback',
      [
        ['fill', 'Reason', 'Too brief'],
        ['press', 'Serve v1.1.0'],
        ['sent', 'it is rolled back'],
        ['press', 'Undo'],
        ['sent', 'and back'],
      ],
    ],
    [
      '/agents/support/deployments',
      [
        ['press', 'What changed'],
        ['look', 'what the newest changed'],
      ],
    ],
  ],
  'forms-of-schedules': () => [
    [
      '/agents/pilot/schedules?open=schedule',
      [
        ['fill', 'Message', 'When is low water?'],
        ['press', 'Interval'],
        ['fill', 'Every', '90m'],
        ['fill', 'Name', 'Tides'],
        ['fill', 'Environment', 'staging'],
        ['choose', 'If the previous run is still active', 'queue'],
        ['choose', 'If the service was down', 'one'],
        ['choose', 'If a budget is used up', 'wait'],
        ['press', 'Create schedule'],
        ['sent', 'the schedule is set'],
      ],
    ],
    [
      '/agents/support/schedules',
      [
        ['open', 'Morning round'],
        ['look', 'a schedule'],
        ['press', 'Change'],
        ['look', 'a schedule that is changed'],
        ['press', 'Once'],
        ['fill', 'At', '2026-03-29T02:30'],
        ['press', 'Save'],
        ['sent', 'it is changed'],
        ['press', 'Change'],
        ['look', 'a schedule that comes once'],
        ['fill', 'Name', 'Early round'],
        ['press', 'Save'],
        ['sent', 'its time stays'],
        ['press', 'Pause'],
        ['look', 'a schedule that is paused'],
        ['press', 'Delete'],
        ['sent', 'it is deleted'],
      ],
    ],
  ],
  'forms-of-memory': () => [
    [
      '/agents/support/memory',
      [
        ['press', 'Add note'],
        ['look', 'a new note'],
        ['fill', 'Note', 'Likes knots'],
        ['fill', 'User', 'customer-9'],
        ['press', 'Add note'],
        ['sent', 'it is kept'],
      ],
    ],
    [
      '/agents/support/memory?user=customer-9',
      [
        ['open', 'Likes knots'],
        ['look', 'a memory'],
        ['fill', 'Content', 'Likes splices'],
        ['press', 'Save'],
        ['sent', 'it is changed'],
      ],
    ],
    [
      '/agents/support/memory?user=customer-9',
      [
        ['press', 'Clear …'],
        ['look', 'to clear'],
        ['fill', 'Type support to confirm', 'support'],
        ['press', 'Clear memory'],
        ['sent', 'it is cleared'],
      ],
    ],
  ],
}
