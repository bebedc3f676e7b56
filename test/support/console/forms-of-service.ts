import type { Forms } from './forms-of-agents.ts'

/**
 * Each dialog of the service as it opens, and what is sent when it is filled in. Dialogs that remove something come
 * last.
 */
export const FORMS_OF_SERVICE: Forms = {
  'forms-of-usage': () => [
    [
      '/usage/budgets?open=budget',
      [
        ['choose', 'Applies to', 'agent'],
        ['look', 'a budget of an agent'],
        ['choose', 'Applies to', 'user'],
        ['look', 'a budget of one user'],
        ['choose', 'Applies to', 'key'],
        ['look', 'a budget of one key'],
      ],
    ],
    [
      '/usage/budgets?open=budget',
      [
        ['fill', 'Name', 'Nights'],
        ['fill', 'Limit', '75'],
        ['choose', 'Unit', 'runs'],
        ['choose', 'Period', 'hour'],
        ['choose', 'When the limit is reached', 'notify'],
        ['fill', 'Notify at (%)', '30, 60'],
        ['press', 'Create budget'],
        ['sent', 'the budget is made'],
      ],
    ],
    [
      '/usage/budgets',
      [
        ['press', 'Change All'],
        ['look', 'a budget that is changed'],
        ['fill', 'Limit', '2500'],
        ['press', 'Save'],
        ['sent', 'it is changed'],
        ['press', 'Delete All'],
        ['look', 'to delete'],
        ['press', 'Delete budget'],
        ['sent', 'it is deleted'],
      ],
    ],
  ],
  'forms-of-connections': () => [
    [
      '/connections?open=new',
      [
        ['fill', 'API key', 'sk-nothing'],
        ['look', 'filled'],
      ],
    ],
    [
      '/connections',
      [
        ['press', 'Change local'],
        ['look', 'a provider that is changed'],
        ['press', 'Save and test'],
        ['look', 'it is saved, and its key is not tested'],
        ['press', 'Close'],
        ['press', 'Delete local'],
        ['look', 'to delete'],
        ['press', 'Delete provider'],
        ['sent', 'it is deleted'],
      ],
    ],
    [
      '/connections?view=secrets&open=new',
      [
        ['fill', 'Name', 'CRM'],
        ['fill', 'Value', 'abc'],
        ['fill', 'Hosts', 'crm.example.com, api.example.com'],
        ['press', 'Save'],
        ['sent', 'the secret is set'],
      ],
    ],
    [
      '/connections?view=secrets',
      [
        ['press', 'Change UNUSED'],
        ['look', 'a secret that is changed'],
        ['press', 'Cancel'],
        ['press', 'Delete UNUSED'],
        ['look', 'to delete'],
        ['press', 'Delete secret'],
        ['sent', 'it is deleted'],
      ],
    ],
  ],
  'forms-of-webhooks': ({ well }) => [
    [
      '/webhooks?open=webhook',
      [
        ['fill', 'Endpoint URL', 'https://example.com/new'],
        ['check', 'agent.waiting'],
        ['fill', 'Agent', 'pilot'],
        ['fill', 'Description', 'New'],
        ['press', 'Create webhook'],
        ['look', 'its secret'],
      ],
    ],
    [
      `/webhooks/${well}`,
      [
        ['press', 'Disable'],
        ['look', 'a webhook that is switched off'],
        ['press', 'Enable'],
        ['sent', 'and on'],
        ['press', 'Edit'],
        ['look', 'a webhook that is changed'],
        ['fill', 'Description', 'Another board'],
        ['press', 'Save'],
        ['sent', 'it is changed'],
        ['press', 'Rotate secret'],
        ['look', 'to rotate'],
        ['press', 'Cancel'],
        ['open', 'Verify the signature in your receiver'],
        ['look', 'how to check signatures'],
        ['press', 'Delete'],
        ['look', 'to delete'],
        ['press', 'Delete webhook'],
        ['sent', 'it is deleted'],
      ],
    ],
  ],
  'forms-of-keys': ({ reports }) => [
    [
      '/keys?open=key',
      [
        ['fill', 'Name', 'night shift'],
        ['choose', 'Role', 'approver'],
        ['look', 'filled'],
        ['press', 'Create key'],
        ['look', 'its secret'],
      ],
    ],
    [
      `/keys/${reports}`,
      [
        ['press', 'Rotate'],
        ['look', 'to rotate'],
        ['press', 'Cancel'],
        ['press', 'Revoke'],
        ['look', 'to revoke'],
        ['press', 'Revoke key'],
        ['look', 'a key that is revoked'],
      ],
    ],
  ],
  'forms-of-approvals': () => [
    [
      '/approvals',
      [
        ['press', 'Change arguments'],
        ['fill', 'Arguments (JSON)', '{"order":"4711","amount":200}'],
        ['fill', 'Note', 'Less'],
        ['press', 'Reject'],
        ['sent', 'it is rejected'],
        ['press', 'Laboe'],
        ['sent', 'it is answered'],
      ],
    ],
  ],
  'steps-of-runs': ({ rope, paid, waiting }) => [
    [
      `/activity/${waiting}`,
      [
        ['press', 'Cancel'],
        ['sent', 'it is cancelled'],
      ],
    ],
    [
      `/activity/${rope}`,
      [
        ['open', 'recall'],
        ['open', 'model'],
        ['open', 'Prompt'],
        ['open', 'Memories and deliveries'],
        ['look', 'opened'],
        ['press', 'API'],
        ['look', 'the call of the page'],
        ['press', 'TypeScript'],
        ['look', 'in TypeScript'],
        ['press', 'Next in the list'],
        ['look', 'the next one'],
      ],
    ],
    [
      `/activity/${paid}`,
      [
        ['open', 'refund'],
        ['press', 'Show as plain text'],
        ['look', 'opened'],
      ],
    ],
  ],
}
