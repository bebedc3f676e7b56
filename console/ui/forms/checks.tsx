import { useRefusal } from '../../lib/forms/use-refusal.ts'

type Choice<Value extends string> = { value: Value; about?: string }

type Props<Value extends string> = {
  legend: string
  choices: Choice<Value>[]
  chosen: readonly Value[]
  onChange(chosen: Value[]): void
  error?: string | undefined
}

/** Checkboxes with which the reader selects any number of values. */
export function Checks<Value extends string>({ legend, choices, chosen, onChange, error: refused }: Props<Value>) {
  const error = useRefusal(refused, chosen)
  const toggle = (value: Value) =>
    onChange(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value])
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      {choices.map(({ value, about }) => (
        <label key={value} class="check">
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          <code>{value}</code>
          {about && <span class="soft">{about}</span>}
        </label>
      ))}
      {error && <p class="wrong">{error}</p>}
    </fieldset>
  )
}
