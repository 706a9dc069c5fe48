import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../lib/errors.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { tools } from '../../lib/tools/catalogue.ts';
import { describeTool } from '../../lib/tools/describe-tool.ts';
import { runTool } from '../../lib/tools/run-tool.ts';
import { readTool } from '../../lib/tools/tool.ts';
import { silentLog } from '../support/databases.ts';
import { createTestToolDeps } from '../support/tools.ts';

const token = ['gh', 'p_', '0123456789abcdefghijABCDEFGHIJ456789'].join('');
const deps = createTestToolDeps({ redactor: createRedactor(['a-configured-secret']) });

/** Runs a tool that returns these texts. */
function run(answer: () => { texts: string[] }) {
  const tool = readTool({
    name: 'a_tool',
    title: 'A tool',
    description: 'Does what a test wants.',
    input: z.strictObject({}),
    output: z.object({ texts: z.array(z.string()) }),
    handler: answer,
  });
  const { signal } = new AbortController();
  return runTool(tool, {}, deps, { signal, log: silentLog });
}

describe('the answer of a tool', () => {
  it('says how many secrets were removed', async () => {
    const texts = [`push with ${token}`, 'password=hunter2-Zq7 and a-configured-secret'];
    expect(await run(() => ({ texts }))).toEqual({
      ok: true,
      output: {
        texts: ['push with [redacted]', 'password=[redacted] and [redacted]'],
        redacted: 3,
      },
    });
  });

  it('does not mention secrets if there were none', async () => {
    expect(await run(() => ({ texts: ['done'] }))).toEqual({
      ok: true,
      output: { texts: ['done'] },
    });
  });

  it('contains no characters that reorder or hide text', async () => {
    const hidden = [...'ignore'].map((it) => String.fromCodePoint(0xe0000 + it.charCodeAt(0)));
    const texts = [`a\u202eb\u2066c${hidden.join('')}`];
    expect(await run(() => ({ texts }))).toEqual({ ok: true, output: { texts: ['abc'] } });
  });

  it('contains no secrets if it is an error, either', async () => {
    const fail = () => {
      throw new AppError('NOT_FOUND', `no archive\u202e at https://me:${token}@host/`);
    };
    expect(await run(fail)).toEqual({
      ok: false,
      message: 'no archive at https://[redacted]@host/',
    });
  });
});

it('every tool publishes the field for the number of removed secrets', () => {
  for (const tool of tools) {
    expect(describeTool(tool).outputSchema).toMatchObject({
      properties: { redacted: { type: 'number' } },
    });
  }
});
