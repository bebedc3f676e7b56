import { go, unsaved, wanted } from '../lib/location.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialogs/dialog.tsx'

/** Asks what becomes of changes that are not saved, before the reader leaves their page. */
export function LeaveDialog() {
  const to = wanted.value
  if (to === undefined) return null
  const stay = () => {
    wanted.value = undefined
  }
  const leave = () => {
    unsaved.value = undefined
    wanted.value = undefined
    go(to)
  }
  const discard = () => {
    unsaved.value?.discard()
    leave()
  }
  return (
    <Dialog title="Your changes are not saved" onClose={stay}>
      <p>If you keep them, they are here when you come back, as long as this tab is open.</p>
      <DialogActions>
        <Button onClick={stay}>Stay</Button>
        <Button look="danger" onClick={discard}>
          Discard them
        </Button>
        <Button look="main" onClick={leave}>
          Keep them and leave
        </Button>
      </DialogActions>
    </Dialog>
  )
}
