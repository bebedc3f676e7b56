import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const SAID_MS = 1_500

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    if (!(await copyText(text))) return
    setCopied(true)
    setTimeout(() => setCopied(false), SAID_MS)
  }
  return (
    <button type="button" class="button quiet copy" aria-label={label} title={label} onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span class="hidden" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/**
 * Copies text. Browsers offer the clipboard only on https and on localhost, and may refuse even there. The text is then
 * copied from a hidden field. Resolves with whether it was copied.
 */
async function copyText(text: string): Promise<boolean> {
  const isWritten = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  return isWritten || copyFromField(text)
}

function copyFromField(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  // While a dialog is open, nothing outside it can be selected.
  const around = document.querySelector('dialog:modal') ?? document.body
  around.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  return isCopied
}

/** An ID in monospaced type, with a copy button. */
export function Id({ id }: { id: string }) {
  return (
    <span class="id">
      <code>{id}</code>
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  )
}

/** Text to copy as a whole: a command, a request, a secret. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  )
}
