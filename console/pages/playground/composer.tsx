import { useEffect, useRef } from 'preact/hooks'
import type { Uploads } from '../../lib/files/use-uploads.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { FilePicker, pastedFiles } from '../../ui/files/file-picker.tsx'
import { UploadChips } from '../../ui/files/upload-chips.tsx'
import { Form } from '../../ui/forms/form.tsx'

type Props = { text: string; onText(text: string): void; onSend(): void; agent: string; uploads: Uploads }

/** The input for messages. Enter sends, Shift+Enter starts a new line. A message waits until its files are uploaded. */
export function Composer({ text, onText, onSend, agent, uploads }: Props) {
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current?.focus({ preventScroll: true }), [])
  const canSend = text.trim() !== '' && uploads.isReady
  const send = () => {
    if (canSend) onSend()
  }
  return (
    <Form class="composer" onSubmit={() => send()}>
      <UploadChips uploads={uploads} />
      {may('createFile') && <FilePicker onFiles={uploads.add} />}
      <textarea
        ref={area}
        rows={Math.min(8, text.split('\n').length)}
        value={text}
        placeholder={`Message ${agent}`}
        aria-label="Message"
        onInput={(event) => onText(event.currentTarget.value)}
        onPaste={(event) => {
          const files = may('createFile') ? pastedFiles(event) : []
          if (files.length === 0) return
          event.preventDefault()
          uploads.add(files)
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <Button look="main" type="submit" icon="send" label="Send" disabled={!canSend} />
    </Form>
  )
}
