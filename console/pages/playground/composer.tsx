import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/forms/form.tsx'

type Props = { text: string; onText(text: string): void; onSend(): void; agent: string }

/** Enter sends, Shift+Enter begins a new line. */
export function Composer({ text, onText, onSend, agent }: Props) {
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current?.focus({ preventScroll: true }), [])
  const send = () => {
    if (text.trim()) onSend()
  }
  return (
    <Form class="composer" onSubmit={() => send()}>
      <textarea
        ref={area}
        rows={Math.min(8, text.split('\n').length)}
        value={text}
        placeholder={`Message ${agent}`}
        aria-label="Message"
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <Button look="main" type="submit" icon="send" label="Send" disabled={!text.trim()} />
    </Form>
  )
}
