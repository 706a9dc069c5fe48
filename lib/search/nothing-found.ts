import type { Database } from '../database/database.ts';
import type { SourceType } from './source-types.ts';

const statement = {
  name: 'search_anything_stored',
  text: `SELECT 'execution_log' = ANY ($1::text[]) AND EXISTS (SELECT FROM execution_logs)
      OR 'backup_result' = ANY ($1::text[]) AND EXISTS (SELECT FROM backup_results)
      OR 'backup_fix' = ANY ($1::text[]) AND EXISTS (SELECT FROM backup_fixes)
      OR 'investigation' = ANY ($1::text[]) AND $2::text IS NULL AND EXISTS (
        SELECT FROM chat_messages WHERE role = 'assistant' AND status = 'completed')
      OR 'investigation' = ANY ($1::text[]) AND EXISTS (
        SELECT FROM chat_messages
        WHERE role = 'assistant' AND status = 'completed' AND username = $2::text)
    AS is_there`,
};

/** Scripts that are written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Explains why a search found nothing: whether there is anything to find, and what a search by words misses. */
export async function explainNothingFound(
  db: Database,
  asked: { query: string; sourceTypes: readonly SourceType[]; investigationsOf: string | null },
): Promise<string> {
  const values = [[...asked.sourceTypes], asked.investigationsOf];
  const [row] = await db.query<{ is_there: boolean }>(statement, values);
  if (!row?.is_there) return 'nothing of this kind has been recorded yet';
  if (unspaced.test(asked.query)) {
    return 'records exist, but no word in them matched: in scripts without spaces between words, such as Chinese, Japanese and Thai, only whole runs of characters are words, so text inside a run is not found. Search for the whole run between spaces or punctuation marks, or for a repository, a commit or another word of the same record';
  }
  return 'records exist, but no word in them matched. A misspelt word may not be found: check the spelling, or search for fewer words, a part of a name, or a repository';
}
