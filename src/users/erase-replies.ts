import { listIdsOfUser } from '../invocations/find-invocations.ts'
import type { Json } from '../lib/json.ts'
import * as memories from '../memory/store.ts'
import type { Database } from '../storage/database.ts'
import {
  listReplies,
  listRepliesAbout,
  replaceReply,
  type StoredBody,
  withdraw,
} from '../storage/leases/stored-replies.ts'

export type Whose = {
  user_id: string
  agent_seqs: ReadonlySet<number>
  agent_ids: ReadonlySet<string>
  isEverything: boolean
}

type Thing = { [name: string]: Json }

/** Replies to requests that may be repeated are kept for a day. This removes the user's texts from them. */
export async function eraseReplies(db: Database, whose: Whose): Promise<number> {
  let erased = 0
  let after = { scope: '', key: '' }
  for (;;) {
    const replies = await listReplies(db, after)
    const last = replies.at(-1)
    if (!last) return erased
    after = last
    erased += await eraseFrom(db, replies, whose)
  }
}

/** The same for what was answered about these runs of the user. */
export async function eraseRepliesOfRuns(db: Database, request_ids: string[], whose: Whose): Promise<number> {
  if (request_ids.length === 0) return 0
  await withdraw(db, request_ids)
  return eraseFrom(db, await listRepliesAbout(db, request_ids), whose)
}

async function eraseFrom(db: Database, replies: readonly StoredBody[], whose: Whose): Promise<number> {
  let erased = 0
  for (const reply of replies) {
    const body = parse(reply.body)
    const theirs = await findTheirs(db, thingsIn(body), whose)
    const wordless = JSON.stringify(withoutWords(body, theirs))
    if (theirs.size === 0 || wordless === reply.body) continue
    await replaceReply(db, reply, wordless)
    erased += 1
  }
  return erased
}

/** Those of the things that belong to the user and to one of the agents. */
async function findTheirs(db: Database, things: Thing[], whose: Whose): Promise<Set<Thing>> {
  const remembered = things.filter(
    ({ id, user_id }) => isText(id) && id.startsWith('mem_') && user_id === whose.user_id,
  )
  const answered = things.flatMap((thing) => {
    const request = requestOf(thing)
    return request === undefined ? [] : [{ thing, request }]
  })
  const ids = answered.map(({ request }) => request)
  const requests = new Set(await listIdsOfUser(db, whose.user_id, { ...whose, ids }))
  const inReach = whose.isEverything ? remembered : await memoriesInReach(db, remembered, whose)
  const scheduled = things.filter(
    ({ context, agent_id }) => userIn(context) === whose.user_id && whose.agent_ids.has(String(agent_id)),
  )
  const ofRuns = answered.flatMap(({ thing, request }) => (requests.has(request) ? [thing] : []))
  return new Set([...inReach, ...scheduled, ...ofRuns])
}

/** The ids of completions and responses contain that of their invocation. */
const OF_INVOCATION = /^(?:chatcmpl-|resp_)([0-9A-Z]{26})/

/** The invocation that this is about: its answer in the form of any door, or what people decided for it. */
function requestOf({ id, request_id }: Thing): string | undefined {
  if (isText(request_id)) return request_id
  const [, bare] = (isText(id) && OF_INVOCATION.exec(id)) || []
  return bare && `req_${bare}`
}

function userIn(context: Json | undefined): Json | undefined {
  return context && typeof context === 'object' && !Array.isArray(context) ? context['user_id'] : undefined
}

async function memoriesInReach(db: Database, remembered: Thing[], { agent_seqs }: Whose): Promise<Thing[]> {
  const ids = remembered.map(({ id }) => String(id))
  const known = new Set(await memories.listIdsOfAgents(db, agent_seqs, ids))
  return remembered.filter(({ id }) => known.has(String(id)))
}

const isText = (value: Json | undefined): value is string => typeof value === 'string'

/** A reply with a secret is sealed, and contains nothing about users. */
function parse(body: string): Json {
  try {
    return JSON.parse(body) as Json
  } catch {
    return null
  }
}

function thingsIn(value: Json): Thing[] {
  if (Array.isArray(value)) return value.flatMap(thingsIn)
  if (value === null || typeof value !== 'object') return []
  return [value, ...Object.values(value).flatMap(thingsIn)]
}

const EMPTY: Thing = {
  answer: '',
  approvals: [],
  arguments: {},
  calls: [],
  changed_arguments: null,
  content: '',
  context: {},
  message: '',
  metadata: {},
  name: '',
  note: '',
  response: '',
  session_id: null,
  steps: [],
  user_id: null,
}

/** What people or models said in the replies of doors. */
const WORDS = new Set(['arguments', 'content', 'instructions', 'output_text', 'safety_identifier', 'text', 'user'])

function withoutWords(value: Json, theirs: ReadonlySet<Json>): Json {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item, theirs))
  if (value === null || typeof value !== 'object') return value
  if (theirs.has(value)) {
    if (isText(value['object'])) return withoutTexts(value)
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name, name in EMPTY && field !== null ? EMPTY[name] : field]),
    ) as Thing
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withoutWords(field, theirs)]))
}

/** Texts are emptied wherever they are, and the rest stays, so that the client still finds the shape that it knows. */
function withoutTexts(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutTexts)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      if (WORDS.has(name) && isText(field)) return [name, '']
      return [name, name === 'metadata' ? {} : withoutTexts(field)]
    }),
  ) as Thing
}
