import { go, unsaved, wanted } from '../lib/location.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialogs/dialog.tsx'

/** Asks what to do with unsaved changes before the reader leaves the page. */
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
    <Dialog title="Unsaved changes" onClose={stay}>
      <p>You can leave and come back to your changes as long as this tab stays open.</p>
      <DialogActions>
        <Button onClick={stay}>Stay</Button>
        <Button look="danger" onClick={discard}>
          Discard changes
        </Button>
        <Button look="main" onClick={leave}>
          Leave and keep changes
        </Button>
      </DialogActions>
    </Dialog>
  )
}
