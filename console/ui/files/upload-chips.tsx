import type { MoorageError } from '../../../sdk/client.ts'
import type { Uploads } from '../../lib/files/use-uploads.ts'
import { percentText } from '../../lib/text/format.ts'
import { Button } from '../button.tsx'
import { FileChip } from './file-chip.tsx'

/** Files being uploaded: their progress, their errors, and a button to remove each. */
export function UploadChips({ uploads: { items, remove, again } }: { uploads: Uploads }) {
  if (items.length === 0) return null
  return (
    <ul class="chips" aria-label="Files">
      {items.map((upload) => {
        const { key, name, part, error, file_id } = upload
        const isUnderWay = !error && file_id === undefined
        return (
          <FileChip
            key={key}
            file={upload}
            about={
              <>
                {isUnderWay && <progress aria-label={`Upload of ${name}`} value={part} title={percentText(part, 1)} />}
                {error && (
                  <span class="wrong" role="alert">
                    {wordsOf(error)}
                  </span>
                )}
              </>
            }
          >
            {error && <Button look="quiet" icon="retry" label={`Try ${name} again`} onClick={() => again(upload)} />}
            <Button
              look="quiet"
              icon="close"
              label={isUnderWay ? `Cancel the upload of ${name}` : `Remove ${name}`}
              onClick={() => remove(upload)}
            />
          </FileChip>
        )
      })}
    </ul>
  )
}

function wordsOf({ message, details = [] }: MoorageError): string {
  return details.length > 0 ? details.map(({ field, error }) => `${field} ${error}`).join(', ') : message
}
