import { useLayoutEffect, useState } from 'preact/hooks'
import type { Agent, UpdateAgent } from '../../../sdk/client.ts'
import { findDraft, keepDraft } from '../../lib/agents/drafts.ts'
import { unsaved } from '../../lib/location.ts'
import { yamlText } from '../../lib/yaml/yaml-text.ts'
import { changesOf, type Definition, definitionOf, readDefinition } from './definition.ts'
import { type FormValues, valuesOf, wantedOf } from './form-values.ts'

/** What is typed and not saved: in the fields, or as text. `from` is the definition that it began with. */
type Draft = { from: Definition; fields: Definition; values: FormValues; text: string | undefined }

export type DraftOfAgent = {
  /** What the fields show. Undefined while the text cannot be read. */
  fields: { definition: Definition; values: FormValues } | undefined
  text: string
  setValues(values: FormValues): void
  setTools(tools: Definition['tools']): void
  setText(text: string): void
  discard(): void
  /** Another number says that the fields begin anew. */
  round: number
  isChanged: boolean
  /** The agent has changed since the draft began. */
  isBehind: boolean
  /** What is to be saved. Throws if the text cannot be read. */
  changes(): UpdateAgent
}

/** The unsaved changes of an agent, the same ones in every view. They survive a reload. */
export function useDraft(agent: Agent): DraftOfAgent {
  const own = definitionOf(agent)
  const [kept, setKept] = useState(() => findDraft<Draft>(agent.id))
  const draft = kept ?? { from: own, fields: own, values: valuesOf(own), text: undefined }
  const set = (next: Draft | undefined) => {
    setKept(next)
    keepDraft(agent.id, next)
  }
  const fields = fieldsOf(draft)
  const inFields = fields && { ...fields.definition, ...wantedOf(fields.definition, fields.values) }
  const changes = () =>
    changesOf(draft.from, draft.text === undefined ? (inFields ?? own) : readDefinition(draft.text).value)
  const isChanged = !fields || Object.keys(changes()).length > 0
  const [round, setRound] = useState(0)
  const discard = () => {
    set(undefined)
    setRound(round + 1)
  }
  // Before the reader can see the changes, and leave.
  useLayoutEffect(() => {
    unsaved.value = isChanged ? { discard } : undefined
    return () => {
      unsaved.value = undefined
    }
  }, [isChanged, agent.id])
  return {
    fields,
    text: draft.text ?? yamlText(inFields),
    setValues: (values) => fields && set({ from: draft.from, fields: fields.definition, values, text: undefined }),
    setTools: (tools) =>
      fields && set({ ...draft, fields: { ...fields.definition, tools }, values: fields.values, text: undefined }),
    setText: (text) => set({ ...draft, text }),
    discard,
    round,
    isChanged,
    isBehind: JSON.stringify(draft.from) !== JSON.stringify(own),
    changes,
  }
}

/** The fields as they are, or as the text says them. */
function fieldsOf({ fields, values, text }: Draft): DraftOfAgent['fields'] {
  if (text === undefined) return { definition: fields, values }
  try {
    const said = readDefinition(text).value as Partial<Definition>
    const definition = {
      ...fields,
      ...said,
      memory: { ...fields.memory, ...said.memory },
      limits: { ...fields.limits, ...said.limits },
      approvals: { ...fields.approvals, ...said.approvals },
    }
    return { definition, values: valuesOf(definition) }
  } catch {
    return undefined
  }
}
