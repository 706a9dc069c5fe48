import { type Restored, restoreVersion } from '../../restore/restore.ts';
import type { WorkerOptions } from '../command-context.ts';
import type { Display } from '../display.ts';
import type { ArchiveSource } from './archive-source.ts';
import type { RestoreCommand } from './restore-commands.ts';
import { describeRestored } from './restore-text.ts';

/** Restores one repository and reports how it was verified. Throws AppError. */
export async function restoreOne(
  { environment, clock, signal, io }: WorkerOptions,
  command: RestoreCommand & { repository: string },
  source: ArchiveSource,
  display: Display,
): Promise<Restored> {
  const { choice, ref, isBare, target, repository: name } = command;
  const onFile = (done: number, total: number) =>
    display.progress(done, total, `${name}: unpacking`);
  try {
    const restored = await source.use({ repository: name, choice, target }, (archives) =>
      restoreVersion({ ...archives, ref, isBare, target }, { environment, clock, signal, onFile }),
    );
    display.clear();
    io.stdout.write(describeRestored(restored, target));
    return restored;
  } finally {
    display.clear();
  }
}
