import { signal } from '@preact/signals'

type Question = {
  /** Why the code before was not accepted. */
  objection: string | undefined
  answer(code: string | undefined): void
}

/** Set while a request waits for a one-time code; the dialog in `ui/dialogs/code-dialog.tsx` answers it. */
export const question = signal<Question | undefined>(undefined)

/**
 * Resolves with the code, or with undefined if the reader gave up. A request that asks while another one waits goes
 * first. A reader who gives up gives up all of them.
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
