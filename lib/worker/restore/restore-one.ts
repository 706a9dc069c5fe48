import { type Restored, restoreVersion } from '../../restore/restore.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import type { Display } from '../base/display.ts';
import type { ArchiveSource } from './archive-source.ts';
import { printEvent, restoredEvent } from './print-event.ts';
import type { RestoreCommand } from './restore-commands.ts';
import { describeRestored } from './restore-text.ts';

/**
 * Restores one repository and reports how it was verified. A download is kept until `finish` has succeeded as well.
 * Throws AppError, or what `finish` throws.
 */
export async function restoreOne(
  { environment, clock, signal, io }: WorkerOptions,
  command: RestoreCommand & { repository: string },
  source: ArchiveSource,
  display: Display,
  finish: (restored: Restored) => Promise<void> = async () => undefined,
): Promise<Restored> {
  const { choice, ref, isBare, isLimited, target, push, repository: name, isJson } = command;
  const onFile = (done: number, total: number) => {
    display.progress(done, total, `${name}: unpacking`);
    if (isJson) printEvent(io, { event: 'step', step: 'unpacking', files: done, all_files: total });
  };
  const onStep = (step: 'proving' | 'writing') => {
    if (isJson) printEvent(io, { event: 'step', step, files: null, all_files: null });
  };
  try {
    return await source.use({ repository: name, choice, target }, async (archives) => {
      const context = { environment, clock, signal, onFile, onStep };
      const restored = await restoreVersion(
        { ...archives, ref, isBare, isLimited, target },
        context,
      );
      display.clear();
      if (isJson) printEvent(io, restoredEvent(restored));
      else io.stdout.write(describeRestored(restored, push?.isTemporary ? null : target));
      await finish(restored);
      return restored;
    });
  } finally {
    display.clear();
  }
}
