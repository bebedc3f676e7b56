import { useState } from 'preact/hooks'
import type { StoredFile } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { sizeText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { DownloadButton } from '../../ui/files/download-button.tsx'
import { ChoiceFilter, TextFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { DeleteFileDialog } from './delete-file-dialog.tsx'
import { FileDialog } from './file-dialog.tsx'
import { UploadDialog } from './upload-dialog.tsx'

const LIMIT = 25

const TYPES = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
  'text/plain',
  'text/csv',
  'application/json',
]

/** What clients have uploaded. */
export function FilesPage() {
  const [deleting, setDeleting] = useState<StoredFile>()
  const query = { ...pageQuery(LIMIT, '-created_at'), user_id: param('user'), media_type: param('type') }
  const files = useResource(`files ${JSON.stringify(query)}`, (signal) => service.files.list(query, { signal }))
  const opened = param('file')
  const upload = may('createFile') && (
    <Button look="main" icon="plus" onClick={() => openDialog('upload')}>
      Upload
    </Button>
  )
  return (
    <Page title="Files" actions={upload} api={{ operation: 'listFiles', method: 'files.list', query }}>
      <div class="filters">
        <TextFilter name="user" label="User" />
        <ChoiceFilter name="type" label="Type" all="All types" choices={TYPES} />
      </div>
      <List of={files} label="Files" columns={columnsOf(setDeleting)} sort={query.sort} empty={<NoFiles />} />
      {opened && <FileDialog id={opened} onClose={() => setParams({ file: undefined })} onDelete={setDeleting} />}
      {deleting && (
        <DeleteFileDialog
          file={deleting}
          onClose={() => setDeleting(undefined)}
          onDone={() => {
            setParams({ file: undefined })
            files.reload()
          }}
        />
      )}
      {openedDialog() === 'upload' && may('createFile') && (
        <UploadDialog onClose={closeDialog} onChanged={files.reload} />
      )}
    </Page>
  )
}

const columnsOf = (setDeleting: (file: StoredFile) => void): Column<StoredFile>[] => [
  {
    title: 'Name',
    sort: 'name',
    isWide: true,
    cell: ({ id, name }) => (
      <button type="button" class="row-link" onClick={() => setParams({ file: id }, { push: true })}>
        {name}
      </button>
    ),
  },
  { title: 'Type', isExtra: true, cell: ({ media_type }) => media_type },
  { title: 'Size', sort: 'size', isNumber: true, cell: ({ size }) => sizeText(size) },
  { title: 'User', isExtra: true, cell: ({ user_id }) => user_id ?? '–' },
  { title: 'Created', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  {
    title: 'Expires',
    isNumber: true,
    isExtra: true,
    cell: ({ expires_at }) => (expires_at === null ? '–' : <Ago time={expires_at} />),
  },
  {
    title: '',
    isNumber: true,
    cell: (file) => (
      <span class="cell-actions">
        <DownloadButton file={{ ...file, file_id: file.id }} isSmall />
        {may('deleteFile') && (
          <Button look="quiet" icon="close" label={`Delete ${file.name}`} onClick={() => setDeleting(file)} />
        )}
      </span>
    ),
  },
]

function NoFiles() {
  return (
    <Empty title="No files yet" filters={['user', 'type']}>
      <p>Upload files to use them in messages: photos, PDFs, tables.</p>
      <Snippet label="command" text="moorage files put receipt.png" />
    </Empty>
  )
}
