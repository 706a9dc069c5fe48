import { execa } from 'execa';
import { z } from 'zod';

/** Known advisories that do not concern us, by id (`GHSA-…`), each with the reason. */
const accepted: Record<string, string> = {};

const advisory = z.object({
  title: z.string(),
  url: z.string(),
  severity: z.string(),
  name: z.string(),
});
const report = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({ via: z.array(z.union([z.string(), advisory])) }),
  ),
});
const refusal = z.object({ message: z.string() });

/**
 * Asks the advisory service about what ships, by `npm audit`. Returns what is wrong, each as a line: an
 * advisory that is not accepted, or that the service does not answer, which is no clean result.
 */
export async function audit(folder: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const { stdout } = await execa('npm', ['audit', '--omit=dev', '--json'], {
    cwd: folder,
    env: environment,
    extendEnv: false,
    reject: false,
  });
  const answer = readAnswer(stdout);
  const parsed = report.safeParse(answer);
  if (!parsed.success) {
    const said = refusal.safeParse(answer);
    const why = said.success ? said.data.message : 'npm audit gave no report';
    return [`not audited: the advisory service does not answer (${why})`];
  }
  const found = Object.values(parsed.data.vulnerabilities)
    .flatMap(({ via }) => via)
    .filter((it) => typeof it !== 'string');
  return [...new Map(found.map((it) => [it.url, it])).values()]
    .filter(({ url }) => !Object.hasOwn(accepted, url.split('/').at(-1) ?? ''))
    .map(({ name, severity, title, url }) => `${name}: ${severity}: ${title} (${url})`);
}

function readAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever it is, it is no report.
    return null;
  }
}
