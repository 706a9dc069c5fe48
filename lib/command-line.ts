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
    throw wrongUsage([describe(error), printed].join('\n\n').trimEnd());
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

function describe({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'the command is incomplete';
  return message
    .replace('error: ', '')
    .replace('\n', ' ')
    .replace(/^unknown command '.*'/s, 'unknown command')
    .replace(/^(unknown option '--?[\w-]*).*'/s, "$1'")
    .replace(/ argument '.*' is invalid\./s, ' is invalid.')
    .replace(/(arguments? but got \d+): .*/s, '$1');
}
