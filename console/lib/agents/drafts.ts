import { useState } from 'preact/hooks'
import { chosenProject } from '../projects/chosen-project.ts'
import { session } from '../session-state.ts'

// Drafts survive a reload. They are dropped when the tab is closed or the reader signs out. They contain definitions
// and messages, but never secrets.
const nameOf = (subject: string) => {
  const { actor_id, project_id } = session.value ?? {}
  return `draft ${actor_id} ${chosenProject.value?.id ?? project_id} ${subject}`
}

/** The unsaved input about this subject, by the same key or person in the same project. */
export function findDraft<Draft>(subject: string): Draft | undefined {
  const text = sessionStorage.getItem(nameOf(subject))
  return text === null ? undefined : (JSON.parse(text) as Draft)
}

export function keepDraft(subject: string, draft: object | undefined): void {
  try {
    if (draft) sessionStorage.setItem(nameOf(subject), JSON.stringify(draft))
    else sessionStorage.removeItem(nameOf(subject))
  } catch {
    // The browser's storage is full, so the draft lasts only as long as the page.
  }
}

export function forgetDrafts(): void {
  sessionStorage.clear()
}

/** A text that is typed but not sent. It is restored when the reader comes back. */
export function useDraftText(subject: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(() => findDraft<{ text: string }>(subject)?.text ?? '')
  return [
    text,
    (next) => {
      setText(next)
      keepDraft(subject, next ? { text: next } : undefined)
    },
  ]
}
