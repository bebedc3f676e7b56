import type { ColumnTypes } from './engine-columns.ts'

/** What models and embedders have used. It stays when its agent, its key or its project is gone: it was paid for. */
export function usageSchema({ text, integer, keyed }: ColumnTypes): string[] {
  return [
    // Ids begin with the time of the call: a range of time is a range of ids.
    `create table ledger (
      id ${text} primary key,
      project_id ${text} not null,
      agent_seq ${integer},
      agent_id ${text},
      request_id ${text},
      step ${integer},
      attempt ${integer},
      purpose ${text} not null,
      version ${text},
      environment ${text},
      key_id ${text},
      person_id ${text},
      user_id ${text},
      door ${text},
      model ${text} not null,
      status ${text} not null,
      input_tokens ${integer} not null,
      cached_tokens ${integer} not null,
      output_tokens ${integer} not null,
      reasoning_tokens ${integer} not null,
      cost_nano ${integer},
      price ${text},
      charges ${text},
      owner ${text},
      lease_until ${integer},
      created_at ${integer} not null
    ) ${keyed}`,
    'create index ledger_by_request on ledger (request_id) where request_id is not null',
    'create index ledger_by_user on ledger (user_id, id) where user_id is not null',
    // Few lines are ever reserved.
    `create index ledger_reserved on ledger (lease_until) where status = 'reserved'`,

    `create table usage_sums (
      project_id ${text} not null,
      hours ${integer} not null,
      start ${integer} not null,
      agent_id ${text} not null,
      version ${text} not null,
      environment ${text} not null,
      key_id ${text} not null,
      person_id ${text} not null,
      door ${text} not null,
      model ${text} not null,
      purpose ${text} not null,
      calls ${integer} not null,
      input_tokens ${integer} not null,
      cached_tokens ${integer} not null,
      output_tokens ${integer} not null,
      reasoning_tokens ${integer} not null,
      cost_nano ${integer} not null,
      unpriced ${integer} not null,
      lost ${integer} not null,
      primary key (project_id, hours, start, agent_id, version, environment, key_id, person_id, door, model, purpose)
    ) ${keyed}`,
    'create index usage_sums_by_start on usage_sums (hours, start)',

    `create table prices (
      project_id ${text} not null references projects (id) on delete cascade,
      model ${text} not null,
      rates ${text} not null,
      set_by ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (project_id, model)
    )`,

    `create table budgets (
      id ${text} primary key,
      project_id ${text} references projects (id) on delete cascade,
      agent_id ${text} references agents (id) on delete cascade,
      name ${text} not null,
      scope_type ${text} not null,
      scope_id ${text},
      limit_kind ${text} not null,
      amount ${integer} not null,
      per ${text} not null,
      timezone ${text} not null,
      thresholds ${text} not null,
      action ${text} not null,
      created_by ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null
    )`,
    'create index budgets_by_project on budgets (project_id, created_at, id)',
    'create index budgets_by_agent on budgets (agent_id) where agent_id is not null',

    // Calls that are under way when their budget is deleted still settle, so nothing refers to the budget.
    `create table budget_counters (
      budget_id ${text} not null,
      subject ${text} not null,
      period_start ${integer} not null,
      used ${integer} not null,
      reserved ${integer} not null,
      told ${integer} not null,
      exceeded ${integer} not null,
      kept ${integer} not null,
      primary key (budget_id, subject, period_start)
    ) ${keyed}`,
  ]
}
