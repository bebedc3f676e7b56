import { dismiss, type Toast, toasts } from '../../lib/toasts.ts'
import { Button } from '../button.tsx'

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((shown) => (
        <ToastLine key={shown.id} shown={shown} />
      ))}
    </div>
  )
}

function ToastLine({ shown: { id, text, undo } }: { shown: Toast }) {
  const takeBack = () => {
    dismiss(id)
    void undo?.()
  }
  return (
    <div class="toast">
      <span>{text}</span>
      {undo && (
        <Button icon="undo" onClick={takeBack}>
          Undo
        </Button>
      )}
      <Button look="quiet" icon="close" label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  )
}
