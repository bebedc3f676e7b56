import type { ComponentChildren } from 'preact'
import type { ShownFile } from '../../lib/files/shown-file.ts'
import { sizeText } from '../../lib/text/format.ts'
import { Icon } from '../icon.tsx'
import { Thumbnail } from './picture.tsx'

type Props = {
  file: Omit<ShownFile, 'file_id'> & { file_id?: string | undefined }
  /** Opens the image. */
  onOpen?: (() => void) | undefined
  /** Further details, shown below the name. */
  about?: ComponentChildren
  /** Actions for the file. */
  children?: ComponentChildren
}

/** A file in one line: its image or an icon, its name, type and size. */
export function FileChip({ file, onOpen, about, children }: Props) {
  const { file_id, name, media_type, size } = file
  const picture = file_id ? (
    <Thumbnail key={file_id} file={{ ...file, file_id }} />
  ) : (
    <span class="thumbnail">
      <Icon name="files" />
    </span>
  )
  return (
    <li class="chip">
      {onOpen ? (
        <button type="button" class="link-like" aria-label={`Open ${name}`} onClick={onOpen}>
          {picture}
        </button>
      ) : (
        picture
      )}
      <span class="chip-text">
        <b title={name}>{name}</b>
        <span class="soft">
          {media_type} · {sizeText(size)}
        </span>
        {about}
      </span>
      {children}
    </li>
  )
}
