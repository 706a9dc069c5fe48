import { ms, printTable, time } from '../report.ts';
import { times } from '../share.ts';
import { measuredWords } from './data.ts';

const GOAL_P95 = 80;

/** The words with a goal; the others show that similar words are not slow. */
const goalWords: readonly string[] = [
  'a rare word (1 in 100,000)',
  'a word in 20 % of all rows',
  'a word that occurs nowhere',
];

/** A server to search on, and the headers of a request. */
export interface SearchServer {
  url: string;
  headers: Record<string, string>;
}

/** Logs in as the user in the environment. */
export async function logIn(
  url: string,
  { username, password, secret }: { username: string; password: string; secret: string },
): Promise<SearchServer> {
  const answer = await fetch(`${url}/auth/login`, {
    method: 'POST',
    body: new URLSearchParams({ username, password }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  return {
    url,
    headers: {
      Authorization: `Bearer ${access_token}`,
      'Content-Type': 'application/json',
      'X-Internal-Secret': secret,
    },
  };
}

/** Times POST /search over HTTP for words of each frequency, with one client. */
export async function measureSearchLatency(title: string, server: SearchServer): Promise<void> {
  const rows: string[][] = [];
  for (const [what, query] of Object.entries(measuredWords)) {
    let results = 0;
    const timing = await time(
      async () => {
        results = await ask(server, query);
      },
      { runs: times(60), warmUp: times(5) },
    );
    const goal = timing.p95 <= GOAL_P95 ? 'reached' : `MISSED (${GOAL_P95} ms)`;
    rows.push([
      what,
      `\`${query}\``,
      String(results),
      ms(timing.median),
      ms(timing.p95),
      goalWords.includes(what) ? goal : '',
    ]);
  }
  printTable(title, ['searched for', 'query', 'results', 'median', 'p95', 'goal'], rows);
}

async function ask({ url, headers }: SearchServer, query: string): Promise<number> {
  const body = JSON.stringify({ query });
  const answer = await fetch(`${url}/search`, { method: 'POST', headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${query}: ${answer.status} ${text}`);
  return JSON.parse(text).data.total;
}
