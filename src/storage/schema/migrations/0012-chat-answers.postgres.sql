create table chat_answers (
  "id" text collate "C" not null primary key,
  "trigger_id" text collate "C" not null,
  "agent_id" text collate "C" not null,
  "request_id" text collate "C" not null,
  "user_id" text collate "C",
  "call_id" text collate "C",
  "conversation" text collate "C" not null,
  "place" text collate "C" not null,
  "status" text collate "C" not null,
  "parts_sent" bigint not null,
  "tries" bigint not null,
  "next_attempt_at" bigint,
  "owner" text collate "C",
  "error" text collate "C",
  "created_at" bigint not null,
  "sent_at" bigint
);

create index chat_answers_pending on chat_answers (trigger_id, conversation, id) where status = 'pending';

create index chat_answers_by_request on chat_answers (request_id);

create index chat_answers_by_agent on chat_answers (agent_id, id);

create index chat_answers_by_trigger on chat_answers (trigger_id, id);

create index chat_answers_by_user on chat_answers (agent_id, user_id) where user_id is not null;

