import type { ComponentChildren } from 'preact'
import type { Action } from '../lib/resource.ts'
import { Icon, type IconName } from './icon.tsx'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

type Props = {
  look?: Look
  icon?: IconName
  /** Required if there is only an icon. */
  label?: string
  isBusy?: boolean | undefined
  /** For a toggle button. */
  isPressed?: boolean
  /** The button's action. The button is busy while the action runs. */
  doing?: Action<[]>
  disabled?: boolean | undefined
  type?: 'button' | 'submit'
  onClick?: (() => void) | undefined
  children?: ComponentChildren
}

/** While it is busy, it keeps its size and ignores further clicks. */
export function Button({ look = 'plain', icon, label, doing, disabled, type = 'button', children, ...rest }: Props) {
  const { isPressed, isBusy = doing?.isBusy, onClick = doing && (() => void doing.run()) } = rest
  return (
    <button
      type={type}
      class={`button ${look}`}
      aria-label={label}
      title={label}
      aria-busy={isBusy}
      aria-pressed={isPressed}
      disabled={disabled || isBusy}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
