import * as z from 'zod';
import type { NewRunJob } from '../../../records/fleet/jobs.ts';
import { type Source, sourceUses } from '../../base/source.ts';
import type { JobList } from '../back-up-each.ts';
import { hostOf, isOnThisMachine } from '../order.ts';

const text = z.string().max(10_000);

/** What another worker needs to back up a repository. Contains no token: each worker has its own login. */
export const jobFacts = z.strictObject({
  location: text,
  /** Null if the source was given on the command line. */
  host: z
    .strictObject({
      url: text,
      use: z.enum(sourceUses),
      isPrivate: z.boolean(),
      sizeBytes: z.number().min(0).nullable(),
      remarks: z.array(text).max(100),
      fault: text.nullable(),
    })
    .nullable(),
  isDamaged: z.boolean(),
  altered: text.nullable(),
});

export type JobFacts = z.output<typeof jobFacts>;

/** Whether no other machine can back it up. */
function isOwn(source: Source): boolean {
  return source.host === null && isOnThisMachine(source);
}

/** The rows of a run: its jobs in their order, what it leaves out, and its end. */
export function describeJobs(
  { jobs, durations }: JobList,
  leftOut: readonly string[],
): NewRunJob[] {
  const none = { position: 0, expectedMs: null, facts: '{}', host: null, gitHostUrl: null };
  const rows = jobs.map(({ source, isDamaged, altered }, position): NewRunJob => {
    const { name, location, host } = source;
    const facts: JobFacts = { location, host: host && factsOf(host), isDamaged, altered };
    const expected = durations.get(name);
    return {
      kind: 'repository',
      repository: name,
      position,
      expectedMs: expected === undefined ? null : Math.round(expected),
      facts: JSON.stringify(facts),
      host: hostOf(source),
      gitHostUrl: host?.url ?? null,
      isOwn: isOwn(source),
    };
  });
  const others = leftOut.map(
    (repository): NewRunJob => ({ ...none, kind: 'left_out', repository, isOwn: false }),
  );
  // The end comes last, so that the run counts as listed once it exists.
  return [...rows, ...others, { ...none, kind: 'end', repository: '', isOwn: false }];
}

function factsOf({ url, use, isPrivate, sizeBytes, remarks, fault }: NonNullable<Source['host']>) {
  return { url, use, isPrivate, sizeBytes, remarks: [...remarks], fault };
}
