import { cleanText } from '../text/clean-text.ts';
import { shellQuote } from '../text/shell-quote.ts';

const MAX_NAMES_LENGTH = 200;

/**
 * The error output of git as one clean line, with the reason first: advice (`hint:`) comes last, and what git does
 * before it fails is left out. What git says of a repository that it does not even open is explained instead.
 */
export function readableFailure(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .filter((line) => !/^Cloning into (?:bare repository )?'.*'\.{3}$/.test(line));
  const isHint = (line: string) => /^(?:remote: )*hint:/.test(line);
  const [reasons, hints] = [lines.filter((line) => !isHint(line)), lines.filter(isHint)];
  return (
    explainFormat(reasons) ?? explainDamage(reasons) ?? cleanText([...reasons, ...hints].join('\n'))
  );
}

function explainFormat(lines: readonly string[]): string | null {
  for (const [index, line] of lines.entries()) {
    const [, which] = /\bunknown repository extensions? found:(.*)$/.exec(line) ?? [];
    // Several are listed on the next lines.
    const names = which?.trim() || listedBelow(lines, index);
    if (which !== undefined) return unreadable(`the extension ${names}`);
    const [, name, value] =
      /\b(?:invalid|unknown) value for '?extensions\.(\w+)'?:? ?(.*)$/.exec(line) ?? [];
    if (name !== undefined)
      return unreadable(`the extension ${name} with ${value || 'another value'}`);
    const [, version] = /\bExpected git repo version <= \d+, found (\d+)/.exec(line) ?? [];
    if (version !== undefined) return unreadable(`format version ${version}`);
    const [, added] = /\brepo version is 0, but v1-only extensions? found:(.*)$/.exec(line) ?? [];
    if (added !== undefined) {
      const found = cleanText(added.trim() || listedBelow(lines, index), MAX_NAMES_LENGTH);
      return `the repository uses the extension ${found}, but says that it uses none: run \`git config core.repositoryFormatVersion 1\` in it`;
    }
  }
  return null;
}

/** What keeps git from opening a local repository; it adds that access rights may be wrong, which they are not. */
function explainDamage(lines: readonly string[]): string | null {
  for (const line of lines) {
    const [, number, file] = /^fatal: bad config line (\d+) in file (.+)$/.exec(line) ?? [];
    if (file !== undefined)
      return `the repository is damaged: line ${number} of ${cleanText(file, MAX_NAMES_LENGTH)} cannot be read`;
    const [, text] = /^fatal: unexpected line in \S*packed-refs: (.*)$/.exec(line) ?? [];
    if (text !== undefined)
      return `the repository is damaged: its packed-refs has a line that names no ref (${cleanText(text, MAX_NAMES_LENGTH)})`;
    const [, folder] =
      /^fatal: detected dubious ownership in repository at '(.*)'$/.exec(line) ?? [];
    if (folder !== undefined) {
      const path = cleanText(folder, MAX_NAMES_LENGTH);
      return `git refuses the repository, because it belongs to another user: run the worker as that user, or allow it with \`git config --global --add safe.directory ${shellQuote(path)}\``;
    }
  }
  return null;
}

function listedBelow(lines: readonly string[], index: number): string {
  const rest = lines.slice(index + 1, index + 10);
  const end = rest.findIndex((line) => !/^(?:remote: )?\s+[\w.-]+\s*$/.test(line));
  return rest
    .slice(0, end === -1 ? rest.length : end)
    .map((line) => line.replace('remote: ', '').trim())
    .join(', ');
}

function unreadable(what: string): string {
  const shown = cleanText(what, MAX_NAMES_LENGTH);
  return `the repository is in a format that this git does not read (${shown}): a newer git reads it, so upgrade git`;
}
