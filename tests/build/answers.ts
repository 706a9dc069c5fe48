/** What of an answer must be the same wherever the server runs. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Headers of one answer alone, or of the connection that it came over. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'transfer-encoding',
  'x-request-id',
]);

/** What differs from answer to answer, with the word that takes its place. */
const passing: [RegExp, string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g, '<time>'],
  [/\/badges\/[0-9a-f]{32}/g, '<badge>'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],
  [
    /("(?:uptime_seconds|duration_ms|latency_ms|last_good_age_ms|percentage)":)[\d.]+/g,
    '$1<number>',
  ],
  [/http:\/\/127\.0\.0\.1:\d+/g, '<origin>'],
];

/** The text without what differs from answer to answer. */
export const maskText = (text: string): string =>
  passing.reduce((masked, [pattern, word]) => masked.replace(pattern, word), text);

/** Names and help of Prometheus text, whose figures are those of one process. */
const maskMetrics = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('# '))
    .join('\n');

/** Asks and reads the whole answer; of a stream only how it begins, unless it is read elsewhere. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const type = response.headers.get('content-type') ?? '';
  const headers = Object.fromEntries(
    [...response.headers]
      .filter(([name]) => !ownHeaders.has(name))
      .map(([name, value]) => [name, maskText(value)]),
  );
  let body = '';
  if (type.startsWith('text/event-stream')) await response.body?.cancel();
  else body = await response.text();
  const masked =
    url.includes('/metrics') && type.startsWith('text/plain') ? maskMetrics(body) : maskText(body);
  return { status: response.status, headers, body: masked };
}
