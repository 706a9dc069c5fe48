import { AppError, messageWithCause } from '../errors.ts';
import { GatewayFailure } from '../gateway/gateway-failure.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { splitIntoChunks } from './chunks.ts';
import type { Embedder } from './embedders/embedder.ts';
import { type ClaimedJob, type JobOutcome, MAX_ATTEMPTS } from './embedding-jobs.ts';

/** A job with its chunks, redacted so that no secret is stored or sent to a gateway. */
export interface PreparedJob {
  job: ClaimedJob;
  chunks: { content: string; embedded: string }[];
  /** JSON. */
  metadata: string;
}

/** Embedding this shows whether the gateway is down, or only fails for certain texts. */
const HARMLESS_TEXT = 'backup';

/**
 * Redacts a job's source and splits it into chunks; a deleted or blank source has none. Redaction comes
 * first, because a split could make a secret unrecognizable.
 */
export function prepareJob(job: ClaimedJob, redactor: Redactor): PreparedJob {
  const heading = redactor.text(job.heading ?? '').trim();
  const texts = splitIntoChunks(redactor.text(job.content ?? ''));
  // A log without a message can still be found by its repository.
  if (texts.length === 0 && heading !== '') texts.push(heading);
  return {
    job,
    chunks: texts.map((content) => ({
      content,
      embedded: heading === '' || content === heading ? content : `${heading}\n${content}`,
    })),
    metadata: JSON.stringify(redactor.value(JSON.parse(job.metadata ?? '{}'))),
  };
}

/**
 * Embeds jobs together if possible. Finds texts that the model cannot handle by bisection, and fails their
 * jobs after three attempts. Throws, without counting an attempt, errors that are not caused by the jobs: an
 * unavailable gateway or rejected keys.
 */
export async function embedJobs(
  embedder: Embedder,
  jobs: readonly PreparedJob[],
): Promise<JobOutcome[]> {
  let lastError: unknown;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      return await embedTogether(embedder, jobs);
    } catch (error) {
      const fault = await findFault(embedder, error);
      if (fault === 'elsewhere') throw error;
      if (fault === 'some texts' && jobs.length > 1) {
        const half = Math.ceil(jobs.length / 2);
        return [
          ...(await embedJobs(embedder, jobs.slice(0, half))),
          ...(await embedJobs(embedder, jobs.slice(half))),
        ];
      }
      lastError = error;
    }
  }
  return jobs.map(({ job }) => ({ job, error: describe(lastError) }));
}

async function embedTogether(
  embedder: Embedder,
  jobs: readonly PreparedJob[],
): Promise<JobOutcome[]> {
  const vectors = await embedOnce(
    embedder,
    jobs.flatMap(({ chunks }) => chunks.map(({ embedded }) => embedded)),
  );
  return jobs.map(({ job, chunks, metadata }) => ({
    job,
    metadata,
    chunks: chunks.map(({ content, embedded }, index) => {
      const vector = vectors.get(embedded);
      if (!vector) throw new Error('the embedder returned no vector for a text');
      return { index, content, vector };
    }),
  }));
}

/** Embeds each distinct text once, because logs repeat. */
async function embedOnce(
  embedder: Embedder,
  texts: readonly string[],
): Promise<Map<string, Float32Array>> {
  const different = [...new Set(texts)];
  const vectors = new Map<string, Float32Array>();
  for (let start = 0; start < different.length; start += embedder.batchSize) {
    const some = different.slice(start, start + embedder.batchSize);
    for (const [index, vector] of (await embedder.embed(some)).entries()) {
      vectors.set(some[index] ?? '', vector);
    }
  }
  return vectors;
}

/** The cause of a failed attempt: some of its texts, any text at all, or something else. */
type Fault = 'some texts' | 'every text' | 'elsewhere';

async function findFault(embedder: Embedder, error: unknown): Promise<Fault> {
  if (!isRefusal(error) && !isUnavailable(error)) return 'elsewhere';
  try {
    await embedder.embed([HARMLESS_TEXT]);
    return 'some texts';
  } catch (second) {
    return isRefusal(error) && isRefusal(second) ? 'every text' : 'elsewhere';
  }
}

/** Whether the gateway rejected the request, or returned something other than vectors. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (error.code === 'GATEWAY_BAD_REQUEST') return true;
  // A rejected key is a GATEWAY_ERROR too.
  const isMalformed = error.cause instanceof GatewayFailure && error.cause.outcome === 'malformed';
  return error.code === 'GATEWAY_ERROR' && isMalformed && !isNotJson(error);
}

/** Whether the gateway did not answer or failed: it may be down, or have crashed on a text. */
function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'GATEWAY_UNAVAILABLE' || isNotJson(error));
}

/** Whether the response was not JSON. Then it may come from a captive portal, not from the gateway. */
function isNotJson({ cause }: AppError): boolean {
  return cause instanceof GatewayFailure && cause.cause instanceof SyntaxError;
}

function describe(error: unknown): string {
  return error instanceof AppError ? messageWithCause(error).slice(0, 1_000) : String(error);
}
