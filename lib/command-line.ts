import { type Command, CommanderError } from 'commander';
import { AppError } from './errors.ts';

/**
 * Parses a command line without printing anything. Returns the help text if it was requested, otherwise null.
 * Throws BAD_REQUEST for wrong usage, without repeating typed values, which may be secrets.
 */
export function parseCommandLine(program: Command, args: readonly string[]): string | null {
  let printed = '';
  const write = (text: string) => {
    printed += text;
  };
  const commands = listCommands(program);
  for (const command of commands) {
    command
      .exitOverride()
      .configureOutput({ writeOut: write, writeErr: write, outputError: () => undefined });
  }
  checkOptionValues(commands, args);
  try {
    program.parse([...args], { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return printed.trimEnd();
    const message =
      error.code === 'commander.unknownCommand'
        ? describeUnknown(findCommand(program, args), error)
        : describe(error);
    throw wrongUsage([message, printed].join('\n\n').trimEnd());
  }
}

/** The error for wrong usage of a command; exits with code 2. */
export function wrongUsage(message: string): AppError {
  return new AppError('BAD_REQUEST', message);
}

function listCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(listCommands)];
}

/** Rejects options without a value: Commander would take the next option as the value. */
function checkOptionValues(commands: readonly Command[], args: readonly string[]): void {
  const names = new Set(
    commands.flatMap(({ options }) =>
      options.flatMap(({ required, long }) => (required && long) || []),
    ),
  );
  for (const [index, arg] of args.entries()) {
    const [name = '', inline] = arg.split('=', 2);
    const value = inline ?? args[index + 1] ?? '';
    if (!names.has(name) || (value !== '' && (inline !== undefined || !value.startsWith('-')))) {
      continue;
    }
    throw wrongUsage(`option ${name} needs a value; write ${name}=… if it begins with -`);
  }
}

/** The innermost command that the arguments name. */
function findCommand(program: Command, args: readonly string[]): Command {
  let found = program;
  for (const arg of args.filter((each) => !each.startsWith('-'))) {
    const next = found.commands.find((each) => each.name() === arg || each.aliases().includes(arg));
    if (next === undefined) return found;
    found = next;
  }
  return found;
}

/** Names what was typed only if it looks like the name of a command: it may also be a secret in the wrong place. */
function describeUnknown({ commands }: Command, { message }: CommanderError): string {
  const [, typed = ''] = /unknown command '(.*)'/s.exec(message) ?? [];
  const [, near] = /\(Did you mean (.*)\?\)\s*$/s.exec(message) ?? [];
  const shown = /^[a-z][a-z-]{0,29}$/i.test(typed) ? ` '${typed}'` : '';
  const meant = near === undefined ? '' : ` (Did you mean ${near}?)`;
  const names = commands.map((command) => command.name()).join(', ');
  return `unknown command${shown}${meant}\nThe commands are: ${names}`;
}

function describe({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'the command is incomplete';
  return message
    .replace('error: ', '')
    .replace('\n', ' ')
    .replace(/^(unknown option '--?[\w-]*).*'/s, "$1'")
    .replace(/ argument '.*' is invalid\./s, ' is invalid.')
    .replace(/(arguments? but got \d+): .*/s, '$1');
}
