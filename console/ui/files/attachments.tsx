import { useState } from 'preact/hooks'
import { isPicture, type ShownAttachment, type ShownFile } from '../../lib/files/shown-file.ts'
import { may } from '../../lib/session-state.ts'
import { DownloadButton } from './download-button.tsx'
import { FileChip } from './file-chip.tsx'
import { Lightbox } from './lightbox.tsx'

const SHOWN_AS = { image: 'sent as an image', text: 'sent as text', omitted: 'not sent to the model' }

type Props = { files: readonly ShownAttachment[] | undefined; label?: string }

/** The files of a message, or files that tools made, and what the model was shown of each. */
export function Attachments({ files = [], label = 'Attachments' }: Props) {
  const [shown, setShown] = useState<ShownFile>()
  if (files.length === 0) return null
  const pictures = files.filter((file) => isPicture(file) && may('getFileContent'))
  return (
    <>
      <ul class="chips" aria-label={label}>
        {files.map((file, i) => (
          <FileChip
            key={i}
            file={file}
            onOpen={pictures.includes(file) ? () => setShown(file) : undefined}
            about={<Told file={file} />}
          >
            <DownloadButton file={file} isSmall />
          </FileChip>
        ))}
      </ul>
      {shown && <Lightbox pictures={pictures} shown={shown} onShow={setShown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function Told({ file: { shown_as, note } }: { file: ShownAttachment }) {
  if (!shown_as) return null
  return (
    <span class={shown_as === 'omitted' ? 'left-out' : 'soft'}>
      {SHOWN_AS[shown_as]}
      {note && `: ${note}`}
    </span>
  )
}
