import type { Restored } from '../../restore/restore.ts';
import type { RestoreEvent } from '../../restore/restore-events.ts';
import type { CommandIo } from '../base/person.ts';

/** Prints a line of `restore --json`. */
export function printEvent({ stdout }: Pick<CommandIo, 'stdout'>, event: RestoreEvent): void {
  stdout.write(`${JSON.stringify(event)}\n`);
}

/** The event that a version was restored. */
export function restoredEvent(restored: Restored): RestoreEvent {
  return {
    ...{ event: 'restored', version: restored.version, at: restored.at },
    ...{ refs: restored.refs.length, head_branch: restored.headBranch },
    ...{ head_commit: restored.headCommit, files: restored.files },
    ...{ size_bytes: restored.sizeBytes, is_recorded: restored.isRecorded },
    unwritten: restored.unwritten?.count ?? 0,
  };
}
