import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

type Props = {
  look?: Look
  icon?: IconName
  /** Needed when there is an icon only. */
  label?: string
  isBusy?: boolean
  disabled?: boolean
  type?: 'button' | 'submit'
  onClick?: (() => void) | undefined
  children?: ComponentChildren
}

/** While it is busy it keeps its size and takes no second click. */
export function Button({ look = 'plain', icon, label, isBusy, disabled, type = 'button', onClick, children }: Props) {
  return (
    <button
      type={type}
      class={`button ${look}`}
      aria-label={label}
      title={label}
      aria-busy={isBusy}
      disabled={disabled || isBusy}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
