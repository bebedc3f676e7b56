import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useRefusal } from '../../lib/forms/use-refusal.ts'

type LabelProps = {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
  /** The label is read aloud, but not shown. */
  isBare?: boolean
  /** It is marked: what it says is not saved. */
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
  /** It has the focus when it appears. */
  hasFocus?: boolean
  isMono?: boolean
  /** What the browser offers while the reader types. */
  suggestions?: readonly string[] | undefined
  /** Why the form cannot be sent with this value. */
  problem?: string | undefined
  /** What the Enter key does instead of sending the form. */
  onEnter?: (() => void) | undefined
  onFocus?: (() => void) | undefined
  onBlur?: (() => void) | undefined
}

/** One line, or several, to be typed. */
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
    // A dialog gives the focus to the element that has this.
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
        // The types of Preact give each type of input a role of its own. These types all have the same role.
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

/** What the browser finds wrong, in our words. Where the hint is a sentence about the form of the value, it says what is meant. */
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

/** The service says what is wrong with a field. Here the label is its name. */
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

/** A few choices side by side, of which one holds. */
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
