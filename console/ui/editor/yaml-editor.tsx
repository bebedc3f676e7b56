import { useId, useRef, useState } from 'preact/hooks'
import { type Mark, YamlLines } from './yaml-lines.tsx'
import { placeAt, type Word, type WordsAt } from './yaml-place.ts'

type Props = {
  label: string
  value: string
  onInput(value: string): void
  marks: readonly Mark[]
  wordsAt: WordsAt
  onFocus(): void
}

type Offer = { words: Word[]; chosen: number; typed: string; line: number; column: number }

const MOST_WORDS = 8

/** A field for YAML with line numbers, colors, suggestions, and errors at their lines. */
export function YamlEditor({ label, value, onInput, marks, wordsAt, onFocus }: Props) {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const [offer, setOffer] = useState<Offer | undefined>(undefined)

  const look = (isAsked: boolean) => {
    const { value: text = '', selectionStart = 0 } = field.current ?? {}
    const place = placeAt(text, selectionStart)
    if (!place || (!isAsked && !place.typed)) return setOffer(undefined)
    const typed = place.typed.toLowerCase()
    const fitting = wordsAt(place).filter(
      (word) => word.text.toLowerCase().includes(typed) && word.text !== place.typed,
    )
    const words = fitting.toSorted((a, b) => Number(b.text.startsWith(typed)) - Number(a.text.startsWith(typed)))
    const lines = text.slice(0, selectionStart).split('\n')
    const column = (lines.at(-1)?.length ?? 0) - place.typed.length
    const shown = words.slice(0, MOST_WORDS)
    setOffer(shown.length > 0 ? { words: shown, chosen: 0, typed: place.typed, line: lines.length, column } : undefined)
  }

  const take = ({ text, isName }: Word) => {
    const element = field.current
    if (!element || !offer) return
    element.focus()
    element.setSelectionRange(element.selectionStart - offer.typed.length, element.selectionStart)
    insert(element, isName ? `${text}: ` : text)
    setOffer(undefined)
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      return look(true)
    }
    if (offer) return chooseByKey(event, offer, { setOffer, take })
    if (event.key === 'Enter' && !event.isComposing && field.current) {
      event.preventDefault()
      insert(field.current, `\n${indentAfter(field.current)}`)
    }
  }

  const listId = `${id}-words`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="editor">
        <div class="numbers" aria-hidden="true">
          {value.split('\n').map((_, i) => (
            <span key={i} class={marks.some(({ line }) => line === i + 1) ? 'y-bad' : ''}>
              {i + 1}
            </span>
          ))}
        </div>
        <div class="yaml-page">
          <YamlLines text={value} marks={marks} />
          <textarea
            id={id}
            ref={field}
            value={value}
            spellcheck={false}
            autocomplete="off"
            wrap="off"
            aria-invalid={marks.length > 0}
            aria-describedby={`${id}-marks`}
            aria-autocomplete="list"
            aria-controls={offer ? listId : undefined}
            aria-activedescendant={offer ? `${listId}-${offer.chosen}` : undefined}
            onInput={(event) => {
              onInput(event.currentTarget.value)
              look(false)
            }}
            onKeyDown={onKeyDown}
            onFocus={onFocus}
            onClick={() => setOffer(undefined)}
            onBlur={() => setOffer(undefined)}
          />
          {offer && <Words id={listId} offer={offer} onTake={take} />}
        </div>
      </div>
      <p id={`${id}-marks`} class={marks.length > 0 ? 'wrong' : 'hint'} role="status">
        {marks.length > 0
          ? marks.map(({ line, message }) => `Line ${line}: ${message}`).join('. ')
          : 'Press Ctrl+Space for suggestions.'}
      </p>
    </div>
  )
}

type OfferActions = { setOffer(offer: Offer | undefined): void; take(word: Word): void }

function chooseByKey(event: KeyboardEvent, offer: Offer, { setOffer, take }: OfferActions): void {
  const { words, chosen } = offer
  const step = { ArrowDown: 1, ArrowUp: words.length - 1 }[event.key]
  const word = words[chosen]
  if (step !== undefined) setOffer({ ...offer, chosen: (chosen + step) % words.length })
  else if ((event.key === 'Enter' || event.key === 'Tab') && word) take(word)
  else if (event.key === 'Escape') setOffer(undefined)
  else return
  event.preventDefault()
}

function Words({ id, offer, onTake }: { id: string; offer: Offer; onTake(word: Word): void }) {
  // All letters are as wide as `0`, so a column is as many `ch`.
  const place = { left: `${offer.column}ch`, top: `${offer.line}lh` }
  return (
    <ul id={id} class="yaml-words" role="listbox" aria-label="Words" style={place}>
      {offer.words.map((word, i) => (
        <li
          key={word.text}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === offer.chosen}
          // Otherwise, the field would lose the focus before the click arrives.
          onMouseDown={(event) => {
            event.preventDefault()
            onTake(word)
          }}
        >
          <b>{word.text}</b>
          {word.about && <span>{word.about}</span>}
        </li>
      ))}
    </ul>
  )
}

/** Types the text so that the browser can undo it. */
function insert(element: HTMLTextAreaElement, text: string): void {
  if (document.execCommand('insertText', false, text)) return
  element.setRangeText(text, element.selectionStart, element.selectionEnd, 'end')
  element.dispatchEvent(new Event('input', { bubbles: true }))
}

/** A new line is indented like the previous one, or further after a colon. */
function indentAfter({ value, selectionStart }: HTMLTextAreaElement): string {
  const line = value.slice(value.lastIndexOf('\n', selectionStart - 1) + 1, selectionStart)
  const [space = ''] = /^ *(?:- +)*/.exec(line) ?? []
  return ' '.repeat(space.length) + (/:\s*(?:[|>][-+]?)?$/.test(line) ? '  ' : '')
}
