import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'

/** Whether the provider answers: it is asked for its models. Some list them to any key, so this does not say that the key is right. */
export function ProviderState({ name }: { name: string }) {
  const { data, isLoading, reload } = useResource(
    may('listProviderModels') ? `provider models ${name}` : undefined,
    (signal) => service.providers.models(name, { signal }),
  )
  if (!data) return <span class="soft">{isLoading ? 'is asked …' : '–'}</span>
  return (
    <span class="provider-state">
      {data.error === null ? (
        <>
          <Status value="answers" /> <span class="soft">its {data.models.length} models were listed</span>
        </>
      ) : (
        <>
          <Status value="failing" /> <span class="wrong">{data.error}</span>
        </>
      )}
      <Button look="quiet" icon="retry" label={`Test ${name} again`} isBusy={isLoading} onClick={reload} />
    </span>
  )
}
