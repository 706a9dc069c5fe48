import type { Unwritten } from '../../restore/check-out.ts';
import type { Restored } from '../../restore/restore.ts';
import { cleanName, cleanText } from '../../text/clean-text.ts';
import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { counted, formatBytes } from '../../text/units.ts';

/** The length of the longest path, quoted. */
const MAX_PATH_LENGTH = 8_192;

/** Describes for people what was restored and how it was proved. `target` is null for a folder that will not stay. */
export function describeRestored(restored: Restored, target: string | null): string {
  const { repository, version, at, files, sizeBytes, isRecorded } = restored;
  const which = version === null ? `the archive of ${at}` : `version ${version} of ${at}`;
  const hashes = isRecorded
    ? `the SHA-256 of ${version === null ? '' : 'the manifest and '}every file, `
    : '';
  const unproved = isRecorded ? '' : '; no SHA-256 is recorded';
  const place = target === null ? '' : `, to ${removeDeceptiveCharacters(target)}`;
  return `${[
    `Restored ${cleanName(repository)}, ${which}${place}`,
    `  Refs: ${countRefs(restored.refs)}; HEAD is ${describeHead(restored)}`,
    `  From: ${counted(files, 'file')}, ${formatBytes(sizeBytes)}`,
    `  Proved: ${hashes}every object, the whole history, and all refs${unproved}`,
    ...(restored.unwritten === null || target === null
      ? []
      : describeUnwritten(restored.unwritten, target)),
  ].join('\n')}\n`;
}

function describeUnwritten({ count, paths }: Unwritten, target: string): string[] {
  const files = counted(count, 'file is', 'files are');
  const others = count - paths.length;
  const inFolder = `git -C ${shellQuote(target)}`;
  return [
    `  NOT CHECKED OUT: ${files} in the repository, but this file system rejects their names or paths:`,
    ...paths.map((path) => `    ${cleanText(path, MAX_PATH_LENGTH)}`),
    ...(others > 0 ? [`    and ${others} more`] : []),
    `  List them with \`${inFolder} ls-files --deleted --stage\`, and write one elsewhere with \`${inFolder} cat-file blob HASH > FILE\``,
  ];
}

/** A table with aligned columns. The first row is its header. Untrusted text is made safe for a terminal. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => cleanName(cell)));
  const widths = safe[0]?.map((_, at) => Math.max(...safe.map((row) => row[at]?.length ?? 0)));
  const lines = safe.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths?.[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

function countRefs(names: readonly string[]): string {
  const branches = names.filter((name) => name.startsWith('refs/heads/')).length;
  const tags = names.filter((name) => name.startsWith('refs/tags/')).length;
  const others = names.length - branches - tags;
  return [
    counted(branches, 'branch', 'branches'),
    counted(tags, 'tag'),
    ...(others > 0 ? [counted(others, 'other')] : []),
  ].join(', ');
}

function describeHead({ headBranch, headCommit }: Restored): string {
  const branch = headBranch === null ? null : cleanText(headBranch.replace('refs/heads/', ''), 200);
  if (headCommit === null) return branch === null ? 'nothing' : `${branch}, without a commit`;
  return branch === null ? `detached at ${headCommit}` : `${branch} at ${headCommit}`;
}
