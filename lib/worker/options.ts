import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { AppError } from '../platform/errors.ts';
import { nearestWord } from './nearest.ts';

/** The options of a command: each a flag or one with a value, some with the words that they take. */
export type OptionsShape = Record<
  string,
  { type: 'boolean' | 'string'; short?: string; multiple?: boolean; words?: readonly string[] }
>;

/** `--help` of every command (decisions 7). */
export const helpOption = { help: { type: 'boolean', short: 'h' } } as const;

export interface CommandLine {
  flag(name: string): boolean;
  text(name: string): string | null;
  texts(name: string): string[];
  positionals: string[];
}

/**
 * Reads the options of a command. Throws BAD_REQUEST with one line that names the wrong option or word
 * and the nearest right one (decisions 7).
 */
export function readOptions(args: readonly string[], options: OptionsShape): CommandLine {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: options as ParseArgsOptionsConfig,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind === 'option') checkOption(token, options);
  }
  const texts = (name: string) =>
    [values[name] ?? []].flat().filter((value) => typeof value === 'string');
  return {
    flag: (name) => values[name] === true,
    text: (name) => texts(name).at(-1) ?? null,
    texts,
    positionals,
  };
}

interface GivenOption {
  name: string;
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

function checkOption({ name, rawName, value, inlineValue }: GivenOption, options: OptionsShape) {
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) {
    const words = Object.keys(options).map((known) => `--${known}`);
    throw wrongUsage(`unknown option ${withoutUserInfo(rawName)}${suggestion(rawName, words)}`);
  }
  const takesValue = option.type === 'string';
  if (takesValue && !value) throw wrongUsage(`${rawName} needs a value`);
  if (takesValue && !inlineValue && value?.startsWith('-')) {
    throw wrongUsage(`${rawName} needs a value; one that begins with - is given as ${rawName}=…`);
  }
  if (!takesValue && value !== undefined) throw wrongUsage(`${rawName} takes no value`);
  if (option.words && value !== undefined && !option.words.includes(value)) {
    const words = option.words.join(' or ');
    throw wrongUsage(`${rawName} takes ${words}${suggestion(value, option.words)}`);
  }
}

/** The word of a command line that is one of `words`. Throws BAD_REQUEST for any other. */
export function readWord<Word extends string>(
  typed: string | undefined,
  words: readonly Word[],
  what: string,
): Word {
  const found = words.find((word) => word === typed);
  if (found !== undefined) return found;
  if (typed === undefined) throw wrongUsage(`${what} is missing: ${words.join(', ')}`);
  throw wrongUsage(`unknown ${what} ${withoutUserInfo(typed)}${suggestion(typed, words)}`);
}

/** `; did you mean …?` when a right word is near. */
export function suggestion(typed: string, words: readonly string[]): string {
  const nearest = nearestWord(typed, words);
  return nearest === null ? '' : `; did you mean ${nearest}?`;
}

/** A wrong argument as it may be repeated. */
export function withoutUserInfo(text: string): string {
  // Only from where a part begins: from each character on, it would take quadratic time.
  return text.replace(/(?<![^/\s])[^/\s]*@/g, '…@');
}

/** A command line that is not understood; exit code 2. */
export function wrongUsage(message: string): AppError {
  return new AppError('BAD_REQUEST', message);
}
