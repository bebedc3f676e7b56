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

/** What is typed and not saved: in the fields, or as text. */
type Draft = {
  /** The definition that it began with, and the digest of the agent then. */
  from: Definition
  digest: string
  fields: Definition
  values: FormValues
  /** `said` is what the text says. Undefined if it cannot be read. */
  text?: { typed: string; said: object | undefined } | undefined
  /** Names the fields that show it: they stay the same ones when it is saved and there is more to save. */
  shownAs: string
}

export type DraftOfAgent = {
  /** What the fields show. Undefined while the text cannot be shown in fields. */
  fields: { definition: Definition; values: FormValues } | undefined
  /** What the fields showed before anything was typed. */
  before: FormValues
  text: string
  setValues(values: FormValues): void
  setTools(tools: Definition['tools']): void
  setText(typed: string, said: object | undefined): void
  discard(): void
  /** Another text says that the fields start over. */
  round: string
  isChanged: boolean
  /** The agent has changed since the draft began. */
  isBehind: boolean
  /** Saves what the reader has changed, and nothing else. What is typed meanwhile stays a draft. */
  save(): Promise<Agent>
}

/** The unsaved changes of an agent, the same ones in every view. They survive a reload. */
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
      // What was saved is what the rest begins with: as the reader has it, and as the service has stored it.
      const base = wantedBy(asked) ?? asked.from
      const { began } = mergeChanges(base, typed ?? base, definitionOf(saved))
      set({ ...now, from: began, digest: saved.digest })
    }
    return saved
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

/** Puts the draft onto the agent as it is now. If it is changed again before that is stored, it is put onto that. */
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

/** The whole definition as the reader wants it. Undefined if the text cannot be read. */
function wantedBy({ fields, values, text }: Draft): Definition | undefined {
  if (text === undefined) return wantedOf(fields, values)
  return text.said && withDefaults(text.said)
}

/** The fields as they are, or as the text says them. */
function fieldsOf(draft: Draft): DraftOfAgent['fields'] {
  if (draft.text === undefined) return { definition: draft.fields, values: draft.values }
  const definition = wantedBy(draft)
  if (!definition || !canShow(definition)) return undefined
  return { definition: { ...definition, tools: definition.tools.map(withToolDefaults) }, values: valuesOf(definition) }
}

/** A text may say anything. Fields show what has the shape of a definition. */
function canShow({ memory, limits, approvals, tools, remote, output }: Definition): boolean {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const areObjects =
    [memory, limits, approvals].every(isObject) && [remote, output].every((one) => one === null || isObject(one))
  return areObjects && Array.isArray(tools) && tools.every(isObject)
}
