import { sql } from 'drizzle-orm';
import { bigint, check, foreignKey, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { documentIndex, newestFirst, time } from './columns.ts';

/** A chat session of a user. */
export const chatSessions = pgTable(
  'chat_sessions',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    username: text('username').notNull(),
    sessionName: text('session_name').notNull().default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  (table) => [
    index('chat_sessions_of_user').on(
      table.username,
      newestFirst(table.updatedAt),
      newestFirst(table.id),
    ),
  ],
);

/** Questions and answers, with or without a session. */
export const chatMessages = pgTable(
  'chat_messages',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    sessionId: uuid('session_id'),
    username: text('username').notNull(),
    /** user or assistant */
    role: text('role').notNull(),
    content: text('content').notNull(),
    requestId: text('request_id').notNull(),
    /** completed or failed for an answer; null for a question */
    status: text('status'),
    toolCalls: jsonb('tool_calls').notNull().default([]),
    /** What the search found for the question of an answer, as it was streamed. */
    sources: jsonb('sources').notNull().default([]),
    /** What the model said before its answer. */
    reasoning: text('reasoning').notNull().default(''),
    /** stop, length or content_filter for an answer that did not fail. */
    finishReason: text('finish_reason'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    foreignKey({
      name: 'chat_messages_session_id_fkey',
      columns: [table.sessionId],
      foreignColumns: [chatSessions.id],
    }).onDelete('cascade'),
    index('chat_messages_of_session').on(table.sessionId, table.id),
    // Whether a user has an answer to search in.
    index('chat_messages_answers_of_user')
      .on(table.username)
      .where(sql`role = 'assistant' AND status = 'completed'`),
    documentIndex('chat_messages_document', 'content'),
  ],
);

/** Generated reports and their delivery. */
export const reports = pgTable(
  'reports',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    /** Null for a report of the MCP server, which belongs to no user. */
    username: text('username'),
    /** latest_backup, executive_summary, failure_investigation, or custom for caller-provided content. */
    reportType: text('report_type').notNull(),
    subject: text('subject').notNull(),
    recipients: text('recipients').array().notNull().default([]),
    /** The outcome of the latest delivery; `generated` before the first. */
    status: text('status').notNull().default('generated'),
    contentMarkdown: text('content_markdown').notNull(),
    contentHtml: text('content_html').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** The time of the latest successful delivery. */
    sentAt: time('sent_at'),
    errorMessage: text('error_message'),
  },
  (table) => [
    check('reports_status_check', sql`status IN ('generated', 'sent', 'failed')`),
    index('reports_of_user').on(
      table.username,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
  ],
);
