import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { failureText } from '../../console/lib/people/failure-text.ts'
import {
  agoText,
  countText,
  durationText,
  percentText,
  shortText,
  sizeText,
  usdText,
} from '../../console/lib/text/format.ts'
import { lineDiff } from '../../console/lib/text/line-diff.ts'
import { blocksOf } from '../../console/lib/text/markdown.ts'
import { nextLabel } from '../../console/pages/deployments/next-label.ts'
import type { Definition } from '../../console/pages/settings/definition.ts'
import { valuesOf, wantedOf } from '../../console/pages/settings/form-values.ts'
import { browserText } from '../../console/pages/system/browser-text.ts'
import { valueTicks } from '../../console/ui/chart/plot.ts'
import { placeAt } from '../../console/ui/editor/yaml-place.ts'
import { approve } from '../support/running/approved.ts'

/** What a function makes of each value, line by line. */
function tableOf<Given>(title: string, values: readonly Given[], make: (value: Given) => unknown): string {
  const written = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  const lines = values.map((value) => `${JSON.stringify(value) ?? 'undefined'} → ${written(make(value))}`)
  return `═══ ${title}\n${lines.join('\n')}\n`
}

const NOW = Date.parse('2026-03-02T08:00:00Z')
const at = (ms: number) => new Date(NOW + ms).toISOString()

const MARKDOWN = `# Ropes ##
Two of *12 mm*
go on here
---
- nylon
  - three strands

  still nylon
* polyester
3. third
4) fourth
> quoted
> > twice
| a | b \\| c |
|---|:-:|
| 1 | 2 | 3 |
| 4 |
\`\`\`ts title
const a = 1
\`\`\`
####### no heading
~~~
open`

const DEFINITION = `name: support
tools:
- type: http
  name: refund
  app
  headers:
    X-Till: 4
memory:
  his
# comment
limits: { max`

const BROWSERS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 15.0; rv:140.0) Gecko/20100101 Firefox/140.0',
  'curl/8.0',
  null,
]

/** What the agent form shows and changes. The two differ in every field but `cut_to_budget`, which the form does not have. */
const FULL = {
  kind: 'model',
  description: 'Writes down the tides',
  remote: null,
  model: ['local/tide', 'local/ebb'],
  temperature: 0.7,
  instructions: 'Be brief.',
  output: { schema: { type: 'object' }, retries: 3 },
  memory: { remember: false, history: 1, recall: 2, facts: 'model', summarize: 12, retention_days: 14 },
  limits: {
    timeout_ms: 10_000,
    max_steps: 9,
    max_input_tokens: 8_000,
    max_output_tokens: 700,
    max_concurrency: 6,
    cut_to_budget: true,
    max_tool_calls: 5,
    max_tokens_per_run: 4_000,
    max_cost_per_run: 0.25,
  },
  sessions: { while_busy: 'cancel' },
  approvals: { self: true, expires_after_seconds: 60 },
} as const
const BARE = {
  description: null,
  model: 'builtin/echo',
  temperature: null,
  instructions: null,
  output: null,
  memory: { remember: true, history: 20, recall: 5, facts: 'off', summarize: false, retention_days: null },
  limits: {
    timeout_ms: null,
    max_steps: 8,
    max_input_tokens: null,
    max_output_tokens: null,
    max_concurrency: null,
    cut_to_budget: true,
    max_tool_calls: null,
    max_tokens_per_run: null,
    max_cost_per_run: null,
  },
  sessions: { while_busy: 'queue' },
  approvals: { self: false, expires_after_seconds: 604_800 },
} as const
const definition = (of: object) =>
  ({ ...FULL, tools: [], script: null, metadata: {}, security: null, ...of }) as unknown as Definition

const TYPED = ['app', 'his', 'limits: { max', 'type: http', 'X-Till: 4', '# comment']

test('the agent form saves what it shows', () => {
  assert.deepEqual(wantedOf(definition(BARE), valuesOf(definition(FULL))), definition(FULL))
  assert.deepEqual(wantedOf(definition(FULL), valuesOf(definition(BARE))), definition(BARE))
  // Fields that were not edited stay unchanged, even if the form would write them differently.
  const odd = definition({ description: '', memory: { ...FULL.memory, summarize: true } })
  assert.deepEqual(wantedOf(odd, valuesOf(odd)), odd)
})

describe('values formatted by the console', () => {
  test('are as approved', (t) => {
    const numbers = [0, 1, 999, 1_000, 12_345, 1_234_567]
    const texts = [
      tableOf(
        'durationText',
        [null, 0, 0.4, 999.4, 999.5, 1_000, 9_994, 9_995, 59_949, 59_950, 61_000, 3_600_000],
        durationText,
      ),
      tableOf('countText', [null, ...numbers, -5], countText),
      tableOf('shortText', numbers, shortText),
      tableOf('sizeText', [0, 1, 999, 1_000, 1_234, 999_499, 999_500, 1_500_000, 999_500_000, 2.5e9, 3e12], sizeText),
      tableOf('usdText', [null, 0, 0.000_001_234, 0.012_345, 0.994, 0.995, 1, 12.345, 1_234.5], usdText),
      tableOf(
        'percentText',
        [
          [0, 0],
          [0, 5],
          [1, 3_000],
          [1, 300],
          [1, 11],
          [1, 10],
          [2, 3],
          [5, 5],
          [249, 250],
          [1, 1_000_000],
          [3, 2],
        ] as const,
        ([part, whole]) => percentText(part, whole),
      ),
      tableOf(
        'agoText',
        [0, -59_999, -60_000, -3_599_999, -3_600_000, -86_400_000, 5_000, 5_001, 60_000, 7_200_000, 259_200_000],
        (ms) => agoText(at(ms), NOW),
      ),
      tableOf(
        'nextLabel',
        [[], ['v1.4.0'], ['v9', 'v10'], ['first'], ['first', 'first-2'], ['2026-03-31'], ['v1-rc.1', 'v1-rc.2']],
        nextLabel,
      ),
      tableOf('browserText', BROWSERS, browserText),
      tableOf(
        'failureText',
        [
          'expired',
          'denied',
          'refused',
          'issuer_unavailable',
          'no_role',
          'other_domain',
          'invitation_invalid',
          'email_not_verified',
          'other',
        ],
        failureText,
      ),
      tableOf('valueTicks', [1, 4, 10, 11, 0.000_3, 1_234], valueTicks),
      tableOf('placeAt', TYPED, (typed) => {
        const found = placeAt(DEFINITION, DEFINITION.indexOf(typed) + typed.length)
        return found && { ...found, siblings: [...found.siblings] }
      }),
      tableOf(
        'lineDiff',
        [
          ['a\nb\nc\nd\ne\nf\ng\nh', 'a\nb\nc\nD\ne\nf\ng\nh'],
          ['1\n2\n3\n4\n5\n6\n7\n8\n9\nx', '0\n1\n2\n3\n4\n5\n6\n7\n8\n9'],
          ['same', 'same'],
          ['', 'new'],
        ],
        ([before = '', after = '']) =>
          lineDiff(before, after)
            .map(({ mark, text }) => mark + text)
            .join(' | '),
      ),
      `═══ blocksOf\n${JSON.stringify(blocksOf(MARKDOWN), null, 2)}\n`,
    ]
    approve(t, 'console/values.txt', texts.join('\n'))
  })
})
