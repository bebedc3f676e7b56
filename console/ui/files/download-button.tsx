import type { ShownFile } from '../../lib/files/shown-file.ts'
import { useAction } from '../../lib/resource.ts'
import { saveAnswer } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../button.tsx'
import { Failure } from '../failure.tsx'

/** Makes the browser save the file. The page never opens it. */
export function DownloadButton({ file: { file_id, name }, isSmall = false }: { file: ShownFile; isSmall?: boolean }) {
  const download = useAction(() => saveAnswer(`v1/files/${file_id}/content`, name))
  if (!may('getFileContent')) return null
  const look = isSmall ? { look: 'quiet' as const, label: `Download ${name}` } : { children: 'Download' }
  return (
    <>
      <Failure error={download.error} />
      <Button icon="download" doing={download} {...look} />
    </>
  )
}
