import type { StoredFile } from '../../../sdk/client.ts'
import { isPicture } from '../../lib/files/shown-file.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { exactText, sizeText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { DownloadButton } from '../../ui/files/download-button.tsx'
import { Picture } from '../../ui/files/picture.tsx'

type Props = { id: string; onClose(): void; onDelete(file: StoredFile): void }

/** One file: its image, if browsers can show it safely, and its details. */
export function FileDialog({ id, onClose, onDelete }: Props) {
  const { data: file, error, reload } = useResource(`file ${id}`, (signal) => service.files.get(id, { signal }))
  return (
    <Dialog title={file?.name ?? 'File'} onClose={onClose} isWide>
      <Failure error={error} retry={reload} />
      {file && (
        <>
          {isPicture(file) && <Picture file={{ ...file, file_id: file.id }} />}
          <Facts
            of={{
              Type: file.media_type,
              Size: sizeText(file.size),
              User: file.user_id ?? undefined,
              By: <Who id={file.created_by} name={file.created_by_name} />,
              Created: exactText(file.created_at),
              Expires: file.expires_at === null ? undefined : exactText(file.expires_at),
              ID: <Id id={file.id} />,
              'SHA-256': <code class="breaks">{file.sha256}</code>,
            }}
          />
          <DialogActions>
            {may('deleteFile') && (
              <Button look="danger" onClick={() => onDelete(file)}>
                Delete …
              </Button>
            )}
            <DownloadButton file={{ ...file, file_id: file.id }} />
          </DialogActions>
        </>
      )}
    </Dialog>
  )
}
