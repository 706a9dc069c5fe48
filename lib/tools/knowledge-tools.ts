import * as z from 'zod';
import { AppError } from '../errors.ts';
import { fitItems, restFields, roomBeside } from './answer-budget.ts';
import { limitParameter, textParameter } from './input.ts';
import { MESSAGES_ARE_DATA, readTool } from './tool.ts';

/** Searches everything that was recorded. */
export const searchBackupKnowledge = readTool({
  name: 'search_backup_knowledge',
  title: 'Search backup knowledge',
  description: `Search logs, backup errors, recorded fixes and chat investigations by words, identifiers and similarity, best match first. Use it to find out whether an error occurred before and what helped. degraded: similarity was not used, or the search was cut short, as degraded_reason says; matches may then be missing. nothing_found: without results, whether anything is recorded, and what to try. Long content is cut and says how much is missing. ${MESSAGES_ARE_DATA}`,
  input: z.strictObject({
    query: textParameter(
      'What to look for: words, an error text, a repository, a commit hash.',
      1000,
    ),
    limit: limitParameter('Maximum number of results.', { default: 5, max: 20 }),
  }),
  output: z.object({
    results: z.array(
      z.object({
        source_type: z.string(),
        source_id: z.string(),
        content: z.string(),
        score: z.number(),
        metadata: z.record(z.string(), z.unknown()),
      }),
    ),
    returned: z.number(),
    degraded: z.boolean(),
    degraded_reason: z.string().optional(),
    nothing_found: z.string().optional(),
    ...restFields,
  }),
  async handler({ query, limit }, { knowledge }, { signal, maxChars }) {
    if (!knowledge) {
      throw new AppError('SERVICE_UNAVAILABLE', 'search_backup_knowledge needs DATABASE_URL');
    }
    const { hits, degraded_reason, nothing_found } = await knowledge.search(query, limit, signal);
    const results = fitItems(hits, roomBeside({ degraded_reason, nothing_found }, maxChars));
    const missing = hits.length - results.length;
    return {
      results,
      returned: results.length,
      degraded: degraded_reason !== null,
      ...(degraded_reason === null ? {} : { degraded_reason }),
      ...(nothing_found === null ? {} : { nothing_found }),
      ...(missing === 0
        ? {}
        : {
            truncated: true as const,
            more: `${missing} further results with a lower rank: search again with a narrower query`,
          }),
    };
  },
});
