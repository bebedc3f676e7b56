import { useRef, useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import type { NewFile } from './chat-client.ts'
import { current, exchanges, say, stopAnswer } from './talk.ts'

/** A message has at most 1 MiB with its files, which are a third longer in base64. */
const MOST_BYTES = 700_000
const MOST_FILES = 5

/** The field for the next message, with files. */
export function MessageForm() {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<NewFile[]>([])
  const [problem, setProblem] = useState<string>()
  const picker = useRef<HTMLInputElement>(null)
  const answering = exchanges.value.find(({ key }) => key === current.value)
  const isBusy = answering !== undefined && answering.state !== 'waiting'
  const submit = () => {
    if (text.trim() === '' || isBusy) return
    say(text, files)
    setText('')
    setFiles([])
    setProblem(undefined)
  }
  const add = async (picked: readonly File[]) => {
    const read = await Promise.all(picked.map(readFile))
    const all = [...files, ...read]
    const size = all.reduce((sum, { data }) => sum + data.length * 0.75, 0)
    if (all.length > MOST_FILES) setProblem(`A message can have at most ${MOST_FILES} files.`)
    else if (size > MOST_BYTES) setProblem("A message's files can have at most 700 KB in total.")
    else {
      setProblem(undefined)
      setFiles(all)
    }
  }
  return (
    <div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {files.length > 0 && (
        <ul class="files" aria-label="Files">
          {files.map(({ name }, i) => (
            <li key={i}>
              <button
                type="button"
                aria-label={`Remove ${name}`}
                onClick={() => setFiles(files.filter((_, at) => at !== i))}
              >
                {name} ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <button
          type="button"
          class="quiet"
          aria-label="Add files"
          title="Add files"
          onClick={() => picker.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ currentTarget }) => {
            void add([...(currentTarget.files ?? [])])
            currentTarget.value = ''
          }}
        />
        <textarea
          rows={1}
          aria-label="Message"
          placeholder="Write a message"
          maxLength={20_000}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            // While an input method composes a word, Enter chooses the word.
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            submit()
          }}
        />
        {isBusy && answering?.request_id !== undefined ? (
          <button type="button" onClick={() => void stopAnswer(answering.key)}>
            Stop
          </button>
        ) : (
          <button type="submit" class="main" disabled={text.trim() === '' || isBusy}>
            Send
          </button>
        )}
      </form>
    </div>
  )
}

async function readFile(file: File): Promise<NewFile> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return { name: file.name, media_type: file.type || 'application/octet-stream', data: btoa(binary) }
}
