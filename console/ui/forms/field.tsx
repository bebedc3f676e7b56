import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useRefusal } from '../../lib/forms/use-refusal.ts'

type LabelProps = {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
  /** The label is only for screen readers. */
  isBare?: boolean
  /** Marks the field as unsaved. */
  isChanged?: boolean
}

export type FieldProps = LabelProps & {
  value: string
  onInput(value: string): void
  type?: 'text' | 'password' | 'number' | 'url' | 'search' | 'datetime-local' | 'date'
  placeholder?: string
  pattern?: string
  inputMode?: 'numeric' | 'decimal' | 'text'
  autoComplete?: string
  /** Makes it a text area with this number of rows. */
  rows?: number
  isRequired?: boolean
  /** Gets the focus when it appears. */
  hasFocus?: boolean
  isMono?: boolean
  /** What the browser suggests while the reader types. */
  suggestions?: readonly string[] | undefined
  /** Why the form can't be sent with this value. */
  problem?: string | undefined
  /** What the Enter key does instead of sending the form. */
  onEnter?: (() => void) | undefined
  onFocus?: (() => void) | undefined
  onBlur?: (() => void) | undefined
}

/** An input field with one line or several. */
export function Field({
  label,
  hint,
  error: refused,
  value,
  onInput,
  rows,
  isRequired,
  hasFocus,
  isMono,
  type,
  isBare,
  isChanged,
  suggestions,
  problem = '',
  onEnter,
  ...rest
}: FieldProps) {
  const id = useId()
  const [objection, setObjection] = useState<string>()
  const refusal = useRefusal(refused, value)
  const error = objection ?? refusal
  const element = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  useEffect(() => element.current?.setCustomValidity(problem), [problem])
  useEffect(() => {
    if (hasFocus) element.current?.focus()
  }, [])
  const common = {
    id,
    value,
    ref: element,
    required: isRequired,
    // A dialog gives the focus to the element with this attribute.
    autofocus: hasFocus,
    class: isMono ? 'mono' : '',
    'aria-invalid': error !== undefined,
    'aria-describedby': hint || error ? `${id}-about` : undefined,
    onInvalid: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      setObjection(objectionTo(currentTarget, label, hint)),
    onInput: (event: { currentTarget: { value: string } }) => {
      setObjection(undefined)
      onInput(event.currentTarget.value)
    },
  }
  return (
    <div class={classOf({ isBare, isChanged })}>
      <label for={id}>{label}</label>
      {rows ? (
        <textarea rows={rows} placeholder={rest.placeholder} {...common} />
      ) : (
        // Preact's types give each type of input its own role. These input types all have the same role.
        <input
          spellcheck={false}
          list={suggestions && `${id}-offered`}
          {...rest}
          {...common}
          onKeyDown={(event) => {
            if (!onEnter || event.key !== 'Enter' || event.isComposing) return
            event.preventDefault()
            onEnter()
          }}
          type={(type ?? 'text') as 'text'}
        />
      )}
      {suggestions && (
        <datalist id={`${id}-offered`}>
          {suggestions.map((offered) => (
            <option key={offered} value={offered} />
          ))}
        </datalist>
      )}
      {(error || hint) && (
        <p id={`${id}-about`} class={error ? 'wrong' : 'hint'}>
          {error ? reasonText(label, error) : hint}
        </p>
      )}
    </div>
  )
}

/** The browser's objection in our words. If the hint describes the form of the value in a sentence, that is used. */
function objectionTo(
  { validity, validationMessage }: HTMLInputElement | HTMLTextAreaElement,
  label: string,
  hint: ComponentChildren,
): string {
  if (validity.valueMissing) return `${label} is required.`
  if (validity.typeMismatch) return `${label} must be a full URL: https://example.com`
  if (validity.patternMismatch) return `${label} is not valid.${typeof hint === 'string' ? ` ${hint}` : ''}`
  return validationMessage
}

function classOf({ isBare, isChanged }: Record<'isBare' | 'isChanged', boolean | undefined>): string {
  return ['field', isBare && 'bare', isChanged && 'changed'].filter(Boolean).join(' ')
}

/** The service's objection to a field, in which the label replaces the field's name. */
function reasonText(label: string, reason: string): string {
  return reason.replace(/^(?=(must|is|was|has|can't|already) )/, `${label} `)
}

type Choice = { value: string; label: string }

type SelectProps = LabelProps & {
  value: string
  choices: Choice[]
  onChange(value: string): void
}

export function Select({ label, hint, error: refused, value, choices, onChange, isBare, isChanged }: SelectProps) {
  const id = useId()
  const error = useRefusal(refused, value)
  return (
    <div class={classOf({ isBare, isChanged })}>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-invalid={error !== undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      {(error || hint) && <p class={error ? 'wrong' : 'hint'}>{error ? reasonText(label, error) : hint}</p>}
    </div>
  )
}

/** A few choices side by side, of which one is selected. */
export function Segments({ label, value, choices, onChange }: SelectProps) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  )
}
