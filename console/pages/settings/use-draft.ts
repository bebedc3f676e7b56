import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Agent, MoorageError } from '../../../sdk/client.ts'
import { findDraft, keepDraft } from '../../lib/agents/drafts.ts'
import { changedFields, isSame, mergeChanges } from '../../lib/forms/merge-changes.ts'
import { changedElsewhere } from '../../lib/forms/use-changes.ts'
import { unsaved } from '../../lib/location.ts'
import { service } from '../../lib/service.ts'
import { yamlText } from '../../lib/yaml/yaml-text.ts'
import { type Definition, definitionOf, withDefaults } from './definition.ts'
import { type FormValues, valuesOf, wantedOf } from './form-values.ts'
import { withToolDefaults } from './tools/tool-kinds.ts'

/** Unsaved input, in the fields or as text. */
type Draft = {
  /** The definition on which the draft is based, and the agent's digest at that time. */
  from: Definition
  digest: string
  fields: Definition
  values: FormValues
  /** `said` is the text's content. Undefined if it can't be read. */
  text?: { typed: string; said: object | undefined } | undefined
  /** Identifies the fields that show the draft. They stay the same when it is saved and there is more to save. */
  shownAs: string
}

export type DraftOfAgent = {
  /** The values to show in fields. Undefined while the text can't be shown in fields. */
  fields: { definition: Definition; values: FormValues } | undefined
  /** The fields' values before anything was typed. */
  before: FormValues
  text: string
  setValues(values: FormValues): void
  setTools(tools: Definition['tools']): void
  setText(typed: string, said: object | undefined): void
  discard(): void
  /** If this changes, the fields start over. */
  round: string
  isChanged: boolean
  /** Whether the agent has changed since the draft began. */
  isBehind: boolean
  /** Saves only what the reader has changed. Input that is typed in the meantime stays a draft. */
  save(): Promise<Agent>
}

/** An agent's unsaved changes, shared by all views. They survive a reload. */
export function useDraft(agent: Agent): DraftOfAgent {
  const own = definitionOf(agent)
  const [kept, setKept] = useState(() => findDraft<Draft>(agent.id))
  const { digest } = agent
  const draft = kept ?? { from: own, digest, fields: own, values: valuesOf(own), shownAs: digest }
  const latest = useRef(draft)
  latest.current = draft
  const set = (next: Draft | undefined) => {
    if (next) latest.current = next
    setKept(next)
    keepDraft(agent.id, next)
  }
  const fields = fieldsOf(draft)
  const wanted = wantedBy(draft)
  const isChanged = !wanted || !isSame(draft.from, wanted)
  const [rounds, setRounds] = useState(0)
  const discard = () => {
    set(undefined)
    setRounds(rounds + 1)
  }
  const save = async () => {
    const asked = latest.current
    const saved = await saveOnto(agent, asked, (from) => set({ ...latest.current, from }))
    const now = latest.current
    const typed = wantedBy(now)
    if (typed && isSame(typed, wantedBy(asked))) set(undefined)
    else {
      // The remaining draft is based on the saved definition: the one that the reader has, and the one that the service
      // has stored.
      const base = wantedBy(asked) ?? asked.from
      const { began } = mergeChanges(base, typed ?? base, definitionOf(saved))
      set({ ...now, from: began, digest: saved.digest })
    }
    return saved
  }
  // Set before the reader can see the changes and leave.
  useLayoutEffect(() => {
    unsaved.value = isChanged ? { discard } : undefined
    return () => {
      unsaved.value = undefined
    }
  }, [isChanged, agent.id])
  return {
    fields,
    before: valuesOf(draft.from),
    text: draft.text?.typed ?? yamlText(wanted),
    setValues: (values) => fields && set({ ...draft, fields: fields.definition, values, text: undefined }),
    setTools: (tools) =>
      fields && set({ ...draft, fields: { ...fields.definition, tools }, values: fields.values, text: undefined }),
    setText: (typed, said) => set({ ...draft, text: { typed, said } }),
    discard,
    round: `${draft.shownAs} ${rounds}`,
    isChanged,
    isBehind: draft.digest !== digest,
    save,
  }
}

const MOST_TRIES = 3

/** Applies the draft to the current agent. If the agent changes before it is saved, applies the draft to it again. */
async function saveOnto({ id }: Agent, draft: Draft, onClash: (from: Definition) => void): Promise<Agent> {
  const wanted = wantedBy(draft)
  if (!wanted) throw new MoorageError('invalid_request', 'The text is not valid YAML. See the marked line.')
  for (let tries = 1; ; tries++) {
    const now = await service.agents.get(id)
    const merged = mergeChanges(draft.from, wanted, definitionOf(now))
    if (merged.clashes.length > 0) {
      onClash(merged.began)
      throw changedElsewhere(merged.clashes)
    }
    const changes = changedFields(definitionOf(now), merged.value)
    if (Object.keys(changes).length === 0) return now
    try {
      return await service.agents.update(id, { ...changes, digest: now.digest })
    } catch (error) {
      if ((error as MoorageError).code !== 'conflict' || tries === MOST_TRIES) throw error
    }
  }
}

/** The whole definition with the reader's changes. Undefined if the text can't be read. */
function wantedBy({ fields, values, text }: Draft): Definition | undefined {
  if (text === undefined) return wantedOf(fields, values)
  return text.said && withDefaults(text.said)
}

/** The fields as they are, or as the text defines them. */
function fieldsOf(draft: Draft): DraftOfAgent['fields'] {
  if (draft.text === undefined) return { definition: draft.fields, values: draft.values }
  const definition = wantedBy(draft)
  if (!definition || !canShow(definition)) return undefined
  return { definition: { ...definition, tools: definition.tools.map(withToolDefaults) }, values: valuesOf(definition) }
}

/** Whether fields can show it, because a text may contain anything. It must have the shape of a definition. */
function canShow({ memory, limits, approvals, tools, remote, output }: Definition): boolean {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const areObjects =
    [memory, limits, approvals].every(isObject) && [remote, output].every((one) => one === null || isObject(one))
  return areObjects && Array.isArray(tools) && tools.every(isObject)
}
