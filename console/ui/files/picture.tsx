import { useEffect, useRef, useState } from 'preact/hooks'
import { isPicture, type ShownFile } from '../../lib/files/shown-file.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Icon } from '../icon.tsx'

/** Larger images are loaded only if the reader opens them. */
const SMALL_BYTES = 5_000_000

/** The URL of an image that was loaded for the page. Its type is one of ours, no matter what the bytes are. */
function usePicture(file: ShownFile, isWanted: boolean): string | undefined {
  const [url, setUrl] = useState<string>()
  const { file_id, media_type } = file
  const isShown = isWanted && isPicture(file) && may('getFileContent')
  useEffect(() => {
    if (!isShown) return
    const life = new AbortController()
    let made: string | undefined
    const load = async () => {
      const response = await service.files.content(file_id, { signal: life.signal })
      const bytes = await response.arrayBuffer()
      if (life.signal.aborted) return
      made = URL.createObjectURL(new Blob([bytes], { type: media_type }))
      setUrl(made)
    }
    // If the image can't be loaded, its icon is shown.
    load().catch(() => undefined)
    return () => {
      life.abort()
      if (made) URL.revokeObjectURL(made)
      setUrl(undefined)
    }
  }, [file_id, media_type, isShown])
  return url
}

/** The whole image. */
export function Picture({ file }: { file: ShownFile }) {
  const url = usePicture(file, true)
  return url ? <img class="picture" src={url} alt={file.name} /> : <div class="picture coming-picture" />
}

/** A small image or an icon. The image is loaded when it scrolls into view. */
export function Thumbnail({ file }: { file: ShownFile }) {
  const element = useRef<HTMLSpanElement>(null)
  const [isSeen, setSeen] = useState(false)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    if (element.current) watcher.observe(element.current)
    return () => watcher.disconnect()
  }, [])
  const url = usePicture(file, isSeen && file.size <= SMALL_BYTES)
  return (
    <span class="thumbnail" ref={element}>
      {url && !isBroken ? <img src={url} alt="" onError={() => setBroken(true)} /> : <Icon name="files" />}
    </span>
  )
}
