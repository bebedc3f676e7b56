import { useEffect, useState } from 'preact/hooks'
import { here } from '../../lib/location.ts'
import { question } from '../../lib/one-time-code.ts'
import { Button } from '../button.tsx'
import { Field } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

/** Asks for a one-time code while a request waits for it. */
export function CodeDialog() {
  const asked = question.value
  const [code, setCode] = useState('')
  // Requests of a page that the reader has left get no code.
  useEffect(() => () => question.value?.answer(undefined), [here.value.path])
  if (!asked) return null
  const answer = (given: string | undefined) => {
    setCode('')
    asked.answer(given)
  }
  return (
    <Dialog title="One-time code" onClose={() => answer(undefined)}>
      <Form onSubmit={() => answer(code.trim())}>
        <p>Enter the six digits from your authenticator app.</p>
        <Field
          label="Code"
          value={code}
          onInput={setCode}
          error={asked.objection}
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9 ]{6,8}"
          isRequired
          hasFocus
        />
        <DialogActions>
          <Button onClick={() => answer(undefined)}>Cancel</Button>
          <Button look="main" type="submit">
            Continue
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
