import { param, setParams } from '../../lib/location.ts'
import { Button } from '../button.tsx'
import { Markdown } from './markdown.tsx'

/** A model's answer, with its markdown rendered or as it was written. The URL says which. */
export function AnswerText({ text }: { text: string }) {
  return <Markdown text={text} isPlain={param('text') === 'plain'} />
}

export function AnswerSwitch() {
  const isPlain = param('text') === 'plain'
  return (
    <Button
      look="quiet"
      icon="code"
      label={isPlain ? 'Show Markdown' : 'Show as plain text'}
      onClick={() => setParams({ text: isPlain ? undefined : 'plain' })}
    />
  )
}
