import { runApiBenchmark } from './api/benchmark.ts';
import { runChatBenchmark } from './chat/benchmark.ts';
import { runColdStartBenchmark } from './coldstart/benchmark.ts';
import { runDrillsBenchmark } from './drills/benchmark.ts';
import { runLiveBenchmark } from './live/benchmark.ts';
import { runMcpBenchmark } from './mcp/benchmark.ts';
import { runPageBenchmark } from './page/benchmark.ts';
import { runListsBenchmark } from './page/lists.ts';
import { runSearchBenchmark } from './search/benchmark.ts';
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
if (benchmark) {
  await benchmark(options);
} else {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benchmarks).join(' | ')}\n`);
  process.exitCode = 2;
}
