import { helpOption, readOptions, withoutUserInfo, wrongUsage } from './options.ts';
import type { Help } from './usage.ts';

export interface EmbedCommand {
  name: 'embed';
  /** Let searches use the generation when it is READY. */
  activate: boolean;
  /** Give up the generation that is being built instead. */
  abandon: boolean;
}

/** What `worker embed --help` prints. */
export const embedUsage = `Embeds records for search: does the jobs of the generation that is being built, else of the active one.

  npm run worker -- embed [--activate | --abandon]

  --activate   let searches use the generation when it is READY
  --abandon    give up the generation that is being built, so that it can be pruned: for one whose
               model is not to be had any more
  --help       this text

POST /embeddings/switch-model starts a generation. Any number of workers may embed at once, and each may
be stopped at any moment. A gateway model takes the key of \`login gateway\`, else GATEWAY_API_KEYS. The
database is DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done, or nothing to do; 1 failed, also when every job of the generation did; 2 wrong usage.`;

/** Reads the arguments of `embed`. Throws BAD_REQUEST. */
export function parseEmbed(args: readonly string[]): EmbedCommand | Help {
  const line = readOptions(args, {
    activate: { type: 'boolean' },
    abandon: { type: 'boolean' },
    ...helpOption,
  });
  const [extra] = line.positionals;
  if (extra !== undefined) throw wrongUsage(`unexpected argument ${withoutUserInfo(extra)}`);
  if (line.flag('help')) return { name: 'help', text: embedUsage };
  const [activate, abandon] = [line.flag('activate'), line.flag('abandon')];
  if (activate && abandon) throw wrongUsage('--activate and --abandon exclude each other');
  return { name: 'embed', activate, abandon };
}
