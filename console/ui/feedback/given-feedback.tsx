import type { Invocation } from '../../../sdk/client.ts'
import { may } from '../../lib/session-state.ts'
import { Ago } from '../data/time.tsx'
import { Who } from '../data/who.tsx'
import { Rating } from './rating.tsx'
import { Score } from './score.tsx'

/** The feedback on an answer, and buttons to give feedback. */
export function GivenFeedback({ run, onGiven }: { run: Invocation; onGiven(): void }) {
  const { erased_at, door, feedback = [] } = run
  const key = door === 'console' ? 'rating' : 'review'
  const mayRate = erased_at === null && may('giveFeedback')
  if (!mayRate && feedback.length === 0) return null
  return (
    <>
      <h2>Feedback</h2>
      {mayRate && <Rating run={run} of={key} onGiven={onGiven} />}
      {feedback.length > 0 && (
        <ul class="plain-list given-feedback" aria-label="Feedback">
          {feedback.map((item) => (
            <li key={item.id}>
              <Score value={item.score} /> <span class="soft">{item.key}</span> {item.comment}{' '}
              <span class="soft">
                <Who id={item.created_by} name={item.created_by_name} /> <Ago time={item.updated_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
