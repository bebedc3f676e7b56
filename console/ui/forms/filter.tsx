import { useTypedParam } from '../../lib/forms/use-typed-param.ts'
import { param, setParams } from '../../lib/location.ts'
import { Button } from '../button.tsx'
import { clearFilters } from '../empty.tsx'
import { Icon } from '../icon.tsx'

const TYPED_MS = 250

/** A text filter that is stored in the URL. It waits until the typing pauses before it sends a request. */
export function TextFilter({ name, label }: { name: string; label: string }) {
  const [text, setText] = useTypedParam(name, TYPED_MS, { offset: undefined })
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

/** Shows the active filters, and removes them one by one or all at once. */
export function FiltersOn({ of }: { of: Record<string, string> }) {
  const on = Object.entries(of).filter(([name]) => param(name))
  if (on.length === 0) return null
  return (
    <div class="filters-on" role="group" aria-label="Active filters">
      {on.map(([name, label]) => (
        <Button key={name} icon="close" onClick={() => clearFilters([name])}>
          {label}: {param(name)}
        </Button>
      ))}
      {on.length > 1 && (
        <Button look="quiet" onClick={() => clearFilters(Object.keys(of))}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

type Choices = { name: string; label: string; all: string; choices: (string | [value: string, label: string])[] }

/** A choice that is stored in the URL. Without one, everything is shown. */
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
