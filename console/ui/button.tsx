import type { ComponentChildren } from 'preact'
import type { Action } from '../lib/resource.ts'
import { Icon, type IconName } from './icon.tsx'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

type Props = {
  look?: Look
  icon?: IconName
  /** Needed when there is an icon only. */
  label?: string
  isBusy?: boolean | undefined
  /** For a button that stays pressed. */
  isPressed?: boolean
  /** What it does: it is busy while that continues. */
  doing?: Action<[]>
  disabled?: boolean | undefined
  type?: 'button' | 'submit'
  onClick?: (() => void) | undefined
  children?: ComponentChildren
}

/** While it is busy it keeps its size and takes no second click. */
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
