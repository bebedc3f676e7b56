import { integer, text } from '../../schema/column.ts'
import { table } from '../../schema/described-table.ts'

/** The tables whose rows are counted per agent. Every other total is counted from an index on request. */
const COUNTED = ['invocations', 'logs'] as const

const ZEROS = `insert into agent_counts (agent_seq, counted, rows)
  values ${COUNTED.map((counted) => `(new.seq, '${counted}', 0)`).join(', ')};`

const SQLITE_COUNTS = [
  `create trigger agents_counted after insert on agents begin ${ZEROS} end`,
  ...COUNTED.flatMap(sqliteTriggers),
]

const POSTGRES_COUNTS = [
  `create function count_agent() returns trigger language plpgsql as $$ begin ${ZEROS} return new; end $$`,
  'create trigger agents_counted after insert on agents for each row execute function count_agent()',
  ...COUNTED.flatMap(postgresTriggers),
]

function sqliteTriggers(counted: string): string[] {
  const count = (change: string, by: string, row: string) =>
    `create trigger ${counted}_counted_${change} after ${change} on ${counted} begin
      update agent_counts set rows = rows ${by} where agent_seq = ${row}.agent_seq and counted = '${counted}'; end`
  return [count('insert', '+ 1', 'new'), count('delete', '- 1', 'old')]
}

/**
 * Triggers that see all rows of a statement at once. Each table has its own counts. Nodes lock them table by table and
 * in the order of the agents, so they can't deadlock.
 */
function postgresTriggers(counted: string): string[] {
  const count = (change: string, sign: '+' | '-', row: 'new' | 'old') => [
    `create function count_${counted}_${change}() returns trigger language plpgsql as $$ begin
      perform from agent_counts where agent_seq in (select agent_seq from ${row}_rows) and counted = '${counted}'
        order by agent_seq for no key update;
      update agent_counts set rows = agent_counts.rows ${sign} changed.count
        from (select agent_seq, count(*) as count from ${row}_rows group by agent_seq) as changed
        where agent_counts.agent_seq = changed.agent_seq and agent_counts.counted = '${counted}';
      return null;
    end $$`,
    `create trigger ${counted}_counted_${change} after ${change} on ${counted} referencing ${row} table as ${row}_rows
      for each statement execute function count_${counted}_${change}()`,
  ]
  return [...count('insert', '+', 'new'), ...count('delete', '-', 'old')]
}

const ADDED = `on conflict (project_id, user_id) do update
  set files = file_counts.files + excluded.files, bytes = file_counts.bytes + excluded.bytes`

const SQLITE_COUNT = `insert into file_counts values (new.project_id, '', 1, new.size) ${ADDED};
    insert into file_counts select new.project_id, new.user_id, 1, new.size where new.user_id is not null ${ADDED};`

const SQLITE_DISCOUNT = `update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id in ('', old.user_id);
    delete from file_counts where project_id = old.project_id and user_id in ('', old.user_id) and files = 0;`

const SQLITE_FILE_TRIGGERS = [
  `create trigger files_counted_insert after insert on files begin
    ${SQLITE_COUNT}
  end`,
  `create trigger files_counted_delete after delete on files begin
    ${SQLITE_DISCOUNT}
  end`,
  `create trigger files_counted_move after update of project_id on files begin
    ${SQLITE_DISCOUNT}
    ${SQLITE_COUNT}
  end`,
]

const POSTGRES_FILE_TRIGGERS = [
  `create function count_file() returns trigger language plpgsql as $$ begin
    insert into file_counts values (new.project_id, '', 1, new.size) ${ADDED};
    if new.user_id is not null then
      insert into file_counts values (new.project_id, new.user_id, 1, new.size) ${ADDED};
    end if;
    return null;
  end $$`,
  'create trigger files_counted_insert after insert on files for each row execute function count_file()',
  `create function discount_file() returns trigger language plpgsql as $$ begin
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id = '';
    update file_counts set files = files - 1, bytes = bytes - old.size
      where project_id = old.project_id and user_id = old.user_id;
    delete from file_counts where project_id = old.project_id and user_id in ('', old.user_id) and files = 0;
    return null;
  end $$`,
  'create trigger files_counted_delete after delete on files for each row execute function discount_file()',
  'create trigger files_counted_move_away after update of project_id on files for each row execute function discount_file()',
  'create trigger files_counted_move_here after update of project_id on files for each row execute function count_file()',
]

export const countTables = {
  /**
   * How many invocations and log entries an agent has. Triggers update the counts, which are created and deleted with
   * the agent.
   */
  agent_counts: table({ agent_seq: integer.references('agents', 'seq'), counted: text, rows: integer })
    .keyedBy('agent_seq', 'counted')
    .also({ sqlite: SQLITE_COUNTS, postgres: POSTGRES_COUNTS }),

  /**
   * How many files a project has (under the user ''), and how many each of its users has. Triggers update the counts.
   * They always change the project's count first, so transactions that change the counts of one project wait for each
   * other there and can't deadlock.
   */
  file_counts: table({ project_id: text, user_id: text, files: integer, bytes: integer })
    .keyedBy('project_id', 'user_id')
    .also({ sqlite: SQLITE_FILE_TRIGGERS, postgres: POSTGRES_FILE_TRIGGERS }),
}
