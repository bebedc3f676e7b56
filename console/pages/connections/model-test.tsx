import { useState } from 'preact/hooks'
import type { ProviderTest } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { durationText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'

/** Has one of the provider's models answer a short message, which also tests the key. */
export function ModelTest({ name }: { name: string }) {
  const { data } = useResource(`provider models ${name}`, (signal) => service.providers.models(name, { signal }))
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const [tested, setTested] = useState<ProviderTest | undefined>(undefined)
  const ids = data?.models.map(({ id }) => id) ?? []
  const model = typed ?? ids[0] ?? ''
  const test = useAction(async () => {
    setTested(undefined)
    setTested(await service.providers.test(name, { model }))
  })
  return (
    <section class="model-test" aria-label="Test a model">
      <Field
        label="Model to test"
        value={model}
        onInput={setTyped}
        onEnter={() => model !== '' && !test.isBusy && void test.run()}
        suggestions={ids}
        error={reasonOf(test.error, 'model')}
        hint="The model answers one short message, which costs a few tokens."
        isMono
      />
      <div>
        <Button icon="play" doing={test} disabled={model === ''}>
          Test model
        </Button>
      </div>
      <Failure error={test.error} />
      {tested && (
        <p role="status">
          <Status value={tested.ok ? 'answers' : 'failing'} />{' '}
          {tested.ok ? (
            <span class="soft">in {durationText(tested.duration_ms)}</span>
          ) : (
            <span class="wrong">{tested.error}</span>
          )}
        </p>
      )}
    </section>
  )
}
