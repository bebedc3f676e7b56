import { useState } from 'preact/hooks'
import { countText } from '../../lib/text/format.ts'
import { Button } from '../button.tsx'
import { Snippet } from '../copy.tsx'

const SHOWN = 4_000

/**
 * The beginning of a text, and the whole text on request. `characters` is its full length, if not all of it is loaded.
 */
export function LongText({
  label,
  text,
  characters = text.length,
}: {
  label: string
  text: string
  characters?: number
}) {
  const [isWhole, setWhole] = useState(false)
  const isCut = text.length > SHOWN && !isWhole
  const shown = isCut ? text.slice(0, SHOWN) : text
  return (
    <>
      <Snippet label={label} text={shown} />
      {(isCut || characters > text.length) && (
        <p class="soft">
          {countText(shown.length)} of {countText(characters)} characters.{' '}
          {isCut && (
            <Button look="quiet" onClick={() => setWhole(true)}>
              Show {characters > text.length ? 'more' : 'all'}
            </Button>
          )}
        </p>
      )}
    </>
  )
}
