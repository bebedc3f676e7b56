import { useState } from 'preact/hooks'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { ModelTest } from './model-test.tsx'

/**
 * Whether the provider can be reached, tested by requesting its list of models. Only a model's answer proves that the
 * key is correct.
 */
export function ProviderState({ name }: { name: string }) {
  const [isTesting, setTesting] = useState(false)
  const { data, isLoading, reload } = useResource(
    may('listProviderModels') ? `provider models ${name}` : undefined,
    (signal) => service.providers.models(name, { signal }),
  )
  if (!data) return <span class="soft">{isLoading ? 'checking …' : '–'}</span>
  return (
    <span class="provider-state">
      {data.error === null ? (
        <>
          <Status value="reachable" /> <span class="soft">lists {counted(data.models.length, 'model')}</span>
        </>
      ) : (
        <>
          <Status value="failing" /> <span class="wrong">{data.error}</span>
        </>
      )}
      <Button look="quiet" icon="retry" label={`Check ${name} again`} isBusy={isLoading} onClick={reload} />
      {may('testProvider') && (
        <Button look="quiet" icon="play" label={`Test a model of ${name}`} onClick={() => setTesting(true)}>
          Test
        </Button>
      )}
      {isTesting && (
        <Dialog title={`Test a model of ${name}`} onClose={() => setTesting(false)}>
          <ModelTest name={name} />
          <DialogActions>
            <Button onClick={() => setTesting(false)}>Close</Button>
          </DialogActions>
        </Dialog>
      )}
    </span>
  )
}
