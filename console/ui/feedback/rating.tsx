import { useEffect, useState } from 'preact/hooks'
import type { Feedback, Invocation } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../button.tsx'
import { Failure, reasonOf } from '../failure.tsx'
import { Field } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'

type Props = {
  run: Invocation
  /** The key under which the service stores it, separate from others' feedback. */
  of: string
  onGiven?(): void
}

/** Rates an answer as good or bad, with a reason. Pressing a button again removes the rating. */
export function Rating({ run: { agent_id, request_id, feedback }, of: key, onGiven }: Props) {
  const given = feedback?.find((one) => one.key === key)
  const [own, setOwn] = useState<Feedback | undefined>(given)
  const [comment, setComment] = useState('')
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOwn(given), [feedback])
  const edit = (text: string | null = null) => {
    setComment(text ?? '')
    setOpen(true)
  }
  const rate = useAction(async (score: number) => {
    if (own?.score === score) {
      await service.feedback.delete(agent_id, request_id, { key })
      setOwn(undefined)
      setOpen(false)
      toast('Feedback removed')
    } else {
      setOwn(await service.feedback.give(agent_id, request_id, { score, key, comment: own?.comment ?? null }))
      edit(own?.comment)
      toast('Feedback saved')
    }
    onGiven?.()
  })
  const explain = useAction(async () => {
    if (!own) return
    const { score } = own
    setOwn(await service.feedback.give(agent_id, request_id, { score, key, comment: comment.trim() || null }))
    setOpen(false)
    toast('Comment saved')
    onGiven?.()
  })
  const thumb = (score: number, icon: 'good' | 'bad', label: string) => (
    <Button
      look="quiet"
      icon={icon}
      label={label}
      isPressed={own !== undefined && Math.sign(own.score) === score}
      isBusy={rate.isBusy}
      onClick={() => void rate.run(score)}
    />
  )
  return (
    <div class="rating">
      <div role="group" aria-label="Rate this answer">
        {thumb(1, 'good', 'Good answer')}
        {thumb(-1, 'bad', 'Bad answer')}
        {own && !isOpen && (
          <Button look="quiet" onClick={() => edit(own.comment)}>
            {own.comment ? 'Edit comment' : 'Add a comment'}
          </Button>
        )}
      </div>
      <Failure error={rate.error} />
      {isOpen && (
        <Form onSubmit={() => explain.run()}>
          <Field
            label="Comment (optional)"
            rows={2}
            value={comment}
            onInput={setComment}
            error={reasonOf(explain.error, 'comment')}
          />
          <Failure error={explain.error} />
          <div class="actions">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="main" type="submit" isBusy={explain.isBusy}>
              Save comment
            </Button>
          </div>
        </Form>
      )}
    </div>
  )
}
