import type { Database } from '../database/database.ts';
import {
  iso,
  jsonArray,
  jsonObject,
  type PageRequest,
  pageOffset,
  readObject,
} from './base/page.ts';

/** A new report. */
export interface NewReport {
  /** Null for a report that belongs to no user and cannot be read back. */
  username: string | null;
  reportType: string;
  subject: string;
  recipients: readonly string[];
  contentMarkdown: string;
  contentHtml: string;
}

/** A stored report. Timestamps are ISO 8601 in UTC with microseconds. */
export interface Report {
  id: string;
  report_type: string;
  subject: string;
  /** The recipients of the latest delivery, or the intended ones before the first. */
  recipients: string[];
  status: 'generated' | 'sent' | 'failed';
  content_markdown: string;
  content_html: string;
  created_at: string;
  sent_at: string | null;
  error_message: string | null;
}

// Every query filters by user, so that another user's report looks like one that does not exist.

const report = `id, report_type, subject, recipients, status, content_markdown, content_html,
  ${iso('created_at')} AS created_at, ${iso('sent_at')} AS sent_at, error_message`;

const addStatement = {
  name: 'add_report',
  text: `WITH added AS (
           INSERT INTO reports (username, report_type, subject, recipients, content_markdown, content_html)
           VALUES ($1, $2, $3, $4::text[], $5, $6) RETURNING *
         ) SELECT ${jsonObject(`SELECT ${report} FROM added`)} AS item`,
};
const findStatement = {
  name: 'find_report',
  text: `SELECT ${jsonObject(
    `SELECT ${report} FROM reports WHERE id = $2::uuid AND username = $1`,
  )} AS item`,
};
const listStatement = {
  name: 'list_reports',
  text: `SELECT ${jsonArray(
    `SELECT ${report} FROM reports AS it WHERE username = $1
     ORDER BY it.created_at DESC, it.id DESC LIMIT $2 OFFSET $3`,
  )} AS item`,
};
const deliveryStatement = {
  name: 'record_report_delivery',
  text: `WITH delivered AS (
           UPDATE reports SET recipients = $2::text[], error_message = $3::text,
             status = CASE WHEN $3::text IS NULL THEN 'sent' ELSE 'failed' END,
             sent_at = CASE WHEN $3::text IS NULL THEN now() ELSE sent_at END
           WHERE id = $1::uuid RETURNING *
         ) SELECT ${jsonObject(`SELECT ${report} FROM delivered`)} AS item`,
};

/** Stores a new report with status `generated`. */
export async function addReport(db: Database, added: NewReport): Promise<Report> {
  const { username, reportType, subject, recipients, contentMarkdown, contentHtml } = added;
  const values = [username, reportType, subject, recipients, contentMarkdown, contentHtml];
  const item = await readObject(db, addStatement, values);
  if (item === null) throw new Error(`${addStatement.name} returned no row`);
  return JSON.parse(item);
}

/** A user's report by id; null when the user has no such report. */
export async function findReport(
  db: Database,
  username: string,
  id: string,
): Promise<Report | null> {
  const item = await readObject(db, findStatement, [username, id]);
  return item === null ? null : JSON.parse(item);
}

/** A user's reports as a JSON array, newest first. */
export async function listReports(
  db: Database,
  username: string,
  page: PageRequest,
): Promise<string> {
  return (await readObject(db, listStatement, [username, page.limit, pageOffset(page)])) ?? '[]';
}

/**
 * Records the outcome of a delivery: sent, or failed with an error. A failure does not clear the sent_at of
 * an earlier delivery. Null when the report no longer exists.
 */
export async function recordDelivery(
  db: Database,
  id: string,
  { recipients, error }: { recipients: readonly string[]; error: string | null },
): Promise<Report | null> {
  const item = await readObject(db, deliveryStatement, [id, recipients, error]);
  return item === null ? null : JSON.parse(item);
}
