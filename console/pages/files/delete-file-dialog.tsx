import type { StoredFile } from '../../../sdk/client.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Confirm } from '../../ui/dialogs/confirm.tsx'

type Props = { file: StoredFile; onClose(): void; onDone(): void }

export function DeleteFileDialog({ file: { id, name, user_id }, onClose, onDone }: Props) {
  return (
    <Confirm
      title="Delete file"
      action="Delete file"
      isDanger
      onClose={onClose}
      work={async () => {
        await service.files.delete(id)
        toast(`${name} deleted`)
        onDone()
      }}
    >
      <p>
        <b>{name}</b>
        {user_id !== null && <>, which belongs to the user {user_id},</>} is deleted. Messages that used the file are
        kept, but it is no longer sent to models. This can't be undone.
      </p>
    </Confirm>
  )
}
