import type { Database, Statement } from '../../database/database.ts';

/** A new log line of a run, with a lower-case level. */
export interface NewLog {
  runId: number;
  level: 'info' | 'warn' | 'error';
  message: string;
  /** `owner/repo`; null for a line about the run. */
  repository: string | null;
}

const insertLog: Statement = {
  name: 'write_log',
  text: `INSERT INTO execution_logs (run_id, level, message, repository)
         VALUES ($1::int, $2, $3, $4)`,
};

/** Stores a log line. */
export async function writeLog(db: Database, log: NewLog): Promise<void> {
  await db.query(insertLog, [log.runId, log.level, log.message, log.repository]);
}
