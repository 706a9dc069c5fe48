import { type EmbedCommand, parseEmbed } from './embed-arguments.ts';
import {
  type LoginCommand,
  parseApp,
  parseAuth,
  parseLogin,
  parseLogout,
} from './logins/arguments.ts';
import { suggestion, wrongUsage } from './options.ts';
import { parseRun, type RunCommand } from './run-arguments.ts';
import { type Help, workerUsage } from './usage.ts';

/** What a command line of the worker asks for. */
export type WorkerCommand = Help | RunCommand | EmbedCommand | LoginCommand;

/** Each command with what reads the rest of its line; relative paths are relative to `folder`. */
const commands: Record<string, (args: readonly string[], folder: string) => WorkerCommand> = {
  run: parseRun,
  embed: parseEmbed,
  login: parseLogin,
  logout: parseLogout,
  auth: parseAuth,
  app: parseApp,
};

/**
 * Reads the worker's arguments; `folder` is what relative paths are relative to. Throws BAD_REQUEST with
 * one line that names the wrong word and the nearest right one (decisions 7).
 */
export function parseCommand(args: readonly string[], folder: string): WorkerCommand {
  const [first, ...rest] = args;
  if (first === '--help' || first === '-h' || first === 'help') {
    return { name: 'help', text: workerUsage };
  }
  if (first === undefined) throw wrongUsage(`no command is given.\n\n${workerUsage}`);
  if (first.startsWith('-')) {
    throw wrongUsage(`unknown option ${first}${suggestion(first, ['--help'])}`);
  }
  const parse = Object.hasOwn(commands, first) ? commands[first] : undefined;
  if (parse) return parse(rest, folder);
  throw wrongUsage(`unknown command ${first}${suggestion(first, Object.keys(commands))}`);
}
