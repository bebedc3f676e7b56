import type { Engine } from '../../../src/storage/database.ts'

/**
 * Something that is always true of a store. The query selects what violates it, as one text column, and should find
 * nothing.
 */
export type Rule = { name: string; broken: string }

/**
 * Rules that are true at any moment, no matter what the nodes are doing, because each holds from one commit to the
 * next.
 */
export function storeRules(engine: Engine): Rule[] {
  return [...runRules, ...budgetRules(engine), ...memoryRules(engine), ...fileRules, ...countRules, ...lifeRules]
}

/** Rules that are true once this node has stopped and given everything back. `node` is its name in leases. */
export function stoppedRules(node: string): Rule[] {
  const owned = `owner like '${node}%'`
  return [
    { name: 'a stopped node works on no run', broken: `select id from runs where ${owned}` },
    { name: 'a stopped node works on no job', broken: `select kind from jobs where ${owned}` },
    { name: 'a stopped node sends no delivery', broken: `select id from deliveries where ${owned}` },
    {
      name: 'a stopped node has no room in budgets',
      broken: `select id from ledger where status = 'reserved' and ${owned}`,
    },
    {
      name: 'a stopped node holds no unanswered request',
      broken: `select scope || ' ' || key from claims where status is null and ${owned}
        and (request_id is null or request_id not in (select id from all_invocations))`,
    },
    {
      // If a node died, lost its run or couldn't store the end of it, what it spent is only in the ledger.
      name: 'a receipt has the tokens of its calls',
      broken: `select i.id || ' has ' || i.tokens_used || ', the ledger ' || l.tokens from invocations i
        join (select request_id, sum(input_tokens + output_tokens) as tokens from ledger
          where purpose = 'run' and status not in ('reserved', 'lost') group by request_id) l on l.request_id = i.id
        where i.tokens_used <> l.tokens
          and i.attempts is null and i.status = 'completed'
          and not exists (select 1 from ledger where request_id = i.id and status in ('reserved', 'lost'))`,
    },
  ]
}

/** Rules that are true when no node uses the store any more. */
export const idleRules: Rule[] = [
  { name: 'every audit entry is in the chain', broken: 'select id from audit_log where seq is null' },
  { name: 'no upload is on its way', broken: "select id from blobs where state = 'incoming'" },
]

const runRules: Rule[] = [
  {
    name: 'an invocation is a run or a receipt, not both',
    broken: 'select id from runs where id in (select id from invocations)',
  },
  {
    name: 'a receipt has an end',
    broken:
      "select id from invocations where status not in ('completed', 'failed', 'cancelled') or finished_at is null",
  },
  {
    name: 'only a running run has an owner',
    broken: "select id from runs where (owner is null) = (status = 'running')",
  },
  {
    name: 'a waiting run has something to wait for',
    broken: `select id from runs where status = 'waiting' and wake_at is null and waits_for is null
      and not exists (select 1 from approvals where request_id = runs.id and status = 'pending')`,
  },
  {
    name: 'steps belong to a run',
    broken: 'select request_id from steps where request_id not in (select id from runs)',
  },
  {
    name: 'people are asked only while the run waits',
    // Those of a deleted agent are removed later.
    broken: `select id from approvals where status = 'pending' and agent_seq in (select seq from agents)
      and request_id not in (select id from runs where status = 'waiting')`,
  },
  {
    name: 'an answered request has its answer',
    broken: 'select key from claims where status is not null and body is null',
  },
]

const budgetRules = (engine: Engine): Rule[] => {
  const held =
    engine === 'postgres'
      ? `select c ->> 0 as budget_id, c ->> 1 as subject, (c ->> 2)::bigint as period_start, (c ->> 3)::bigint as held
          from ledger, jsonb_array_elements(charges::jsonb) as c where ledger.status = 'reserved' and charges is not null`
      : `select c.value ->> 0 as budget_id, c.value ->> 1 as subject, c.value ->> 2 as period_start, c.value ->> 3 as held
          from ledger, json_each(charges) as c where ledger.status = 'reserved' and charges is not null`
  const sums = (hours: string) => `select ${TOKENS.map((name) => `coalesce(sum(${name}), 0)`).join(` || ' ' || `)}
    || ' ' || coalesce(sum(cost_nano), 0) || ' ' || coalesce(sum(calls), 0) as total from usage_sums where hours in (${hours})`
  const lines = `select ${TOKENS.map((name) => `coalesce(sum(${name}), 0)`).join(` || ' ' || `)}
    || ' ' || coalesce(sum(cost_nano), 0) || ' ' || count(*) as total from ledger where status <> 'reserved'`
  return [
    {
      name: "a budget's reserved amount is what its calls in progress reserve",
      broken: `select c.budget_id || ' reserves ' || c.reserved || ', its calls ' || coalesce(sum(h.held), 0)
        from budget_counters c join budgets b on b.id = c.budget_id left join (${held}) h
          on h.budget_id = c.budget_id and h.subject = c.subject and h.period_start = c.period_start
        group by c.budget_id, c.subject, c.period_start, c.reserved having c.reserved <> coalesce(sum(h.held), 0)`,
    },
    { name: 'a budget is not used less than nothing', broken: 'select budget_id from budget_counters where used < 0' },
    {
      name: 'usage by day is the ledger',
      broken: `select 'sums ' || s.total || ', lines ' || l.total from (${sums('0, 24')}) s, (${lines}) l where s.total <> l.total
        and not exists (select 1 from usage_sums where cost_nano >= ${Number.MAX_SAFE_INTEGER})`,
    },
    {
      name: 'usage by hour is usage by day',
      broken: `select 'hours ' || h.total || ', days ' || d.total from (${sums('1')}) h, (${sums('24')}) d where h.total <> d.total`,
    },
  ]
}

const TOKENS = ['input_tokens', 'cached_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens']

const memoryRules = (engine: Engine): Rule[] => [
  ...[
    { level: 0, user: "''", session: "''" },
    { level: 1, user: 'user_id', session: "''" },
    { level: 2, user: 'user_id', session: 'session_id' },
  ].map(({ level, user, session }) => {
    const counted = `select agent_seq, ${user} as user_id, ${session} as session_id,
      sum(case kind when 'turn' then 1 else 0 end) as turns, sum(case kind when 'turn' then 0 else 1 end) as notes,
      sum(length) as terms from memories group by 1, 2, 3`
    return {
      name: `memories are counted on level ${level}`,
      broken: `select coalesce(s.agent_seq, m.agent_seq) || ': ' || coalesce(s.turns, 0) || ' turns and ' || coalesce(s.notes, 0)
          || ' notes counted, ' || coalesce(m.turns, 0) || ' and ' || coalesce(m.notes, 0) || ' there'
        from (select * from memory_scopes where level = ${level}) s full join (${counted}) m
          on m.agent_seq = s.agent_seq and m.user_id = s.user_id and m.session_id = s.session_id
        where coalesce(s.turns, 0) <> coalesce(m.turns, 0) or coalesce(s.notes, 0) <> coalesce(m.notes, 0)
          or coalesce(s.turn_terms + s.note_terms, 0) <> coalesce(m.terms, 0)`,
    }
  }),
  ...(engine === 'sqlite'
    ? [
        {
          name: 'what is in the full-text index is a memory',
          broken: 'select rowid from memory_index where rowid not in (select seq from memories)',
        },
      ]
    : []),
]

const fileRules: Rule[] = [
  {
    name: 'kept bytes belong to a file',
    broken: "select id from blobs where state = 'kept' and id not in (select blob_id from files)",
  },
  {
    name: 'a file has bytes that were received',
    broken: "select f.id from files f join blobs b on b.id = f.blob_id where b.state = 'incoming'",
  },
  {
    name: 'files of projects are counted',
    broken: `select c.project_id from (select * from file_counts where user_id = '') c
      full join (select project_id, count(*) as files, sum(size) as bytes from files group by project_id) f
        on f.project_id = c.project_id
      where coalesce(c.files, 0) <> coalesce(f.files, 0) or coalesce(c.bytes, 0) <> coalesce(f.bytes, 0)`,
  },
  {
    name: 'files of users are counted',
    broken: `select c.user_id from (select * from file_counts where user_id <> '') c
      full join (select project_id, user_id, count(*) as files, sum(size) as bytes from files
        where user_id <> '' group by project_id, user_id) f
        on f.project_id = c.project_id and f.user_id = c.user_id
      where coalesce(c.files, 0) <> coalesce(f.files, 0) or coalesce(c.bytes, 0) <> coalesce(f.bytes, 0)`,
  },
]

const countRules: Rule[] = [
  ...['invocations', 'logs'].map((table) => ({
    name: `${table} are counted`,
    broken: `select a.name || ': ' || c.rows || ' counted, ' || coalesce(t.rows, 0) || ' there'
      from agent_counts c join agents a on a.seq = c.agent_seq
      left join (select agent_seq, count(*) as rows from ${table} group by agent_seq) t on t.agent_seq = c.agent_seq
      where c.counted = '${table}' and c.rows <> coalesce(t.rows, 0)`,
  })),
  {
    name: 'histograms have what the metrics count',
    broken: `select m.agent_seq || ' ' || m.start from metrics m
      left join (select agent_seq, minutes, start, sum(count) as count from (
          select agent_seq, minutes, start, count from metric_buckets
          union all select agent_seq, minutes, start, count from version_metrics) counted group by 1, 2, 3) b
        on b.agent_seq = m.agent_seq and b.minutes = m.minutes and b.start = m.start
      where m.count <> coalesce(b.count, 0)`,
  },
]

const lifeRules: Rule[] = [
  {
    name: 'a delivery is due or has ended',
    broken: "select id from deliveries where (status = 'pending') <> (next_attempt_at is not null)",
  },
  {
    name: 'a delivery has its event',
    broken: 'select id from deliveries where event_id not in (select id from events)',
  },
  {
    name: 'an environment that was deployed serves one version',
    broken: `select agent_id || ' ' || environment from deployments group by agent_id, environment
      having sum(case status when 'active' then 1 else 0 end) <> 1`,
  },
  {
    name: 'what is deployed is a version',
    broken: `select d.id from deployments d
      where not exists (select 1 from versions v where v.agent_id = d.agent_id and v.version = d.version)`,
  },
  {
    name: 'an enabled schedule has a next time',
    broken: 'select id from schedules where enabled = 1 and next_at is null and at is null',
  },
  {
    name: 'rows of a deleted agent wait for a sweep',
    broken: `select 'agent ' || agent_seq from (
        select agent_seq from memories union select agent_seq from version_metrics union select agent_seq from runs union select agent_seq from approvals
      ) t where agent_seq not in (select seq from agents) and not exists (select 1 from jobs where kind in ('purge', 'retention'))`,
  },
]
