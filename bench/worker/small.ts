import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGitServer } from '../../tests/support/git-server.ts';
import { printTable, ratio } from '../report.ts';
import { addCommit, makeRepository } from './repositories.ts';
import { header, medianSeconds, row } from './rows.ts';
import type { World } from './world.ts';

const REPOSITORIES = 200;
const DELAY_MS = 100;
const AT_ONCE = 8;
const SMALL = { commits: 10, blobBytes: 2_000 };

/** Measures many small repositories on a git host that delays each request by 100 ms. */
export async function measureSmall(
  world: World,
  { scale, rounds }: { scale: number; rounds: number },
): Promise<void> {
  const { folder, shell } = world;
  const server = await startGitServer({ delayMs: DELAY_MS });
  try {
    const count = Math.ceil(REPOSITORIES * scale);
    const names = Array.from({ length: count }, (_, n) => `small-${n}`);
    const pathOf = (name: string) => join(folder, 'host', `${name}.git`);
    for (const name of names) {
      await makeRepository(pathOf(name), SMALL);
      server.serve(`team/${name}.git`, pathOf(name));
    }
    const list = join(folder, 'names');
    await writeFile(list, names.map((name) => `${name}\n`).join(''));
    const sources = names.flatMap((name) => ['--source', `${server.url}/team/${name}.git`]);
    const requestsOf = async (work: () => Promise<unknown>) => {
      server.requests.clear();
      await work();
      return Math.max(...server.requests.values());
    };
    const plainFolder = join(folder, 'plain');
    const eachOf = (command: string) =>
      `mkdir -p "$1" && cd "$1" && xargs -P${AT_ONCE} -I{} sh -ec '${command}' sh "$2" {} <"$3"`;
    const cloneAll = eachOf(
      'git clone --quiet --mirror "$1/team/$2.git" "$2.git"; git --git-dir="$2.git" bundle create --quiet "$2.bundle" --all; sha256sum "$2.bundle"',
    );
    const askAll = eachOf('git ls-remote --quiet "$1/team/$2.git"');

    const first = { ours: [] as number[], plain: [] as number[], requests: [] as number[] };
    const same = { ours: [] as number[], plain: [] as number[] };
    const changed: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const worker = await world.makeWorker({ BACKUP_CONCURRENCY: `${AT_ONCE}` });
      const run = (into: number[]) => async () =>
        into.push((await worker.run('run', ...sources)).ms);
      first.plain.push(await shell(cloneAll, plainFolder, server.url, list));
      first.requests.push(await requestsOf(run(first.ours)));
      same.plain.push(await shell(askAll, plainFolder, server.url, list));
      await run(same.ours)();
      if (round === rounds - 1) {
        for (const name of names) await addCommit(pathOf(name), SMALL.blobBytes);
        changed.push(await requestsOf(run([])));
      }
      await worker.remove();
      await rm(plainFolder, { recursive: true });
    }
    const divide = ({ ours, plain }: { ours: number[]; plain: number[] }) =>
      ours.map((ms, at) => ms / (plain[at] ?? Number.NaN));
    const middle = ({ ours, plain }: { ours: number[]; plain: number[] }): [string, string] => [
      medianSeconds(ours),
      medianSeconds(plain),
    ];
    printTable(
      `${count} small repositories, ${DELAY_MS} ms for each request, ${AT_ONCE} at once, medians of ${rounds}`,
      header,
      [
        row('first run / clone, bundle, sha256sum', middle(first), divide(first), 1.3, ratio),
        row('requests for each, first run', ['', ''], first.requests, 3, String),
        row('requests for each that changed', ['', ''], changed, 3, String),
        row('nothing changed / git ls-remote', middle(same), divide(same), 1.3, ratio),
      ],
    );
  } finally {
    await server.close();
  }
}
