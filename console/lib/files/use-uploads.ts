import { useEffect, useRef, useState } from 'preact/hooks'
import type { MoorageError } from '../../../sdk/client.ts'
import { service, uploadingService } from '../service.ts'
import { may } from '../session-state.ts'
import { toast } from '../toasts.ts'
import type { ShownFile } from './shown-file.ts'

/** The service accepts no more files with one message. */
const MOST_FILES = 20
/** How long to wait while the files' user is being typed. */
const TYPED_MS = 400

/** A file that is being uploaded. */
export type Upload = Omit<ShownFile, 'file_id'> & {
  key: string
  /** The content to send. A file of an earlier message is already stored. */
  source?: File
  user: string | undefined
  /** Set once the file is stored. */
  file_id?: string | undefined
  /** How much of it has been sent, from 0 to 1. */
  part: number
  error?: MoorageError | undefined
  life: AbortController
}

export type Uploads = {
  items: Upload[]
  /** Whether all are stored as files of the current user. */
  isReady: boolean
  stored: ShownFile[]
  add(files: Iterable<File>): void
  /** Adds files that are already stored. */
  put(files: readonly ShownFile[]): void
  /** Cancels the upload, or deletes the stored file. */
  remove(upload: Upload): void
  again(upload: Upload): void
  /** Removes all of them from the list. Stored files are kept. */
  clear(): void
}

/** Files that the reader picks. They are uploaded immediately for this user, and again if the user changes. */
export function useUploads(user: string | undefined): Uploads {
  const [items, setItems] = useState<Upload[]>([])
  const latest = useRef(items)
  latest.current = items
  const made = useRef(0)
  useEffect(() => () => latest.current.forEach(({ life }) => life.abort()), [])

  const change = (key: string, how: Partial<Upload>) =>
    setItems((before) => before.map((one) => (one.key === key ? { ...one, ...how } : one)))
  const send = (upload: Upload) => void sendUpload(upload, (how) => change(upload.key, how))
  const newUpload = (given: Omit<Upload, 'key' | 'part' | 'user' | 'life'>): Upload => ({
    ...given,
    key: String(made.current++),
    part: 0,
    user,
    life: new AbortController(),
  })
  const again = (upload: Upload) => {
    drop(upload)
    const anew = { ...upload, user, file_id: undefined, part: 0, error: undefined, life: new AbortController() }
    change(upload.key, anew)
    send(anew)
  }
  const isOfOther = ({ source, user: of }: Upload) => source !== undefined && of !== user
  useEffect(() => {
    const timer = setTimeout(() => latest.current.filter(isOfOther).forEach(again), TYPED_MS)
    return () => clearTimeout(timer)
  }, [user])

  return {
    items,
    isReady: items.every((one) => one.file_id !== undefined && !isOfOther(one)),
    stored: items.flatMap(({ file_id, name, media_type, size }) =>
      file_id ? [{ file_id, name, media_type, size }] : [],
    ),
    add(files) {
      const all = [...files]
      const taken = all.slice(0, MOST_FILES - latest.current.length)
      if (taken.length < all.length) toast(`A message can have at most ${MOST_FILES} files`)
      const begun = taken.map((source) => {
        const { name, type, size } = source
        return newUpload({ source, name, media_type: type || 'file', size })
      })
      setItems((before) => [...before, ...begun])
      for (const one of begun) send(one)
    },
    put: (files) => setItems(files.map((file) => newUpload(file))),
    remove(upload) {
      drop(upload)
      setItems((before) => before.filter(({ key }) => key !== upload.key))
    },
    again,
    clear: () => setItems([]),
  }
}

async function sendUpload({ source, user, life }: Upload, change: (how: Partial<Upload>) => void): Promise<void> {
  if (!source) return
  try {
    const client = uploadingService((part) => change({ part }))
    const { id, name, media_type } = await client.files.create(source, { user_id: user }, { signal: life.signal })
    change({ file_id: id, name, media_type, part: 1 })
  } catch (error) {
    if (!life.signal.aborted) change({ error: error as MoorageError })
  }
}

/** A file of an earlier message belongs to that message, so it is kept. */
function drop({ life, source, file_id }: Upload): void {
  life.abort()
  if (source && file_id && may('deleteFile')) void service.files.delete(file_id).catch(() => undefined)
}
