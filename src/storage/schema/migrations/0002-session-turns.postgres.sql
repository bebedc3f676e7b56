alter table runs add column session_key text collate "C";

alter table runs add column place bigint;

alter table runs add column priority text collate "C" not null default 'normal';

alter table runs add column rank bigint not null default 0;

alter table schedules add column priority text collate "C" not null default 'normal';

create unique index runs_by_turn on runs (session_key) where session_key is not null and place is null and (status <> 'waiting' or waits_for = 'children');

create index runs_in_line on runs (session_key, place, id) where place is not null;

create index runs_due on runs (agent_seq, rank, id) where status = 'queued' and place is null;

create index runs_interactive on runs (agent_seq, rank, id) where status = 'queued' and place is null and priority = 'interactive';

create function refuse_to_overtake() returns trigger language plpgsql as $$ begin
    if exists (select 1 from runs where session_key = new.session_key and place is not null) then
      raise exception 'runs of this session are in line' using errcode = 'unique_violation';
    end if;
    return null;
  end $$;

create trigger runs_in_order after insert on runs for each row when (new.session_key is not null and new.place is null) execute function refuse_to_overtake();

