import { signal } from '@preact/signals'

type Question = {
  /** Why the previous code wasn't accepted. */
  objection: string | undefined
  answer(code: string | undefined): void
}

/** Set while a request waits for a one-time code, which the dialog in `ui/dialogs/code-dialog.tsx` provides. */
export const question = signal<Question | undefined>(undefined)

/**
 * Resolves with the code, or with undefined if the reader cancels. If a second request needs a code while another one
 * waits, the second is handled first. Cancelling applies to all of them.
 */
export function askForCode(objection: string | undefined): Promise<string | undefined> {
  const waiting = question.peek()
  return new Promise((resolve) => {
    question.value = {
      objection,
      answer(code) {
        question.value = waiting
        resolve(code)
        if (code === undefined) waiting?.answer(code)
      },
    }
  })
}
