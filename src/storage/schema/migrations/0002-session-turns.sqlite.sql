alter table runs add column session_key text;

alter table runs add column place integer;

alter table runs add column priority text not null default 'normal';

alter table runs add column rank integer not null default 0;

alter table schedules add column priority text not null default 'normal';

create unique index runs_by_turn on runs (session_key) where session_key is not null and place is null and (status <> 'waiting' or waits_for = 'children');

create index runs_in_line on runs (session_key, place, id) where place is not null;

create index runs_due on runs (agent_seq, rank, id) where status = 'queued' and place is null;

create index runs_interactive on runs (agent_seq, rank, id) where status = 'queued' and place is null and priority = 'interactive';

create trigger runs_in_order after insert on runs when new.session_key is not null and new.place is null begin
    select raise(abort, 'UNIQUE turn: runs of this session are in line') where exists (select 1 from runs where session_key = new.session_key and place is not null); end;

insert into sqlite_stat1 (tbl, idx, stat) values ('runs', 'runs_by_turn', '3000 1'), ('runs', 'runs_in_line', '1000 5 1 1'), ('runs', 'runs_due', '4000 20 1 1'), ('runs', 'runs_interactive', '100 2 1 1');

