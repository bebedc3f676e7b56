import { useState } from 'preact/hooks'
import { findDraft, keepDraft } from '../../lib/agents/drafts.ts'

/** The message that is being typed. It is kept while the reader looks at another page. */
export function useMessageDraft(agent_id: string): [text: string, setText: (text: string) => void] {
  const subject = `message ${agent_id}`
  const [text, setText] = useState(() => findDraft<{ text: string }>(subject)?.text ?? '')
  return [
    text,
    (typed) => {
      setText(typed)
      keepDraft(subject, typed ? { text: typed } : undefined)
    },
  ]
}
