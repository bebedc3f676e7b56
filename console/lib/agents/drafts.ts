import { useState } from 'preact/hooks'
import { chosenProject } from '../projects/chosen-project.ts'
import { session } from '../session-state.ts'

// A draft survives a reload. It goes with the tab, or when its reader signs out. Drafts hold definitions and messages, never secrets.
const nameOf = (subject: string) => {
  const { actor_id, project_id } = session.value ?? {}
  return `draft ${actor_id} ${chosenProject.value?.id ?? project_id} ${subject}`
}

/** What was typed about this subject and not saved, by the same key or person in the same project. */
export function findDraft<Draft>(subject: string): Draft | undefined {
  const text = sessionStorage.getItem(nameOf(subject))
  return text === null ? undefined : (JSON.parse(text) as Draft)
}

export function keepDraft(subject: string, draft: object | undefined): void {
  try {
    if (draft) sessionStorage.setItem(nameOf(subject), JSON.stringify(draft))
    else sessionStorage.removeItem(nameOf(subject))
  } catch {
    // The browser's room is full: the draft lives as long as the page does.
  }
}

export function forgetDrafts(): void {
  sessionStorage.clear()
}

/** A text that is typed and not sent. It is there again when the reader comes back. */
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
