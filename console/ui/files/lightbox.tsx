import { useEffect } from 'preact/hooks'
import type { ShownFile } from '../../lib/files/shown-file.ts'
import { sizeText } from '../../lib/text/format.ts'
import { Button } from '../button.tsx'
import { Dialog, DialogActions } from '../dialogs/dialog.tsx'
import { DownloadButton } from './download-button.tsx'
import { Picture } from './picture.tsx'

type Props = { pictures: ShownFile[]; shown: ShownFile; onShow(file: ShownFile): void; onClose(): void }

/** An image in the size of the window. The arrow keys show the other images. */
export function Lightbox({ pictures, shown, onShow, onClose }: Props) {
  const position = pictures.findIndex(({ file_id }) => file_id === shown.file_id)
  const move = (by: number) => {
    const next = pictures[position + by]
    if (next) onShow(next)
  }
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent) => move({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0)
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  })
  return (
    <Dialog title={shown.name} onClose={onClose} isWide>
      <Picture key={shown.file_id} file={shown} />
      <DialogActions>
        <span class="soft">
          {shown.media_type} · {sizeText(shown.size)}
        </span>
        {pictures.length > 1 && (
          <>
            <Button icon="left" label="Previous image" disabled={position === 0} onClick={() => move(-1)} />
            <Button
              icon="right"
              label="Next image"
              disabled={position === pictures.length - 1}
              onClick={() => move(1)}
            />
          </>
        )}
        <DownloadButton file={shown} />
      </DialogActions>
    </Dialog>
  )
}
