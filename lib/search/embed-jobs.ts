import { GatewayFailure } from '../gateway/failure.ts';
import { AppError } from '../platform/errors.ts';
import type { Redactor } from '../platform/redaction.ts';
import { splitIntoChunks } from './chunks.ts';
import type { Embedder } from './embedders/embedder.ts';
import { type ClaimedJob, type JobOutcome, MAX_ATTEMPTS } from './jobs.ts';

/** A job with what is to be embedded for it: redacted, so that no secret is stored or sent anywhere. */
export interface PreparedJob {
  job: ClaimedJob;
  chunks: { content: string; embedded: string }[];
  /** JSON. */
  metadata: string;
}

/** Embedded by itself it tells a gateway that is away from one that cannot take a certain text. */
const HARMLESS_TEXT = 'backup';

/**
 * Redacts a job's source and cuts it into chunks; a source that is gone or blank has none. A secret is
 * taken out before the cut, which could otherwise hide half of it.
 */
export function prepareJob(job: ClaimedJob, redactor: Redactor): PreparedJob {
  const heading = redactor.text(job.heading ?? '').trim();
  const texts = splitIntoChunks(redactor.text(job.content ?? ''));
  // A log without a message is still found by its repository.
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
 * Embeds jobs, together where that works. What the model cannot take is found by halving, tried three
 * times and recorded against its own job (decisions 5: attempts are retried at once). Throws, with no
 * attempt counted, what is not the jobs' fault: a gateway that is away, or keys that it does not accept.
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
      if (!vector) throw new Error('the embedder left a text out');
      return { index, content, vector };
    }),
  }));
}

/** Logs repeat themselves: each text is embedded once. */
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

/** What an attempt failed by: some of its texts, whatever is asked of the model, or something else. */
type Fault = 'some texts' | 'every text' | 'elsewhere';

async function findFault(embedder: Embedder, error: unknown): Promise<Fault> {
  if (!isRefusal(error) && !isAbsence(error)) return 'elsewhere';
  try {
    await embedder.embed([HARMLESS_TEXT]);
    return 'some texts';
  } catch (second) {
    return isRefusal(error) && isRefusal(second) ? 'every text' : 'elsewhere';
  }
}

/** The gateway refused the request, or answered something else than vectors. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (error.code === 'GATEWAY_BAD_REQUEST') return true;
  // A refused key is a GATEWAY_ERROR too.
  const isMalformed = error.cause instanceof GatewayFailure && error.cause.outcome === 'malformed';
  return error.code === 'GATEWAY_ERROR' && isMalformed && !isForeign(error);
}

/** No answer, or a failing server: away, or fallen over a text. */
function isAbsence(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'GATEWAY_UNAVAILABLE' || isForeign(error));
}

/** No JSON at all, such as the web page of a network that wants a login: it is not the gateway's answer. */
function isForeign({ cause }: AppError): boolean {
  return cause instanceof GatewayFailure && cause.cause instanceof SyntaxError;
}

function describe(error: unknown): string {
  if (!(error instanceof AppError)) return String(error);
  const reason = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${reason}`.slice(0, 1_000);
}
