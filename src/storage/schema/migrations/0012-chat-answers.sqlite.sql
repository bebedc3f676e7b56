create table chat_answers (
  "id" text not null primary key,
  "trigger_id" text not null,
  "agent_id" text not null,
  "request_id" text not null,
  "user_id" text,
  "call_id" text,
  "conversation" text not null,
  "place" text not null,
  "status" text not null,
  "parts_sent" integer not null,
  "tries" integer not null,
  "next_attempt_at" integer,
  "owner" text,
  "error" text,
  "created_at" integer not null,
  "sent_at" integer
);

create index chat_answers_pending on chat_answers (trigger_id, conversation, id) where status = 'pending';

create index chat_answers_by_request on chat_answers (request_id);

create index chat_answers_by_agent on chat_answers (agent_id, id);

create index chat_answers_by_trigger on chat_answers (trigger_id, id);

create index chat_answers_by_user on chat_answers (agent_id, user_id) where user_id is not null;

