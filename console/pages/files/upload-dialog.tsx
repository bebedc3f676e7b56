import { useEffect, useState } from 'preact/hooks'
import { useUploads } from '../../lib/files/use-uploads.ts'
import { param } from '../../lib/location.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { DropArea, FilePicker } from '../../ui/files/file-picker.tsx'
import { UploadChips } from '../../ui/files/upload-chips.tsx'
import { Field } from '../../ui/forms/field.tsx'

/** Files are uploaded as soon as they are picked. */
export function UploadDialog({ onClose, onChanged }: { onClose(): void; onChanged(): void }) {
  const [user, setUser] = useState(param('user') ?? '')
  const uploads = useUploads(user.trim() || undefined)
  const stored = uploads.stored.map(({ file_id }) => file_id).join(' ')
  useEffect(() => {
    if (stored) onChanged()
  }, [stored])
  return (
    <Dialog title="Upload files" onClose={onClose}>
      <DropArea class="stack" label="Files to upload" onFiles={uploads.add}>
        <Field
          label="User"
          value={user}
          onInput={setUser}
          hint="The user that the files belong to. The files are exported and erased with that user's data. Leave empty for files of the project."
        />
        <UploadChips uploads={uploads} />
        <p>
          <FilePicker onFiles={uploads.add}>Choose files</FilePicker> <span class="hint">or drop them here</span>
        </p>
        <DialogActions>
          <Button look="main" disabled={!uploads.isReady} onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </DropArea>
    </Dialog>
  )
}
