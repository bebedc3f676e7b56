import type { Feedback } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { requestPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Score } from '../../ui/feedback/score.tsx'
import { ChoiceFilter, FiltersOn, TextFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'

const LIMIT = 50
/** The URL's parameters and their labels. */
const FILTERS = {
  agent: 'Agent',
  version: 'Version',
  score: 'Score',
  comments: 'Comments',
  key: 'Key',
  user: 'User',
}
const SCORES = { bad: { score_below: 0 }, good: { score_above: 0 } }

/** What users and applications say about answers, newest first. */
export function FeedbackPage() {
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    agent_id: param('agent'),
    version: param('version'),
    ...SCORES[param('score') as keyof typeof SCORES],
    commented: param('comments') as 'true' | undefined,
    key: param('key'),
    user_id: param('user'),
  }
  const names = useAgentNames()
  const feedback = useResource(`feedback ${JSON.stringify(query)}`, (signal) =>
    service.feedback.list(query, { signal }),
  )
  const nameOf = (agent_id: string) => names.data?.get(agent_id) ?? agent_id
  return (
    <Page title="Feedback" api={{ operation: 'listFeedback', method: 'feedback.list', query }}>
      <div class="filters">
        <ChoiceFilter name="agent" label="Agent" all="All agents" choices={[...(names.data?.values() ?? [])]} />
        <TextFilter name="version" label="Version" />
        <ChoiceFilter
          name="score"
          label="Score"
          all="All scores"
          choices={[
            ['bad', 'bad (below 0)'],
            ['good', 'good (above 0)'],
          ]}
        />
        <ChoiceFilter
          name="comments"
          label="Comments"
          all="With and without comment"
          choices={[
            ['true', 'with comment'],
            ['false', 'without comment'],
          ]}
        />
        <TextFilter name="key" label="Key" />
        <TextFilter name="user" label="User ID" />
      </div>
      <FiltersOn of={FILTERS} />
      <List
        of={feedback}
        label="Feedback"
        columns={columnsOf(nameOf)}
        sort={query.sort}
        empty={
          <Empty title="No feedback yet" filters={Object.keys(FILTERS)}>
            <p>Rate an answer in an agent's playground, or send your users' ratings through the API.</p>
          </Empty>
        }
      />
    </Page>
  )
}

const columnsOf = (nameOf: (agent_id: string) => string): Column<Feedback>[] => [
  {
    title: 'Score',
    sort: 'score',
    cell: ({ request_id, score }) => (
      <a href={href(requestPath(request_id))}>
        <Score value={score} />
      </a>
    ),
  },
  { title: 'Comment', isWide: true, cell: ({ comment }) => comment ?? <span class="soft">–</span> },
  { title: 'Key', isExtra: true, cell: ({ key }) => <span class="soft">{key}</span> },
  { title: 'Agent', isExtra: true, cell: ({ agent_id }) => nameOf(agent_id) },
  { title: 'Version', isExtra: true, cell: ({ version }) => version ?? <span class="soft">draft</span> },
  { title: 'User', isExtra: true, cell: ({ user_id }) => <span class="soft">{user_id}</span> },
  { title: 'Given', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]
