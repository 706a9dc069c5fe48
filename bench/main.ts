import { runApiBenchmark } from './api/benchmark.ts';
import { runMcpBenchmark } from './mcp/benchmark.ts';

const benchmarks: Record<string, (options: string[]) => Promise<void>> = {
  api: runApiBenchmark,
  mcp: runMcpBenchmark,
};

const [name = '', ...options] = process.argv.slice(2);
const benchmark = benchmarks[name];
if (benchmark) {
  await benchmark(options);
} else {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benchmarks).join(' | ')}\n`);
  process.exitCode = 2;
}
