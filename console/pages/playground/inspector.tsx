import { useState } from 'preact/hooks'
import type { Invoke } from '../../../sdk/client.ts'
import { servedBy } from '../../lib/agents/served-by.ts'
import { href } from '../../lib/base.ts'
import { requestPath } from '../../lib/paths.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { Id, Snippet } from '../../ui/copy.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { Steps } from '../../ui/steps/steps.tsx'
import type { ShownInvocation } from './conversation.ts'
import { asCode } from './use-it.ts'

const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'ts', label: 'TypeScript' },
  { value: 'python', label: 'Python' },
]

/** The panel next to the conversation: what the run did, and the same call from your own code. */
export function Inspector({
  agent,
  invocation,
  body,
}: {
  agent: string
  invocation: ShownInvocation | undefined
  body: Invoke
}) {
  const [language, setLanguage] = useState('curl')
  const run = invocation?.run
  return (
    <aside class="inspector" aria-label="About this answer">
      {invocation?.request_id && (
        <section>
          <h2>Run</h2>
          <Id id={invocation.request_id} />
          {run ? (
            <>
              <dl class="pairs">
                <dt>Environment</dt>
                <dd>{servedBy(run)}</dd>
                <dt>Duration</dt>
                <dd>{durationText(run.duration_ms)}</dd>
                <dt>Tokens</dt>
                <dd>
                  {countText(run.usage.input_tokens)} in, {countText(run.usage.output_tokens)} out
                </dd>
              </dl>
              <h3>Steps</h3>
              <Steps run={run} />
              <a href={href(requestPath(run.request_id))}>Open run</a>
            </>
          ) : (
            <p class="soft">Steps appear when the run has ended.</p>
          )}
        </section>
      )}
      <section>
        <h2>Call from code</h2>
        <Segments label="Language" value={language} choices={LANGUAGES} onChange={setLanguage} />
        <Snippet label="call" text={asCode(language, agent, body)} />
      </section>
    </aside>
  )
}
