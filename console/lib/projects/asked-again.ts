import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { useResource } from '../resource.ts'
import { may } from '../session-state.ts'
import { chosenProject } from './chosen-project.ts'

type PollOptions<Reply, Answer> = {
  /** What is requested, and the operation that the session must be allowed to call. */
  what: string
  feature: Parameters<typeof may>[0]
  ask(life: AbortSignal): Promise<Reply>
  /** Extracts the answer from a reply. */
  answerOf(reply: Reply): Answer
  /** Lets the page itself load first. */
  firstMs: number
  everyMs: number
}

/** Requests something about the chosen project regularly, if the session may, and keeps the answer for all pages. */
export function useAskedAgain<Reply, Answer>(
  answer: Signal<Answer | undefined>,
  { what, feature, ask, answerOf, firstMs, everyMs }: PollOptions<Reply, Answer>,
): Answer | undefined {
  const [isDue, setDue] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), firstMs)
    return () => clearTimeout(timer)
  }, [])
  const project = chosenProject.value?.id
  // The answer is dropped with the project, and also with the session, because its end removes all pages.
  useEffect(() => {
    return () => {
      answer.value = undefined
    }
  }, [project])
  const found = useResource(isDue && may(feature) ? `${what} ${project}` : undefined, ask, { everyMs })
  useEffect(() => {
    if (found.data !== undefined) answer.value = answerOf(found.data)
  }, [found.data])
  return answer.value
}
