import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Button } from '../button.tsx'

type OnFiles = (files: Iterable<File>) => void

/** The button that opens the browser's file dialog. */
export function FilePicker({ onFiles, children }: { onFiles: OnFiles; children?: ComponentChildren }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button icon="clip" {...(!children && { label: 'Attach files' })} onClick={() => input.current?.click()}>
        {children}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])])
          // Allows picking the same file again.
          currentTarget.value = ''
        }}
      />
    </>
  )
}

type DropAreaProps = { class: string; label: string; onFiles: OnFiles | undefined; children: ComponentChildren }

/** A part of the page that accepts dropped files. */
export function DropArea({ class: name, label, onFiles, children }: DropAreaProps) {
  const [isOver, setOver] = useState(false)
  const hasFiles = ({ dataTransfer }: DragEvent) => onFiles !== undefined && dataTransfer?.types.includes('Files')
  return (
    <section
      class={isOver ? `${name} drop` : name}
      aria-label={label}
      onDragOver={(event) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
      }}
      onDrop={(event) => {
        setOver(false)
        if (!hasFiles(event)) return
        event.preventDefault()
        onFiles?.(event.dataTransfer?.files ?? [])
      }}
    >
      {children}
    </section>
  )
}

/** Files on the clipboard. If there is also text, such as cells of a table, the text is pasted instead. */
export function pastedFiles({ clipboardData }: ClipboardEvent): File[] {
  return clipboardData?.types.includes('text/plain') ? [] : [...(clipboardData?.files ?? [])]
}
