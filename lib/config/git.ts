import * as z from 'zod';
import { wholeNumber } from './values.ts';

/** Every use of git. */
export const gitVariables = z.object({
  GIT_STALL_SECONDS: wholeNumber(1, 3_600)
    .default(300)
    .describe(
      'seconds after which git is stopped if it moves no data and computes nothing, whatever it waits for: a server, ssh, a credential helper, a file system; and after which a folder that does not answer ends the command; 1 to 3600',
    ),
});
