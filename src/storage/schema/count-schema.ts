import type { ColumnTypes } from './engine-columns.ts'

/** The tables whose rows are counted for each agent. Every other total is counted by an index when it is asked for. */
const COUNTED = ['invocations', 'logs'] as const

/** The counts of an agent come and go with it, and triggers change them with the rows that they count. */
export function countSchema({ engine, integer }: ColumnTypes): string[] {
  const onAgents = 'insert into agent_counts (agent_seq, invocations, logs) values (new.seq, 0, 0);'
  return [
    `create table agent_counts (
      agent_seq ${integer} primary key references agents (seq) on delete cascade,
      invocations ${integer} not null,
      logs ${integer} not null
    )`,
    ...(engine === 'postgres'
      ? [
          `create function count_agent() returns trigger language plpgsql as $$ begin ${onAgents} return new; end $$`,
          'create trigger agents_counted after insert on agents for each row execute function count_agent()',
        ]
      : [`create trigger agents_counted after insert on agents begin ${onAgents} end`]),
    ...COUNTED.flatMap(engine === 'postgres' ? postgresTriggers : sqliteTriggers),
  ]
}

function sqliteTriggers(table: string): string[] {
  const count = (change: string, by: string, row: string) =>
    `create trigger ${table}_counted_${change} after ${change} on ${table} begin
      update agent_counts set ${table} = ${table} ${by} where agent_seq = ${row}.agent_seq; end`
  return [count('insert', '+ 1', 'new'), count('delete', '- 1', 'old')]
}

/** They see all rows of a statement at once. Nodes lock the counts in the same order, so that they cannot deadlock. */
function postgresTriggers(table: string): string[] {
  const count = (change: string, sign: '+' | '-', row: 'new' | 'old') => [
    `create function count_${table}_${change}() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from ${row}_rows) order by agent_seq for no key update;
      update agent_counts set ${table} = agent_counts.${table} ${sign} changed.count
        from (select agent_seq, count(*) as count from ${row}_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq;
      return null;
    end $$`,
    `create trigger ${table}_counted_${change} after ${change} on ${table} referencing ${row} table as ${row}_rows
      for each statement execute function count_${table}_${change}()`,
  ]
  return [...count('insert', '+', 'new'), ...count('delete', '-', 'old')]
}
