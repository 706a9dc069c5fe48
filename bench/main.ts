import { spawnSync } from 'node:child_process';
import { runApiBenchmark } from './api/benchmark.ts';
import { runChatBenchmark } from './chat/benchmark.ts';
import { runColdStartBenchmark } from './coldstart/benchmark.ts';
import { runDrillsBenchmark } from './drills/benchmark.ts';
import { runLiveBenchmark } from './live/benchmark.ts';
import { runMcpBenchmark } from './mcp/benchmark.ts';
import { runPageBenchmark } from './page/benchmark.ts';
import { runListsBenchmark } from './page/lists.ts';
import { runSearchBenchmark } from './search/benchmark.ts';
import { withoutShare } from './share.ts';
import { runStoresBenchmark } from './stores/benchmark.ts';
import { runWorkerBenchmark } from './worker/benchmark.ts';

const benchmarks: Record<string, (options: string[]) => Promise<void>> = {
  api: runApiBenchmark,
  chat: runChatBenchmark,
  coldstart: runColdStartBenchmark,
  drills: runDrillsBenchmark,
  lists: runListsBenchmark,
  live: runLiveBenchmark,
  mcp: runMcpBenchmark,
  page: runPageBenchmark,
  search: runSearchBenchmark,
  stores: runStoresBenchmark,
  worker: runWorkerBenchmark,
};

const [name = '', ...options] = process.argv.slice(2);
const benchmark = benchmarks[name];
if (name === 'all') {
  for (const each of Object.keys(benchmarks)) {
    process.stdout.write(`\n# ${each}\n`);
    // A process for each, because they measure memory.
    const script = [...process.execArgv, import.meta.filename, each, ...options];
    const { status } = spawnSync(process.execPath, script, { stdio: 'inherit' });
    if (status !== 0) {
      process.stderr.write(`the benchmark ${each} failed\n`);
      process.exitCode = 1;
    }
  }
} else if (benchmark) {
  await benchmark(withoutShare(options));
} else {
  const names = [...Object.keys(benchmarks), 'all'].join(' | ');
  process.stderr.write(`usage: npm run bench -- ${names} [--scale 0.1]\n`);
  process.exitCode = 2;
}
