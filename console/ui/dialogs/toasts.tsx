import { dismissToast, lastToast } from '../../lib/toasts.ts'
import { Button } from '../button.tsx'

export function Toasts() {
  const shown = lastToast.value
  const takeBack = () => {
    dismissToast()
    void shown?.undo?.()
  }
  return (
    <div class="toasts" role="status">
      {shown && (
        <div class="toast">
          <span>{shown.text}</span>
          {shown.undo && (
            <Button icon="undo" onClick={takeBack}>
              Undo
            </Button>
          )}
          <Button look="quiet" icon="close" label="Dismiss" onClick={dismissToast} />
        </div>
      )}
    </div>
  )
}
