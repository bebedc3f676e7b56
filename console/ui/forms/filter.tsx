import { useEffect, useState } from 'preact/hooks'
import { param, setParams } from '../../lib/location.ts'
import { Icon } from '../icon.tsx'

const TYPED_MS = 250

/** A text filter that lives in the URL. It waits for a pause in the typing before it asks the service. */
export function TextFilter({ name, label }: { name: string; label: string }) {
  const inUrl = param(name) ?? ''
  const [text, setText] = useState(inUrl)
  useEffect(() => setText(inUrl), [inUrl])
  useEffect(() => {
    if (text === inUrl) return
    const timer = setTimeout(() => setParams({ [name]: text, offset: undefined }), TYPED_MS)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label class="filter">
      <Icon name="search" />
      <input
        type="search"
        placeholder={label}
        aria-label={label}
        value={text}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  )
}

type Choices = { name: string; label: string; all: string; choices: (string | [value: string, label: string])[] }

/** A choice that lives in the URL; without one, everything is shown. */
export function ChoiceFilter({ name, label, all, choices }: Choices) {
  return (
    <select
      class="filter"
      aria-label={label}
      value={param(name) ?? ''}
      onChange={(event) => setParams({ [name]: event.currentTarget.value, offset: undefined }, { push: true })}
    >
      <option value="">{all}</option>
      {choices.map((choice) => {
        const [value, text] = typeof choice === 'string' ? [choice, choice] : choice
        return (
          <option key={value} value={value}>
            {text}
          </option>
        )
      })}
    </select>
  )
}
